// SPDX-License-Identifier: Apache-2.0
#include "millstream/base/file_root.h"

#include <fcntl.h>

#include <atomic>
#include <filesystem>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "millstream/base/local_path.h"
#include "millstream/base/mutex.h"

namespace millstream {
namespace {

namespace fs = std::filesystem;

constexpr absl::string_view kConfined = "confined:";  // before names, which thereby are none for the operating system

struct Root {
  int fd;                  // never closed: ops may still use it when others are set
  std::string path;        // without links
  std::string given_path;  // absolute, as it was named
};
using RootList = std::vector<Root>;

struct Roots {
  std::atomic<bool> confined{false};  // so that nobody takes the lock where nothing is confined
  Mutex mu;
  std::shared_ptr<const RootList> list ABSL_GUARDED_BY(mu);
  static Roots& Global() {
    static auto* roots = new Roots;
    return *roots;
  }
};

std::shared_ptr<const RootList> CurrentRoots() {
  Roots& roots = Roots::Global();
  MutexLock lock(roots.mu);
  return roots.list;
}

// Absolute, without "." and repeated slashes; ".." stays, since what it means depends on links.
std::string Absolute(const std::string& path) {
  std::error_code error;
  const std::string from =
      absl::StartsWith(path, "/") ? path : absl::StrCat(fs::current_path(error).string(), "/", path);
  std::vector<absl::string_view> parts = absl::StrSplit(from, '/', absl::SkipEmpty());
  std::erase(parts, ".");
  return absl::StrCat("/", absl::StrJoin(parts, "/"));
}

// Whether `path` is the folder (then `relative` is ".") or below it.
bool IsBelow(absl::string_view path, absl::string_view folder, std::string* relative) {
  if (folder == "/") folder = "";
  if (!absl::ConsumePrefix(&path, folder)) return false;
  if (!path.empty() && path[0] != '/') return false;
  absl::ConsumePrefix(&path, "/");
  *relative = path.empty() ? "." : std::string(path);
  return true;
}

bool FindIn(const RootList& roots, const std::string& path, RootedPath* found) {
  for (const Root& root : roots) {
    if (IsBelow(path, root.path, &found->relative) || IsBelow(path, root.given_path, &found->relative)) {
      found->root = root.fd;
      found->root_path = root.path;
      return true;
    }
  }
  return false;
}

// Whether ".." leads above the beginning, by the letters alone.
bool LeadsOut(absl::string_view relative) {
  int depth = 0;
  for (const absl::string_view part : absl::StrSplit(relative, '/', absl::SkipEmpty())) {
    depth += part == ".." ? -1 : 1;
    if (depth < 0) return true;
  }
  return false;
}

}  // namespace

Status SetFileRoots(const std::vector<std::string>& folders) {
  auto list = std::make_shared<RootList>();
  for (const std::string& folder : folders) {
    std::error_code error;
    const fs::path path = fs::canonical(folder, error);
    const int fd = error ? -1 : open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return errors::NotFound("--file_root: there is no folder ", folder);
    list->push_back({fd, path.string(), Absolute(folder)});
  }
  Roots& roots = Roots::Global();
  MutexLock lock(roots.mu);
  roots.list = std::move(list);
  roots.confined = true;
  return OkStatus();
}

StatusOr<std::string> ConfinedPath(const std::string& name) {
  if (!Roots::Global().confined) return name;
  const std::string path = absl::StrCat(kConfined, PlainPath(name));
  if (name.find('\0') != std::string::npos) return OutsideOfRoots(name);  // the system would see less of it
  ASSIGN_OR_RETURN(const RootedPath found, FindRoot(path));
  if (LeadsOut(found.relative)) return OutsideOfRoots(name);
  return path;
}

absl::string_view PlainPath(absl::string_view path) { return absl::StripPrefix(path, kConfined); }
bool IsConfinedPath(absl::string_view path) { return absl::StartsWith(path, kConfined); }

Status OutsideOfRoots(absl::string_view path) {
  const std::shared_ptr<const RootList> roots = CurrentRoots();
  const auto append = [](std::string* out, const Root& root) { out->append(root.path); };
  return errors::PermissionDenied("graphs may not touch ", PlainPath(path), " here, only what is below ",
                                  roots == nullptr ? "" : absl::StrJoin(*roots, ", ", append),
                                  ". The server's --file_root (MILLSTREAM_FILE_ROOT) names other folders");
}

StatusOr<RootedPath> FindRoot(absl::string_view path) {
  const std::shared_ptr<const RootList> roots = CurrentRoots();
  ASSIGN_OR_RETURN(const std::string local, LocalPath(PlainPath(path)));
  const std::string absolute = Absolute(local);
  RootedPath found;
  if (roots == nullptr) return OutsideOfRoots(path);
  if (FindIn(*roots, absolute, &found)) return found;
  // The name may lead into a root by links outside of it. That decides which root it is, not what is opened there.
  const size_t wildcard = absolute.find_first_of("*?[\\");
  const size_t end = wildcard == std::string::npos ? absolute.size() : absolute.rfind('/', wildcard);
  std::error_code error;
  const fs::path resolved = fs::weakly_canonical(absolute.substr(0, end), error);
  if (!error && FindIn(*roots, absl::StrCat(resolved.string(), absolute.substr(end)), &found)) return found;
  return OutsideOfRoots(path);
}

}  // namespace millstream
