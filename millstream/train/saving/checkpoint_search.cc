// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/saving/checkpoint_search.h"

#include <algorithm>

#include "millstream/base/logging.h"
#include "millstream/io/checkpoint_files.h"

namespace millstream {
namespace {

std::vector<std::string> NewestFirst(const CheckpointState& state) {
  std::vector<std::string> paths = {state.model_checkpoint_path};
  for (auto it = state.all_model_checkpoint_paths.rbegin(); it != state.all_model_checkpoint_paths.rend(); ++it) {
    if (*it != state.model_checkpoint_path) paths.push_back(*it);
  }
  return paths;
}

// Those of the folder that are not in `listed`, the highest step first.
std::vector<std::string> Unlisted(const std::string& folder, const std::vector<std::string>& listed) {
  std::vector<std::string> others;
  for (std::string& path : FindCheckpoints(folder)) {
    if (std::find(listed.begin(), listed.end(), path) == listed.end()) others.insert(others.begin(), std::move(path));
  }
  return others;
}

// Tries one. `next` is set if it failed in a way that leaves hope for others.
Status TryRestore(Saver& saver, Session& session, const std::string& path, bool may_be_of_another_model, bool* next) {
  const Status files = CheckCheckpointFiles(path);
  const Status status = files.ok() ? saver.Restore(session, path) : files;
  const bool unfit = absl::IsNotFound(status) || absl::IsInvalidArgument(status);
  *next = !files.ok() || absl::IsDataLoss(status) || (may_be_of_another_model && unfit);
  if (*next) {
    LogWarning(absl::StrCat("The checkpoint ", path, " cannot be restored (", status.message(),
                            "); trying the one before it."));
  }
  return status;
}

}  // namespace

std::optional<FoundCheckpoints> FindCheckpointsToRestore(const std::string& folder) {
  if (std::optional<CheckpointState> state = GetCheckpointState(folder)) {
    return FoundCheckpoints{folder, *std::move(state), /*listed=*/true};
  }
  std::vector<std::string> paths = FindCheckpoints(folder);
  if (paths.empty()) return std::nullopt;
  LogWarning(absl::StrCat(folder, "/checkpoint is missing or damaged, but the folder has checkpoints: trying ",
                          paths.back(), ". To start over, use another folder."));
  return FoundCheckpoints{folder, {paths.back(), paths}, /*listed=*/false};
}

StatusOr<std::string> RestoreLatestReadable(Saver& saver, Session& session, const FoundCheckpoints& found) {
  const std::vector<std::string> paths = NewestFirst(found.state);
  Status status;
  bool next = false;
  for (const std::string& path : paths) {
    status = TryRestore(saver, session, path, !found.listed, &next);
    if (status.ok()) return path;
    if (!next) return status;
  }
  if (!found.listed) return std::string();
  for (const std::string& path : Unlisted(found.folder, paths)) {
    const Status other = TryRestore(saver, session, path, /*may_be_of_another_model=*/true, &next);
    if (other.ok()) return path;
    if (!next) return other;
  }
  return status;
}

}  // namespace millstream
