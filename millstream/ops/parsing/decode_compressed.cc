// SPDX-License-Identifier: Apache-2.0
#include <zlib.h>

#include <limits>

#include "millstream/framework/op.h"
#include "millstream/io/input_stream.h"

namespace millstream {
namespace {

// Unpacks `packed` to *out, piece by piece: nothing of the input says how long the result will be.
Status Inflate(const std::string& packed, Compression compression, std::string* out) {
  if (packed.size() > std::numeric_limits<uInt>::max()) return errors::InvalidArgument("bytes are too long");
  z_stream z{};
  constexpr int kGzipFormat = 16;
  constexpr size_t kMostBytes = size_t{1} << 30;
  if (inflateInit2(&z, MAX_WBITS + (compression == Compression::kGzip ? kGzipFormat : 0)) != Z_OK) {
    return errors::Internal("zlib could not start");
  }
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  z.avail_in = static_cast<uInt>(packed.size());
  int rc = Z_OK;
  char piece[16384];
  while (rc == Z_OK) {
    z.next_out = reinterpret_cast<Bytef*>(piece);
    z.avail_out = sizeof(piece);
    rc = inflate(&z, Z_NO_FLUSH);
    out->append(piece, sizeof(piece) - z.avail_out);
    if (out->size() > kMostBytes) {
      inflateEnd(&z);
      return errors::InvalidArgument("Decompressed size exceeds 1GB limit");
    }
    if (rc == Z_OK && z.avail_in == 0 && z.avail_out > 0) break;  // cut off: what there is
  }
  const std::string message = z.msg == nullptr ? "" : z.msg;
  inflateEnd(&z);
  if (rc == Z_OK || rc == Z_STREAM_END || (rc == Z_BUF_ERROR && packed.empty())) return OkStatus();
  return errors::DataLoss("inflate() failed with error ", rc, ": ", message);
}

class DecodeCompressed final : public Kernel {
 public:
  explicit DecodeCompressed(KernelInit& init) {
    const auto name = init.Attr<std::string>("compression_type");
    auto found = CompressionFromName(name);
    if (found.ok())
      compression_ = *found;
    else
      init.Fail(errors::InvalidArgument("Only ZLIB, GZIP or NONE are supported compressions"));
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor& in = ctx.input(0);
    if (compression_ == Compression::kNone) {
      ctx.set_output(0, in);
      return OkStatus();
    }
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, in.shape()));
    for (int64_t i = 0; i < in.num_elements(); ++i) {
      RETURN_IF_ERROR(Inflate(in.data<std::string>()[i], compression_, &out->data<std::string>()[i]));
    }
    return OkStatus();
  }

 private:
  Compression compression_ = Compression::kNone;
};

OP("DecodeCompressed")
    .Input("bytes: string")
    .Output("output: string")
    .Attr("compression_type: string = ''")
    .Shape(UnchangedShape)
    .NotDifferentiable()
    .Cpu<DecodeCompressed>()
    .Doc("Unpacks strings of zlib or gzip.");

}  // namespace
}  // namespace millstream
