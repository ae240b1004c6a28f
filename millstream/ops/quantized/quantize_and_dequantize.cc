// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "millstream/framework/op.h"
#include "millstream/graph/gradients/gradient.h"
#include "millstream/math/simd.h"

// Rounds values to those that integers of a few bits can stand for, and keeps them as floats.
namespace millstream {
namespace {

struct QuantOptions {
  bool is_signed = true;
  bool narrow = false;  // without the lowest integer, so that the range is symmetric
  bool half_up = false;
  bool range_given = false;
};

Status CheckBits(int64_t bits, bool is_signed) {
  if (bits > 0 && bits < (is_signed ? 62 : 63)) return OkStatus();
  return errors::InvalidArgument("num_bits is out of range: ", bits, " with signed_input_ ", is_signed);
}

// The range of values and the factor to integers; widens one side of the range so that both have the same factor and
// zero stays zero.
template <typename T>
struct Scale {
  T min, max, scale, inverse;

  Scale(T low, T high, int64_t bits, const QuantOptions& o) : min(low), max(high) {
    const int64_t top = o.is_signed ? (int64_t{1} << (bits - 1)) - 1 : (int64_t{1} << bits) - 1;
    const int64_t bottom = !o.is_signed ? 0 : o.narrow ? -top : -top - 1;
    const T first = static_cast<T>(bottom), last = static_cast<T>(top);
    const T from_min = first * min > 0 ? first / min : std::numeric_limits<T>::max();
    const T from_max = last * max > 0 ? last / max : std::numeric_limits<T>::max();
    if (from_min < from_max) {
      scale = from_min;
      inverse = min / first;
      max = last * inverse;
    } else {
      scale = from_max;
      inverse = max / last;
      min = first * inverse;
    }
  }
};

// The two ways to round, with and without limits to the values, are loops of their own.
template <bool half_up, bool clamped, typename T>
MILLSTREAM_ALWAYS_INLINE T Rounded(T x, const Scale<T>& s) {
  const T below = s.max < x ? s.max : x;
  const T inside = clamped ? (below < s.min ? s.min : below) : x;
  const T scaled = inside * s.scale;
  return (half_up ? std::floor(scaled + T(0.5)) : std::nearbyint(scaled)) * s.inverse;
}
template <bool half_up, bool clamped, typename T>
void RoundAll(const T* x, int64_t n, const Scale<T>& s, T* y) {
  simd::For<T>(0, n, [=](int64_t i) MILLSTREAM_INLINE_LAMBDA { y[i] = Rounded<half_up, clamped>(x[i], s); });
}
template <typename T>
void Round(const T* x, int64_t n, const Scale<T>& s, const QuantOptions& o, T* y) {
  if (o.half_up) {
    return o.range_given ? RoundAll<true, true>(x, n, s, y) : RoundAll<true, false>(x, n, s, y);
  }
  return o.range_given ? RoundAll<false, true>(x, n, s, y) : RoundAll<false, false>(x, n, s, y);
}

// The least and the largest of n values and of *low and *high.
template <typename T>
void FindLimits(const T* x, int64_t n, T* low, T* high) {
  struct Limits {
    T low, high;
  };
  const Limits before{*low, *high};
  const Limits found = simd::Run<T>([=]() MILLSTREAM_INLINE_LAMBDA {
    constexpr int kLanes = 32;
    T least[kLanes], most[kLanes];
    for (int l = 0; l < kLanes; ++l) least[l] = before.low, most[l] = before.high;
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      MILLSTREAM_INDEPENDENT_LOOP
      for (int l = 0; l < kLanes; ++l) {
        const T v = x[i + l];
        least[l] = v < least[l] ? v : least[l];
        most[l] = most[l] < v ? v : most[l];
      }
    }
    Limits all = before;
    for (int l = 0; l < kLanes; ++l) {
      all.low = std::min(all.low, least[l]);
      all.high = std::max(all.high, most[l]);
    }
    for (; i < n; ++i) {
      all.low = std::min(all.low, x[i]);
      all.high = std::max(all.high, x[i]);
    }
    return all;
  });
  *low = found.low;
  *high = found.high;
}

// A tensor seen as [outer, channels, inner]; one channel if there is no axis (-1).
struct Channels {
  int64_t outer = 1, count = 1, inner = 1;

  static StatusOr<Channels> Of(const Shape& shape, int64_t axis) {
    if (axis < -1) return errors::InvalidArgument("Axis must be at least -1. Found ", axis);
    if (axis >= shape.rank()) {
      return errors::InvalidArgument("Shape must be at least rank ", static_cast<uint64_t>(axis) + 1, " but is rank ",
                                     shape.rank());
    }
    Channels c;
    if (axis < 0) {
      c.inner = shape.num_elements();
      return c;
    }
    const auto at = static_cast<int>(axis);
    c.outer = shape.Product(0, at);
    c.count = shape.dim(at);
    c.inner = shape.Product(at + 1, shape.rank());
    return c;
  }
};

// A limit for each channel, from a scalar or, with an axis, a vector.
template <typename T>
Status CheckLimit(const Tensor& limit, const char* name, int64_t axis, int64_t channels) {
  if (axis < 0 && limit.rank() != 0) return errors::InvalidArgument(name, " must be a scalar.");
  if (axis >= 0 && (limit.rank() != 1 || limit.dim(0) != channels)) {
    return errors::InvalidArgument(name, " must be a vector of ", channels, " elements to match dim ", axis,
                                   " of the input, was ", limit.shape().ToString());
  }
  return OkStatus();
}

template <typename T>
void QuantizeChannel(const KernelContext& ctx, const Channels& c, int64_t channel, T low, T high, int64_t bits,
                     const QuantOptions& o, const T* x, T* y) {
  const auto begin_of = [&](int64_t i) { return (i * c.count + channel) * c.inner; };
  if (!o.range_given) {
    low = std::numeric_limits<T>::infinity();
    high = -low;
    for (int64_t i = 0; i < c.outer; ++i) FindLimits(x + begin_of(i), c.inner, &low, &high);
  }
  const Scale<T> scale(low, high, bits, o);
  for (int64_t i = 0; i < c.outer; ++i) {
    const int64_t at = begin_of(i);
    ctx.ParallelFor(
        c.inner, 0.3, [&](int64_t begin, int64_t end) { Round(x + at + begin, end - begin, scale, o, y + at + begin); },
        64);
  }
}

// All versions: the range is inputs 1 and 2 (in the first version attributes), the number of bits an attribute or
// input 3 (version 3).
template <typename T>
class QuantizeAndDequantize final : public Kernel {
 public:
  explicit QuantizeAndDequantize(KernelInit& init) {
    options_.is_signed = init.Attr<bool>("signed_input");
    options_.range_given = init.Attr<bool>("range_given");
    if (init.HasAttr("narrow_range")) options_.narrow = init.Attr<bool>("narrow_range");
    if (init.HasAttr("round_mode")) options_.half_up = init.Attr<std::string>("round_mode") == "HALF_UP";
    if (init.HasAttr("axis")) axis_ = init.Attr<int64_t>("axis");
    if (init.HasAttr("input_min")) {
      min_ = static_cast<T>(init.Attr<float>("input_min"));
      max_ = static_cast<T>(init.Attr<float>("input_max"));
      if (options_.range_given) init.Check(CheckRange(min_, max_));
    }
    if (!init.HasAttr("num_bits")) return;
    bits_ = init.Attr<int64_t>("num_bits");
    init.Check(CheckBits(bits_, options_.is_signed));
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    ASSIGN_OR_RETURN(const Channels c, Channels::Of(input.shape(), axis_));
    int64_t bits = bits_;
    if (ctx.num_inputs() == 4) {
      if (ctx.input(3).rank() != 0) {
        return errors::InvalidArgument("Invalid shape. The `num_bits` tensor should be a scalar. Got dimensions: ",
                                       ctx.input(3).rank());
      }
      bits = ctx.input(3).scalar<int32_t>();
      RETURN_IF_ERROR(CheckBits(bits, options_.is_signed));
    }
    const T *low = &min_, *high = &max_;
    if (options_.range_given && ctx.num_inputs() > 1) {
      RETURN_IF_ERROR(CheckLimit<T>(ctx.input(1), "input_min", axis_, c.count));
      RETURN_IF_ERROR(CheckLimit<T>(ctx.input(2), "input_max", axis_, c.count));
      low = ctx.input(1).data<T>();
      high = ctx.input(2).data<T>();
      if (axis_ < 0) RETURN_IF_ERROR(CheckRange(*low, *high));
    }
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, input.shape()));
    if (input.num_elements() == 0) return OkStatus();
    for (int64_t i = 0; i < c.count; ++i) {
      const int64_t limit = options_.range_given ? i : 0;
      QuantizeChannel<T>(ctx, c, i, low[limit], high[limit], bits, options_, input.data<T>(), out->data<T>());
    }
    return OkStatus();
  }

 private:
  static Status CheckRange(T low, T high) {
    if (low <= high) return OkStatus();
    return errors::InvalidArgument("Invalid range: input_min ", low, " > input_max ", high);
  }

  QuantOptions options_;
  T min_ = 0, max_ = 0;
  int64_t axis_ = -1;
  int64_t bits_ = 8;
};

// The gradient passes where the input is in its range; the range gets none.
template <typename T>
class QuantizeAndDequantizeGrad final : public Kernel {
 public:
  explicit QuantizeAndDequantizeGrad(KernelInit& init) : axis_(init.Attr<int64_t>("axis")) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor &dy = ctx.input(0), &input = ctx.input(1), &low = ctx.input(2), &high = ctx.input(3);
    ASSIGN_OR_RETURN(const Channels c, Channels::Of(input.shape(), axis_));
    if (!(dy.shape() == input.shape())) return errors::InvalidArgument("gradient and input must be the same size");
    RETURN_IF_ERROR(CheckLimit<T>(low, "input_min", axis_, c.count));
    RETURN_IF_ERROR(CheckLimit<T>(high, "input_max", axis_, c.count));
    ASSIGN_OR_RETURN(Tensor * dx, ctx.AllocateOutput(0, input.shape()));
    for (int i = 1; i < 3; ++i) {
      ASSIGN_OR_RETURN(Tensor * none, ctx.AllocateOutput(i, low.shape()));
      std::fill_n(none->data<T>(), none->num_elements(), T(0));
    }
    const T *g = dy.data<T>(), *x = input.data<T>();
    T* to = dx->data<T>();
    for (int64_t k = 0; k < input.num_elements(); ++k) {
      const int64_t channel = k / c.inner % c.count;
      to[k] = x[k] >= low.data<T>()[channel] && x[k] <= high.data<T>()[channel] ? g[k] : T(0);
    }
    return OkStatus();
  }

 private:
  const int64_t axis_;
};

// As the input; a range, where there is one, must be scalars or, with an axis, vectors.
Status QuantShape(ShapeContext& c) {
  int64_t axis = -1;
  RETURN_IF_ERROR(c.GetAttr("axis", &axis));
  if (axis < -1) return errors::InvalidArgument("axis should be at least -1, got ", axis);
  PartialShape input = c.input(0), limit;
  if (axis >= 0) RETURN_IF_ERROR(ShapeContext::WithRankAtLeast(input, static_cast<int>(axis) + 1, &input));
  for (int i = 1; i < 3; ++i) {
    RETURN_IF_ERROR(ShapeContext::WithRank(c.input(i), axis < 0 ? 0 : 1, &limit));
  }
  c.set_output(0, input);
  return OkStatus();
}

Status QuantGradShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(PartialShape input, c.input(0).MergeWith(c.input(1)));
  int64_t axis = -1;
  RETURN_IF_ERROR(c.GetAttr("axis", &axis));
  ASSIGN_OR_RETURN(PartialShape limit, c.input(2).MergeWith(c.input(3)));
  RETURN_IF_ERROR(ShapeContext::WithRank(limit, axis < 0 ? 0 : 1, &limit));
  c.set_output(0, input);
  c.set_output(1, limit);
  c.set_output(2, limit);
  return OkStatus();
}

Status StraightThrough(GradContext& g) {
  g.set_dx(0, g.dy(0));
  return g.status();
}

Status ClippedGradient(GradContext& g) {
  const Node* grad = g.Add("QuantizeAndDequantizeV4Grad", {g.dy(0), g.input(0), g.input(1), g.input(2)},
                           {{"axis", g.Attr<int64_t>("axis")}});
  if (grad == nullptr) return g.status();
  for (int i = 0; i < 3; ++i) g.set_dx(i, Output(const_cast<Node*>(grad), i));
  return g.status();
}

void TypesAttr(OpBuilder& op) { op.Attr("T: {bfloat16, half, float, double}"); }
void RangeInputs(OpBuilder& op) { op.Input("input: T").Input("input_min: T").Input("input_max: T"); }
void RoundingAttrs(OpBuilder& op) {
  op.Attr("round_mode: {'HALF_TO_EVEN', 'HALF_UP'} = 'HALF_TO_EVEN'")
      .Attr("narrow_range: bool = false")
      .Attr("axis: int = -1");
}
using QuantTypes = Types<float, double>;

OP("QuantizeAndDequantize")
    .Input("input: T")
    .Output("output: T")
    .Attr("signed_input: bool = true")
    .Attr("num_bits: int = 8")
    .Attr("range_given: bool = false")
    .Attr("input_min: float = 0")
    .Attr("input_max: float = 0")
    .With(TypesAttr)
    .Shape(UnchangedShape)
    .Gradient(StraightThrough)
    .Cpu<QuantizeAndDequantize>(QuantTypes{})
    .Doc("QuantizeAndDequantizeV2 with the range as attributes.");

OP("QuantizeAndDequantizeV2")
    .With(RangeInputs)
    .Output("output: T")
    .Attr("signed_input: bool = true")
    .Attr("num_bits: int = 8")
    .Attr("range_given: bool = false")
    .With(TypesAttr)
    .With(RoundingAttrs)
    .Shape(QuantShape)
    .Gradient(StraightThrough)
    .Cpu<QuantizeAndDequantize>(QuantTypes{})
    .Doc("Rounds values to those that integers of some bits stand for, in a given range or that of the input.");

OP("QuantizeAndDequantizeV3")
    .With(RangeInputs)
    .Input("num_bits: int32")
    .Output("output: T")
    .Attr("signed_input: bool = true")
    .Attr("range_given: bool = true")
    .With(TypesAttr)
    .Attr("narrow_range: bool = false")
    .Attr("axis: int = -1")
    .Shape(QuantShape)
    .Gradient(StraightThrough)
    .Cpu<QuantizeAndDequantize>(QuantTypes{})
    .Doc("QuantizeAndDequantizeV2 with the number of bits as an input.");

OP("QuantizeAndDequantizeV4")
    .With(RangeInputs)
    .Output("output: T")
    .Attr("signed_input: bool = true")
    .Attr("num_bits: int = 8")
    .Attr("range_given: bool = false")
    .With(TypesAttr)
    .With(RoundingAttrs)
    .Shape(QuantShape)
    .Gradient(ClippedGradient)
    .Cpu<QuantizeAndDequantize>(QuantTypes{})
    .Doc("QuantizeAndDequantizeV2 whose gradient is zero outside of the range.");

OP("QuantizeAndDequantizeV4Grad")
    .Input("gradients: T")
    .Input("input: T")
    .Input("input_min: T")
    .Input("input_max: T")
    .Output("input_backprop: T")
    .Output("input_min_backprop: T")
    .Output("input_max_backprop: T")
    .With(TypesAttr)
    .Attr("axis: int = -1")
    .Shape(QuantGradShape)
    .Cpu<QuantizeAndDequantizeGrad>(QuantTypes{})
    .Doc("The gradient of QuantizeAndDequantizeV4.");

}  // namespace
}  // namespace millstream
