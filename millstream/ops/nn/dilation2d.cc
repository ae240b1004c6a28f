// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "millstream/framework/op.h"
#include "millstream/graph/gradients/gradient.h"
#include "millstream/ops/nn/window.h"

// Grayscale dilation: the largest sum of a pixel and the weight that lies over it, channel by channel.
namespace millstream {
namespace {

StatusOr<WindowAttrs> ReadAttrs(const AttrMap& attrs) {
  WindowAttrs w;
  std::string padding;
  RETURN_IF_ERROR(attrs.Get("strides", &w.strides));
  RETURN_IF_ERROR(attrs.Get("rates", &w.dilations));
  RETURN_IF_ERROR(attrs.Get("padding", &padding));
  w.padding = padding == "SAME" ? Padding::kSame : Padding::kValid;
  for (const auto* v : {&w.strides, &w.dilations}) {
    const char* name = v == &w.strides ? "strides" : "rates";
    if (v->size() != 4) return errors::InvalidArgument(name, " must specify 4 dimensions, got ", v->size());
    if ((*v)[0] != 1 || (*v)[3] != 1) {
      return errors::Unimplemented(name, " are only supported across spatial dimensions.");
    }
    if ((*v)[1] < 1 || (*v)[2] < 1) return errors::InvalidArgument(name, " must be positive");
  }
  return w;
}

struct Sizes {
  int64_t batch, rows, cols, depth, filter_rows, filter_cols;
  Placement down, across;
};

StatusOr<Sizes> MeasureSizes(const WindowAttrs& attrs, const Tensor& input, const Tensor& filter) {
  if (input.rank() != 4) return errors::InvalidArgument("input must be 4-dimensional", input.shape().ToString());
  if (filter.rank() != 3) return errors::InvalidArgument("filter must be 3-dimensional: ", filter.shape().ToString());
  if (input.dim(3) != filter.dim(2)) {
    return errors::InvalidArgument("input and filter must have the same depth: ", input.dim(3), " vs ", filter.dim(2));
  }
  Sizes s{input.dim(0), input.dim(1), input.dim(2), input.dim(3), filter.dim(0), filter.dim(1), {}, {}};
  if (s.filter_rows < 1 || s.filter_cols < 1) return errors::InvalidArgument("filter must not be empty");
  ASSIGN_OR_RETURN(s.down, PlaceWindow(attrs, 1, s.rows, s.filter_rows));
  ASSIGN_OR_RETURN(s.across, PlaceWindow(attrs, 2, s.cols, s.filter_cols));
  return s;
}

// The smallest value, which is also what a window without pixels gives.
template <typename T>
T Lowest() {
  if constexpr (std::is_same_v<T, Half>)
    return Half::FromBits(0xfbff);
  else if constexpr (std::is_same_v<T, BFloat16>)
    return BFloat16::FromBits(0xff7f);
  else
    return std::numeric_limits<T>::lowest();
}

// What a window finds: the sum, and where its pixel and its weight are (-1 if no pixel lies under the window).
template <typename T>
struct Best {
  T value = Lowest<T>();
  int64_t pixel = -1, weight = -1;
};

template <typename T>
class Dilation {
 public:
  Dilation(const WindowAttrs& attrs, const Sizes& sizes, const T* input, const T* filter)
      : attrs_(attrs), s_(sizes), input_(input), filter_(filter) {}

  // Of the equal sums the first one counts.
  Best<T> Find(int64_t image, int64_t row, int64_t col, int64_t channel) const {
    Best<T> best;
    const int64_t top = row * attrs_.strides[1] - s_.down.before, left = col * attrs_.strides[2] - s_.across.before;
    for (int64_t h = 0; h < s_.filter_rows; ++h) {
      const int64_t y = top + h * attrs_.dilations[1];
      if (y < 0 || y >= s_.rows) continue;
      for (int64_t w = 0; w < s_.filter_cols; ++w) {
        const int64_t x = left + w * attrs_.dilations[2];
        if (x < 0 || x >= s_.cols) continue;
        const int64_t pixel = ((image * s_.rows + y) * s_.cols + x) * s_.depth + channel;
        const int64_t weight = (h * s_.filter_cols + w) * s_.depth + channel;
        const T value = static_cast<T>(input_[pixel] + filter_[weight]);
        if (!(value > best.value)) continue;
        best = {value, pixel, weight};
      }
    }
    return best;
  }
  // Calls fn(index of the output, Best) for all outputs of images [begin, end).
  template <typename Fn>
  void ForEach(int64_t begin, int64_t end, Fn fn) const {
    int64_t out = begin * s_.down.output * s_.across.output * s_.depth;
    for (int64_t i = begin; i < end; ++i) {
      for (int64_t r = 0; r < s_.down.output; ++r) {
        for (int64_t c = 0; c < s_.across.output; ++c) {
          for (int64_t d = 0; d < s_.depth; ++d) fn(out++, Find(i, r, c, d));
        }
      }
    }
  }
  double CostPerImage() const {
    return 2.0 * static_cast<double>(s_.down.output * s_.across.output * s_.depth) *
           static_cast<double>(s_.filter_rows * s_.filter_cols);
  }

 private:
  const WindowAttrs& attrs_;
  const Sizes& s_;
  const T* const input_;
  const T* const filter_;
};

// The attributes, read once.
class DilationKernel : public Kernel {
 public:
  explicit DilationKernel(KernelInit& init) {
    StatusOr<WindowAttrs> attrs = ReadAttrs(init.attrs());
    if (attrs.ok())
      attrs_ = *std::move(attrs);
    else
      init.Fail(attrs.status());
  }

 protected:
  WindowAttrs attrs_;
};

template <typename T>
class Dilation2D final : public DilationKernel {
 public:
  using DilationKernel::DilationKernel;
  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const Sizes s, MeasureSizes(attrs_, ctx.input(0), ctx.input(1)));
    const int64_t dims[] = {s.batch, s.down.output, s.across.output, s.depth};
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (out->num_elements() == 0) return OkStatus();
    const Dilation<T> dilation(attrs_, s, ctx.input(0).data<T>(), ctx.input(1).data<T>());
    T* y = out->data<T>();
    ctx.ParallelFor(s.batch, dilation.CostPerImage(), [&](int64_t begin, int64_t end) {
      dilation.ForEach(begin, end, [y](int64_t i, const Best<T>& best) { y[i] = best.value; });
    });
    return OkStatus();
  }
};

// The gradient of the input, or with kFilter of the filter: what arrives at an output goes to the pixel or weight of
// its largest sum.
template <typename T, bool kFilter>
class Backprop : public DilationKernel {
 public:
  using DilationKernel::DilationKernel;
  Status Compute(KernelContext& ctx) override {
    const Tensor &input = ctx.input(0), &filter = ctx.input(1), &dy = ctx.input(2);
    ASSIGN_OR_RETURN(const Sizes s, MeasureSizes(attrs_, input, filter));
    if (dy.rank() != 4 || dy.dim(0) != s.batch || dy.dim(1) != s.down.output || dy.dim(2) != s.across.output ||
        dy.dim(3) != s.depth) {
      return errors::InvalidArgument("out_backprop has incompatible size.");
    }
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, (kFilter ? filter : input).shape()));
    std::fill_n(out->data<T>(), out->num_elements(), T(0));
    if (dy.num_elements() == 0) return OkStatus();
    const Dilation<T> dilation(attrs_, s, input.data<T>(), filter.data<T>());
    const T* g = dy.data<T>();
    T* dx = out->data<T>();
    const auto add = [g, dx](int64_t i, const Best<T>& best) {
      const int64_t to = kFilter ? best.weight : best.pixel;
      if (to >= 0) dx[to] = static_cast<T>(dx[to] + g[i]);
    };
    // All images add to the same filter, so that is done in one thread.
    if (kFilter) {
      dilation.ForEach(0, s.batch, add);
    } else {
      ctx.ParallelFor(s.batch, dilation.CostPerImage(),
                      [&](int64_t begin, int64_t end) { dilation.ForEach(begin, end, add); });
    }
    return OkStatus();
  }
};
template <typename T>
class BackpropInput final : public Backprop<T, false> {
 public:
  using Backprop<T, false>::Backprop;
};
template <typename T>
class BackpropFilter final : public Backprop<T, true> {
 public:
  using Backprop<T, true>::Backprop;
};

Status DilationShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const WindowAttrs attrs, ReadAttrs(c.attrs()));
  PartialShape input, filter;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 4, &input));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 3, &filter));
  int64_t depth = -1;
  RETURN_IF_ERROR(ShapeContext::MergeDim(input.dim(3), filter.dim(2), &depth));
  ASSIGN_OR_RETURN(const int64_t rows, OutputSize(attrs, 1, input.dim(1), filter.dim(0)));
  ASSIGN_OR_RETURN(const int64_t cols, OutputSize(attrs, 2, input.dim(2), filter.dim(1)));
  c.set_output(0, PartialShape({input.dim(0), rows, cols, depth}));
  return OkStatus();
}

Status FilterShape(ShapeContext& c) {
  c.set_output(0, c.input(1));
  return OkStatus();
}

Status DilationGradient(GradContext& g) {
  const auto strides = g.Attr<std::vector<int64_t>>("strides"), rates = g.Attr<std::vector<int64_t>>("rates");
  const auto padding = g.Attr<std::string>("padding");
  const auto backprop = [&](const char* op) {
    return g.Op(op, {g.input(0), g.input(1), g.dy(0)}, {{"strides", strides}, {"rates", rates}, {"padding", padding}});
  };
  g.set_dx(0, backprop("Dilation2DBackpropInput"));
  g.set_dx(1, backprop("Dilation2DBackpropFilter"));
  return g.status();
}

void DilationAttrs(OpBuilder& op) {
  op.Attr("T: realnumbertype")
      .Attr("strides: list(int) >= 4")
      .Attr("rates: list(int) >= 4")
      .Attr("padding: {'SAME', 'VALID'}");
}

OP("Dilation2D")
    .Input("input: T")
    .Input("filter: T")
    .Output("output: T")
    .With(DilationAttrs)
    .Shape(DilationShape)
    .Gradient(DilationGradient)
    .Cpu<Dilation2D>(RealTypes{})
    .Expensive()
    .Doc("The largest sum of pixel and weight under each window, channel by channel.");

OP("Dilation2DBackpropInput")
    .Input("input: T")
    .Input("filter: T")
    .Input("out_backprop: T")
    .Output("in_backprop: T")
    .With(DilationAttrs)
    .Shape(UnchangedShape)
    .Cpu<BackpropInput>(RealTypes{})
    .Expensive()
    .Doc("The gradient of Dilation2D in its input.");

OP("Dilation2DBackpropFilter")
    .Input("input: T")
    .Input("filter: T")
    .Input("out_backprop: T")
    .Output("filter_backprop: T")
    .With(DilationAttrs)
    .Shape(FilterShape)
    .Cpu<BackpropFilter>(RealTypes{})
    .Expensive()
    .Doc("The gradient of Dilation2D in its filter.");

}  // namespace
}  // namespace millstream
