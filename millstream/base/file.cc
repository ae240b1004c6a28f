// SPDX-License-Identifier: Apache-2.0
#include "millstream/base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "millstream/base/local_path.h"

namespace millstream {
namespace {

constexpr size_t kBufferBytes = 64 << 10;

StatusOr<int> OpenFile(const std::string& path, int flags) {
  ASSIGN_OR_RETURN(const std::string local, LocalPath(path));
  const int fd = open(local.c_str(), flags | O_CLOEXEC, 0644);
  if (fd < 0) return ErrnoStatus(errno, path);
  return fd;
}

}  // namespace

Status ErrnoStatus(int error, absl::string_view path) {
  const std::string message = absl::StrCat(path, "; ", std::strerror(error));
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
  ASSIGN_OR_RETURN(const int fd, OpenFile(path, O_RDONLY));
  struct stat info;
  if (fstat(fd, &info) != 0 || S_ISDIR(info.st_mode)) {
    const int error = S_ISDIR(info.st_mode) ? EISDIR : errno;
    close(fd);
    return ErrnoStatus(error, path);
  }
  return std::unique_ptr<RandomAccessFile>(new RandomAccessFile(path, fd, info.st_size));
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
  ASSIGN_OR_RETURN(const int fd, OpenFile(path, O_WRONLY | O_CREAT | O_TRUNC));
  return std::unique_ptr<WritableFile>(new WritableFile(path, fd));
}

StatusOr<std::unique_ptr<WritableFile>> WritableFile::Append(const std::string& path) {
  ASSIGN_OR_RETURN(const int fd, OpenFile(path, O_WRONLY | O_CREAT | O_APPEND));
  return std::unique_ptr<WritableFile>(new WritableFile(path, fd));
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

Status WriteFileAtomically(const std::string& path, absl::string_view bytes) {
  static std::atomic<int> counter{0};
  const std::string aside = absl::StrCat(path, ".tmp", getpid(), "_", counter.fetch_add(1));
  ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> file, WritableFile::Create(aside));
  Status status = file->Write(bytes);
  if (status.ok()) status = file->Sync();
  if (status.ok()) status = file->Close();
  if (status.ok()) status = RenameFile(aside, path);
  if (!status.ok()) {
    DeleteFile(aside).IgnoreError();
    return status;
  }
  return SyncFolderOf(path);
}

Status RenameFile(const std::string& from, const std::string& to) {
  ASSIGN_OR_RETURN(const std::string source, LocalPath(from));
  ASSIGN_OR_RETURN(const std::string target, LocalPath(to));
  if (rename(source.c_str(), target.c_str()) != 0) return ErrnoStatus(errno, absl::StrCat(from, " -> ", to));
  return OkStatus();
}

Status SyncFolderOf(const std::string& path) {
  const std::string folder = FolderOf(path);
  ASSIGN_OR_RETURN(const int fd, OpenFile(folder.empty() ? "." : folder, O_RDONLY | O_DIRECTORY));
  // Some file systems cannot sync folders; what they promise is theirs to say.
  const int failed = fsync(fd) != 0 && errno != EINVAL && errno != ENOTSUP ? errno : 0;
  close(fd);
  return failed != 0 ? ErrnoStatus(failed, folder) : OkStatus();
}

Status DeleteFile(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string local, LocalPath(path));
  if (unlink(local.c_str()) != 0) return ErrnoStatus(errno, path);
  return OkStatus();
}

bool FileExists(const std::string& path) {
  const StatusOr<std::string> local = LocalPath(path);
  return local.ok() && access(local->c_str(), F_OK) == 0;
}

Status MakeFolders(const std::string& folder) {
  ASSIGN_OR_RETURN(const std::string local, LocalPath(folder));
  std::error_code error;
  std::filesystem::create_directories(local, error);
  if (error) return ErrnoStatus(error.value(), folder);
  return OkStatus();
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return "";
  const StatusOr<absl::string_view> prefix = LocalPrefix(path);
  return path.substr(0, slash == (prefix.ok() ? prefix->size() : 0) ? slash + 1 : slash);
}

}  // namespace millstream
