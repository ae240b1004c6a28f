// SPDX-License-Identifier: Apache-2.0
#include "millstream/io/glob_files.h"

#include <dirent.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "millstream/base/local_path.h"
#include "millstream/base/open_path.h"

namespace millstream {
namespace {

// The pattern that this thread is looking for: glob() gives its functions nothing but names.
thread_local absl::string_view current_pattern;

void* OpenFolder(const char* name) {
  const StatusOr<std::string> path = ConfineLike(current_pattern, name);
  const StatusOr<int> fd = path.ok() ? OpenPath(*path, O_RDONLY | O_DIRECTORY) : path.status();
  if (!fd.ok()) errno = EACCES;
  return fd.ok() ? fdopendir(*fd) : nullptr;
}

int Describe(const char* name, int flags, struct stat* info) {
  const StatusOr<std::string> path = ConfineLike(current_pattern, name);
  const StatusOr<int> fd = path.ok() ? OpenPath(*path, O_PATH | flags) : path.status();
  if (!fd.ok()) {
    errno = ENOENT;
    return -1;
  }
  const int rc = fstat(*fd, info);
  close(*fd);
  return rc;
}

// Names of the pattern are looked up below the roots.
void UseConfinedFolders(glob_t* glob) {
  glob->gl_opendir = OpenFolder;
  glob->gl_readdir = [](void* folder) { return readdir(static_cast<DIR*>(folder)); };
  glob->gl_closedir = [](void* folder) { closedir(static_cast<DIR*>(folder)); };
  glob->gl_stat = [](const char* name, struct stat* info) { return Describe(name, 0, info); };
  glob->gl_lstat = [](const char* name, struct stat* info) { return Describe(name, O_NOFOLLOW, info); };
}

// PermissionDenied for a name that leads out of the roots; one that does not exist is fine.
Status CheckStaysInside(const std::string& path) {
  const StatusOr<int> fd = OpenPath(path, O_PATH);
  if (fd.ok()) close(*fd);
  return absl::IsPermissionDenied(fd.status()) ? fd.status() : OkStatus();
}

}  // namespace

StatusOr<std::vector<std::string>> GlobFiles(const std::string& pattern) {
  const absl::string_view plain = PlainPath(pattern);
  ASSIGN_OR_RETURN(const absl::string_view scheme, LocalPrefix(plain));
  const std::string local(plain.substr(scheme.size()));
  const bool confined = IsConfinedPath(pattern);
  glob_t found = {};
  if (confined) UseConfinedFolders(&found);
  current_pattern = pattern;
  const int rc = glob(local.c_str(), GLOB_NOSORT | (confined ? GLOB_ALTDIRFUNC : 0), nullptr, &found);
  current_pattern = {};
  const absl::string_view prefix = absl::string_view(pattern).substr(0, pattern.size() - local.size());
  std::vector<std::string> names;
  for (size_t i = 0; rc == 0 && i < found.gl_pathc; ++i) names.push_back(absl::StrCat(prefix, found.gl_pathv[i]));
  globfree(&found);
  if (rc == GLOB_NOSPACE) return errors::ResourceExhausted("no memory to match ", plain);
  if (confined && local.find_first_of("*?[\\") == std::string::npos) RETURN_IF_ERROR(CheckStaysInside(pattern));
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace millstream
