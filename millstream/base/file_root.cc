// SPDX-License-Identifier: Apache-2.0
#include "millstream/base/file_root.h"

#include <atomic>
#include <filesystem>
#include <memory>

#include "absl/strings/str_join.h"
#include "millstream/base/local_path.h"
#include "millstream/base/mutex.h"

namespace millstream {
namespace {

namespace fs = std::filesystem;

struct Roots {
  std::atomic<bool> confined{false};  // so that nobody takes the lock where nothing is confined
  Mutex mu;
  std::shared_ptr<const std::vector<fs::path>> folders ABSL_GUARDED_BY(mu);
  static Roots& Global() {
    static auto* roots = new Roots;
    return *roots;
  }
};

bool IsBelow(const fs::path& path, const fs::path& folder) {
  auto at = path.begin();
  for (const fs::path& part : folder) {
    if (part.empty()) continue;  // behind a last slash
    if (at == path.end() || *at++ != part) return false;
  }
  return true;
}

}  // namespace

Status SetFileRoots(const std::vector<std::string>& folders) {
  auto resolved = std::make_shared<std::vector<fs::path>>();
  for (const std::string& folder : folders) {
    std::error_code error;
    resolved->push_back(fs::canonical(folder, error));
    if (error || !fs::is_directory(resolved->back(), error))
      return errors::NotFound("--file_root: there is no folder ", folder);
  }
  Roots& roots = Roots::Global();
  MutexLock lock(roots.mu);
  roots.folders = std::move(resolved);
  roots.confined = true;
  return OkStatus();
}

Status CheckFileAccess(const std::string& path) {
  Roots& roots = Roots::Global();
  if (!roots.confined) return OkStatus();
  std::shared_ptr<const std::vector<fs::path>> folders;
  {
    MutexLock lock(roots.mu);
    folders = roots.folders;
  }
  // The system would see the path up to a zero byte only.
  std::error_code error =
      path.find('\0') == std::string::npos ? std::error_code() : std::make_error_code(std::errc::invalid_argument);
  ASSIGN_OR_RETURN(const std::string local, LocalPath(path));
  const fs::path absolute = error ? fs::path() : fs::absolute(local, error);
  const fs::path resolved = error ? absolute : fs::weakly_canonical(absolute, error);
  for (const fs::path& folder : *folders) {
    if (!error && IsBelow(resolved, folder)) return OkStatus();
  }
  return errors::PermissionDenied(
      "graphs may not touch ", path, " here, only what is below ",
      absl::StrJoin(*folders, ", ", [](std::string* out, const fs::path& p) { out->append(p.string()); }),
      ". The server's --file_root (MILLSTREAM_FILE_ROOT) names other folders");
}

Status CheckPatternAccess(const std::string& pattern) {
  ASSIGN_OR_RETURN(const std::string local, LocalPath(pattern));
  const size_t wildcard = local.find_first_of("*?[\\");
  if (wildcard == std::string::npos) return CheckFileAccess(pattern);
  if (Roots::Global().confined && local.find("..", wildcard) != std::string::npos) {
    return errors::PermissionDenied("with --file_root, '..' may not follow a wildcard: ", pattern);
  }
  const std::string folder = fs::path(local.substr(0, wildcard)).parent_path().string();
  return CheckFileAccess(folder.empty() ? "." : folder);
}

}  // namespace millstream
