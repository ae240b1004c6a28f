// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/data/saved/snapshot_state.h"

namespace millstream {

StatusOr<SnapshotState> FindSnapshot(const ResourceManager* resources, const std::string& folder,
                                     std::chrono::seconds patience) {
  SnapshotState state;
  StatusOr<SavedMetadata> metadata = ReadSavedMetadata(resources, folder);
  if (absl::IsNotFound(metadata.status())) return state;
  RETURN_IF_ERROR(metadata.status());
  state.metadata = *std::move(metadata);
  const bool waits = std::chrono::system_clock::now() - state.metadata.created < patience;
  if (state.metadata.finalized)
    state.role = SnapshotRole::kRead;
  else if (waits)
    state.role = SnapshotRole::kPassThrough;
  return state;
}

StatusOr<Compression> SnapshotCompression(const std::string& name) {
  return name == "AUTO" || name == "SNAPPY" ? Compression::kZlib : CompressionFromName(name);
}

}  // namespace millstream
