// SPDX-License-Identifier: Apache-2.0
#include "tests/chaos/threads/checkpoints.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "millstream/base/logging.h"
#include "millstream/io/bundle_reader.h"
#include "millstream/train/saving/checkpoint_management.h"

namespace millstream::chaos {
namespace {

namespace fs = std::filesystem;

std::string NewFolder() {
  std::string folder = (fs::temp_directory_path() / "millstream_chaos_XXXXXX").string();
  MS_CHECK(mkdtemp(folder.data()) != nullptr);
  return folder;
}

Status ReadAll(const std::string& prefix) {
  ASSIGN_OR_RETURN(const std::unique_ptr<BundleReader> reader, BundleReader::Open(prefix));
  for (const std::string& name : reader->Names()) RETURN_IF_ERROR(reader->Read(name).status());
  return OkStatus();
}

}  // namespace

Checkpoints::Checkpoints() : folder_(NewFolder()) {}

Checkpoints::~Checkpoints() {
  std::error_code error;
  fs::remove_all(folder_, error);
}

void Checkpoints::Saved(const std::string& prefix, int64_t step) {
  MutexLock lock(mu_);
  saved_[prefix] = step;
  damaged_.erase(prefix);
}

std::set<std::string> Checkpoints::Listed() const {
  const std::optional<CheckpointState> state = GetCheckpointState(folder_);
  if (!state.has_value()) return {};
  return {state->all_model_checkpoint_paths.begin(), state->all_model_checkpoint_paths.end()};
}

int64_t Checkpoints::restorable_step() const {
  const std::optional<CheckpointState> state = GetCheckpointState(folder_);
  if (!state.has_value()) return 0;
  MutexLock lock(mu_);
  const std::vector<std::string>& paths = state->all_model_checkpoint_paths;
  for (auto path = paths.rbegin(); path != paths.rend(); ++path) {
    const auto step = saved_.find(*path);
    if (step != saved_.end() && !damaged_.contains(*path)) return step->second;
  }
  return 0;
}

bool Checkpoints::IsWhole(const std::string& prefix) const {
  return saved_.contains(prefix) && !damaged_.contains(prefix);
}

std::string Checkpoints::DamageLatest() {
  const std::optional<std::string> latest = LatestCheckpoint(folder_);
  const std::set<std::string> listed = Listed();
  MutexLock lock(mu_);
  int whole = 0;
  for (const std::string& prefix : listed) whole += IsWhole(prefix);
  if (!latest.has_value() || !IsWhole(*latest) || whole < 2) return "";
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder_, error)) {
    if (!absl::StartsWith(entry.path().string(), absl::StrCat(*latest, ".data-"))) continue;
    fs::resize_file(entry.path(), entry.file_size(error) / 2, error);
    if (error) return "";
    damaged_.insert(*latest);
    return fs::path(*latest).filename().string();
  }
  return "";
}

// One that is being deleted loses its index first.
std::vector<std::string> Checkpoints::Unreadable() const {
  std::vector<std::string> unreadable;
  std::error_code error;
  std::set<std::string> prefixes;
  for (const auto& entry : fs::directory_iterator(folder_, error)) {
    const std::string path = entry.path().string();
    if (absl::EndsWith(path, ".index") && absl::StartsWith(entry.path().filename().string(), "model.ckpt-"))
      prefixes.insert(std::string(absl::StripSuffix(path, ".index")));
  }
  for (const std::string& prefix : prefixes) {
    {
      MutexLock lock(mu_);
      if (damaged_.contains(prefix)) continue;
    }
    const Status status = ReadAll(prefix);
    if (!status.ok() && fs::exists(prefix + ".index", error)) unreadable.push_back(status.ToString());
  }
  return unreadable;
}

}  // namespace millstream::chaos
