// SPDX-License-Identifier: Apache-2.0
#include "millstream/io/record_reader.h"

#include "millstream/io/crc32c.h"

namespace millstream {
namespace {

uint64_t LoadLittle(const std::string& bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < bytes.size(); ++i) value |= uint64_t{static_cast<uint8_t>(bytes[i])} << (8 * i);
  return value;
}

}  // namespace

StatusOr<std::unique_ptr<RecordReader>> RecordReader::Open(const std::string& path, Compression compression) {
  ASSIGN_OR_RETURN(std::unique_ptr<InputStream> stream, InputStream::Open(path, compression));
  return std::make_unique<RecordReader>(std::move(stream));
}

Status RecordReader::ReadChecked(uint64_t bytes, uint64_t record_at, std::string* out) {
  out->clear();
  RETURN_IF_ERROR(stream_->Read(bytes, out));
  if (out->empty() && bytes > 0 && stream_->position() == record_at) return errors::OutOfRange("eof");
  std::string crc;
  if (out->size() == bytes) RETURN_IF_ERROR(stream_->Read(sizeof(uint32_t), &crc));
  if (out->size() < bytes || crc.size() < sizeof(uint32_t)) return errors::DataLoss("truncated record at ", record_at);
  if (LoadLittle(crc) != MaskCrc(Crc32c(*out))) {
    return errors::DataLoss("corrupted record at ", record_at);
  }
  return OkStatus();
}

Status RecordReader::Read(std::string* record) {
  RETURN_IF_ERROR(damage_);
  const uint64_t at = stream_->position();
  std::string header;
  Status status = ReadChecked(sizeof(uint64_t), at, &header);
  // The CRC vouches for the length; memory is still only taken as the bytes arrive.
  if (status.ok()) status = ReadChecked(LoadLittle(header), at, record);
  if (!status.ok() && !absl::IsOutOfRange(status)) damage_ = status;
  return status;
}

}  // namespace millstream
