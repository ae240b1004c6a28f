// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/gradients/gradient.h"
#include "millstream/ops/array/paddings.h"
#include "millstream/ops/elements/blob.h"
#include "millstream/ops/elements/strided_copy.h"

namespace millstream {
namespace {

Status CheckMirror(const Shape& inside, const Paddings& paddings, int offset) {
  for (int d = 0; d < inside.rank(); ++d) {
    const int64_t limit = inside.dim(d) - offset;
    if (paddings.before[d] > limit || paddings.after[d] > limit) {
      return errors::InvalidArgument("paddings must be ", offset == 0 ? "no greater" : "less",
                                     " than the dimension size: ", paddings.before[d], ", ", paddings.after[d],
                                     offset == 0 ? " greater than " : " not less than ", inside.dim(d));
    }
  }
  return OkStatus();
}

// One border of dimension `axis` of a padded tensor: element i of it, counted away from the inside, mirrors element i
// of the inside, counted from the edge (one further in for REFLECT). All in elements of the padded tensor.
struct Border {
  int axis;
  int64_t size;
  int64_t border_at, border_step;  // along the axis
  int64_t inside_at, inside_step;
};

std::vector<Border> Borders(const Shape& inside, const Paddings& p, int offset) {
  std::vector<Border> borders;
  for (int d = 0; d < inside.rank(); ++d) {
    const int64_t begin = p.before[d], end = begin + inside.dim(d);
    borders.push_back({d, p.before[d], begin - 1, -1, begin + offset, 1});
    borders.push_back({d, p.after[d], end, 1, end - 1 - offset, -1});
  }
  return borders;
}

// Calls fn(size, border step, inside step) for each axis of the grid that a border covers: the inside of the dimensions
// before its own, all of those after. Returns the first elements of the border and of its mirror image.
template <typename Fn>
std::pair<int64_t, int64_t> ForEachAxis(const Border& b, const Shape& inside, const Shape& padded, const Paddings& p,
                                        Fn fn) {
  int64_t step = padded.num_elements(), border = 0, mirror = 0;
  for (int d = 0; d < padded.rank(); ++d) {
    step /= padded.dim(d);
    if (d == b.axis) {
      fn(b.size, b.border_step * step, b.inside_step * step);
      border += b.border_at * step;
      mirror += b.inside_at * step;
      continue;
    }
    fn(d < b.axis ? inside.dim(d) : padded.dim(d), step, step);
    if (d < b.axis) border += p.before[d] * step, mirror += p.before[d] * step;
  }
  return {border, mirror};
}

// The inside of `padded` as axes of a copy from (or to) a dense tensor; returns its first element.
int64_t AddInside(const Shape& inside, const Shape& padded, const Paddings& p, bool to_padded, StridedCopy* copy) {
  int64_t dense = inside.num_elements(), step = padded.num_elements(), offset = 0;
  for (int d = 0; d < padded.rank(); ++d) {
    dense /= inside.dim(d);
    step /= padded.dim(d);
    offset += p.before[d] * step;
    copy->Add(inside.dim(d), to_padded ? dense : step, to_padded ? step : dense);
  }
  return offset;
}

class MirrorPadKernel : public Kernel {
 public:
  explicit MirrorPadKernel(KernelInit& init) : offset_(init.Attr<std::string>("mode") == "REFLECT" ? 1 : 0) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor& in = ctx.input(0);
    Paddings paddings;
    RETURN_IF_ERROR(ReadPaddings(ctx.input(1), in.rank(), &paddings));
    RETURN_IF_ERROR(CheckMirror(in.shape(), paddings, offset_));
    ASSIGN_OR_RETURN(const Shape shape, PaddedShape(in.shape(), paddings));
    if (shape == in.shape()) {
      ctx.set_output(0, ctx.TakeInput(0));
      return OkStatus();
    }
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (shape.num_elements() == 0 || in.num_elements() == 0) return OkStatus();
    StridedCopy inside;
    const int64_t at = AddInside(in.shape(), shape, paddings, true, &inside);
    inside.Run(ctx, in.dtype(), in.raw(), ElementAt(out, at));
    // From the last dimension to the first, so that what is mirrored is complete in the later ones.
    const std::vector<Border> borders = Borders(in.shape(), paddings, offset_);
    for (auto b = borders.rbegin(); b != borders.rend(); ++b) {
      StridedCopy copy;
      const auto [border, mirror] = ForEachAxis(
          *b, in.shape(), shape, paddings,
          [&](int64_t n, int64_t border_step, int64_t inside_step) { copy.Add(n, inside_step, border_step); });
      if (b->size > 0) copy.Run(ctx, in.dtype(), ElementAt(out, mirror), ElementAt(out, border));
    }
    return OkStatus();
  }

 private:
  const int offset_;
};

// target[i] += source[i] over a grid of axes.
template <typename T>
[[gnu::noinline]] void AddGrid(const StridedCopy::Axis* axis, size_t n, const T* source, T* target) {
  for (int64_t i = 0; i < axis->size; ++i) {
    const T* from = source + i * axis->from;
    T* to = target + i * axis->to;
    if (n > 1)
      AddGrid(axis + 1, n - 1, from, to);
    else
      *to = static_cast<T>(*to + *from);
  }
}

template <typename T>
class MirrorPadGradKernel : public Kernel {
 public:
  explicit MirrorPadGradKernel(KernelInit& init) : offset_(init.Attr<std::string>("mode") == "REFLECT" ? 1 : 0) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor& in = ctx.input(0);
    Paddings paddings;
    RETURN_IF_ERROR(ReadPaddings(ctx.input(1), in.rank(), &paddings));
    Dims dims;
    for (int d = 0; d < in.rank(); ++d) {
      if (paddings.before[d] > in.dim(d) || paddings.after[d] > in.dim(d) - paddings.before[d]) {
        return errors::InvalidArgument("Paddings are larger than dimension ", d, " of ", in.shape().ToString());
      }
      dims.push_back(in.dim(d) - paddings.before[d] - paddings.after[d]);
    }
    ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
    RETURN_IF_ERROR(CheckMirror(shape, paddings, offset_));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return OkStatus();
    // Borders are folded in from the first dimension to the last: the reverse of how padding made them.
    ASSIGN_OR_RETURN(Tensor sum, ctx.AllocateTemp(in.dtype(), in.shape()));
    ParallelCopy(ctx, in.data<T>(), in.num_elements(), sum.data<T>());
    for (const Border& b : Borders(shape, paddings, offset_)) {
      if (b.size == 0) continue;
      absl::InlinedVector<StridedCopy::Axis, 8> axes;
      const auto [border, mirror] =
          ForEachAxis(b, shape, in.shape(), paddings, [&](int64_t n, int64_t border_step, int64_t inside_step) {
            axes.push_back({n, border_step, inside_step});
          });
      AddGrid(axes.data(), axes.size(), sum.data<T>() + border, sum.data<T>() + mirror);
    }
    StridedCopy inside;
    const int64_t at = AddInside(shape, in.shape(), paddings, false, &inside);
    inside.Run(ctx, in.dtype(), ElementAt(sum, at), out->raw());
    return OkStatus();
  }

 private:
  const int offset_;
};

Status MirrorPadShape(ShapeContext& c) { return PadShapeFn(c, 1); }
Status MirrorPadGradShape(ShapeContext& c) { return PadShapeFn(c, -1); }

Status MirrorPadGradient(GradContext& g) {
  const char* type = g.node().Is("MirrorPad") ? "MirrorPadGrad" : "MirrorPad";
  g.set_dx(0, g.Op(type, {g.dy(0), g.input(1)}, {{"mode", g.Attr<std::string>("mode")}}));
  return OkStatus();
}

OP("MirrorPad")
    .Input("input: T")
    .Input("paddings: Tpaddings")
    .Output("output: T")
    .Attr("T: type")
    .Attr("Tpaddings: {int32, int64} = DT_INT32")
    .Attr("mode: {'REFLECT', 'SYMMETRIC'}")
    .Shape(MirrorPadShape)
    .Gradient(MirrorPadGradient)
    .Cpu<MirrorPadKernel>()
    .HostMemory("paddings")
    .Doc("Surrounds a tensor with its mirror image, without (REFLECT) or with (SYMMETRIC) the elements at the edge.");

OP("MirrorPadGrad")
    .Input("input: T")
    .Input("paddings: Tpaddings")
    .Output("output: T")
    .Attr("T: type")
    .Attr("Tpaddings: {int32, int64} = DT_INT32")
    .Attr("mode: {'REFLECT', 'SYMMETRIC'}")
    .Shape(MirrorPadGradShape)
    .Gradient(MirrorPadGradient)
    .Cpu<MirrorPadGradKernel>(NumberTypes{}, "T")
    .HostMemory("paddings")
    .Doc("The gradient of MirrorPad: borders are added to the elements they mirror.");

}  // namespace
}  // namespace millstream
