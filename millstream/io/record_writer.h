// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_IO_RECORD_WRITER_H_
#define MILLSTREAM_IO_RECORD_WRITER_H_

#include <memory>
#include <string>

#include "millstream/io/input_stream.h"

namespace millstream {

// Writes a TFRecord file; see RecordReader for the format. Not thread-safe. Close() reports errors; the destructor
// cannot.
class RecordWriter {
 public:
  static StatusOr<std::unique_ptr<RecordWriter>> Create(const std::string& path,
                                                        Compression compression = Compression::kNone);
  ~RecordWriter();
  Status Write(absl::string_view record);
  // What was written reaches the operating system; readers can see it.
  Status Flush();
  Status Close();

 private:
  struct Packer;
  RecordWriter(std::unique_ptr<WritableFile> file, std::unique_ptr<Packer> packer);
  Status Put(absl::string_view bytes);
  Status Pack(absl::string_view bytes, int flush);
  std::unique_ptr<WritableFile> file_;
  std::unique_ptr<Packer> packer_;  // null: not packed
};

}  // namespace millstream

#endif  // MILLSTREAM_IO_RECORD_WRITER_H_
