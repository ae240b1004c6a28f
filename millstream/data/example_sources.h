// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DATA_EXAMPLE_SOURCES_H_
#define MILLSTREAM_DATA_EXAMPLE_SOURCES_H_

#include <string>
#include <vector>

#include "millstream/data/examples.h"
#include "millstream/io/input_stream.h"

namespace millstream {

// A file of a data folder. New formats: a kind, a test for it in SniffFile(), and a function below.
struct DataFile {
  enum class Kind { kUnknown, kIdx, kRecords, kCsv };
  std::string path;
  Kind kind = Kind::kUnknown;
  Compression compression = Compression::kNone;
  bool test = false;  // for evaluation, by its name
};
const char* KindName(DataFile::Kind kind);
// Looks into the file. NotFound or DataLoss if that is impossible.
StatusOr<DataFile> SniffFile(const std::string& path);

// One reader per kind. REQUIRES: files is not empty, all of that kind, in order of their names.
StatusOr<ExampleData> ReadIdxExamples(const std::vector<DataFile>& files, const ExampleOptions& options);
StatusOr<ExampleData> ReadRecordExamples(const std::vector<DataFile>& files, const ExampleOptions& options);
StatusOr<ExampleData> ReadCsvExamples(const std::vector<DataFile>& files, const ExampleOptions& options);

}  // namespace millstream

#endif  // MILLSTREAM_DATA_EXAMPLE_SOURCES_H_
