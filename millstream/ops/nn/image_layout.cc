// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/nn/image_layout.h"

#include "millstream/ops/elements/axes.h"
#include "millstream/ops/elements/strided_copy.h"

namespace millstream {
namespace {

// A shape with channels first, seen as [batch, channels, pixels].
struct ChannelView {
  int64_t batch, channels, pixels;
  // Nothing moves in memory.
  bool same_order() const { return channels == 1 || pixels == 1 || batch == 0; }
};

ChannelView ViewFirst(const Shape& first) { return {first.dim(0), first.dim(1), first.Product(2, first.rank())}; }

}  // namespace

StatusOr<Tensor> ImageLayout::ToLast(KernelContext& ctx, const Tensor& t) const {
  if (!channels_first_ || t.rank() < 3) return t;
  const Dims given(t.shape().dims().begin(), t.shape().dims().end());
  ASSIGN_OR_RETURN(const Shape shape, MakeShape(ToLast(given)));
  const ChannelView v = ViewFirst(t.shape());
  if (v.same_order() || t.num_elements() == 0) return t.Reshaped(shape);
  ASSIGN_OR_RETURN(Tensor last, ctx.AllocateTemp(t.dtype(), shape));
  StridedCopy copy;
  copy.Add(v.batch, v.channels * v.pixels, v.channels * v.pixels);
  copy.Add(v.pixels, 1, v.channels);
  copy.Add(v.channels, v.pixels, 1);
  copy.Run(ctx, t.dtype(), t.raw(), last.raw());
  return last;
}

StatusOr<Tensor> ImageLayout::AllocateOutput(KernelContext& ctx, int i, const Shape& last) const {
  if (!channels_first_) {
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(i, last));
    return *out;
  }
  Dims dims(last.dims().begin(), last.dims().end());
  std::rotate(dims.begin() + 1, dims.end() - 1, dims.end());
  ASSIGN_OR_RETURN(const Shape first, MakeShape(dims));
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(i, first));
  if (ViewFirst(first).same_order() || first.num_elements() == 0) return out->Reshaped(last);
  return ctx.AllocateTemp(out->dtype(), last);
}

void ImageLayout::Store(KernelContext& ctx, int i, const Tensor& written) const {
  Tensor* out = ctx.output(i);
  if (!channels_first_ || written.num_elements() == 0 || written.raw() == out->raw()) return;
  const ChannelView v = ViewFirst(out->shape());
  StridedCopy copy;
  copy.Add(v.batch, v.channels * v.pixels, v.channels * v.pixels);
  copy.Add(v.channels, 1, v.pixels);
  copy.Add(v.pixels, v.channels, 1);
  copy.Run(ctx, written.dtype(), written.raw(), out->raw());
}

}  // namespace millstream
