// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_DATA_SAVED_SNAPSHOT_STATE_H_
#define MILLSTREAM_OPS_DATA_SAVED_SNAPSHOT_STATE_H_

#include <chrono>
#include <string>

#include "millstream/ops/data/saved/saved_dataset.h"

namespace millstream {

// What an iterator of a snapshot does: read a complete run, write a run of its own, or neither.
enum class SnapshotRole { kRead, kWrite, kPassThrough };

struct SnapshotState {
  SnapshotRole role = SnapshotRole::kWrite;
  SavedMetadata metadata;  // of the run to read
};

// The role of an iterator that is made now for the snapshot in `folder`. A run that is not complete is somebody else's
// work for as long as `patience` since it began.
StatusOr<SnapshotState> FindSnapshot(const ResourceManager* resources, const std::string& folder,
                                     std::chrono::seconds patience);

// TensorFlow's names. "AUTO" and "SNAPPY" are packed as "ZLIB": a snapshot is read by those who know its fingerprint,
// which is ours.
StatusOr<Compression> SnapshotCompression(const std::string& name);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_DATA_SAVED_SNAPSHOT_STATE_H_
