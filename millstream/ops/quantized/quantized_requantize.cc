// SPDX-License-Identifier: Apache-2.0
// Sums and products of quantized numbers, which are int32, back to eight bits.
#include "millstream/framework/op.h"
#include "millstream/ops/quantized/quantized.h"

namespace millstream {
namespace {

struct RequantizeRange {
  float low, high;
};

// What the numbers of a tensor really span, with zero in it.
RequantizeRange UsedRange(const Tensor& in, RequantizeRange range) {
  int32_t least = std::numeric_limits<int32_t>::max(), most = std::numeric_limits<int32_t>::lowest();
  const int32_t* x = Integers<int32_t>(in);
  for (int64_t i = 0; i < in.num_elements(); ++i) {
    least = std::min(least, x[i]);
    most = std::max(most, x[i]);
  }
  const QuantizedRange<int32_t> codes(range.low, range.high);
  return {std::min(0.0f, codes.ToFloat(least)), codes.ToFloat(most)};
}

int64_t FixedInt64(double x) {
  return std::fabs(x) < 0x1p62 ? static_cast<int64_t>(x) : x > 0 ? INT64_MAX / 2 : INT64_MIN / 2;
}

// To uint8 in fixed point with 16 bits behind the point.
class RequantizeFixedPoint {
 public:
  RequantizeFixedPoint(RequantizeRange from, RequantizeRange to) {
    constexpr double kOne = 1 << 16;
    const float width = to.high - to.low;
    if (width == 0) return;
    const auto per_value = static_cast<float>(255.0 / width);
    const auto middle = static_cast<float>((from.low + from.high) / 2.0);
    scale_ = FixedInt64(255.0 * kOne * (from.high - from.low) / width);
    const double to_zero = FixedInt64(middle * per_value * static_cast<float>(kOne));
    offset_ = FixedInt64(to_zero - std::round(kOne * (to.low * 255.0) / width)) + (1 << 15);
  }
  uint8_t operator()(int32_t x) const {
    const auto product = static_cast<int64_t>(static_cast<uint64_t>(scale_) * static_cast<uint64_t>(int64_t{x}));
    return static_cast<uint8_t>(std::clamp<int64_t>(((product >> 32) + offset_) >> 16, 0, 255));
  }

 private:
  int64_t scale_ = 0, offset_ = 1 << 15;
};

void Requantize(KernelContext& ctx, const Tensor& in, RequantizeRange from, RequantizeRange to, Tensor* out) {
  const int32_t* x = Integers<int32_t>(in);
  if (out->dtype() == DType::kQuint8) {
    const RequantizeFixedPoint fixed(from, to);
    auto* y = Integers<uint8_t>(out);
    return ctx.ParallelFor(in.num_elements(), 1.0, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) y[i] = fixed(x[i]);
    });
  }
  const FloatQuantizedRange<int32_t> source(from.low, from.high);
  const FloatQuantizedRange<int8_t> target(to.low, to.high);
  auto* y = Integers<int8_t>(out);
  ctx.ParallelFor(in.num_elements(), 2.0, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) y[i] = target.FromFloat(source.ToFloat(x[i]));
  });
}

StatusOr<RequantizeRange> RequantizeRangeAt(const KernelContext& ctx, int i, const char* low, const char* high) {
  RequantizeRange range{};
  ASSIGN_OR_RETURN(range.low, RangeInput(ctx, i, low));
  ASSIGN_OR_RETURN(range.high, RangeInput(ctx, i + 1, high));
  return range;
}

class QuantizeDown final : public Kernel {
 public:
  explicit QuantizeDown(KernelInit& init) { RequireType(init, "out_type", DType::kQuint8); }
  Status Compute(KernelContext& ctx) override {
    const Tensor& in = ctx.input(0);
    ASSIGN_OR_RETURN(const RequantizeRange from, RequantizeRangeAt(ctx, 1, "input_min", "input_max"));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, in.shape()));
    const RequantizeRange to = UsedRange(in, from);
    Requantize(ctx, in, from, to, out);
    return OutputRange(ctx, 1, to.low, to.high);
  }
};

class RequantizeKernel : public Kernel {
 public:
  explicit RequantizeKernel(KernelInit&) {}
  Status Compute(KernelContext& ctx) override {
    const Tensor& in = ctx.input(0);
    ASSIGN_OR_RETURN(const RequantizeRange from, RequantizeRangeAt(ctx, 1, "input_min", "input_max"));
    ASSIGN_OR_RETURN(const RequantizeRange to,
                     RequantizeRangeAt(ctx, 3, "requested_output_min", "requested_output_max"));
    if (!(to.low <= 0)) return errors::InvalidArgument("requested_output_min must be <= 0, but got ", to.low);
    if (!(to.high >= to.low)) {
      return errors::InvalidArgument("requested_output_max must be >= requested_output_min, but got ", to.high, " and ",
                                     to.low);
    }
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, in.shape()));
    Requantize(ctx, in, from, to, out);
    return OutputRange(ctx, 1, to.low, to.high);
  }
};

class RequantizationRange final : public Kernel {
 public:
  explicit RequantizationRange(KernelInit&) {}
  Status Compute(KernelContext& ctx) override {
    if (ctx.input(1).num_elements() == 0) return errors::InvalidArgument("Input min must not be empty.");
    if (ctx.input(2).num_elements() == 0) return errors::InvalidArgument("Input max must not be empty.");
    const RequantizeRange used =
        UsedRange(ctx.input(0), {ctx.input(1).data<float>()[0], ctx.input(2).data<float>()[0]});
    return OutputRange(ctx, 0, used.low, used.high);
  }
};

template <int ranges>
Status RequantizedShape(ShapeContext& c) {
  c.set_output(0, c.input(0));
  return ScalarRanges(c, 1, ranges);
}
Status RequantizationRangeShape(ShapeContext& c) {
  PartialShape unused;
  for (int i = 1; i < 3; ++i) RETURN_IF_ERROR(ShapeContext::WithRank(c.input(i), 0, &unused));
  return ScalarShape(c);
}

OP("QuantizeDownAndShrinkRange")
    .Input("input: Tinput")
    .Input("input_min: float")
    .Input("input_max: float")
    .Output("output: out_type")
    .Output("output_min: float")
    .Output("output_max: float")
    .Attr("Tinput: {qint8, quint8, qint32, qint16, quint16}")
    .Attr("out_type: {qint8, quint8, qint32, qint16, quint16}")
    .Shape(RequantizedShape<2>)
    .NotDifferentiable()
    .CpuFor<QuantizeDown>(Types<Qint32>{}, "Tinput")
    .Doc("Quantized numbers with fewer bits, in the range that they span.");

OP("Requantize")
    .Input("input: Tinput")
    .Input("input_min: float")
    .Input("input_max: float")
    .Input("requested_output_min: float")
    .Input("requested_output_max: float")
    .Output("output: out_type")
    .Output("output_min: float")
    .Output("output_max: float")
    .Attr("Tinput: {qint8, quint8, qint32, qint16, quint16}")
    .Attr("out_type: {qint8, quint8, qint32, qint16, quint16}")
    .Shape(RequantizedShape<4>)
    .NotDifferentiable()
    .Cpu2<OfTypes<RequantizeKernel>::For>(Types<Qint32>{}, "Tinput", Types<Quint8, Qint8>{}, "out_type")
    .Doc("Quantized numbers with fewer bits, in a given range.");

OP("RequantizationRange")
    .Input("input: Tinput")
    .Input("input_min: float")
    .Input("input_max: float")
    .Output("output_min: float")
    .Output("output_max: float")
    .Attr("Tinput: {qint8, quint8, qint32, qint16, quint16}")
    .Shape(RequantizationRangeShape)
    .NotDifferentiable()
    .CpuFor<RequantizationRange>(Types<Qint32>{}, "Tinput")
    .Doc("The range that quantized numbers span.");

}  // namespace
}  // namespace millstream
