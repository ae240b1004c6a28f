// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_IO_INPUT_STREAM_H_
#define MILLSTREAM_IO_INPUT_STREAM_H_

#include <memory>
#include <string>

#include "millstream/base/file.h"

namespace millstream {

// How a file is packed. TensorFlow's names: "" (none), "GZIP", "ZLIB".
enum class Compression { kNone, kGzip, kZlib };
// InvalidArgument for other names.
StatusOr<Compression> CompressionFromName(absl::string_view name);

// A file read from front to back, unpacked on the way. Not thread-safe.
class InputStream {
 public:
  virtual ~InputStream() = default;
  static StatusOr<std::unique_ptr<InputStream>> Open(const std::string& path, Compression compression);

  // Appends up to `bytes` to *out; fewer only at the end. Memory is taken as data arrives, whatever `bytes` says.
  // DataLoss if the packed data is damaged.
  Status Read(uint64_t bytes, std::string* out);
  // Reads to the next '\n', which is dropped, as is a '\r' before it. OutOfRange at the end.
  Status ReadLine(std::string* line);
  // Drops up to `bytes`; OutOfRange if there are fewer.
  Status Skip(uint64_t bytes);
  // Bytes (unpacked) given so far.
  uint64_t position() const { return position_; }

 protected:
  // Replaces the buffer by the next piece of the file; empty at the end.
  virtual Status Refill(std::string* buffer) = 0;

 private:
  Status Fill();  // the rest is empty afterwards only at the end
  std::string buffer_;
  size_t used_ = 0;
  uint64_t position_ = 0;
};

}  // namespace millstream

#endif  // MILLSTREAM_IO_INPUT_STREAM_H_
