// SPDX-License-Identifier: Apache-2.0
// Bytes as a TFRecord file, plain and packed: nothing crashes, and reading ends.
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "millstream/base/logging.h"
#include "millstream/io/record_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace millstream;  // NOLINT(google-build-using-namespace)
  static const std::string path = std::filesystem::temp_directory_path() / ("record_fuzz_" + std::to_string(getpid()));
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  for (const Compression compression : {Compression::kNone, Compression::kGzip, Compression::kZlib}) {
    auto reader = RecordReader::Open(path, compression);
    MS_CHECK(reader.ok());
    std::string record;
    Status status;
    while (status.ok()) status = (*reader)->Read(&record);
    MS_CHECK(absl::IsOutOfRange(status) || absl::IsDataLoss(status));
  }
  return 0;
}
