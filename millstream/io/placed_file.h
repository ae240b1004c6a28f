// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_IO_PLACED_FILE_H_
#define MILLSTREAM_IO_PLACED_FILE_H_

#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "millstream/base/status.h"

namespace millstream {

// A new file that is written at given places, straight from the caller's memory. Write() is thread-safe; Sync() and
// Close() are called when all writing is done. Close() reports errors; the destructor cannot.
class PlacedFile {
 public:
  // With a temporary name beside `path` (base/temporary_file.h), which is in use until the file is closed.
  static StatusOr<std::unique_ptr<PlacedFile>> CreateTemporary(const std::string& path);
  ~PlacedFile();
  PlacedFile(const PlacedFile&) = delete;
  PlacedFile& operator=(const PlacedFile&) = delete;

  Status Write(int64_t offset, absl::string_view bytes) const;
  Status Sync() const;  // to the disk
  Status Close();
  const std::string& path() const { return path_; }

 private:
  PlacedFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  const std::string path_;
  int fd_;
};

}  // namespace millstream

#endif  // MILLSTREAM_IO_PLACED_FILE_H_
