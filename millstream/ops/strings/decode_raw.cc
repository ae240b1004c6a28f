// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "millstream/framework/op.h"

namespace millstream {
namespace {

// The bytes of strings read as numbers: one more dimension, of equal length for all strings.
class DecodeRaw final : public Kernel {
 public:
  explicit DecodeRaw(KernelInit& init) : size_(DTypeSize(init.Attr<DType>("out_type"))), swap_unit_(SwapUnit(init)) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor& in = ctx.input(0);
    const auto strings = in.flat<std::string>();
    const size_t bytes = strings.empty() ? 0 : strings[0].size();
    if (bytes % size_ != 0) {
      return errors::InvalidArgument("Input to DecodeRaw has length ", bytes, " that is not a multiple of ", size_,
                                     ", the size of ", DTypeName(ctx.output_dtype(0)));
    }
    for (const std::string& s : strings) {
      if (s.size() != bytes) {
        return errors::InvalidArgument("DecodeRaw requires input strings to all be the same size, but element ",
                                       &s - strings.data(), " has size ", bytes, " != ", s.size());
      }
    }
    std::vector<int64_t> dims(in.shape().dims().begin(), in.shape().dims().end());
    dims.push_back(static_cast<int64_t>(bytes / size_));
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    auto* to = static_cast<char*>(out->raw());
    for (const std::string& s : strings) {
      std::memcpy(to, s.data(), bytes);
      to += bytes;
    }
    if (swap_unit_ > 1) {
      auto* p = static_cast<char*>(out->raw());
      for (; p < to; p += swap_unit_) std::reverse(p, p + swap_unit_);
    }
    return OkStatus();
  }

 private:
  // Big-endian input is turned round, complex numbers part by part.
  static size_t SwapUnit(KernelInit& init) {
    if (init.Attr<bool>("little_endian")) return 1;
    const auto type = init.Attr<DType>("out_type");
    return IsComplex(type) ? DTypeSize(type) / 2 : DTypeSize(type);
  }
  const size_t size_;
  const size_t swap_unit_;
};

Status DecodeRawShape(ShapeContext& c) {
  c.set_output(0, c.input(0).Concatenate(PartialShape({-1})));
  return OkStatus();
}

using RawTypes = Types<Half, float, double, int32_t, uint16_t, uint8_t, int16_t, int8_t, int64_t, std::complex<float>,
                       std::complex<double>, bool, BFloat16>;

OP("DecodeRaw")
    .Input("bytes: string")
    .Output("output: out_type")
    .Attr(
        "out_type: {half, float, double, int32, uint16, uint8, int16, int8, int64, complex64, complex128, bool, "
        "bfloat16}")
    .Attr("little_endian: bool = true")
    .Shape(DecodeRawShape)
    .NotDifferentiable()
    .CpuFor<DecodeRaw>(RawTypes{}, "out_type")
    .Doc("Reads the bytes of strings as numbers.");

}  // namespace
}  // namespace millstream
