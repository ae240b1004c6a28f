// SPDX-License-Identifier: Apache-2.0
// Bytes as a TFRecord file, plain and packed: nothing crashes, and reading ends. Bytes alone would never have the right
// checksums: so the input also says which records to write and where to damage the file, and what is read must be what
// was written, up to the damage.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "millstream/base/logging.h"
#include "millstream/io/record_reader.h"
#include "millstream/io/record_writer.h"

namespace millstream {
namespace {

const std::string& Path() {
  static const std::string path = std::filesystem::temp_directory_path() / ("record_fuzz_" + std::to_string(getpid()));
  return path;
}

void WriteBytes(absl::string_view bytes) {
  std::ofstream(Path(), std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

// `*lost`: the file was found to be damaged.
std::vector<std::string> ReadAll(Compression compression, bool* lost) {
  auto reader = RecordReader::Open(Path(), compression);
  MS_CHECK(reader.ok());
  std::vector<std::string> records;
  Status status;
  while (true) {
    std::string record;
    status = (*reader)->Read(&record);
    if (!status.ok()) break;
    records.push_back(std::move(record));
  }
  MS_CHECK(absl::IsOutOfRange(status) || absl::IsDataLoss(status));
  MS_CHECK((*reader)->Read(&records.emplace_back()).code() == status.code());
  records.pop_back();
  *lost = absl::IsDataLoss(status);
  return records;
}

// Each record is a byte of length and its bytes.
std::vector<std::string> WriteRecords(absl::string_view bytes, Compression compression) {
  std::vector<std::string> records;
  auto writer = RecordWriter::Create(Path(), compression);
  MS_CHECK(writer.ok());
  while (!bytes.empty()) {
    const size_t length = static_cast<uint8_t>(bytes[0]);
    bytes.remove_prefix(1);
    records.emplace_back(bytes.substr(0, length));
    bytes.remove_prefix(std::min(length, bytes.size()));
    MS_CHECK((*writer)->Write(records.back()).ok());
  }
  MS_CHECK((*writer)->Close().ok());
  return records;
}

// Changes, cuts off or adds a byte.
void Damage(int how, size_t where, char what) {
  std::ifstream in(Path(), std::ios::binary);
  std::string file((std::istreambuf_iterator<char>(in)), {});
  if (file.empty()) return;
  where %= file.size();
  if (how == 1) file[where] = static_cast<char>(file[where] ^ what);
  if (how == 2) file.resize(where);
  if (how == 3) file.insert(file.begin() + static_cast<std::ptrdiff_t>(where), what);
  WriteBytes(file);
}

}  // namespace
}  // namespace millstream

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace millstream;  // NOLINT(google-build-using-namespace)
  if (size < 5) return 0;
  const absl::string_view bytes(reinterpret_cast<const char*>(data + 5), size - 5);
  const auto compression = static_cast<Compression>(data[0] % 3);
  const int how = data[1] % 5;
  bool lost = false;
  if (how == 4) {
    WriteBytes(bytes);
    ReadAll(compression, &lost);
    return 0;
  }
  const std::vector<std::string> written = WriteRecords(bytes, compression);
  Damage(how, static_cast<size_t>(data[2] | data[3] << 8), static_cast<char>(data[4]));
  const std::vector<std::string> read = ReadAll(compression, &lost);
  if (how == 0) MS_CHECK(read == written);
  const bool as_written = read.size() <= written.size() && std::equal(read.begin(), read.end(), written.begin());
  // A damaged packed file may repeat equal records; the checksum behind them tells.
  MS_CHECK(as_written || (lost && compression != Compression::kNone));
  return 0;
}
