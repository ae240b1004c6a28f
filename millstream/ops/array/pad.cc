// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "absl/container/inlined_vector.h"
#include "millstream/ops/array/paddings.h"
#include "millstream/ops/elements/fill_vectors.h"
#include "millstream/ops/gradients/shape_of.h"

namespace millstream {
namespace {

// Writes a padded tensor row by row, each element once. Dimensions behind the last one that is padded are part of a
// row.
template <typename T>
class PadRows {
 public:
  PadRows(const Shape& in, const Shape& out, const Paddings& paddings) {
    int last = in.rank() - 1;
    while (last > 0 && in.dim(last) == out.dim(last)) --last;
    const int64_t unit = out.Product(last + 1, out.rank());
    before_ = paddings.before[last] * unit;
    inside_ = in.dim(last) * unit;
    row_ = out.dim(last) * unit;
    for (int d = 0; d < last; ++d) axes_.push_back({in.dim(d), out.dim(d), paddings.before[d]});
  }

  void Run(const KernelContext& ctx, const T* from, const T& value, int64_t elements, T* to) const {
    const double cost = 5.0 + kCopyCost<T> * static_cast<double>(row_);
    ctx.ParallelFor(elements / row_, cost, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) Row(from, value, r, to + r * row_);
    });
  }

 private:
  struct Axis {
    int64_t in, out, before;
  };
  void Row(const T* from, const T& value, int64_t number, T* to) const {
    int64_t source = 0, step = 1;
    for (size_t d = axes_.size(); d-- > 0; number /= axes_[d].out) {
      const int64_t at = number % axes_[d].out - axes_[d].before;
      if (at < 0 || at >= axes_[d].in) {
        FillVectors(value, row_, to);
        return;
      }
      source += at * step;
      step *= axes_[d].in;
    }
    FillVectors(value, before_, to);
    CopyRun(from + source * inside_, inside_, to + before_);
    FillVectors(value, row_ - before_ - inside_, to + before_ + inside_);
  }

  absl::InlinedVector<Axis, 8> axes_;
  int64_t before_ = 0, inside_ = 0, row_ = 0;
};

// Pad, or PadV2 with the value in input 2.
Status PadCpu(KernelContext& ctx) {
  const Tensor& in = ctx.input(0);
  Paddings paddings;
  RETURN_IF_ERROR(ReadPaddings(ctx.input(1), in.rank(), &paddings));
  ASSIGN_OR_RETURN(const Shape shape, PaddedShape(in.shape(), paddings));
  if (shape == in.shape()) {
    ctx.set_output(0, ctx.TakeInput(0));
    return OkStatus();
  }
  const bool given = ctx.num_inputs() > 2;
  if (given && ctx.input(2).num_elements() != 1) {
    return errors::InvalidArgument("constant_values must be a scalar. Found: ", ctx.input(2).shape().ToString());
  }
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
  if (shape.num_elements() == 0) return OkStatus();
  DispatchBlob(in.dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    const T value = given ? *BlobData<T>(ctx.input(2)) : T();
    PadRows<T>(in.shape(), shape, paddings).Run(ctx, BlobData<T>(in), value, shape.num_elements(), BlobData<T>(out));
  });
  return OkStatus();
}

Status PadShape(ShapeContext& c) { return PadShapeFn(c, 1); }

// The part of dy inside the padding.
Status PadGrad(GradContext& g) {
  const Output paddings = g.input(1);
  const DType index = paddings.dtype();
  const Output before = g.Op("GatherV2", {paddings, ConstInt(g, 0), ConstInt(g, 1)});
  g.set_dx(0, g.Op("Slice", {g.dy(0), before, ShapeOf(g, g.input(0), index)}));
  return OkStatus();
}

OP("Pad")
    .Input("input: T")
    .Input("paddings: Tpaddings")
    .Output("output: T")
    .Attr("T: type")
    .Attr("Tpaddings: {int32, int64} = DT_INT32")
    .Shape(PadShape)
    .Gradient(PadGrad)
    .Cpu(PadCpu)
    .HostMemory("paddings")
    .Doc("Zeros around a tensor.");

OP("PadV2")
    .Input("input: T")
    .Input("paddings: Tpaddings")
    .Input("constant_values: T")
    .Output("output: T")
    .Attr("T: type")
    .Attr("Tpaddings: {int32, int64} = DT_INT32")
    .Shape(PadShape)
    .Gradient(PadGrad)
    .Cpu(PadCpu)
    .HostMemory("paddings")
    .HostMemory("constant_values")
    .Doc("A constant around a tensor.");

}  // namespace
}  // namespace millstream
