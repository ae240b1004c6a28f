// SPDX-License-Identifier: Apache-2.0
#include "millstream/launch/job_token.h"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>

#include "absl/strings/escaping.h"
#include "millstream/base/file.h"
#include "millstream/launch/child_process.h"

namespace millstream::launch {

StatusOr<std::string> MakeToken() {
  std::array<char, 32> bytes;
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    return ErrnoStatus(errno, "getrandom");
  return absl::BytesToHexString({bytes.data(), bytes.size()});
}

StatusOr<std::string> MakeScratchFolder() {
  // In memory, where there is such a folder; else where temporary files go.
  std::string parent;
  for (const char* name : {"XDG_RUNTIME_DIR", "TMPDIR"}) {
    const char* value = std::getenv(name);
    if (parent.empty() && value != nullptr && access(value, W_OK | X_OK) == 0) parent = value;
  }
  std::string folder = absl::StrCat(parent.empty() ? "/tmp" : parent, "/millstream-XXXXXX");
  if (mkdtemp(folder.data()) == nullptr) return ErrnoStatus(errno, folder);
  return folder;
}

StatusOr<TokenFile> WriteTokenFile(const std::string& token) {
  TokenFile file;
  ASSIGN_OR_RETURN(file.folder, MakeScratchFolder());
  file.path = absl::StrCat(file.folder, "/token");
  const int fd = open(file.path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  const bool written = fd >= 0 && WriteAll(fd, absl::StrCat(token, "\n"));
  const int error = errno;
  if (fd >= 0) close(fd);
  if (written) return file;
  unlink(file.path.c_str());
  rmdir(file.folder.c_str());
  return ErrnoStatus(error, file.path);
}

}  // namespace millstream::launch
