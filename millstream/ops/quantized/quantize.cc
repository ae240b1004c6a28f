// SPDX-License-Identifier: Apache-2.0
// Floats to quantized integers and back.
#include <algorithm>

#include "millstream/framework/op.h"
#include "millstream/ops/elements/as_float.h"
#include "millstream/ops/quantized/quantized.h"

namespace millstream {
namespace {

enum class Mode { kMinCombined, kMinFirst, kScaled };

Mode ReadMode(KernelInit& init) {
  const auto mode = init.Attr<std::string>("mode");
  return mode == "MIN_FIRST" ? Mode::kMinFirst : mode == "SCALED" ? Mode::kScaled : Mode::kMinCombined;
}

// The number of steps between the first and the last value of T.
template <typename T>
constexpr double kStepsOf = static_cast<double>(std::numeric_limits<T>::max()) - std::numeric_limits<T>::lowest();

// Half of the values of a signed type: its codes are shifted by so many.
template <typename T>
constexpr float HalfOfValues() {
  return std::is_signed_v<T> ? static_cast<float>((kStepsOf<T> + 1) / 2) : 0.0f;
}

// One stretch of elements with one range: `outer` blocks of `inner` elements lie `stride` apart.
struct Stretch {
  int64_t begin, outer, stride, inner;
  template <typename Fn>
  void Each(Fn fn) const {
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t i = 0; i < inner; ++i) fn(begin + o * stride + i);
    }
  }
};

// Slice s of an axis; the whole tensor without one.
Stretch SliceOf(const Shape& shape, int axis, int64_t s) {
  if (axis < 0) return {0, 1, 0, shape.num_elements()};
  const int64_t inner = shape.Product(axis + 1, shape.rank()), size = shape.dim(axis);
  return {s * inner, shape.Product(0, axis), size * inner, inner};
}

// Ranges have one number for each slice along the axis. *slices is their number.
Status CheckRanges(const Tensor& in, const Tensor& low, const Tensor& high, int axis, Mode mode, int64_t* slices) {
  if (axis >= in.rank()) {
    return errors::InvalidArgument("Axis must be less than input dimension(", in.rank(), "), got ", axis);
  }
  *slices = axis < 0 ? 1 : in.dim(axis);
  const auto check = [&](const Tensor& t, const char* name) {
    if (t.num_elements() == *slices) return OkStatus();
    return errors::InvalidArgument(name, " must have as many elements as input on its axis (", axis, "), got ",
                                   t.num_elements(), ", expected ", *slices);
  };
  RETURN_IF_ERROR(check(low, "min_range"));
  RETURN_IF_ERROR(check(high, "max_range"));
  if (*slices != 1 && mode == Mode::kMinFirst) {
    return errors::Unimplemented("MIN_FIRST mode is not implemented with axis != -1.");
  }
  return OkStatus();
}

int ReadAxis(KernelInit& init) {
  const int axis = init.Attr<int>("axis");
  if (axis < -1) init.Fail(errors::InvalidArgument("Axis must be at least -1. Found ", axis));
  return axis;
}

class QuantizeV2 final : public Kernel {
 public:
  explicit QuantizeV2(KernelInit& init)
      : mode_(ReadMode(init)),
        even_(init.Attr<std::string>("round_mode") == "HALF_TO_EVEN"),
        narrow_(init.Attr<bool>("narrow_range")),
        axis_(ReadAxis(init)),
        least_(init.Attr<float>("ensure_minimum_range")) {
    if (even_ && mode_ != Mode::kScaled) {
      init.Fail(errors::InvalidArgument("Round mode 'HALF_TO_EVEN' only supported for mode 'SCALED', but mode is '",
                                        init.Attr<std::string>("mode"), "'."));
    }
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor &in = ctx.input(0), &low = ctx.input(1), &high = ctx.input(2);
    int64_t slices = 0;
    RETURN_IF_ERROR(CheckRanges(in, low, high, axis_, mode_, &slices));
    const Shape ranges = slices == 1 ? Shape() : Shape({slices});
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, in.shape()));
    ASSIGN_OR_RETURN(Tensor * out_low, ctx.AllocateOutput(1, ranges));
    ASSIGN_OR_RETURN(Tensor * out_high, ctx.AllocateOutput(2, ranges));
    for (int64_t s = 0; s < slices; ++s) {
      float from = low.data<float>()[s], to = high.data<float>()[s];
      if (from > to) {
        return errors::InvalidArgument("input_max_range must be larger than input_min_range.");
      }
      Widen(&from, &to);
      DispatchQuantized(out->dtype(), [&](auto type) {
        using T = typename decltype(type)::type;
        Quantize<T>(in.data<float>(), SliceOf(in.shape(), axis_, s), &from, &to, Integers<T>(out));
      });
      out_low->data<float>()[s] = from;
      out_high->data<float>()[s] = to;
    }
    return OkStatus();
  }

 private:
  // Zero is in the range, which has some width.
  void Widen(float* low, float* high) const {
    *low = std::min(0.0f, *low);
    const float width = std::max(1.0f, std::max(std::fabs(*low), std::fabs(*high))) * least_;
    *high = std::max(0.0f, std::max(*high, *low + width));
  }

  template <typename T>
  void Quantize(const float* in, const Stretch& s, float* low, float* high, T* out) const {
    constexpr auto kHighest = static_cast<float>(std::numeric_limits<T>::max());
    const float lowest = static_cast<float>(std::numeric_limits<T>::lowest()) + (narrow_ ? 1 : 0);
    if (mode_ == Mode::kMinFirst) {
      const FloatQuantizedRange<T> code(*low, *high);
      return s.Each([&](int64_t i) { out[i] = code.FromFloat(in[i]); });
    }
    if (mode_ == Mode::kScaled) {
      constexpr float kMost = std::numeric_limits<float>::max();
      const float scale =
          std::min(lowest * *low > 0 ? lowest / *low : kMost, kHighest * *high > 0 ? kHighest / *high : kMost);
      *low = lowest / scale;
      *high = kHighest / scale;
      return s.Each([&](int64_t i) {
        const float x = std::max(std::min(in[i], *high), *low) * scale;
        out[i] = Converted<T>(even_ ? std::nearbyint(x) : std::round(x));
      });
    }
    const auto scale = static_cast<float>(kStepsOf<T> / (*high - *low));
    s.Each([&](int64_t i) {
      const float steps = (std::max(std::min(in[i], *high), *low) - *low) * scale;
      out[i] = Converted<T>(std::is_signed_v<T> ? std::round(steps - HalfOfValues<T>()) : steps + 0.5f);
    });
  }
  // Only int32 can be missed, by 2^31, which processors make the least int32.
  template <typename T>
  static T Converted(float x) {
    if (!(x > static_cast<float>(std::numeric_limits<T>::lowest()))) return std::numeric_limits<T>::lowest();
    if (x < static_cast<float>(std::numeric_limits<T>::max())) return static_cast<T>(x);
    return sizeof(T) == 4 ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max();
  }

  const Mode mode_;
  const bool even_, narrow_;
  const int axis_;
  const float least_;
};

class Dequantize final : public Kernel {
 public:
  explicit Dequantize(KernelInit& init)
      : mode_(ReadMode(init)), narrow_(init.Attr<bool>("narrow_range")), axis_(ReadAxis(init)) {
    if (narrow_ && mode_ != Mode::kScaled) {
      init.Fail(errors::InvalidArgument("narrow_range is only supported for mode SCALED"));
    }
    if (init.output_types()[0] == DType::kBfloat16 && mode_ != Mode::kMinCombined) {
      init.Fail(
          errors::InvalidArgument("When output type is bfloat16, only mode 'MIN_COMBINED' is supported, got mode '",
                                  init.Attr<std::string>("mode"), "'."));
    }
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor &in = ctx.input(0), &low = ctx.input(1), &high = ctx.input(2);
    int64_t slices = 0;
    RETURN_IF_ERROR(CheckRanges(in, low, high, axis_, mode_, &slices));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, in.shape()));
    ASSIGN_OR_RETURN(Tensor wide, FloatFor(ctx, out));
    for (int64_t s = 0; s < slices; ++s) {
      DispatchQuantized(in.dtype(), [&](auto type) {
        using T = typename decltype(type)::type;
        Convert<T>(Integers<T>(in), SliceOf(in.shape(), axis_, s), low.data<float>()[s], high.data<float>()[s],
                   wide.data<float>());
      });
    }
    StoreFloat(ctx, wide, out);
    return OkStatus();
  }

 private:
  template <typename T>
  void Convert(const T* in, const Stretch& s, float low, float high, float* out) const {
    constexpr double kLowest = std::numeric_limits<T>::lowest(), kHighest = std::numeric_limits<T>::max();
    if (mode_ == Mode::kMinFirst) {
      const FloatQuantizedRange<T> code(low, high);
      return s.Each([&](int64_t i) { out[i] = code.ToFloat(in[i]); });
    }
    if (mode_ == Mode::kScaled) {
      const auto lowest = static_cast<float>(kLowest + (narrow_ ? 1 : 0));
      const float above = high / static_cast<float>(kHighest);
      const float scale = kLowest == 0 ? above : std::max(low / lowest, above);
      return s.Each([&](int64_t i) { out[i] = static_cast<float>(in[i]) * scale; });
    }
    const float scale = (high - low) / static_cast<float>(kHighest - kLowest);
    s.Each([&](int64_t i) { out[i] = (static_cast<float>(in[i]) + HalfOfValues<T>()) * scale + low; });
  }

  const Mode mode_;
  const bool narrow_;
  const int axis_;
};

// Ranges are vectors along the axis, if there is one.
Status CheckRangeShapes(const ShapeContext& c, PartialShape* range) {
  int64_t axis = -1;
  RETURN_IF_ERROR(c.GetAttr("axis", &axis));
  if (axis < -1) return errors::InvalidArgument("axis should be at least -1, got ", axis);
  PartialShape in = c.input(0), unused;
  if (axis < 0) {
    *range = Shape();
  } else {
    RETURN_IF_ERROR(ShapeContext::WithRankAtLeast(in, static_cast<int>(axis) + 1, &in));
    *range = PartialShape({in.rank_known() ? in.dim(static_cast<int>(axis)) : -1});
  }
  for (int i = 1; i < 3; ++i) {
    RETURN_IF_ERROR(ShapeContext::WithRank(c.input(i), axis < 0 ? 0 : 1, &unused));
    RETURN_IF_ERROR(unused.MergeWith(*range).status());
  }
  return OkStatus();
}
Status QuantizeShape(ShapeContext& c) {
  PartialShape range;
  RETURN_IF_ERROR(CheckRangeShapes(c, &range));
  c.set_output(0, c.input(0));
  c.set_output(1, range);
  c.set_output(2, range);
  return OkStatus();
}
Status DequantizeShape(ShapeContext& c) {
  PartialShape range;
  RETURN_IF_ERROR(CheckRangeShapes(c, &range));
  c.set_output(0, c.input(0));
  return OkStatus();
}

OP("QuantizeV2")
    .Input("input: float")
    .Input("min_range: float")
    .Input("max_range: float")
    .Output("output: T")
    .Output("output_min: float")
    .Output("output_max: float")
    .Attr("T: {qint8, quint8, qint32, qint16, quint16}")
    .Attr("mode: {'MIN_COMBINED', 'MIN_FIRST', 'SCALED'} = 'MIN_COMBINED'")
    .Attr("round_mode: {'HALF_AWAY_FROM_ZERO', 'HALF_TO_EVEN'} = 'HALF_AWAY_FROM_ZERO'")
    .Attr("narrow_range: bool = false")
    .Attr("axis: int = -1")
    .Attr("ensure_minimum_range: float = 0.01")
    .Shape(QuantizeShape)
    .NotDifferentiable()
    .CpuFor<QuantizeV2>(QuantizedTypes{})
    .Doc("Floats between two bounds as small integers.");

OP("Dequantize")
    .Input("input: T")
    .Input("min_range: float")
    .Input("max_range: float")
    .Output("output: dtype")
    .Attr("T: {qint8, quint8, qint32, qint16, quint16}")
    .Attr("mode: {'MIN_COMBINED', 'MIN_FIRST', 'SCALED'} = 'MIN_COMBINED'")
    .Attr("narrow_range: bool = false")
    .Attr("axis: int = -1")
    .Attr("dtype: {bfloat16, float} = DT_FLOAT")
    .Shape(DequantizeShape)
    .NotDifferentiable()
    .CpuFor<Dequantize>(QuantizedTypes{})
    .Doc("The floats that small integers stand for.");

}  // namespace
}  // namespace millstream
