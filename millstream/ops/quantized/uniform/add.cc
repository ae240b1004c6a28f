// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "millstream/framework/op.h"
#include "millstream/ops/elements/broadcast.h"
#include "millstream/ops/quantized/quantized.h"
#include "millstream/ops/quantized/uniform/affine.h"
#include "millstream/ops/quantized/uniform/codes.h"

namespace millstream::uniform {
namespace {

// An operand of the sum, with the scale of the result and zero point 0.
class Addend {
 public:
  // `axis` is in the operand, `sum_axis` in the result; -1: none. REQUIRES: they are the same dimension if both are.
  static StatusOr<Addend> Make(const Tensor& operand, const Scales& scales, int axis, const Shape& sum,
                               const Scales& sum_scales, int sum_axis) {
    const int common = axis >= 0 ? axis + sum.rank() - operand.rank() : sum_axis;
    Addend result(operand, sum, Channels(sum, common));
    for (int64_t c = 0; c < result.channels_.count(); ++c) {
      const int64_t own = scales.size() == 1 ? 0 : c;  // a single one is repeated along the axis
      ASSIGN_OR_RETURN(const FixedMultiplier factor,
                       FixedMultiplier::Make(static_cast<double>(scales.scale(own)) / sum_scales.scale(c)));
      result.factors_.push_back(factor);
      result.zeros_.push_back(scales.zero(own));
    }
    return result;
  }

  const BroadcastMap& map() const { return map_; }
  // The element that stands at place `i` of the result, whose code is given.
  int32_t operator()(int64_t i, int32_t code) const {
    const auto c = static_cast<size_t>(channels_.of(i));
    return factors_[c](WrapSubtract(code, zeros_[c]));
  }

 private:
  Addend(const Tensor& operand, const Shape& sum, Channels channels)
      : map_(operand.shape(), sum), channels_(channels) {}

  BroadcastMap map_;
  Channels channels_;
  std::vector<FixedMultiplier> factors_;
  std::vector<int32_t> zeros_;
};

Status CheckSameAxis(const Tensor& operand, int axis, const Shape& sum, int sum_axis, const char* name) {
  if (axis < 0 || sum_axis < 0 || operand.rank() - axis == sum.rank() - sum_axis) return OkStatus();
  return errors::InvalidArgument("If ", name,
                                 " and output is both per-axis quantized, the quantization axis must match.");
}

class UniformQuantizedAdd final : public Kernel {
 public:
  explicit UniformQuantizedAdd(KernelInit& init)
      : x_axis_(AxisAttr(init, "lhs_")),
        y_axis_(AxisAttr(init, "rhs_")),
        sum_axis_(AxisAttr(init, "output_")),
        range_(init, "output_") {}

  Status Compute(KernelContext& ctx) override {
    const Tensor &x = ctx.input(0), &y = ctx.input(1);
    ASSIGN_OR_RETURN(const Scales x_scales, Scales::Read(x.shape(), ctx.input(2), ctx.input(3), x_axis_));
    ASSIGN_OR_RETURN(const Scales y_scales, Scales::Read(y.shape(), ctx.input(4), ctx.input(5), y_axis_));
    ASSIGN_OR_RETURN(const Shape shape, BroadcastShapes(x.shape(), y.shape()));
    ASSIGN_OR_RETURN(const Scales sum_scales, Scales::Read(shape, ctx.input(6), ctx.input(7), sum_axis_));
    RETURN_IF_ERROR(CheckSameAxis(x, x_axis_, shape, sum_axis_, "lhs"));
    RETURN_IF_ERROR(CheckSameAxis(y, y_axis_, shape, sum_axis_, "rhs"));
    if (!x_scales.AllPositive() || !y_scales.AllPositive() || !sum_scales.AllPositive()) {
      return errors::InvalidArgument("lhs/rhs/output scales elements must be all positive.");
    }
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return OkStatus();
    ASSIGN_OR_RETURN(const Addend a, Addend::Make(x, x_scales, x_axis_, shape, sum_scales, sum_axis_));
    ASSIGN_OR_RETURN(const Addend b, Addend::Make(y, y_scales, y_axis_, shape, sum_scales, sum_axis_));
    Add(ctx, a, b, sum_scales, out);
    return OkStatus();
  }

 private:
  void Add(KernelContext& ctx, const Addend& a, const Addend& b, const Scales& sum_scales, Tensor* out) const {
    constexpr int64_t kBlock = 1024;
    const Channels channels(out->shape(), sum_axis_);
    auto* z = Integers<int32_t>(out);
    ctx.ParallelFor(out->num_elements(), 6.0, [&](int64_t begin, int64_t end) {
      int32_t a_block[kBlock], b_block[kBlock];
      BroadcastReader as(a.map(), ctx.input(0).raw(), sizeof(int32_t), a_block);
      BroadcastReader bs(b.map(), ctx.input(1).raw(), sizeof(int32_t), b_block);
      for (int64_t i = begin; i < end; i += kBlock) {
        const int64_t n = std::min(kBlock, end - i);
        const auto* p = static_cast<const int32_t*>(as.Read(i, n));
        const auto* q = static_cast<const int32_t*>(bs.Read(i, n));
        for (int64_t k = 0; k < n; ++k) {
          const int32_t sum = WrapAdd(a(i + k, p[k]), b(i + k, q[k]));
          z[i + k] = range_.Clamp(WrapAdd(sum, sum_scales.zero(channels.of(i + k))));
        }
      }
    });
  }

  const int x_axis_, y_axis_, sum_axis_;
  const CodeRange range_;
};

OP("UniformQuantizedAdd")
    .Input("lhs: T")
    .Input("rhs: T")
    .Input("lhs_scales: float")
    .Input("lhs_zero_points: int32")
    .Input("rhs_scales: float")
    .Input("rhs_zero_points: int32")
    .Input("output_scales: float")
    .Input("output_zero_points: int32")
    .Output("output: T")
    .Attr("lhs_quantization_axis: int = -1")
    .Attr("lhs_quantization_min_val: int")
    .Attr("lhs_quantization_max_val: int")
    .Attr("rhs_quantization_axis: int = -1")
    .Attr("rhs_quantization_min_val: int")
    .Attr("rhs_quantization_max_val: int")
    .Attr("output_quantization_axis: int = -1")
    .Attr("output_quantization_min_val: int")
    .Attr("output_quantization_max_val: int")
    .Attr("T: {qint32}")
    .Shape(BroadcastBinaryShape)
    .CpuFor<UniformQuantizedAdd>(Types<Qint32>{})
    .Doc("Sums of uniformly quantized numbers, with broadcasting.");

}  // namespace
}  // namespace millstream::uniform
