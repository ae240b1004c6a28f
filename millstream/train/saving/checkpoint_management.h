// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_SAVING_CHECKPOINT_MANAGEMENT_H_
#define MILLSTREAM_TRAIN_SAVING_CHECKPOINT_MANAGEMENT_H_

#include <optional>
#include <string>
#include <vector>

#include "millstream/base/status.h"

namespace millstream {

// What the file `checkpoint` of a folder says: which checkpoints there are, the latest last. Paths as Saver::Restore()
// takes them.
struct CheckpointState {
  std::string model_checkpoint_path;
  std::vector<std::string> all_model_checkpoint_paths;
};

// Nothing if there is no such file, or one that cannot be understood (with a warning). Paths in it that are relative
// begin with the folder in the result.
std::optional<CheckpointState> GetCheckpointState(const std::string& folder,
                                                  const std::string& latest_filename = "checkpoint");

// Writes it: aside, synced, renamed. `state` has paths as seen from here; in a relative folder, or with
// `relative_paths`, the file has them relative to the folder. FailedPrecondition if a checkpoint has the name of the
// state file itself.
Status UpdateCheckpointState(const std::string& folder, const CheckpointState& state,
                             const std::string& latest_filename = "checkpoint", bool relative_paths = false);

// Of the folder's latest checkpoint; nothing if there is none or its files are gone.
std::optional<std::string> LatestCheckpoint(const std::string& folder,
                                            const std::string& latest_filename = "checkpoint");

bool CheckpointExists(const std::string& prefix);
// When the checkpoint was written, in seconds since 1970. NotFound.
StatusOr<double> CheckpointTime(const std::string& prefix);
// The name of the graph's file beside a checkpoint; a sharded one loses its number of shards.
std::string MetaGraphFilename(const std::string& prefix, const std::string& suffix = "meta");
// Deletes the files of a checkpoint: first its index, so that what is left is never taken for a whole one.
Status RemoveCheckpoint(const std::string& prefix, const std::string& meta_graph_suffix = "meta");

}  // namespace millstream

#endif  // MILLSTREAM_TRAIN_SAVING_CHECKPOINT_MANAGEMENT_H_
