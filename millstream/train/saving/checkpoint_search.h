// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_SAVING_CHECKPOINT_SEARCH_H_
#define MILLSTREAM_TRAIN_SAVING_CHECKPOINT_SEARCH_H_

#include <optional>
#include <string>
#include <vector>

#include "millstream/runtime/session.h"
#include "millstream/train/saving/checkpoint_management.h"
#include "millstream/train/saving/saver.h"

namespace millstream {

// The checkpoints from which a training may go on.
struct FoundCheckpoints {
  std::string folder;
  CheckpointState state;
  bool listed = true;  // as the file `checkpoint` says; false: that is missing or damaged, the folder has them
};

// Nothing if the folder has no checkpoints. Warns if the file `checkpoint` is missing or damaged beside checkpoints.
std::optional<FoundCheckpoints> FindCheckpointsToRestore(const std::string& folder);

// Restores the latest that can be read, and warns of each that cannot; returns its path. If none can be read: the last
// error, where the file `checkpoint` lists them, or an empty path, where they only were in the folder and may be of
// another model.
StatusOr<std::string> RestoreLatestReadable(Saver& saver, Session& session, const FoundCheckpoints& found);

}  // namespace millstream

#endif  // MILLSTREAM_TRAIN_SAVING_CHECKPOINT_SEARCH_H_
