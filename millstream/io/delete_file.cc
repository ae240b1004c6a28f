// SPDX-License-Identifier: Apache-2.0
#include "millstream/io/delete_file.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>

#include "millstream/base/file.h"
#include "millstream/base/open_path.h"

namespace millstream {
namespace {

constexpr off_t kLarge = 16 << 20;

}  // namespace

Status DeleteLargeFile(const std::string& path) {
  // As long as it is open, what it holds stays: closing it is what takes the time.
  const int fd = OpenPath(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW).value_or(-1);
  const Status deleted = DeleteFile(path);
  if (fd < 0) return deleted;
  struct stat info;
  const bool large = fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_nlink == 0 && info.st_size >= kLarge;
  pthread_t closer;
  const auto close_it = [](void* number) -> void* {
    close(static_cast<int>(reinterpret_cast<intptr_t>(number)));
    return nullptr;
  };
  void* const number = reinterpret_cast<void*>(intptr_t{fd});  // NOLINT(performance-no-int-to-ptr): never followed
  if (large && pthread_create(&closer, nullptr, close_it, number) == 0) {
    pthread_detach(closer);
    return deleted;
  }
  close(fd);
  return deleted;
}

}  // namespace millstream
