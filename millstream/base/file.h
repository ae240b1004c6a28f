// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_BASE_FILE_H_
#define MILLSTREAM_BASE_FILE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "millstream/base/status.h"

namespace millstream {

// Errors of the operating system as statuses (NotFound, PermissionDenied, AlreadyExists, ResourceExhausted, ...), with
// the path.
Status ErrnoStatus(int error, absl::string_view path);

// A file that is read at given places. Thread-safe.
class RandomAccessFile {
 public:
  static StatusOr<std::unique_ptr<RandomAccessFile>> Open(const std::string& path);
  ~RandomAccessFile();
  const std::string& path() const { return path_; }
  int64_t size() const { return size_; }  // when it was opened
  // Exactly `bytes` from `offset`; OutOfRange if the file ends before.
  Status Read(int64_t offset, size_t bytes, void* to) const;
  // Up to `bytes`; fewer only at the end.
  StatusOr<size_t> ReadSome(int64_t offset, size_t bytes, void* to) const;

 private:
  RandomAccessFile(std::string path, int fd, int64_t size) : path_(std::move(path)), fd_(fd), size_(size) {}
  const std::string path_;
  const int fd_;
  const int64_t size_;
};

// A file that is written from front to back, buffered. Not thread-safe. Close() reports errors; the destructor cannot.
class WritableFile {
 public:
  static StatusOr<std::unique_ptr<WritableFile>> Create(const std::string& path);  // truncates
  static StatusOr<std::unique_ptr<WritableFile>> Append(const std::string& path);
  // One with a temporary `name` beside `path`, which it gets by RenameFile() when it is complete
  // (base/temporary_file.h).
  static StatusOr<std::unique_ptr<WritableFile>> CreateTemporary(const std::string& path, std::string* name);
  ~WritableFile();
  Status Write(absl::string_view bytes);
  Status Flush();  // to the operating system
  Status Sync();   // to the disk
  Status Close();
  const std::string& path() const { return path_; }

 private:
  WritableFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  Status WriteOut(absl::string_view bytes);
  const std::string path_;
  int fd_;
  std::string buffer_;
};

// Whole files. ResourceExhausted beyond `max_bytes`.
StatusOr<std::string> ReadFile(const std::string& path, int64_t max_bytes = int64_t{2} << 30);
// Writes aside, syncs, renames: readers see the old file or the new one, whole, whatever happens.
Status WriteFileAtomically(const std::string& path, absl::string_view bytes);
Status RenameFile(const std::string& from, const std::string& to);
Status LinkFile(const std::string& from, const std::string& to);  // a second name; there must be no such file
// Makes what was renamed or created in the folder of `path` survive a crash.
Status SyncFolderOf(const std::string& path);
Status DeleteFile(const std::string& path);
bool FileExists(const std::string& path);
Status DeleteEmptyFolder(const std::string& folder);
Status MakeFolders(const std::string& folder);  // with parents; those that are new survive a crash
std::string FolderOf(const std::string& path);  // "" if none
// The names in a folder, without "." and "..", in no order; "" is the current one.
StatusOr<std::vector<std::string>> ListFolder(const std::string& folder);

}  // namespace millstream

#endif  // MILLSTREAM_BASE_FILE_H_
