// SPDX-License-Identifier: Apache-2.0
#include "millstream/base/temporary_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <ctime>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "millstream/base/file.h"
#include "millstream/base/open_path.h"

namespace millstream {
namespace {

constexpr absl::string_view kMark = ".tmp-";
constexpr int64_t kUnchangedSecs = 3600;

std::string HostName() {
  char name[256] = {};
  if (gethostname(name, sizeof(name) - 1) != 0 || name[0] == '\0') return "localhost";
  std::string host = name;
  for (char& c : host) c = c == '/' ? '_' : c;
  return host;
}

// Takes "-123" off the end.
bool ConsumeNumber(absl::string_view* name) {
  const size_t dash = name->rfind('-');
  if (dash == absl::string_view::npos || dash + 1 == name->size()) return false;
  for (const char c : name->substr(dash + 1)) {
    if (!absl::ascii_isdigit(static_cast<unsigned char>(c))) return false;
  }
  name->remove_suffix(name->size() - dash);
  return true;
}

bool Parse(absl::string_view name, absl::string_view* final_name, absl::string_view* host) {
  if (!ConsumeNumber(&name) || !ConsumeNumber(&name)) return false;
  const size_t mark = name.rfind(kMark);
  if (mark == absl::string_view::npos || mark == 0 || mark + kMark.size() == name.size()) return false;
  *final_name = name.substr(0, mark);
  *host = name.substr(mark + kMark.size());
  return true;
}

bool SeesLocksOfAllHosts(int fd) {
  struct statfs info = {};
  if (fstatfs(fd, &info) != 0) return false;
  switch (static_cast<uint32_t>(info.f_type)) {
    case 0xEF53:      // ext2 to ext4
    case 0x58465342:  // XFS
    case 0x9123683E:  // btrfs
    case 0x01021994:  // tmpfs
    case 0x794C7630:  // overlayfs
    case 0x2FC12FC1:  // ZFS
    case 0xF2F52010:  // F2FS
      return true;
    default:
      return false;
  }
}

}  // namespace

StatusOr<int> OpenTemporary(const std::string& path, std::string* name) {
  static std::atomic<int64_t> counter{0};
  for (int attempt = 0;; ++attempt) {
    *name = absl::StrCat(path, kMark, HostName(), "-", getpid(), "-", counter.fetch_add(1));
    const StatusOr<int> fd = OpenPath(*name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW);
    constexpr int kAttempts = 100;
    if (absl::IsAlreadyExists(fd.status()) && attempt < kAttempts)
      continue;  // of a process that had this number before
    RETURN_IF_ERROR(fd.status());
    struct stat info = {};
    // Somebody who looks for abandoned files may have been faster than the lock.
    const bool lost =
        (flock(*fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) || (fstat(*fd, &info) == 0 && info.st_nlink == 0);
    if (!lost) return *fd;
    close(*fd);
    if (attempt >= kAttempts) return errors::Unavailable("another process deletes or locks ", PlainPath(*name));
  }
}

std::string FinalName(absl::string_view name) {
  absl::string_view final_name, host;
  return Parse(name, &final_name, &host) ? std::string(final_name) : "";
}

bool IsAbandoned(const std::string& path) {
  absl::string_view final_name, host;
  if (!Parse(path, &final_name, &host)) return false;
  const StatusOr<int> fd = OpenPath(path, O_RDWR | O_NONBLOCK | O_NOFOLLOW);
  if (!fd.ok()) return false;
  struct stat info = {};
  bool abandoned = fstat(*fd, &info) == 0 && S_ISREG(info.st_mode) && flock(*fd, LOCK_EX | LOCK_NB) == 0;
  if (abandoned && !SeesLocksOfAllHosts(*fd) && host != HostName()) {
    abandoned = std::time(nullptr) - info.st_mtime > kUnchangedSecs;
  }
  close(*fd);
  return abandoned;
}

}  // namespace millstream
