// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/saving/checkpoint_management.h"

#include <google/protobuf/text_format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "millstream/base/file.h"
#include "millstream/base/local_path.h"
#include "millstream/base/logging.h"
#include "millstream/io/delete_file.h"
#include "millstream/io/stale_files.h"
#include "millstream/proto/checkpoint_state.pb.h"

namespace millstream {
namespace {

namespace fs = std::filesystem;

bool IsAbsolute(const std::string& path) { return absl::StartsWith(path, "/"); }

std::string Join(const std::string& folder, const std::string& name) {
  return folder.empty() || IsAbsolute(name) ? name : absl::StrCat(folder, absl::EndsWith(folder, "/") ? "" : "/", name);
}

std::string RelativeTo(const std::string& folder, const std::string& path) {
  const fs::path base = fs::path(folder.empty() ? "." : folder).lexically_normal();
  return fs::path(path).lexically_normal().lexically_relative(base).string();
}

Status DeleteIfThere(const std::string& path) {
  const Status status = DeleteLargeFile(path);
  return absl::IsNotFound(status) ? OkStatus() : status;
}

// "NAME.data-00000-of-00002" of a checkpoint NAME.
bool IsDataFile(absl::string_view file, absl::string_view name) {
  constexpr absl::string_view kPattern = ".data-#####-of-#####";
  if (file.size() != name.size() + kPattern.size() || !absl::StartsWith(file, name)) return false;
  const absl::string_view end = file.substr(name.size());
  for (size_t i = 0; i < end.size(); ++i) {
    if (kPattern[i] == '#' ? !absl::ascii_isdigit(end[i]) : kPattern[i] != end[i]) return false;
  }
  return true;
}

}  // namespace

std::optional<CheckpointState> GetCheckpointState(const std::string& folder, const std::string& latest_filename) {
  const std::string path = Join(folder, latest_filename);
  const StatusOr<std::string> text = ReadFile(path, int64_t{64} << 20);
  if (!text.ok()) return std::nullopt;
  proto::CheckpointState message;
  if (!google::protobuf::TextFormat::ParseFromString(*text, &message) || message.model_checkpoint_path().empty()) {
    LogWarning(absl::StrCat(path, ": not a checkpoint state"));
    return std::nullopt;
  }
  CheckpointState state;
  state.model_checkpoint_path = Join(folder, message.model_checkpoint_path());
  for (const std::string& p : message.all_model_checkpoint_paths())
    state.all_model_checkpoint_paths.push_back(Join(folder, p));
  return state;
}

Status UpdateCheckpointState(const std::string& folder, const CheckpointState& state,
                             const std::string& latest_filename, bool relative_paths) {
  const std::string path = Join(folder, latest_filename);
  const bool relative = relative_paths || !IsAbsolute(folder);
  const auto written = [&](const std::string& p) {
    return relative && IsAbsolute(p) == IsAbsolute(folder) ? RelativeTo(folder, p) : p;
  };
  if (path == state.model_checkpoint_path) {
    return errors::FailedPrecondition(
        "Save path '", path, "' conflicts with path used for checkpoint state.  Please use a different save path.");
  }
  proto::CheckpointState message;
  message.set_model_checkpoint_path(written(state.model_checkpoint_path));
  for (const std::string& p : state.all_model_checkpoint_paths) message.add_all_model_checkpoint_paths(written(p));
  const auto& all = state.all_model_checkpoint_paths;
  if (all.empty() || all.back() != state.model_checkpoint_path) {
    message.add_all_model_checkpoint_paths(message.model_checkpoint_path());
  }
  std::string text;
  if (!google::protobuf::TextFormat::PrintToString(message, &text)) return errors::Internal("No text for ", path);
  return WriteFileAtomically(path, text);
}

std::optional<std::string> LatestCheckpoint(const std::string& folder, const std::string& latest_filename) {
  const std::optional<CheckpointState> state = GetCheckpointState(folder, latest_filename);
  if (!state.has_value()) return std::nullopt;
  if (CheckpointExists(state->model_checkpoint_path)) return state->model_checkpoint_path;
  LogError(absl::StrCat("Couldn't match files for checkpoint ", state->model_checkpoint_path));
  return std::nullopt;
}

bool CheckpointExists(const std::string& prefix) { return FileExists(prefix + ".index"); }

StatusOr<double> CheckpointTime(const std::string& prefix) {
  struct stat info = {};
  const std::string path = prefix + ".index";
  ASSIGN_OR_RETURN(const std::string local, LocalPath(path));
  if (::stat(local.c_str(), &info) != 0) return ErrnoStatus(errno, path);
  return static_cast<double>(info.st_mtim.tv_sec) + 1e-9 * static_cast<double>(info.st_mtim.tv_nsec);
}

std::string MetaGraphFilename(const std::string& prefix, const std::string& suffix) {
  absl::string_view base = prefix;
  const size_t of = base.rfind("-of-");
  const size_t dash = of == absl::string_view::npos || of == 0 ? absl::string_view::npos : base.rfind('-', of - 1);
  if (dash != absl::string_view::npos) {
    const absl::string_view shard = base.substr(dash + 1, of - dash - 1), count = base.substr(of + 4);
    const auto digit = [](char c) { return absl::ascii_isdigit(c) || c == '?'; };
    const bool sharded = !shard.empty() && !count.empty() && std::all_of(shard.begin(), shard.end(), digit) &&
                         std::all_of(count.begin(), count.end(), absl::ascii_isdigit);
    if (sharded) base = base.substr(0, dash);
  }
  return absl::StrCat(base, ".", suffix);
}

Status RemoveCheckpoint(const std::string& prefix, const std::string& meta_graph_suffix) {
  RETURN_IF_ERROR(DeleteIfThere(MetaGraphFilename(prefix, meta_graph_suffix)));
  ASSIGN_OR_RETURN(const std::string retired, RetireIndex(prefix));
  ASSIGN_OR_RETURN(const std::string local, LocalPath(prefix));
  const std::string folder = FolderOf(local);
  const std::string name = fs::path(local).filename().string();
  std::error_code error;
  std::vector<std::string> files;
  for (fs::directory_iterator it(folder.empty() ? "." : folder, error), end; !error && it != end; it.increment(error)) {
    if (IsDataFile(it->path().filename().string(), name)) files.push_back(it->path().string());
  }
  if (error) return ErrnoStatus(error.value(), folder);
  for (const std::string& file : files) RETURN_IF_ERROR(DeleteIfThere(file));
  return retired.empty() ? OkStatus() : DeleteIfThere(retired);
}

}  // namespace millstream
