// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_IO_RECORD_READER_H_
#define MILLSTREAM_IO_RECORD_READER_H_

#include <memory>
#include <string>

#include "millstream/io/input_stream.h"

namespace millstream {

// Reads a TFRecord file from front to back: each record is its length (8 bytes, little-endian), the masked CRC of the
// length, the bytes, the masked CRC of the bytes. Not thread-safe.
class RecordReader {
 public:
  static StatusOr<std::unique_ptr<RecordReader>> Open(const std::string& path,
                                                      Compression compression = Compression::kNone);
  explicit RecordReader(std::unique_ptr<InputStream> stream) : stream_(std::move(stream)) {}

  // OutOfRange at the end; DataLoss if the file is damaged or cut, after which every call fails so.
  Status Read(std::string* record);
  // Where the next record begins, in unpacked bytes.
  uint64_t offset() const { return stream_->position(); }

 private:
  // `bytes` and the CRC that follows, checked.
  Status ReadChecked(uint64_t bytes, uint64_t record_at, std::string* out);
  const std::unique_ptr<InputStream> stream_;
  Status damage_;
};

}  // namespace millstream

#endif  // MILLSTREAM_IO_RECORD_READER_H_
