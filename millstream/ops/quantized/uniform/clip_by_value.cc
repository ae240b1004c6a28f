// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/op.h"
#include "millstream/ops/quantized/quantized.h"
#include "millstream/ops/quantized/uniform/affine.h"

namespace millstream::uniform {
namespace {

class UniformQuantizedClipByValue final : public Kernel {
 public:
  explicit UniformQuantizedClipByValue(KernelInit& init) : axis_(init.Attr<int>("quantization_axis")) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor &in = ctx.input(0), &low = ctx.input(1), &high = ctx.input(2), &scales = ctx.input(3);
    RETURN_IF_ERROR(Scales::Read(in.shape(), scales, ctx.input(4), axis_).status());
    if (low.shape() != scales.shape() || high.shape() != scales.shape()) {
      return errors::InvalidArgument("min and max must have the shape of scales and zero_points, ",
                                     scales.shape().ToString(), ", but have ", low.shape().ToString(), " and ",
                                     high.shape().ToString());
    }
    ASSIGN_OR_RETURN(Tensor * out, ctx.ForwardOrAllocate({0}, 0, in.shape()));
    const auto *x = Integers<int32_t>(in), *a = Integers<int32_t>(low), *b = Integers<int32_t>(high);
    auto* y = Integers<int32_t>(out);
    Channels(in.shape(), axis_)
        .ForEachRun(ctx, in.num_elements(), 0.5, [&](int64_t channel, int64_t begin, int64_t end) {
          const int32_t least = a[channel], most = b[channel];
          for (int64_t i = begin; i < end; ++i) y[i] = std::min(std::max(x[i], least), most);
        });
    return OkStatus();
  }

 private:
  const int axis_;
};

OP("UniformQuantizedClipByValue")
    .Input("operand: T")
    .Input("min: T")
    .Input("max: T")
    .Input("scales: float")
    .Input("zero_points: int32")
    .Output("output: T")
    .Attr("T: {qint32}")
    .Attr("quantization_axis: int = -1")
    .Attr("quantization_min_val: int")
    .Attr("quantization_max_val: int")
    .Shape(UnchangedShape)
    .CpuFor<UniformQuantizedClipByValue>(Types<Qint32>{})
    .Doc("Codes cut to [min, max], for the whole tensor or by channel.");

}  // namespace
}  // namespace millstream::uniform
