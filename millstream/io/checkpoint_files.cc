// SPDX-License-Identifier: Apache-2.0
#include "millstream/io/checkpoint_files.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <tuple>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "millstream/base/file.h"
#include "millstream/base/local_path.h"
#include "millstream/io/bundle_commit.h"
#include "millstream/io/glob_files.h"
#include "millstream/io/table.h"
#include "millstream/proto/tensor_bundle.pb.h"

namespace millstream {
namespace {

namespace fs = std::filesystem;

constexpr absl::string_view kTableMagic = "\x57\xfb\x80\x8b\x24\x75\x47\xdb";  // the last bytes of a V1 file

Status CheckFileLength(const std::string& path, int64_t bytes) {
  ASSIGN_OR_RETURN(const std::unique_ptr<RandomAccessFile> file, RandomAccessFile::Open(path));
  if (file->size() >= bytes) return OkStatus();
  return errors::DataLoss(path, " has ", file->size(), " bytes, but the checkpoint's index names ", bytes);
}

bool IsTable(const std::string& path) {
  const StatusOr<std::unique_ptr<RandomAccessFile>> file = RandomAccessFile::Open(path);
  if (!file.ok() || (*file)->size() < static_cast<int64_t>(kTableMagic.size())) return false;
  std::string end(kTableMagic.size(), '\0');
  return (*file)->Read((*file)->size() - static_cast<int64_t>(end.size()), end.size(), end.data()).ok() &&
         end == kTableMagic;
}

// The step of a name "NAME-STEP".
bool ParseStep(absl::string_view name, int64_t* step) {
  const size_t dash = name.rfind('-');
  return dash != absl::string_view::npos && dash > 0 && absl::SimpleAtoi(name.substr(dash + 1), step) && *step >= 0;
}

// "NAME-?????-of-00002" of a V1 checkpoint's shard "NAME-00000-of-00002"; otherwise the name as it is.
std::string WithoutShard(const std::string& name) {
  constexpr size_t kSuffix = 15;  // of "-00000-of-00002"
  if (name.size() <= kSuffix || name.substr(name.size() - 9, 4) != "-of-") return name;
  const size_t at = name.size() - kSuffix;
  const auto digits = [&](size_t from) { return name.find_first_not_of("0123456789", from) >= from + 5; };
  if (name[at] != '-' || !digits(at + 1) || !digits(at + 10)) return name;
  return absl::StrCat(name.substr(0, at + 1), "?????", name.substr(at + 6));
}

}  // namespace

Status CheckCheckpointFiles(const std::string& prefix) {
  const std::string index_path = prefix + ".index";
  const StatusOr<std::string> bytes = ReadFile(index_path);
  if (absl::IsNotFound(bytes.status())) {
    ASSIGN_OR_RETURN(const std::vector<std::string> files, GlobFiles(prefix));
    return files.empty() ? bytes.status() : OkStatus();
  }
  RETURN_IF_ERROR(bytes.status());
  ASSIGN_OR_RETURN(const Table index, DecodeTable(*bytes, index_path));
  proto::BundleHeaderProto header;
  std::map<int, int64_t> lengths;  // of the shards, as the entries need them
  for (const auto& [key, value] : index) {
    proto::BundleEntryProto entry;
    const bool valid = key.empty() ? header.ParseFromString(value) : entry.ParseFromString(value);
    if (!valid) return errors::DataLoss(index_path, ": malformed entry for '", key, "'");
    if (key.empty() || entry.slices_size() > 0) continue;
    int64_t& length = lengths[entry.shard_id()];
    length = std::max(
        length, static_cast<int64_t>(static_cast<uint64_t>(entry.offset()) + static_cast<uint64_t>(entry.size())));
  }
  for (const auto& [shard, length] : lengths) {
    if (shard < 0 || shard >= header.num_shards()) {
      return errors::DataLoss(index_path, " names shard ", shard, " of ", header.num_shards());
    }
    RETURN_IF_ERROR(CheckFileLength(BundleDataPath(prefix, shard, header.num_shards()), length));
  }
  return OkStatus();
}

std::vector<std::string> FindCheckpoints(const std::string& folder) {
  const StatusOr<std::string> local = LocalPath(folder);
  if (!local.ok()) return {};
  std::set<std::pair<int64_t, std::string>> found;
  std::error_code error;
  for (fs::directory_iterator it(local->empty() ? "." : *local, error), end; !error && it != end; it.increment(error)) {
    std::string name = it->path().filename().string();
    int64_t step = 0;
    if (absl::EndsWith(name, ".index")) {
      name.resize(name.size() - 6);
      if (ParseStep(name, &step)) found.emplace(step, name);
      continue;
    }
    const std::string pattern = WithoutShard(name);
    if (ParseStep(pattern == name ? name : name.substr(0, name.size() - 15), &step) && IsTable(it->path().string())) {
      found.emplace(step, pattern);
    }
  }
  std::vector<std::string> prefixes;
  for (const auto& [step, name] : found) {
    prefixes.push_back(folder.empty() ? name : absl::StrCat(folder, absl::EndsWith(folder, "/") ? "" : "/", name));
  }
  return prefixes;
}

}  // namespace millstream
