// SPDX-License-Identifier: Apache-2.0
#include "millstream/io/placed_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "millstream/base/file.h"
#include "millstream/base/temporary_file.h"

namespace millstream {

StatusOr<std::unique_ptr<PlacedFile>> PlacedFile::CreateTemporary(const std::string& path) {
  std::string name;
  ASSIGN_OR_RETURN(const int fd, OpenTemporary(path, &name));
  return std::unique_ptr<PlacedFile>(new PlacedFile(std::move(name), fd));
}

PlacedFile::~PlacedFile() { Close().IgnoreError(); }

Status PlacedFile::Write(int64_t offset, absl::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t n = pwrite(fd_, bytes.data(), bytes.size(), offset);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, path_);
    bytes.remove_prefix(static_cast<size_t>(n));
    offset += n;
  }
  return OkStatus();
}

Status PlacedFile::Sync() const {
  if (fdatasync(fd_) != 0) return ErrnoStatus(errno, path_);
  return OkStatus();
}

Status PlacedFile::Close() {
  if (fd_ < 0) return OkStatus();
  const int fd = fd_;
  fd_ = -1;
  if (close(fd) != 0) return ErrnoStatus(errno, path_);
  return OkStatus();
}

}  // namespace millstream
