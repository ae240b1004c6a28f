// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/saving/saver.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "millstream/base/file.h"
#include "millstream/base/logging.h"
#include "millstream/base/random.h"
#include "millstream/graph/variables/save_slice.h"
#include "millstream/io/checkpoint_files.h"
#include "millstream/io/stale_files.h"
#include "millstream/proto/meta_graph.pb.h"
#include "millstream/train/saving/checkpoint_management.h"
#include "millstream/train/saving/meta_graph.h"
#include "millstream/train/saving/saver_nodes.h"
#include "millstream/train/variables/variables.h"

namespace millstream {
namespace {

double Now() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

// By name; InvalidArgument if a variable is there twice.
Status SortAndCheck(std::vector<Saveable>& variables) {
  std::stable_sort(variables.begin(), variables.end(),
                   [](const Saveable& a, const Saveable& b) { return a.name < b.name; });
  std::set<const Node*> seen;
  for (size_t i = 0; i < variables.size(); ++i) {
    const Saveable& v = variables[i];
    if (!v.variable) return errors::InvalidArgument("The variable to save as ", v.name, " is missing");
    if (!seen.insert(v.variable.node).second) {
      return errors::InvalidArgument("The same saveable will be restored with two names: ", v.name);
    }
    const bool same_name = i > 0 && variables[i - 1].name == v.name;
    if (same_name && (v.slice_spec.empty() || variables[i - 1].slice_spec.empty())) {
      return errors::InvalidArgument("At least two variables have the same name: ", v.name);
    }
  }
  return OkStatus();
}

Status ExplainRestore(const Status& status) {
  const char* what = absl::IsNotFound(status) ? "a Variable name or other graph key that is missing from the checkpoint"
                     : absl::IsInvalidArgument(status)
                         ? "a mismatch between the current graph and the graph from the checkpoint"
                         : nullptr;
  if (what == nullptr) return status;
  return Status(status.code(),
                absl::StrCat("Restoring from checkpoint failed. This is most likely due to ", what,
                             ". Please ensure that you have not altered the graph expected based on the checkpoint. "
                             "Original error:\n\n",
                             status.message()));
}

}  // namespace

StatusOr<std::shared_ptr<Saver>> Saver::Make(const Scope& scope, SaverOptions options) {
  RETURN_IF_ERROR(scope.status());
  std::vector<Saveable> variables = std::move(options.variables);
  options.variables.clear();
  if (variables.empty()) {
    for (const Output& v : scope.Collection(graph_keys::kGlobalVariables)) variables.push_back({"", v, ""});
  }
  for (Saveable& v : variables) {
    if (!v.variable) continue;
    const std::optional<SaveSlice> slice = SaveSliceOf(*v.variable.node);
    if (slice.has_value() && v.slice_spec.empty()) v.slice_spec = slice->Spec();
    if (v.name.empty()) v.name = slice.has_value() ? slice->full_name : v.variable.node->name();
  }
  if (variables.empty() && !options.allow_empty) return errors::InvalidArgument("No variables to save");
  RETURN_IF_ERROR(SortAndCheck(variables));
  std::shared_ptr<Saver> saver(new Saver(scope, std::move(options)));
  if (!variables.empty()) {
    ASSIGN_OR_RETURN(const SaverNodes nodes, AddSaverNodes(scope, variables, saver->options_));
    saver->filename_tensor_ = nodes.filename.name();
    saver->SetNodes(nodes);
  }
  MutexLock lock(saver->mu_);
  saver->next_kept_time_ = Now() + saver->options_.keep_checkpoint_every_n_hours * 3600;
  return saver;
}

void Saver::SetNodes(const SaverNodes& nodes) {
  way_.save_tensor = nodes.save.name();
  way_.restore_op = nodes.restore->name();
  if (nodes.probe) {
    probe_ = nodes.probe.name();
    through_chief_.save_tensor = nodes.save_through_chief.name();
    through_chief_.restore_op = nodes.restore_through_chief->name();
  }
  if (nodes.keep == nullptr) return;
  keep_op_ = nodes.keep->name();
  way_.save_kept_tensor = nodes.save_kept.name();
  if (nodes.probe) through_chief_.save_kept_tensor = nodes.save_kept_through_chief.name();
  for (const Output& size : nodes.kept_sizes) kept_sizes_.push_back(size.name());
  for (const Node* take : nodes.kept_takes) kept_takes_.push_back(take->name());
}

Status Saver::KeepValues(Session& session) {
  if (!can_keep_values()) return errors::FailedPrecondition("The saver was made without SaverOptions::background");
  std::vector<Tensor> out;
  // A save that failed, or a chief that died, may have left others.
  while (true) {
    RETURN_IF_ERROR(session.Run({}, kept_sizes_, {}, &out));
    std::vector<std::string> takes;
    for (size_t i = 0; i < out.size(); ++i) {
      if (out[i].scalar<int32_t>() > 0) takes.push_back(kept_takes_[i]);
    }
    if (takes.empty()) break;
    RETURN_IF_ERROR(session.Run({}, {}, takes, &out));
  }
  return session.Run({}, {}, {keep_op_}, &out);
}

StatusOr<std::string> Saver::CheckpointName(const std::string& save_path, const SaveOptions& options) const {
  if (absl::StrContains(options.latest_filename, "/")) {
    return errors::InvalidArgument("'latest_filename' must not contain path components");
  }
  if (options.global_step.has_value()) {
    return options_.pad_step_number ? absl::StrFormat("%s-%08d", save_path, *options.global_step)
                                    : absl::StrCat(save_path, "-", *options.global_step);
  }
  const std::string name = save_path.substr(save_path.rfind('/') + 1);  // npos + 1 is 0
  if (name == options.latest_filename && !options_.sharded) {
    return errors::InvalidArgument("'latest_filename' collides with 'save_path': '", options.latest_filename, "' and '",
                                   save_path, "'");
  }
  return save_path;
}

StatusOr<const Saver::Way*> Saver::WayFor(Session& session, const std::string& path) const {
  if (probe_.empty()) return &way_;
  if (options_.through_chief.has_value()) return *options_.through_chief ? &through_chief_ : &way_;
  ASSIGN_OR_RETURN(const std::string here, ReadFile(path));
  std::vector<Tensor> there;
  const Status status = session.Run({{filename_tensor_, Tensor::Scalar(path)}}, {probe_}, {}, &there);
  if (absl::IsNotFound(status) || absl::IsPermissionDenied(status)) return &through_chief_;
  RETURN_IF_ERROR(status);
  const auto contents = there[0].flat<std::string>();
  const bool same =
      std::all_of(contents.begin(), contents.end(), [&](const std::string& bytes) { return bytes == here; });
  return same ? &way_ : &through_chief_;
}

StatusOr<const Saver::Way*> Saver::WayToSave(Session& session, const std::string& folder) {
  if (probe_.empty() || options_.through_chief.has_value()) return WayFor(session, "");
  const Way*& way = ways_[folder];
  if (way != nullptr) return way;
  const std::string name = absl::StrFormat(".seen_%016x", RandomNumber());
  const std::string path = folder.empty() ? name : absl::StrCat(folder, "/", name);
  if (Status written = WriteFileAtomically(path, name); !written.ok()) {
    if (folder.empty() || FileExists(folder)) return written;
    return errors::InvalidArgument("Parent directory of ", path, " doesn't exist, can't save.");
  }
  StatusOr<const Way*> found = WayFor(session, path);
  DeleteFile(path).IgnoreError();
  RETURN_IF_ERROR(found.status());
  way = *found;
  if (way == &through_chief_)
    LogInfo(absl::StrCat("Not all tasks can access ", folder, ": checkpoints are written by the chief."));
  return way;
}

StatusOr<std::string> Saver::Save(Session& session, const std::string& save_path, const SaveOptions& options) {
  MutexLock save_lock(save_mu_);
  ASSIGN_OR_RETURN(const std::string path, CheckpointName(save_path, options));
  if (way_.save_tensor.empty()) return std::string();
  if (options.kept && !can_keep_values()) return errors::FailedPrecondition("The saver keeps no values");
  const bool existed = CheckpointExists(path);
  SaveInProgress in_progress(path);  // deletes what dead processes have left and, after an error, what this one leaves
  StatusOr<std::string> saved = WriteCheckpoint(session, path, FolderOf(save_path), options);
  if (saved.ok()) {
    in_progress.Succeed();
  } else if (!existed) {  // nobody would delete it later
    RemoveCheckpoint(path, options.meta_graph_suffix).IgnoreError();
  }
  return saved;
}

StatusOr<std::string> Saver::WriteCheckpoint(Session& session, const std::string& name, const std::string& folder,
                                             const SaveOptions& options) {
  ASSIGN_OR_RETURN(const Way* way, WayToSave(session, folder));
  std::vector<Tensor> out;
  const Status saved = session.Run({{filename_tensor_, Tensor::Scalar(name)}},
                                   {options.kept ? way->save_kept_tensor : way->save_tensor}, {}, &out);
  if (!saved.ok()) {
    const bool may_be_folder = absl::IsFailedPrecondition(saved) || absl::IsNotFound(saved);
    if (!may_be_folder || folder.empty() || FileExists(folder)) return saved;
    return errors::InvalidArgument("Parent directory of ", name, " doesn't exist, can't save.");
  }
  const std::string path = out[0].scalar<std::string>();
  if (options.write_meta_graph) {
    if (const int nodes = scope_.graph()->id_limit(); nodes != meta_graph_nodes_) {
      ASSIGN_OR_RETURN(meta_graph_, ExportMetaGraph());
      meta_graph_nodes_ = nodes;
    }
    RETURN_IF_ERROR(WriteFileAtomically(MetaGraphFilename(path, options.meta_graph_suffix), meta_graph_));
  }
  if (options.write_state) RETURN_IF_ERROR(WriteState(path, folder, options));
  return path;
}

// Last: before it, the old checkpoint is the latest.
Status Saver::WriteState(const std::string& path, const std::string& folder, const SaveOptions& options) {
  MutexLock lock(mu_);
  const std::vector<Kept> last = last_checkpoints_, old = to_be_deleted_;
  Record(path);
  CheckpointState state{path, {}};
  for (const Kept& kept : last_checkpoints_) state.all_model_checkpoint_paths.push_back(kept.path);
  const Status written = UpdateCheckpointState(folder, state, options.latest_filename, options_.save_relative_paths);
  if (written.ok()) {
    DeleteOld(options.meta_graph_suffix);
  } else {
    last_checkpoints_ = last;
    to_be_deleted_ = old;
  }
  return written;
}

void Saver::Record(const std::string& path) {
  if (options_.max_to_keep <= 0) return;
  std::erase_if(last_checkpoints_, [&](const Kept& kept) { return kept.path == path; });
  last_checkpoints_.push_back({path, Now()});
  if (last_checkpoints_.size() <= static_cast<size_t>(options_.max_to_keep)) return;
  to_be_deleted_.push_back(last_checkpoints_.front());
  last_checkpoints_.erase(last_checkpoints_.begin());
}

void Saver::DeleteOld(const std::string& meta_graph_suffix) {
  for (const Kept& old : to_be_deleted_) {
    if (old.time > next_kept_time_) {  // one to keep for good
      next_kept_time_ += options_.keep_checkpoint_every_n_hours * 3600;
    } else if (Status status = RemoveCheckpoint(old.path, meta_graph_suffix); !status.ok()) {
      LogWarning(absl::StrCat("Ignoring: ", status.ToString()));
    }
  }
  to_be_deleted_.clear();
}

Status Saver::Restore(Session& session, const std::string& save_path) {
  if (way_.restore_op.empty()) return OkStatus();
  if (!CheckpointExists(save_path)) {
    return errors::InvalidArgument("The passed save_path is not a valid checkpoint: ", save_path);
  }
  LogInfo(absl::StrCat("Restoring parameters from ", save_path));
  ASSIGN_OR_RETURN(const Way* way, WayFor(session, save_path + ".index"));
  std::vector<Tensor> none;
  const Status status = session.Run({{filename_tensor_, Tensor::Scalar(save_path)}}, {}, {way->restore_op}, &none);
  if (absl::IsNotFound(status)) {
    const Status files = CheckCheckpointFiles(save_path);
    if (!files.ok()) return errors::NotFound("The checkpoint ", save_path, " is incomplete: ", files.message());
  }
  return status.ok() ? status : ExplainRestore(status);
}

std::vector<std::string> Saver::last_checkpoints() const {
  MutexLock lock(mu_);
  std::vector<std::string> paths;
  for (const Kept& kept : last_checkpoints_) paths.push_back(kept.path);
  return paths;
}

void Saver::RecoverLastCheckpoints(const std::vector<std::string>& paths) {
  MutexLock lock(mu_);
  last_checkpoints_.clear();
  for (const std::string& path : paths) {
    if (const StatusOr<double> time = CheckpointTime(path); time.ok()) last_checkpoints_.push_back({path, *time});
  }
}

StatusOr<std::string> Saver::ExportMetaGraph() const {
  proto::MetaGraphDef def;
  RETURN_IF_ERROR(millstream::ExportMetaGraph(scope_, this, {}, &def));
  std::string bytes;
  if (!def.SerializeToString(&bytes))
    return errors::InvalidArgument("The graph is larger than a protocol buffer message may be");
  return bytes;
}

void Saver::ToProto(proto::SaverDef* def) const {
  def->Clear();
  if (way_.save_tensor.empty()) return;
  def->set_filename_tensor_name(filename_tensor_);
  def->set_save_tensor_name(way_.save_tensor);
  def->set_restore_op_name(way_.restore_op);
  def->set_max_to_keep(options_.max_to_keep);
  def->set_sharded(options_.sharded);
  def->set_keep_checkpoint_every_n_hours(static_cast<float>(options_.keep_checkpoint_every_n_hours));
  def->set_version(proto::SaverDef::V2);
}

StatusOr<std::shared_ptr<Saver>> Saver::FromProto(const Scope& scope, const proto::SaverDef& def) {
  RETURN_IF_ERROR(scope.status());
  const Graph& graph = *scope.graph();
  RETURN_IF_ERROR(graph.FindOutput(def.filename_tensor_name()).status());
  RETURN_IF_ERROR(graph.FindOutput(def.save_tensor_name()).status());
  if (graph.Find(def.restore_op_name()) == nullptr) {
    return errors::NotFound("The saver's node ", def.restore_op_name(), " is not in the graph");
  }
  SaverOptions options;
  options.max_to_keep = def.max_to_keep();
  options.sharded = def.sharded();
  if (def.keep_checkpoint_every_n_hours() > 0) {
    options.keep_checkpoint_every_n_hours = def.keep_checkpoint_every_n_hours();
  }
  std::shared_ptr<Saver> saver(new Saver(scope, std::move(options)));
  saver->filename_tensor_ = def.filename_tensor_name();
  saver->way_ = {def.save_tensor_name(), def.restore_op_name(), ""};
  MutexLock lock(saver->mu_);
  saver->next_kept_time_ = Now() + saver->options_.keep_checkpoint_every_n_hours * 3600;
  return saver;
}

}  // namespace millstream
