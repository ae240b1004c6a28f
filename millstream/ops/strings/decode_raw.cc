// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "millstream/framework/op.h"

namespace millstream {
namespace {

// What is turned round where the input is big-endian: numbers, complex ones part by part.
size_t SwapUnit(KernelInit& init) {
  if (init.Attr<bool>("little_endian")) return 1;
  const auto type = init.Attr<DType>("out_type");
  return IsComplex(type) ? DTypeSize(type) / 2 : DTypeSize(type);
}

void SwapBytes(size_t unit, Tensor* t) {
  if (unit <= 1) return;
  auto* p = static_cast<char*>(t->raw());
  for (const char* end = p + t->ByteSize(); p < end; p += unit) std::reverse(p, p + unit);
}

// The shape of `strings` with one more dimension.
StatusOr<Shape> WithNumbers(const Tensor& strings, size_t numbers) {
  std::vector<int64_t> dims(strings.shape().dims().begin(), strings.shape().dims().end());
  dims.push_back(static_cast<int64_t>(numbers));
  return Shape::Make(dims);
}

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
    ASSIGN_OR_RETURN(const Shape shape, WithNumbers(in, bytes / size_));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    auto* to = static_cast<char*>(out->raw());
    for (const std::string& s : strings) {
      std::copy_n(s.data(), bytes, to);
      to += bytes;
    }
    SwapBytes(swap_unit_, out);
    return OkStatus();
  }

 private:
  const size_t size_;
  const size_t swap_unit_;
};

// The same for strings of different lengths, which are cut or filled with zeros.
class DecodePaddedRaw final : public Kernel {
 public:
  explicit DecodePaddedRaw(KernelInit& init)
      : size_(static_cast<int64_t>(DTypeSize(init.Attr<DType>("out_type")))), swap_unit_(SwapUnit(init)) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor &in = ctx.input(0), &length_input = ctx.input(1);
    if (length_input.rank() != 0) {
      return errors::InvalidArgument("k must be scalar, got shape ", length_input.shape().ToString());
    }
    const int64_t length = length_input.scalar<int32_t>();
    if (length % size_ != 0) {
      return errors::InvalidArgument("fixed_length (", length, ") must be a multiple of the size of out_type (", size_,
                                     ")");
    }
    if (length <= 0) return errors::InvalidArgument("fixed_length (", length, ") must be greater than zero.");
    ASSIGN_OR_RETURN(const Shape shape, WithNumbers(in, static_cast<size_t>(length / size_)));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    auto* to = static_cast<char*>(out->raw());
    for (const std::string& s : in.flat<std::string>()) {
      const size_t bytes = std::min(s.size(), static_cast<size_t>(length));
      std::copy_n(s.data(), bytes, to);
      std::memset(to + bytes, 0, static_cast<size_t>(length) - bytes);
      to += length;
    }
    SwapBytes(swap_unit_, out);
    return OkStatus();
  }

 private:
  const int64_t size_;
  const size_t swap_unit_;
};

Status DecodeRawShape(ShapeContext& c) {
  c.set_output(0, c.input(0).Concatenate(PartialShape({-1})));
  return OkStatus();
}

Status DecodePaddedRawShape(ShapeContext& c) {
  PartialShape scalar;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 0, &scalar));
  int64_t length = -1;
  DType type = DType::kFloat;
  RETURN_IF_ERROR(c.GetAttr("out_type", &type));
  const bool known = c.ConstantInt(1, &length) && length > 0;
  c.set_output(0, c.input(0).Concatenate(PartialShape({known ? length / static_cast<int64_t>(DTypeSize(type)) : -1})));
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

OP("DecodePaddedRaw")
    .Input("input_bytes: string")
    .Input("fixed_length: int32")
    .Output("output: out_type")
    .Attr("out_type: {half, float, double, int32, uint16, uint8, int16, int8, int64, bfloat16}")
    .Attr("little_endian: bool = true")
    .Shape(DecodePaddedRawShape)
    .NotDifferentiable()
    .CpuFor<DecodePaddedRaw>(
        Types<Half, float, double, int32_t, uint16_t, uint8_t, int16_t, int8_t, int64_t, BFloat16>{}, "out_type")
    .HostMemory("fixed_length")
    .Doc("Reads the bytes of strings, cut or filled with zeros to one length, as numbers.");

}  // namespace
}  // namespace millstream
