// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_DATA_FILES_CSV_RECORDS_H_
#define MILLSTREAM_OPS_DATA_FILES_CSV_RECORDS_H_

#include <memory>
#include <string>
#include <vector>

#include "millstream/io/input_stream.h"

namespace millstream {

// Reads the records of a file by the rules of RFC 4180: fields in quotes may hold delimiters, line ends and doubled
// quotes. Records end with "\n", "\r" or "\r\n". Not thread-safe.
class CsvRecords {
 public:
  CsvRecords(std::unique_ptr<InputStream> stream, char delimiter, bool quotes, uint64_t buffer_size)
      : stream_(std::move(stream)), delimiter_(delimiter), quotes_(quotes), buffer_size_(buffer_size) {}

  // The fields of the next record. OutOfRange at the end of the file; InvalidArgument if quotes are not as they should
  // be: the next call then goes on with the next record.
  Status Next(std::vector<std::string>* fields);

 private:
  // False at the end of the file.
  StatusOr<bool> Peek(char* c);
  enum class End { kField, kRecord };
  StatusOr<End> Plain(std::string* field, Status* broken);
  StatusOr<End> Quoted(std::string* field, Status* broken);
  // What `c`, which has been read, ends.
  StatusOr<End> AfterField(char c);

  const std::unique_ptr<InputStream> stream_;
  const char delimiter_;
  const bool quotes_;
  const uint64_t buffer_size_;
  std::string buffer_;
  size_t at_ = 0;
};

}  // namespace millstream

#endif  // MILLSTREAM_OPS_DATA_FILES_CSV_RECORDS_H_
