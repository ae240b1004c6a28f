// SPDX-License-Identifier: Apache-2.0
#include "millstream/base/open_path.h"

#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <deque>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "millstream/base/file.h"
#include "millstream/base/local_path.h"

namespace millstream {
namespace {

constexpr int kMaxLinks = 40;  // as the kernel

// The folders from the root down to where a walk is.
class FolderStack {
 public:
  explicit FolderStack(int root) : fds_{root} {}
  ~FolderStack() { Reset(); }
  int top() const { return fds_.back(); }
  bool at_root() const { return fds_.size() == 1; }
  void Push(int fd) { fds_.push_back(fd); }
  void Pop() {
    close(fds_.back());
    fds_.pop_back();
  }
  void Reset() {
    while (!at_root()) Pop();
  }

 private:
  std::vector<int> fds_;
};

int Fail(int error) {
  errno = error;
  return -1;
}

bool ReadLink(int fd, std::string* target) {
  char buffer[PATH_MAX];
  const ssize_t n = readlinkat(fd, "", buffer, sizeof(buffer));
  if (n < 0 || n == static_cast<ssize_t>(sizeof(buffer))) return false;
  target->assign(buffer, static_cast<size_t>(n));
  return true;
}

class Walk {
 public:
  Walk(const RootedPath& path, int flags, mode_t mode)
      : path_(path),
        flags_(flags | O_CLOEXEC | O_NOFOLLOW),
        follow_last_((flags & O_NOFOLLOW) == 0),
        mode_(mode),
        folders_(path.root) {
    Prepend(path.relative);
  }

  int Run() {
    while (!parts_.empty()) {
      const std::string part = parts_.front();
      parts_.pop_front();
      if (part == "..") {
        if (folders_.at_root()) return Fail(EXDEV);
        folders_.Pop();
        continue;
      }
      if (!Enter(part)) return result_;
    }
    return openat(folders_.top(), ".", flags_, mode_);
  }

 private:
  void Prepend(absl::string_view path) {
    const std::vector<std::string> parts = absl::StrSplit(path, '/', absl::SkipEmpty());
    for (auto it = parts.rbegin(); it != parts.rend(); ++it) {
      if (*it != ".") parts_.push_front(*it);
    }
  }

  bool End(int result) {
    result_ = result;
    return false;
  }

  // False when the walk has ended, with its result.
  bool Enter(const std::string& part) {
    const bool last = parts_.empty();
    const int fd = openat(folders_.top(), part.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC);
    struct stat info = {};
    if (fd < 0 || fstat(fd, &info) != 0) {
      const bool create = last && errno == ENOENT && (flags_ & O_CREAT) != 0;
      return End(create ? openat(folders_.top(), part.c_str(), flags_, mode_) : -1);
    }
    if (S_ISLNK(info.st_mode) && (!last || (follow_last_ && (flags_ & O_EXCL) == 0))) return Follow(fd);
    if (S_ISDIR(info.st_mode) && !last) {
      folders_.Push(fd);
      return true;
    }
    close(fd);
    return End(last ? openat(folders_.top(), part.c_str(), flags_, mode_) : Fail(ENOTDIR));
  }

  bool Follow(int link) {
    std::string target;
    const bool read = ReadLink(link, &target);
    close(link);
    if (!read || ++links_ > kMaxLinks) return End(Fail(ELOOP));
    if (absl::StartsWith(target, "/")) {  // compared without repeated slashes
      target = absl::StrCat("/", absl::StrJoin(absl::StrSplit(target, '/', absl::SkipEmpty()), "/"));
    }
    absl::string_view rest = target;
    if (absl::StartsWith(target, "/")) {
      const bool below = path_.root_path == "/" ||
                         (absl::ConsumePrefix(&rest, path_.root_path) && (rest.empty() || absl::StartsWith(rest, "/")));
      if (!below) return End(Fail(EXDEV));
      folders_.Reset();
    }
    Prepend(rest);
    return true;
  }

  const RootedPath& path_;
  const int flags_;
  const bool follow_last_;
  const mode_t mode_;
  FolderStack folders_;
  std::deque<std::string> parts_;
  int links_ = 0;
  int result_ = -1;
};

int OpenBelow(const RootedPath& path, int flags, mode_t mode) {
  struct open_how how = {};
  how.flags = static_cast<uint64_t>(flags | O_CLOEXEC);
  how.mode = (flags & O_CREAT) != 0 ? mode : 0;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  const auto fd = static_cast<int>(syscall(SYS_openat2, path.root, path.relative.c_str(), &how, sizeof(how)));
  // Kernels and sandboxes without it; a rename that got in between; an absolute link, which may lead back into the
  // root.
  const bool walk = fd < 0 && (errno == ENOSYS || errno == EPERM || errno == EAGAIN || errno == EXDEV);
  return walk ? internal::OpenBelowByWalking(path, flags, mode) : fd;
}

Status OpenError(int error, const std::string& path) {
  return error == EXDEV && IsConfinedPath(path) ? OutsideOfRoots(path) : ErrnoStatus(error, path);
}

}  // namespace

namespace internal {
int OpenBelowByWalking(const RootedPath& path, int flags, mode_t mode) { return Walk(path, flags, mode).Run(); }
}  // namespace internal

StatusOr<int> OpenPath(const std::string& path, int flags, mode_t mode) {
  int fd = -1;
  if (IsConfinedPath(path)) {
    ASSIGN_OR_RETURN(const RootedPath rooted, FindRoot(path));
    fd = OpenBelow(rooted, flags, mode);
  } else {
    ASSIGN_OR_RETURN(const std::string local, LocalPath(path));
    fd = open(local.c_str(), flags | O_CLOEXEC, mode);
  }
  if (fd < 0) return OpenError(errno, path);
  return fd;
}

StatusOr<PathInFolder> PathInFolder::Make(const std::string& path) {
  if (!IsConfinedPath(path)) {
    ASSIGN_OR_RETURN(std::string local, LocalPath(path));
    return PathInFolder(AT_FDCWD, std::move(local));
  }
  ASSIGN_OR_RETURN(RootedPath rooted, FindRoot(path));
  while (rooted.relative.size() > 1 && rooted.relative.back() == '/') rooted.relative.pop_back();
  const size_t slash = rooted.relative.rfind('/');
  std::string name = slash == std::string::npos ? rooted.relative : rooted.relative.substr(slash + 1);
  rooted.relative = slash == std::string::npos ? "." : rooted.relative.substr(0, slash);
  if (name == "..") return OutsideOfRoots(path);
  const int fd = OpenBelow(rooted, O_PATH | O_DIRECTORY, 0);
  if (fd < 0) return OpenError(errno, path);
  return PathInFolder(fd, std::move(name));
}

PathInFolder::~PathInFolder() {
  if (fd_ != AT_FDCWD) close(fd_);
}

}  // namespace millstream
