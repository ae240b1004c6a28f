// SPDX-License-Identifier: Apache-2.0
// Between floats and uniformly quantized numbers, and from one scale to another.
#include <cmath>
#include <vector>

#include "millstream/framework/op.h"
#include "millstream/ops/quantized/quantized.h"
#include "millstream/ops/quantized/uniform/affine.h"
#include "millstream/ops/quantized/uniform/codes.h"

namespace millstream::uniform {
namespace {

class UniformQuantize final : public Kernel {
 public:
  explicit UniformQuantize(KernelInit& init) : axis_(AxisAttr(init, "")), range_(init, "") {}

  Status Compute(KernelContext& ctx) override {
    const Tensor& in = ctx.input(0);
    ASSIGN_OR_RETURN(const Scales scales, Scales::Read(in.shape(), ctx.input(1), ctx.input(2), axis_));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, in.shape()));
    const float* x = in.data<float>();
    DispatchQuantized(out->dtype(), [&]<typename T>(std::type_identity<T>) {
      T* y = Integers<T>(out);
      Channels(in.shape(), axis_)
          .ForEachRun(ctx, in.num_elements(), 1.5, [&](int64_t channel, int64_t begin, int64_t end) {
            const float per_unit = 1.0f / scales.scale(channel);
            const int32_t zero = scales.zero(channel);
            for (int64_t i = begin; i < end; ++i) {
              y[i] = static_cast<T>(range_.Clamp(RoundedCode(x[i], per_unit) + zero));
            }
          });
    });
    return OkStatus();
  }

 private:
  const int axis_;
  const CodeRange range_;
};

class UniformDequantize final : public Kernel {
 public:
  explicit UniformDequantize(KernelInit& init) : axis_(init.Attr<int>("quantization_axis")) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor& in = ctx.input(0);
    ASSIGN_OR_RETURN(const Scales scales, Scales::Read(in.shape(), ctx.input(1), ctx.input(2), axis_));
    if (!scales.AllPositive()) return errors::InvalidArgument("scales elements must be all positive.");
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, in.shape()));
    float* y = out->data<float>();
    DispatchQuantized(in.dtype(), [&]<typename T>(std::type_identity<T>) {
      const T* x = Integers<T>(in);
      Channels(in.shape(), axis_)
          .ForEachRun(ctx, in.num_elements(), 0.5, [&](int64_t channel, int64_t begin, int64_t end) {
            const float scale = scales.scale(channel);
            const int32_t zero = scales.zero(channel);
            for (int64_t i = begin; i < end; ++i) y[i] = static_cast<float>(WrapSubtract(x[i], zero)) * scale;
          });
    });
    return OkStatus();
  }

 private:
  const int axis_;
};

class UniformRequantize : public Kernel {
 public:
  explicit UniformRequantize(KernelInit& init)
      : from_axis_(AxisAttr(init, "input_")), to_axis_(AxisAttr(init, "output_")), range_(init, "output_") {
    if (from_axis_ >= 0 && to_axis_ >= 0 && from_axis_ != to_axis_) {
      init.Fail(errors::InvalidArgument(
          "If input and output is both per-axis quantized, the quantization axis must be same."));
    }
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor& in = ctx.input(0);
    ASSIGN_OR_RETURN(const Scales from, Scales::Read(in.shape(), ctx.input(1), ctx.input(2), from_axis_));
    ASSIGN_OR_RETURN(const Scales to, Scales::Read(in.shape(), ctx.input(3), ctx.input(4), to_axis_));
    if (!from.AllPositive() || !to.AllPositive()) {
      return errors::InvalidArgument("input/output scales elements must be all positive.");
    }
    const Channels channels(in.shape(), std::max(from_axis_, to_axis_));
    std::vector<FixedMultiplier> factors(static_cast<size_t>(channels.count()));
    for (int64_t c = 0; c < channels.count(); ++c) {
      ASSIGN_OR_RETURN(factors[c], FixedMultiplier::Make(static_cast<double>(from.scale(c)) / to.scale(c)));
    }
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, in.shape()));
    auto* y = Integers<int8_t>(out);
    DispatchQuantized(in.dtype(), [&]<typename T>(std::type_identity<T>) {
      const T* x = Integers<T>(in);
      channels.ForEachRun(ctx, in.num_elements(), 2.0, [&](int64_t channel, int64_t begin, int64_t end) {
        const FixedMultiplier factor = factors[channel];
        const int32_t zero = from.zero(channel), new_zero = to.zero(channel);
        for (int64_t i = begin; i < end; ++i) {
          y[i] = static_cast<int8_t>(range_.Clamp(WrapAdd(factor(WrapSubtract(x[i], zero)), new_zero)));
        }
      });
    });
    return OkStatus();
  }

 private:
  const int from_axis_, to_axis_;
  const CodeRange range_;
};

OP("UniformQuantize")
    .Input("input: Tin")
    .Input("scales: float")
    .Input("zero_points: int32")
    .Output("output: Tout")
    .Attr("Tin: {float}")
    .Attr("Tout: {qint8, quint8, qint32}")
    .Attr("quantization_axis: int = -1")
    .Attr("quantization_min_val: int")
    .Attr("quantization_max_val: int")
    .Shape(UnchangedShape)
    .CpuFor<UniformQuantize>(Types<Qint8, Quint8, Qint32>{}, "Tout")
    .Doc("Codes of floats: floor(input / scale + 1/2) + zero point, cut to a range.");

OP("UniformDequantize")
    .Input("input: Tin")
    .Input("scales: float")
    .Input("zero_points: int32")
    .Output("output: Tout")
    .Attr("Tin: {qint8, quint8, qint32}")
    .Attr("Tout: {float}")
    .Attr("quantization_axis: int = -1")
    .Attr("quantization_min_val: int")
    .Attr("quantization_max_val: int")
    .Shape(UnchangedShape)
    .CpuFor<UniformDequantize>(Types<Qint8, Quint8, Qint32>{}, "Tin")
    .Doc("What codes stand for: (input - zero point) * scale.");

OP("UniformRequantize")
    .Input("input: Tin")
    .Input("input_scales: float")
    .Input("input_zero_points: int32")
    .Input("output_scales: float")
    .Input("output_zero_points: int32")
    .Output("output: Tout")
    .Attr("Tin: {qint8, qint32}")
    .Attr("Tout: {qint8, qint32}")
    .Attr("input_quantization_axis: int = -1")
    .Attr("input_quantization_min_val: int")
    .Attr("input_quantization_max_val: int")
    .Attr("output_quantization_axis: int = -1")
    .Attr("output_quantization_min_val: int")
    .Attr("output_quantization_max_val: int")
    .Shape(UnchangedShape)
    .Cpu2<OfTypes<UniformRequantize>::For>(Types<Qint8, Qint32>{}, "Tin", Types<Qint8>{}, "Tout")
    .Doc("Codes for the same numbers with other scales and zero points.");

}  // namespace
}  // namespace millstream::uniform
