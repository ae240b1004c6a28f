// SPDX-License-Identifier: Apache-2.0
#include "millstream/io/record_writer.h"

#include <zlib.h>

#include "millstream/io/crc32c.h"

namespace millstream {
namespace {

void StoreLittle(uint64_t value, int bytes, char* out) {
  for (int i = 0; i < bytes; ++i) out[i] = static_cast<char>(value >> (8 * i) & 0xff);
}

}  // namespace

struct RecordWriter::Packer {
  z_stream z{};
  bool ready = false;
  ~Packer() {
    if (ready) deflateEnd(&z);
  }
};

RecordWriter::RecordWriter(std::unique_ptr<WritableFile> file, std::unique_ptr<Packer> packer)
    : file_(std::move(file)), packer_(std::move(packer)) {}

StatusOr<std::unique_ptr<RecordWriter>> RecordWriter::Create(const std::string& path, Compression compression) {
  std::unique_ptr<Packer> packer;
  if (compression != Compression::kNone) {
    packer = std::make_unique<Packer>();
    const int bits = compression == Compression::kGzip ? MAX_WBITS + 16 : MAX_WBITS;
    packer->ready = deflateInit2(&packer->z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, bits, 9, Z_DEFAULT_STRATEGY) == Z_OK;
    if (!packer->ready) return errors::ResourceExhausted("no memory to pack ", path);
  }
  ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> file, WritableFile::Create(path));
  return std::unique_ptr<RecordWriter>(new RecordWriter(std::move(file), std::move(packer)));
}

RecordWriter::~RecordWriter() { Close().IgnoreError(); }

Status RecordWriter::Pack(absl::string_view bytes, int flush) {
  z_stream& z = packer_->z;
  char out[16 << 10];
  // zlib takes the input length as 32 bits.
  do {
    const absl::string_view piece = bytes.substr(0, size_t{1} << 30);
    bytes.remove_prefix(piece.size());
    z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(piece.data()));
    z.avail_in = static_cast<uInt>(piece.size());
    do {
      z.next_out = reinterpret_cast<Bytef*>(out);
      z.avail_out = sizeof(out);
      const int rc = deflate(&z, bytes.empty() ? flush : Z_NO_FLUSH);
      if (rc == Z_STREAM_ERROR) return errors::Internal("deflate() failed for ", file_->path());
      RETURN_IF_ERROR(file_->Write({out, sizeof(out) - z.avail_out}));
    } while (z.avail_out == 0);
  } while (!bytes.empty());
  return OkStatus();
}

Status RecordWriter::Put(absl::string_view bytes) {
  return packer_ == nullptr ? file_->Write(bytes) : Pack(bytes, Z_NO_FLUSH);
}

Status RecordWriter::Write(absl::string_view record) {
  if (file_ == nullptr) return errors::FailedPrecondition("The record writer is closed");
  char header[12], footer[4];
  StoreLittle(record.size(), 8, header);
  StoreLittle(MaskCrc(Crc32c({header, 8})), 4, header + 8);
  StoreLittle(MaskCrc(Crc32c(record)), 4, footer);
  RETURN_IF_ERROR(Put({header, sizeof(header)}));
  RETURN_IF_ERROR(Put(record));
  return Put({footer, sizeof(footer)});
}

Status RecordWriter::Flush() {
  if (file_ == nullptr) return errors::FailedPrecondition("The record writer is closed");
  if (packer_ != nullptr) RETURN_IF_ERROR(Pack("", Z_SYNC_FLUSH));
  return file_->Flush();
}

Status RecordWriter::Close() {
  if (file_ == nullptr) return OkStatus();
  Status status = packer_ == nullptr ? OkStatus() : Pack("", Z_FINISH);
  const std::unique_ptr<WritableFile> file = std::move(file_);
  const Status closed = file->Close();
  return status.ok() ? closed : status;
}

}  // namespace millstream
