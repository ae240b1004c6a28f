// SPDX-License-Identifier: Apache-2.0
#include "millstream/base/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "millstream/base/local_path.h"
#include "millstream/base/open_path.h"
#include "millstream/base/temporary_file.h"

namespace millstream {
namespace {

constexpr size_t kBufferBytes = 64 << 10;

// mkdir() of one folder, which survives a crash; OK if it is there.
Status MakeFolder(const std::string& folder) {
  ASSIGN_OR_RETURN(const PathInFolder at, PathInFolder::Make(folder));
  if (mkdirat(at.fd(), at.name(), 0777) != 0) return errno == EEXIST ? OkStatus() : ErrnoStatus(errno, folder);
  const Status synced = SyncFolderOf(folder);
  return absl::IsPermissionDenied(synced) ? OkStatus() : synced;  // of a folder that may be written, not read
}

Status CheckFolder(const std::string& folder) {
  ASSIGN_OR_RETURN(const int fd, OpenPath(folder.empty() ? "." : folder, O_PATH | O_DIRECTORY));
  close(fd);
  return OkStatus();
}

std::string WithoutLastSlash(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

}  // namespace

Status ErrnoStatus(int error, absl::string_view path) {
  const std::string message = absl::StrCat(PlainPath(path), "; ", std::strerror(error));
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return errors::NotFound(message);
    case EACCES:
    case EPERM:
    case EROFS:
      return errors::PermissionDenied(message);
    case EEXIST:
      return errors::AlreadyExists(message);
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return errors::ResourceExhausted(message);
    case EISDIR:
    case ENOTEMPTY:
    case EBUSY:
      return errors::FailedPrecondition(message);
    case EINVAL:
    case ENAMETOOLONG:
      return errors::InvalidArgument(message);
    default:
      return absl::UnknownError(message);
  }
}

StatusOr<std::unique_ptr<RandomAccessFile>> RandomAccessFile::Open(const std::string& path) {
  ASSIGN_OR_RETURN(const int fd, OpenPath(path, O_RDONLY));
  struct stat info;
  if (fstat(fd, &info) != 0 || S_ISDIR(info.st_mode)) {
    const int error = S_ISDIR(info.st_mode) ? EISDIR : errno;
    close(fd);
    return ErrnoStatus(error, path);
  }
  return std::unique_ptr<RandomAccessFile>(new RandomAccessFile(PlainPathString(path), fd, info.st_size));
}

RandomAccessFile::~RandomAccessFile() { close(fd_); }

StatusOr<size_t> RandomAccessFile::ReadSome(int64_t offset, size_t bytes, void* to) const {
  size_t done = 0;
  while (done < bytes) {
    const ssize_t n = pread(fd_, static_cast<char*>(to) + done, bytes - done, offset + static_cast<int64_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, path_);
    if (n == 0) break;
    done += static_cast<size_t>(n);
  }
  return done;
}

Status RandomAccessFile::Read(int64_t offset, size_t bytes, void* to) const {
  ASSIGN_OR_RETURN(const size_t got, ReadSome(offset, bytes, to));
  if (got < bytes)
    return errors::OutOfRange(path_, " ends ", bytes - got, " bytes early at ", offset + static_cast<int64_t>(got));
  return OkStatus();
}

StatusOr<std::unique_ptr<WritableFile>> WritableFile::Create(const std::string& path) {
  ASSIGN_OR_RETURN(const int fd, OpenPath(path, O_WRONLY | O_CREAT | O_TRUNC));
  return std::unique_ptr<WritableFile>(new WritableFile(PlainPathString(path), fd));
}

StatusOr<std::unique_ptr<WritableFile>> WritableFile::Append(const std::string& path) {
  ASSIGN_OR_RETURN(const int fd, OpenPath(path, O_WRONLY | O_CREAT | O_APPEND));
  return std::unique_ptr<WritableFile>(new WritableFile(PlainPathString(path), fd));
}

WritableFile::~WritableFile() { Close().IgnoreError(); }

Status WritableFile::WriteOut(absl::string_view bytes) {
  if (fd_ < 0) return errors::FailedPrecondition(path_, " is closed");
  while (!bytes.empty()) {
    const ssize_t n = write(fd_, bytes.data(), std::min<size_t>(bytes.size(), 1 << 30));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, path_);
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return OkStatus();
}

Status WritableFile::Write(absl::string_view bytes) {
  if (buffer_.size() + bytes.size() > kBufferBytes) {
    RETURN_IF_ERROR(Flush());
    if (bytes.size() > kBufferBytes) return WriteOut(bytes);
  }
  buffer_.append(bytes.data(), bytes.size());
  return OkStatus();
}

Status WritableFile::Flush() {
  RETURN_IF_ERROR(WriteOut(buffer_));
  buffer_.clear();
  return OkStatus();
}

Status WritableFile::Sync() {
  RETURN_IF_ERROR(Flush());
  if (fdatasync(fd_) != 0) return ErrnoStatus(errno, path_);
  return OkStatus();
}

Status WritableFile::Close() {
  if (fd_ < 0) return OkStatus();
  const Status flushed = Flush();
  const int fd = fd_;
  fd_ = -1;
  if (close(fd) != 0 && flushed.ok()) return ErrnoStatus(errno, path_);
  return flushed;
}

StatusOr<std::string> ReadFile(const std::string& path, int64_t max_bytes) {
  ASSIGN_OR_RETURN(std::unique_ptr<RandomAccessFile> file, RandomAccessFile::Open(path));
  std::string bytes;
  // Special files have no size: read on until they end.
  int64_t chunk = std::max<int64_t>(file->size(), 4096);
  for (;;) {
    const auto have = static_cast<int64_t>(bytes.size());
    if (have + 1 > max_bytes || file->size() > max_bytes) {
      return errors::ResourceExhausted(path, " has more than ", max_bytes, " bytes");
    }
    bytes.resize(static_cast<size_t>(have + chunk));
    ASSIGN_OR_RETURN(const size_t got, file->ReadSome(have, static_cast<size_t>(chunk), bytes.data() + have));
    bytes.resize(static_cast<size_t>(have) + got);
    if (got < static_cast<size_t>(chunk) || static_cast<int64_t>(bytes.size()) == file->size()) return bytes;
    chunk = 64 << 10;
  }
}

StatusOr<std::unique_ptr<WritableFile>> WritableFile::CreateTemporary(const std::string& path, std::string* name) {
  ASSIGN_OR_RETURN(const int fd, OpenTemporary(path, name));
  return std::unique_ptr<WritableFile>(new WritableFile(PlainPathString(*name), fd));
}

Status WriteFileAtomically(const std::string& path, absl::string_view bytes) {
  std::string aside;
  ASSIGN_OR_RETURN(const std::unique_ptr<WritableFile> file, WritableFile::CreateTemporary(path, &aside));
  Status status = file->Write(bytes);
  if (status.ok()) status = file->Sync();
  if (status.ok()) status = RenameFile(aside, path);
  if (!status.ok()) {
    DeleteFile(aside).IgnoreError();
    return status;
  }
  RETURN_IF_ERROR(file->Close());  // only now: the open file's lock says that it is in use
  return SyncFolderOf(path);
}

Status RenameFile(const std::string& from, const std::string& to) {
  ASSIGN_OR_RETURN(const PathInFolder source, PathInFolder::Make(from));
  ASSIGN_OR_RETURN(const PathInFolder target, PathInFolder::Make(to));
  if (renameat(source.fd(), source.name(), target.fd(), target.name()) != 0)
    return ErrnoStatus(errno, absl::StrCat(PlainPath(from), " -> ", PlainPath(to)));
  return OkStatus();
}

Status LinkFile(const std::string& from, const std::string& to) {
  ASSIGN_OR_RETURN(const PathInFolder source, PathInFolder::Make(from));
  ASSIGN_OR_RETURN(const PathInFolder target, PathInFolder::Make(to));
  if (linkat(source.fd(), source.name(), target.fd(), target.name(), 0) != 0)
    return ErrnoStatus(errno, absl::StrCat(PlainPath(from), " -> ", PlainPath(to)));
  return OkStatus();
}

Status SyncFolderOf(const std::string& path) {
  const std::string folder = FolderOf(path);
  ASSIGN_OR_RETURN(const int fd, OpenPath(folder.empty() ? "." : folder, O_RDONLY | O_DIRECTORY));
  // Some file systems cannot sync folders; what they promise is theirs to say.
  const int failed = fsync(fd) != 0 && errno != EINVAL && errno != ENOTSUP ? errno : 0;
  close(fd);
  return failed != 0 ? ErrnoStatus(failed, folder) : OkStatus();
}

Status DeleteFile(const std::string& path) {
  ASSIGN_OR_RETURN(const PathInFolder at, PathInFolder::Make(path));
  if (unlinkat(at.fd(), at.name(), 0) != 0) return ErrnoStatus(errno, path);
  return OkStatus();
}

Status DeleteEmptyFolder(const std::string& folder) {
  ASSIGN_OR_RETURN(const PathInFolder at, PathInFolder::Make(folder));
  if (unlinkat(at.fd(), at.name(), AT_REMOVEDIR) != 0) return ErrnoStatus(errno, folder);
  return OkStatus();
}

bool FileExists(const std::string& path) {
  const StatusOr<int> fd = OpenPath(path, O_PATH);
  if (fd.ok()) close(*fd);
  return fd.ok();
}

Status MakeFolders(const std::string& folder) {
  std::vector<std::string> missing;
  Status status = CheckFolder(folder);
  for (std::string at = WithoutLastSlash(folder); absl::IsNotFound(status) && !at.empty();) {
    missing.push_back(at);
    at = WithoutLastSlash(FolderOf(at));
    status = CheckFolder(at);
  }
  if (missing.empty()) return status;
  for (auto it = missing.rbegin(); it != missing.rend(); ++it) RETURN_IF_ERROR(MakeFolder(*it));
  return CheckFolder(folder);
}

StatusOr<std::vector<std::string>> ListFolder(const std::string& folder) {
  ASSIGN_OR_RETURN(const int fd, OpenPath(folder.empty() ? "." : folder, O_RDONLY | O_DIRECTORY));
  DIR* const open = fdopendir(fd);
  if (open == nullptr) {
    const int error = errno;
    close(fd);
    return ErrnoStatus(error, folder);
  }
  std::vector<std::string> names;
  while (const dirent* entry = readdir(open)) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  closedir(open);
  return names;
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return "";
  const StatusOr<absl::string_view> prefix = LocalPrefix(path);
  return path.substr(0, slash == (prefix.ok() ? prefix->size() : 0) ? slash + 1 : slash);
}

}  // namespace millstream
