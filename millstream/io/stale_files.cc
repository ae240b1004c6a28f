// SPDX-License-Identifier: Apache-2.0
#include "millstream/io/stale_files.h"

#include <sys/stat.h>

#include <ctime>
#include <map>
#include <set>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "millstream/base/local_path.h"
#include "millstream/base/temporary_file.h"
#include "millstream/io/bundle_commit.h"
#include "millstream/io/delete_file.h"

namespace millstream {
namespace {

constexpr absl::string_view kMarker = ".saving";  // the final name of markers, which never get it
constexpr absl::string_view kParts = "_temp_";    // between a checkpoint's name and 32 hexadecimal digits
constexpr size_t kPartsDigits = 32;
constexpr int64_t kUnchangedSecs = 3600;

std::string Join(const std::string& folder, const std::string& name) {
  return folder.empty() ? name : absl::StrCat(folder, absl::EndsWith(folder, "/") ? "" : "/", name);
}

std::vector<std::string> Names(const std::string& folder) {
  return ListFolder(folder).value_or(std::vector<std::string>());
}

// The checkpoint of a folder "CHECKPOINT_temp_0123...".
bool ParseParts(absl::string_view name, std::string* checkpoint) {
  const size_t at = name.rfind(kParts);
  if (at == absl::string_view::npos || at == 0) return false;
  const absl::string_view digits = name.substr(at + kParts.size());
  *checkpoint = std::string(name.substr(0, at));
  return digits.size() == kPartsDigits && digits.find_first_not_of("0123456789abcdef") == absl::string_view::npos;
}

int64_t SecsSinceChange(const std::string& path) {
  const StatusOr<std::string> local = LocalPath(path);
  struct stat info = {};
  if (!local.ok() || stat(local->c_str(), &info) != 0) return 0;
  return std::time(nullptr) - info.st_mtime;
}

// True if the folder is gone. A file that a task still writes, or one that is not of ours, keeps it.
bool RemoveParts(const std::string& folder, bool known_to_be_dead) {
  const std::vector<std::string> names = Names(folder);
  if (!known_to_be_dead && SecsSinceChange(folder) < kUnchangedSecs) return false;
  for (const std::string& name : names) {
    const std::string path = Join(folder, name);
    if (!absl::StartsWith(name, "part")) return false;
    if (!FinalName(name).empty() && !IsAbandoned(path)) return false;
    if (!known_to_be_dead && SecsSinceChange(path) < kUnchangedSecs) return false;
  }
  for (const std::string& name : names) DeleteLargeFile(Join(folder, name)).IgnoreError();
  return DeleteEmptyFolder(folder).ok();
}

// What is in a folder that looks temporary.
struct Leftovers {
  std::map<std::string, std::vector<std::string>> parts;    // by checkpoint: folders of parts
  std::map<std::string, std::vector<std::string>> markers;  // by checkpoint: those of dead processes
  std::set<std::string> being_saved;                        // checkpoints that a living process saves
  std::vector<std::string> files;                           // other temporary files of dead processes
  std::set<std::string> being_written;                      // final names of those of living processes
};

Leftovers Find(const std::string& folder) {
  Leftovers found;
  for (const std::string& name : Names(folder)) {
    std::string checkpoint;
    if (ParseParts(name, &checkpoint)) found.parts[checkpoint].push_back(name);
    absl::string_view final_name;
    const std::string parsed = FinalName(name);
    if (parsed.empty()) continue;
    final_name = parsed;
    const bool abandoned = IsAbandoned(Join(folder, name));
    if (absl::ConsumeSuffix(&final_name, kMarker)) {
      if (abandoned) {
        found.markers[std::string(final_name)].push_back(name);
      } else {
        found.being_saved.insert(std::string(final_name));
      }
    } else if (abandoned) {
      found.files.push_back(name);
    } else {
      found.being_written.insert(parsed);
    }
  }
  return found;
}

// With an index that never got its name go the data files that it was to name, unless the checkpoint's index has them.
void RemoveFile(const std::string& folder, const std::string& name, const Leftovers& found) {
  const std::string path = Join(folder, name), final_name = FinalName(name);
  const bool in_use = found.being_written.contains(final_name) ||
                      found.being_saved.contains(std::string(absl::StripSuffix(final_name, ".index")));
  if (absl::EndsWith(final_name, ".index") && !in_use) {
    const std::string index = Join(folder, final_name);
    const int shards = BundleShards(path);
    const bool readable = !FileExists(index) || BundleShards(index) > 0;
    if (shards > 0 && readable && BundleShards(index) != shards) {
      DeleteBundleShards(std::string(absl::StripSuffix(index, ".index")), shards);
    }
  }
  DeleteLargeFile(path).IgnoreError();
}

}  // namespace

void RemoveStaleFiles(const std::string& folder) {
  const Leftovers found = Find(folder);
  std::set<std::string> kept;  // checkpoints of which parts are left
  for (const auto& [checkpoint, folders] : found.parts) {
    if (found.being_saved.contains(checkpoint)) continue;
    for (const std::string& parts : folders) {
      if (!RemoveParts(Join(folder, parts), found.markers.contains(checkpoint))) kept.insert(checkpoint);
    }
  }
  for (const std::string& name : found.files) RemoveFile(folder, name, found);
  for (const auto& [checkpoint, markers] : found.markers) {
    if (kept.contains(checkpoint)) continue;
    for (const std::string& marker : markers) DeleteFile(Join(folder, marker)).IgnoreError();
  }
}

StatusOr<std::string> RetireIndex(const std::string& prefix) {
  const std::string index = absl::StrCat(prefix, ".index");
  std::string retired;
  const StatusOr<std::unique_ptr<WritableFile>> name = WritableFile::CreateTemporary(index, &retired);
  if (!name.ok()) {  // a full disk: deleting is what helps
    const Status status = DeleteFile(index);
    return status.ok() || absl::IsNotFound(status) ? StatusOr<std::string>("") : status;
  }
  const Status status = RenameFile(index, retired);
  if (status.ok()) return retired;
  DeleteFile(retired).IgnoreError();
  return absl::IsNotFound(status) ? StatusOr<std::string>("") : status;
}

SaveInProgress::SaveInProgress(const std::string& prefix) : prefix_(prefix) {
  RemoveStaleFiles(FolderOf(prefix_));
  StatusOr<std::unique_ptr<WritableFile>> marker =
      WritableFile::CreateTemporary(absl::StrCat(prefix_, kMarker), &marker_path_);
  if (marker.ok()) marker_ = *std::move(marker);
}

void SaveInProgress::Succeed() {
  if (marker_ != nullptr) DeleteFile(marker_path_).IgnoreError();
  marker_ = nullptr;
}

SaveInProgress::~SaveInProgress() {
  if (marker_ == nullptr) return;
  marker_ = nullptr;  // now the save counts as dead
  RemoveStaleFiles(FolderOf(prefix_));
}

}  // namespace millstream
