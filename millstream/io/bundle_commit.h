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

// Gives a checkpoint its name: the written and synced files `data` become its shards, `entries` (without a header) its
// index. A checkpoint that has the name already stays whole until, by the rename of one file, the new one takes its
// place: a crash at any point leaves one of the two. What a crash leaves behind beside it is cleared by the next commit
// of the same name.
Status CommitBundle(const std::string& prefix, const std::vector<std::string>& data, Table entries);

}  // namespace millstream

#endif  // MILLSTREAM_IO_BUNDLE_COMMIT_H_
