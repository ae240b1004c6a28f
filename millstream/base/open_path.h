// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_BASE_OPEN_PATH_H_
#define MILLSTREAM_BASE_OPEN_PATH_H_

#include <fcntl.h>
#include <sys/types.h>

#include <string>

#include "millstream/base/file_root.h"
#include "millstream/base/status.h"

namespace millstream {

// How names of files reach the operating system. They may be "file:///folder/file", and confined to the folders where
// graphs may touch files (base/file_root.h). Nobody else in base/ and io/ opens names.

// open(); the descriptor is the caller's. Never inherited by programs that this one starts.
StatusOr<int> OpenPath(const std::string& path, int flags, mode_t mode = 0644);

// The folder of a file and its name there, for renameat(), unlinkat(), mkdirat(), linkat() and fstatat(), which follow
// no link in the name.
class PathInFolder {
 public:
  static StatusOr<PathInFolder> Make(const std::string& path);
  PathInFolder(PathInFolder&& other) noexcept : fd_(other.fd_), name_(std::move(other.name_)) { other.fd_ = AT_FDCWD; }
  PathInFolder(const PathInFolder&) = delete;
  PathInFolder& operator=(const PathInFolder&) = delete;
  ~PathInFolder();
  int fd() const { return fd_; }
  const char* name() const { return name_.c_str(); }

 private:
  PathInFolder(int fd, std::string name) : fd_(fd), name_(std::move(name)) {}
  int fd_;  // AT_FDCWD where nothing is confined: then the name has its folders
  std::string name_;
};

namespace internal {
// Opens what is below a root without openat2(), link by link; -1 and errno, EXDEV for what leads out. Absolute links
// that begin with `root_path` are below it.
int OpenBelowByWalking(const RootedPath& path, int flags, mode_t mode);
}  // namespace internal

}  // namespace millstream

#endif  // MILLSTREAM_BASE_OPEN_PATH_H_
