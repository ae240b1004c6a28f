// SPDX-License-Identifier: Apache-2.0
#include "millstream/base/sealed_memory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include <cerrno>

namespace millstream {

StatusOr<uint64_t> SealedMemoryBytes(int fd) {
  constexpr uint64_t kTmpfsMagic = 0x01021994;  // memory files that are not of huge pages
  const int seals = fcntl(fd, F_GET_SEALS);
  struct stat about;
  struct statfs file_system;
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || fstat(fd, &about) != 0 || fstatfs(fd, &file_system) != 0 ||
      !S_ISREG(about.st_mode) || static_cast<uint64_t>(file_system.f_type) != kTmpfsMagic || about.st_size <= 0) {
    return errors::InvalidArgument("not a sealed memory file");
  }
  return static_cast<uint64_t>(about.st_size);
}

int OpenDescriptorOf(int64_t process, int64_t descriptor, int access) {
  if (process <= 0 || descriptor < 0) {
    errno = EINVAL;
    return -1;
  }
  const std::string path = absl::StrCat("/proc/", process, "/fd/", descriptor);
  return ::open(path.c_str(), access | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
}

}  // namespace millstream
