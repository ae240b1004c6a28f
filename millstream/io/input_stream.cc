// SPDX-License-Identifier: Apache-2.0
#include "millstream/io/input_stream.h"

#include <zlib.h>

#include <algorithm>

namespace millstream {
namespace {

constexpr size_t kPiece = 256 << 10;

class PlainStream final : public InputStream {
 public:
  explicit PlainStream(std::unique_ptr<RandomAccessFile> file) : file_(std::move(file)) {}

 protected:
  Status Refill(std::string* buffer) override {
    buffer->resize(kPiece);
    ASSIGN_OR_RETURN(const size_t n, file_->ReadSome(offset_, kPiece, buffer->data()));
    buffer->resize(n);
    offset_ += static_cast<int64_t>(n);
    return OkStatus();
  }

 private:
  const std::unique_ptr<RandomAccessFile> file_;
  int64_t offset_ = 0;
};

class ZlibStream final : public InputStream {
 public:
  ZlibStream(std::unique_ptr<RandomAccessFile> file, Compression compression) : file_(std::move(file)) {
    // 16 asks zlib for the gzip format.
    ready_ = inflateInit2(&z_, compression == Compression::kGzip ? MAX_WBITS + 16 : MAX_WBITS) == Z_OK;
  }
  ~ZlibStream() override {
    if (ready_) inflateEnd(&z_);
  }

 protected:
  Status Refill(std::string* buffer) override {
    if (!ready_) return errors::ResourceExhausted("no memory to unpack ", file_->path());
    buffer->resize(kPiece);
    z_.next_out = reinterpret_cast<Bytef*>(buffer->data());
    z_.avail_out = kPiece;
    while (z_.avail_out == kPiece) {
      if (z_.avail_in == 0) RETURN_IF_ERROR(ReadPacked());
      if (z_.avail_in == 0) {
        if (!at_boundary_) return errors::DataLoss(file_->path(), " ends within packed data");
        break;
      }
      RETURN_IF_ERROR(Inflate());
    }
    buffer->resize(kPiece - z_.avail_out);
    return OkStatus();
  }

 private:
  Status ReadPacked() {
    packed_.resize(kPiece);
    ASSIGN_OR_RETURN(const size_t n, file_->ReadSome(offset_, kPiece, packed_.data()));
    offset_ += static_cast<int64_t>(n);
    z_.next_in = reinterpret_cast<Bytef*>(packed_.data());
    z_.avail_in = static_cast<uInt>(n);
    return OkStatus();
  }

  Status Inflate() {
    at_boundary_ = false;
    const int rc = inflate(&z_, Z_NO_FLUSH);
    if (rc == Z_STREAM_END) {
      at_boundary_ = true;  // several packed parts may follow one another
      return inflateReset(&z_) == Z_OK ? OkStatus() : errors::Internal("zlib could not start again");
    }
    if (rc == Z_OK || rc == Z_BUF_ERROR) return OkStatus();
    return errors::DataLoss("inflate() failed with error ", rc, ": ", z_.msg == nullptr ? "" : z_.msg, " in ",
                            file_->path());
  }

  const std::unique_ptr<RandomAccessFile> file_;
  z_stream z_{};
  bool ready_ = false;
  bool at_boundary_ = true;
  int64_t offset_ = 0;
  std::string packed_;
};

}  // namespace

StatusOr<Compression> CompressionFromName(absl::string_view name) {
  if (name.empty()) return Compression::kNone;
  if (name == "GZIP") return Compression::kGzip;
  if (name == "ZLIB") return Compression::kZlib;
  return errors::InvalidArgument("Unsupported compression_type: ", name);
}

StatusOr<std::unique_ptr<InputStream>> InputStream::Open(const std::string& path, Compression compression) {
  ASSIGN_OR_RETURN(std::unique_ptr<RandomAccessFile> file, RandomAccessFile::Open(path));
  std::unique_ptr<InputStream> stream;
  if (compression == Compression::kNone)
    stream = std::make_unique<PlainStream>(std::move(file));
  else
    stream = std::make_unique<ZlibStream>(std::move(file), compression);
  return stream;
}

Status InputStream::Fill() {
  if (used_ < buffer_.size()) return OkStatus();
  used_ = 0;
  return Refill(&buffer_);
}

Status InputStream::Read(uint64_t bytes, std::string* out) {
  while (bytes > 0) {
    RETURN_IF_ERROR(Fill());
    const size_t n = static_cast<size_t>(std::min<uint64_t>(bytes, buffer_.size() - used_));
    if (n == 0) break;
    out->append(buffer_, used_, n);
    used_ += n;
    position_ += n;
    bytes -= n;
  }
  return OkStatus();
}

Status InputStream::ReadLine(std::string* line) {
  line->clear();
  bool any = false;
  while (true) {
    RETURN_IF_ERROR(Fill());
    if (used_ == buffer_.size()) {
      return any ? OkStatus() : errors::OutOfRange("eof");
    }
    any = true;
    const size_t end = buffer_.find('\n', used_);
    const size_t stop = end == std::string::npos ? buffer_.size() : end;
    line->append(buffer_, used_, stop - used_);
    position_ += stop - used_;
    used_ = stop;
    if (end != std::string::npos) break;
  }
  ++used_;
  ++position_;
  if (!line->empty() && line->back() == '\r') line->pop_back();
  return OkStatus();
}

Status InputStream::Skip(uint64_t bytes) {
  while (bytes > 0) {
    RETURN_IF_ERROR(Fill());
    const size_t n = static_cast<size_t>(std::min<uint64_t>(bytes, buffer_.size() - used_));
    if (n == 0) return errors::OutOfRange("eof");
    used_ += n;
    position_ += n;
    bytes -= n;
  }
  return OkStatus();
}

}  // namespace millstream
