// SPDX-License-Identifier: Apache-2.0
#include "millstream/io/bundle_commit.h"

#include <algorithm>
#include <memory>

#include "absl/strings/str_format.h"
#include "millstream/base/file.h"
#include "millstream/io/delete_file.h"
#include "millstream/proto/tensor_bundle.pb.h"

namespace millstream {
namespace {

constexpr int kMaxShards = 99999;  // five digits in names of files

// An index that is written and synced under a temporary name, until Commit(). As long as it is there under that name,
// its process owns data files of the number of shards that it names (io/stale_files.h).
class PendingIndex {
 public:
  static StatusOr<std::unique_ptr<PendingIndex>> Write(const std::string& prefix, int num_shards, Table* entries) {
    proto::BundleHeaderProto header;
    header.set_num_shards(num_shards);
    header.set_endianness(proto::BundleHeaderProto::LITTLE);
    header.mutable_version()->set_producer(1);
    (*entries)[""] = header.SerializeAsString();
    ASSIGN_OR_RETURN(const std::string bytes, EncodeTable(*entries));
    auto index = std::make_unique<PendingIndex>();
    index->path_ = prefix + ".index";
    ASSIGN_OR_RETURN(index->file_, WritableFile::CreateTemporary(index->path_, &index->aside_));
    RETURN_IF_ERROR(index->file_->Write(bytes));
    RETURN_IF_ERROR(index->file_->Sync());
    return index;
  }
  ~PendingIndex() {
    if (file_ != nullptr) DeleteFile(aside_).IgnoreError();
  }

  Status Commit() {
    RETURN_IF_ERROR(RenameFile(aside_, path_));
    file_ = nullptr;
    return SyncFolderOf(path_);
  }

 private:
  std::string path_, aside_;
  std::unique_ptr<WritableFile> file_;
};

// Gives each shard a second name in place of an old one that no index names. False where the file system has no links.
bool LinkShards(const std::string& prefix, int shards, int from_count, int to_count) {
  for (int i = 0; i < shards; ++i) {
    const std::string to = BundleDataPath(prefix, i, to_count);
    DeleteLargeFile(to).IgnoreError();
    if (!LinkFile(BundleDataPath(prefix, i, from_count), to).ok()) return false;
  }
  return true;
}

// Names the shards as a checkpoint with `count` has them, and makes that the checkpoint. On an error nothing is left of
// them.
Status CommitShards(const std::string& prefix, const std::vector<std::string>& data, int count, Table* entries) {
  ASSIGN_OR_RETURN(const std::unique_ptr<PendingIndex> index, PendingIndex::Write(prefix, count, entries));
  Status status;
  for (size_t i = 0; i < data.size() && status.ok(); ++i) {
    status = RenameFile(data[i], BundleDataPath(prefix, static_cast<int>(i), count));
  }
  if (status.ok()) status = SyncFolderOf(prefix);
  if (status.ok()) status = index->Commit();
  if (!status.ok() && BundleShards(prefix + ".index") != count) DeleteBundleShards(prefix, count);
  return status;
}

}  // namespace

std::string BundleDataPath(const std::string& prefix, int shard, int num_shards) {
  return absl::StrFormat("%s.data-%05d-of-%05d", prefix, shard, num_shards);
}

// An index that cannot be read names none.
int BundleShards(const std::string& index_path) {
  const StatusOr<std::string> bytes = ReadFile(index_path);
  if (!bytes.ok()) return 0;
  const StatusOr<Table> table = DecodeTable(*bytes, index_path);
  if (!table.ok()) return 0;
  proto::BundleHeaderProto header;
  const auto it = table->find("");
  if (it == table->end() || !header.ParseFromString(it->second)) return 0;
  return header.num_shards() > kMaxShards ? 0 : std::max(header.num_shards(), 0);
}

void DeleteBundleShards(const std::string& prefix, int num_shards) {
  for (int i = 0; i < num_shards; ++i) DeleteLargeFile(BundleDataPath(prefix, i, num_shards)).IgnoreError();
}

Status CommitBundle(const std::string& prefix, const std::vector<std::string>& data, Table entries) {
  const auto shards = static_cast<int>(data.size());
  const int old_count = BundleShards(prefix + ".index");
  // Names of data files contain the count that the index names. While the old checkpoint uses ours, the new one claims
  // a shard more than it has: readers open only the shards that entries name.
  const int count = old_count == shards ? shards + 1 : shards;
  RETURN_IF_ERROR(CommitShards(prefix, data, count, &entries));
  if (count == shards) {
    DeleteBundleShards(prefix, old_count);
    return OkStatus();
  }
  // The new one holds. It gets its usual name back by the same way; where that fails, it stays as it is.
  if (!LinkShards(prefix, shards, count, shards)) return OkStatus();
  RETURN_IF_ERROR(SyncFolderOf(prefix));
  ASSIGN_OR_RETURN(const std::unique_ptr<PendingIndex> index, PendingIndex::Write(prefix, shards, &entries));
  RETURN_IF_ERROR(index->Commit());
  DeleteBundleShards(prefix, count);
  return OkStatus();
}

}  // namespace millstream
