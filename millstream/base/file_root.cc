// SPDX-License-Identifier: Apache-2.0
#include "millstream/base/file_root.h"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "millstream/base/local_path.h"
#include "millstream/base/mutex.h"

namespace millstream {
namespace {

namespace fs = std::filesystem;

constexpr absl::string_view kConfined = "confined:";  // and a number, before names: they are none for the system then

// All roots by their numbers, which names carry.
struct RootTable {
  Mutex mu;
  uint64_t next ABSL_GUARDED_BY(mu) = 1;
  std::map<uint64_t, std::weak_ptr<const FileRoots>> all ABSL_GUARDED_BY(mu);
  static RootTable& Global() {
    static auto* table = new RootTable;
    return *table;
  }
};

uint64_t NextNumber() {
  RootTable& table = RootTable::Global();
  MutexLock lock(table.mu);
  return table.next++;
}

// Takes "confined:7:" off `path`. False if there is no such mark.
bool ConsumeMark(absl::string_view* path, uint64_t* number) {
  absl::string_view rest = *path;
  if (!absl::ConsumePrefix(&rest, kConfined)) return false;
  const size_t end = rest.find(':');
  if (end == absl::string_view::npos || !absl::SimpleAtoi(rest.substr(0, end), number)) return false;
  *path = rest.substr(end + 1);
  return true;
}

// Null if `path` is not confined, or its roots are gone.
std::shared_ptr<const FileRoots> RootsNamedBy(absl::string_view path) {
  uint64_t number = 0;
  if (!ConsumeMark(&path, &number)) return nullptr;
  RootTable& table = RootTable::Global();
  MutexLock lock(table.mu);
  const auto found = table.all.find(number);
  return found == table.all.end() ? nullptr : found->second.lock();
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

// Whether ".." leads above the beginning, by the letters alone.
bool LeadsOut(absl::string_view relative) {
  int depth = 0;
  for (const absl::string_view part : absl::StrSplit(relative, '/', absl::SkipEmpty())) {
    depth += part == ".." ? -1 : 1;
    if (depth < 0) return true;
  }
  return false;
}

Status RootsAreGone(absl::string_view path) {
  return errors::PermissionDenied("graphs may not touch ", PlainPath(path),
                                  ": the server that it was confined to has ended");
}

}  // namespace

FileRoots::FileRoots() : number_(NextNumber()) {}

FileRoots::~FileRoots() {
  {
    RootTable& table = RootTable::Global();
    MutexLock lock(table.mu);
    table.all.erase(number_);
  }
  for (const Root& root : roots_) close(root.fd);
}

StatusOr<std::shared_ptr<const FileRoots>> FileRoots::Open(const std::vector<std::string>& folders) {
  const std::shared_ptr<FileRoots> roots(new FileRoots);
  for (const std::string& folder : folders) RETURN_IF_ERROR(roots->Add(folder));
  RootTable& table = RootTable::Global();
  MutexLock lock(table.mu);
  table.all[roots->number_] = roots;
  return std::shared_ptr<const FileRoots>(roots);
}

Status FileRoots::Add(const std::string& folder) {
  std::error_code error;
  const fs::path path = fs::canonical(folder, error);
  const int fd = error ? -1 : open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return errors::NotFound("--file_root: there is no folder ", folder);
  roots_.push_back({fd, path.string(), Absolute(folder)});
  return OkStatus();
}

StatusOr<std::string> FileRoots::Confine(const std::string& name) const {
  const absl::string_view plain = PlainPath(name);
  if (name.find('\0') != std::string::npos) return Outside(plain);  // the system would see less of it
  ASSIGN_OR_RETURN(const RootedPath found, Find(plain));
  if (LeadsOut(found.relative)) return Outside(plain);
  return absl::StrCat(kConfined, number_, ":", plain);
}

Status FileRoots::Outside(absl::string_view path) const {
  const auto name = [](std::string* out, const Root& root) { out->append(root.path); };
  return errors::PermissionDenied("graphs may not touch ", path, " here, only what is below ",
                                  absl::StrJoin(roots_, ", ", name),
                                  ". The server's --file_root (MILLSTREAM_FILE_ROOT) names other folders");
}

bool FileRoots::FindAbsolute(const std::string& absolute, RootedPath* found) const {
  for (const Root& root : roots_) {
    if (IsBelow(absolute, root.path, &found->relative) || IsBelow(absolute, root.given_path, &found->relative)) {
      found->root = root.fd;
      found->root_path = root.path;
      return true;
    }
  }
  return false;
}

StatusOr<RootedPath> FileRoots::Find(absl::string_view path) const {
  ASSIGN_OR_RETURN(const std::string local, LocalPath(path));
  const std::string absolute = Absolute(local);
  RootedPath found;
  if (FindAbsolute(absolute, &found)) return found;
  // The name may lead into a root by links outside of it. That decides which root it is, not what is opened there.
  const size_t wildcard = absolute.find_first_of("*?[\\");
  const size_t end = wildcard == std::string::npos ? absolute.size() : absolute.rfind('/', wildcard);
  std::error_code error;
  const fs::path resolved = fs::weakly_canonical(absolute.substr(0, end), error);
  if (!error && FindAbsolute(absl::StrCat(resolved.string(), absolute.substr(end)), &found)) return found;
  return Outside(path);
}

absl::string_view PlainPath(absl::string_view path) {
  uint64_t number = 0;
  ConsumeMark(&path, &number);
  return path;
}

bool IsConfinedPath(absl::string_view path) {
  uint64_t number = 0;
  return ConsumeMark(&path, &number);
}

StatusOr<std::string> ConfineLike(absl::string_view confined, const std::string& name) {
  const std::shared_ptr<const FileRoots> roots = RootsNamedBy(confined);
  if (roots == nullptr) return RootsAreGone(confined);
  return roots->Confine(name);
}

Status OutsideOfRoots(absl::string_view path) {
  const std::shared_ptr<const FileRoots> roots = RootsNamedBy(path);
  return roots == nullptr ? RootsAreGone(path) : roots->Outside(PlainPath(path));
}

StatusOr<RootedPath> FindRoot(absl::string_view path) {
  std::shared_ptr<const FileRoots> roots = RootsNamedBy(path);
  if (roots == nullptr) return RootsAreGone(path);
  ASSIGN_OR_RETURN(RootedPath found, roots->Find(PlainPath(path)));
  found.roots = std::move(roots);
  return found;
}

}  // namespace millstream
