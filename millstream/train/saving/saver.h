// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_SAVING_SAVER_H_
#define MILLSTREAM_TRAIN_SAVING_SAVER_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "millstream/base/mutex.h"
#include "millstream/graph/scope.h"
#include "millstream/runtime/session.h"

namespace millstream {

class MonitoredSession;
namespace proto {
class SaverDef;
}  // namespace proto
struct SaverNodes;  // saver_nodes.h

// A variable and its place in checkpoints. Slices of a partitioned variable share the name and have a spec "10 4
// 0,5:-", as TensorFlow writes it: the whole shape, then start and length of each dimension. Parts of a
// PartitionedVariable, and their slots, need none given.
struct Saveable {
  std::string name;  // "": the variable's own, which for a part is the whole's
  Output variable;   // its handle: a reference or a resource
  std::string slice_spec;
};

struct SaverOptions {
  std::vector<Saveable> variables;  // none: the collection "variables", by their names (parts: by the whole's)
  bool reshape = false;             // a checkpoint may have another shape with as many elements
  bool sharded = false;  // each task writes its own variables, if all see the folder; else the chief writes all
  int max_to_keep = 5;   // 0: all
  double keep_checkpoint_every_n_hours = 10000;
  std::string name = "save";  // of the name scope
  bool restore_sequentially = false;
  bool allow_empty = false;  // without variables: saves and restores nothing
  bool pad_step_number = false;
  bool save_relative_paths = false;
  std::optional<bool> through_chief;  // says whether tasks see the folder, without looking
  bool background = false;            // adds the nodes for KeepValues()
};

struct SaveOptions {
  std::optional<int64_t> global_step;  // the checkpoint's name is then PATH-STEP
  std::string latest_filename = "checkpoint";
  std::string meta_graph_suffix = "meta";
  bool write_meta_graph = true;
  bool write_state = true;
  bool kept = false;  // the values of the last KeepValues(), not those of now. REQUIRES: SaverOptions::background
};

// Saves variables to V2 checkpoints, which TensorFlow restores, and back: tf.train.Saver. A checkpoint appears whole or
// not at all: files are written aside, synced and renamed, and the file `checkpoint` names it last. Keeps the last
// `max_to_keep`, and beyond those one of every so many hours. Save() and Restore() may be called from any thread.
class Saver {
 public:
  // Adds its nodes to the graph. InvalidArgument: no variables, or two with one name.
  static StatusOr<std::shared_ptr<Saver>> Make(const Scope& scope, SaverOptions options = {});

  // Returns the checkpoint's path, for Restore(); "" if there is nothing to save. InvalidArgument if the folder is
  // missing.
  StatusOr<std::string> Save(Session& session, const std::string& save_path, const SaveOptions& options = {});
  // Keeps the values of now, on the tasks that hold them, for a Save() that may run while training goes on: in another
  // thread, say. They share the variables' memory until the next update of each. FailedPrecondition without
  // SaverOptions::background.
  Status KeepValues(Session& session);
  bool can_keep_values() const { return !keep_op_.empty(); }
  // Sets the variables, which need not be initialized. InvalidArgument if there is no such checkpoint; NotFound if it
  // lacks a variable; DataLoss if it is damaged.
  Status Restore(Session& session, const std::string& save_path);
  // A MonitoredSession replaces its session when a task was lost: use a CheckpointSaverHook, or the plain session that
  // hooks are given.
  StatusOr<std::string> Save(MonitoredSession& session, const std::string& save_path,
                             const SaveOptions& options = {}) = delete;
  Status Restore(MonitoredSession& session, const std::string& save_path) = delete;

  // The checkpoints that it keeps, the latest last.
  std::vector<std::string> last_checkpoints() const;
  // After a restart: goes on keeping and deleting what an earlier process has saved.
  void RecoverLastCheckpoints(const std::vector<std::string>& paths);

  // The graph with its variables, other collections and this saver, as tf.train.import_meta_graph() reads it:
  // serialized MetaGraphDef.
  StatusOr<std::string> ExportMetaGraph() const;

  // What meta graphs hold of a saver: the names of its nodes and what it keeps. Empty without variables.
  void ToProto(proto::SaverDef* def) const;
  // Over nodes that are there: a saver that this program or another one made. NotFound if one is missing.
  static StatusOr<std::shared_ptr<Saver>> FromProto(const Scope& scope, const proto::SaverDef& def);

 private:
  struct Kept {
    std::string path;
    double time;
  };
  Saver(const Scope& scope, SaverOptions options) : scope_(scope), options_(std::move(options)) {}
  struct Way {
    std::string save_tensor, restore_op;  // "" without variables
    std::string save_kept_tensor;         // "" unless in the background
  };
  // How tasks and checkpoint meet: on the tasks, or on the chief. `path` is a file that exists here.
  StatusOr<const Way*> WayFor(Session& session, const std::string& path) const;
  StatusOr<const Way*> WayToSave(Session& session, const std::string& folder) ABSL_EXCLUSIVE_LOCKS_REQUIRED(save_mu_);
  void SetNodes(const SaverNodes& nodes);
  StatusOr<std::string> CheckpointName(const std::string& save_path, const SaveOptions& options) const;
  StatusOr<std::string> WriteCheckpoint(Session& session, const std::string& name, const std::string& folder,
                                        const SaveOptions& options) ABSL_EXCLUSIVE_LOCKS_REQUIRED(save_mu_);
  Status WriteState(const std::string& path, const std::string& folder, const SaveOptions& options);
  void Record(const std::string& path) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void DeleteOld(const std::string& meta_graph_suffix) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Scope scope_;
  const SaverOptions options_;
  // Constant after Make().
  std::string filename_tensor_;
  std::string probe_;  // "": there is one way only
  Way way_, through_chief_;
  std::string keep_op_;                               // "" unless in the background
  std::vector<std::string> kept_sizes_, kept_takes_;  // how many values areas hold; nodes that empty them

  Mutex
      save_mu_;  // held while a checkpoint is written: a supervisor's thread and the program may save at the same time
  std::string meta_graph_ ABSL_GUARDED_BY(save_mu_);  // of a graph of so many nodes
  int meta_graph_nodes_ ABSL_GUARDED_BY(save_mu_) = -1;
  std::map<std::string, const Way*> ways_ ABSL_GUARDED_BY(save_mu_);  // by folder
  mutable Mutex mu_;
  std::vector<Kept> last_checkpoints_ ABSL_GUARDED_BY(mu_);
  std::vector<Kept> to_be_deleted_ ABSL_GUARDED_BY(mu_);
  double next_kept_time_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace millstream

#endif  // MILLSTREAM_TRAIN_SAVING_SAVER_H_
