// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_IO_BUNDLE_COMMIT_H_
#define MILLSTREAM_IO_BUNDLE_COMMIT_H_

#include <string>
#include <vector>

#include "millstream/base/status.h"
#include "millstream/io/table.h"

namespace millstream {

// PREFIX.data-SSSSS-of-NNNNN
std::string BundleDataPath(const std::string& prefix, int shard, int num_shards);

// The number of shards that an index file names; 0 if there is none, or none that can be read.
int BundleShards(const std::string& index_path);
// Deletes those that are there.
void DeleteBundleShards(const std::string& prefix, int num_shards);

// Gives a checkpoint its name: the written and synced files `data` become its shards, `entries` (without a header) its
// index. A checkpoint that has the name already stays whole until, by the rename of one file, the new one takes its
// place: a crash at any point leaves one of the two. An error leaves no file of the new one; what a crash leaves behind
// is deleted by RemoveStaleFiles() (io/stale_files.h).
Status CommitBundle(const std::string& prefix, const std::vector<std::string>& data, Table entries);

}  // namespace millstream

#endif  // MILLSTREAM_IO_BUNDLE_COMMIT_H_
