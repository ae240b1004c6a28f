// SPDX-License-Identifier: Apache-2.0
#include "millstream/io/bundle_commit.h"

#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_format.h"
#include "millstream/base/file.h"
#include "millstream/io/delete_file.h"
#include "millstream/proto/tensor_bundle.pb.h"

namespace millstream {
namespace {

constexpr int kMaxShards = 99999;  // five digits in names of files

Status WriteIndex(const std::string& prefix, int num_shards, Table* entries) {
  proto::BundleHeaderProto header;
  header.set_num_shards(num_shards);
  header.set_endianness(proto::BundleHeaderProto::LITTLE);
  header.mutable_version()->set_producer(1);
  (*entries)[""] = header.SerializeAsString();
  ASSIGN_OR_RETURN(const std::string index, EncodeTable(*entries));
  return WriteFileAtomically(prefix + ".index", index);
}

// 0 if there is no checkpoint of this name, or none whose index can be read.
int ShardsOf(const std::string& prefix) {
  const std::string path = prefix + ".index";
  const StatusOr<std::string> bytes = ReadFile(path);
  if (!bytes.ok()) return 0;
  const StatusOr<Table> table = DecodeTable(*bytes, path);
  if (!table.ok()) return 0;
  proto::BundleHeaderProto header;
  const auto it = table->find("");
  if (it == table->end() || !header.ParseFromString(it->second)) return 0;
  return header.num_shards() > kMaxShards ? 0 : std::max(header.num_shards(), 0);
}

void DeleteShards(const std::string& prefix, int num_shards) {
  for (int i = 0; i < num_shards; ++i) DeleteLargeFile(BundleDataPath(prefix, i, num_shards)).IgnoreError();
}

// Gives each shard a second name. False where the file system has no hard links.
bool LinkShards(const std::string& prefix, int shards, int from_count, int to_count) {
  for (int i = 0; i < shards; ++i) {
    const std::string to = BundleDataPath(prefix, i, to_count);
    const std::string aside = to + ".link";
    DeleteFile(aside).IgnoreError();
    if (link(BundleDataPath(prefix, i, from_count).c_str(), aside.c_str()) != 0) return false;
    if (!RenameFile(aside, to).ok()) return false;
  }
  return true;
}

}  // namespace

std::string BundleDataPath(const std::string& prefix, int shard, int num_shards) {
  return absl::StrFormat("%s.data-%05d-of-%05d", prefix, shard, num_shards);
}

Status CommitBundle(const std::string& prefix, const std::vector<std::string>& data, Table entries) {
  const auto shards = static_cast<int>(data.size());
  const int old_count = ShardsOf(prefix);
  // Names of data files contain the count that the index names. While the old checkpoint uses ours, the new one claims
  // a shard more than it has: readers open only the shards that entries name.
  const int count = old_count == shards ? shards + 1 : shards;
  for (int i = 0; i < shards; ++i) RETURN_IF_ERROR(RenameFile(data[i], BundleDataPath(prefix, i, count)));
  RETURN_IF_ERROR(SyncFolderOf(prefix));
  RETURN_IF_ERROR(WriteIndex(prefix, count, &entries));
  if (count == shards) {
    DeleteShards(prefix, old_count);
    return OkStatus();
  }
  // The new one holds. It gets its usual name back by the same way.
  if (!LinkShards(prefix, shards, count, shards)) return OkStatus();
  RETURN_IF_ERROR(SyncFolderOf(prefix));
  RETURN_IF_ERROR(WriteIndex(prefix, shards, &entries));
  DeleteShards(prefix, count);
  return OkStatus();
}

}  // namespace millstream
