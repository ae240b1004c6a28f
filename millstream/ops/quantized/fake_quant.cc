// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "millstream/framework/op.h"
#include "millstream/graph/gradients/gradient.h"
#include "millstream/math/simd.h"
#include "millstream/ops/gradients/relative.h"

namespace millstream {
namespace {

// The range that is really used: moved so that zero is one of the steps.
struct Range {
  float min, max, scale, inverse;

  Range(float low, float high, int quant_min, int quant_max) {
    const auto first = static_cast<float>(quant_min), last = static_cast<float>(quant_max);
    scale = (high - low) / (last - first);
    inverse = (last - first) / (high - low);
    const float zero = first - low / scale;
    const float moved = zero < first ? first : zero > last ? last : std::round(zero);
    min = (first - moved) * scale;
    max = (last - moved) * scale;
  }
};

MILLSTREAM_ALWAYS_INLINE float Quantize(float x, const Range& r) {
  const float above = x < r.min ? r.min : x;
  const float clamped = (r.max < above ? r.max : above) - r.min;
  return std::floor(clamped * r.inverse + 0.5f) * r.scale + r.min;
}

constexpr double kElementCost = 0.3;  // nanoseconds

// y = the quantized x of n elements of one range. Min and max that are both zero make an empty one.
void QuantizeAll(const float* x, int64_t n, const Range& r, bool empty, float* y) {
  if (empty) return static_cast<void>(std::fill_n(y, n, 0.0f));
  simd::For<float>(0, n, [=](int64_t i) MILLSTREAM_INLINE_LAMBDA { y[i] = Quantize(x[i], r); });
}
// The same for a row of elements of different ranges.
void QuantizeRow(const float* x, int64_t n, const Range* r, float* y) {
  simd::For<float>(0, n, [=](int64_t i) MILLSTREAM_INLINE_LAMBDA { y[i] = Quantize(x[i], r[i]); });
}

// What goes to the two ends of a range.
struct EndGrads {
  double low = 0, high = 0;
};

// dx = dy where x is inside of the range. Returns what goes to its ends.
EndGrads PassInside(const float* x, const float* dy, int64_t n, const Range& r, float* dx) {
  return simd::Run<float>([=]() MILLSTREAM_INLINE_LAMBDA {
    constexpr int kLanes = 32;
    constexpr int64_t kBlock = 4096;  // elements that are added up as float
    EndGrads ends;
    for (int64_t first = 0; first < n; first += kBlock) {
      const int64_t last = std::min(n, first + kBlock);
      float low[kLanes] = {}, high[kLanes] = {};
      const auto pass = [=](int64_t i, float* to_low, float* to_high) MILLSTREAM_INLINE_LAMBDA {
        const float d = dy[i];
        const bool below = x[i]<r.min, above = x[i]> r.max;
        *to_low += below ? d : 0.0f;
        *to_high += above ? d : 0.0f;
        dx[i] = below || above ? 0.0f : d;
      };
      int64_t i = first;
      for (; i + kLanes <= last; i += kLanes) {
        MILLSTREAM_INDEPENDENT_LOOP
        for (int l = 0; l < kLanes; ++l) pass(i + l, low + l, high + l);
      }
      for (; i < last; ++i) pass(i, low, high);
      for (int l = 0; l < kLanes; ++l) ends.low += low[l], ends.high += high[l];
    }
    return ends;
  });
}

// The same for a row of elements of different ranges, whose ends have sums of their own.
void PassRowInside(const float* x, const float* dy, int64_t n, const Range* r, float* dx, float* low, float* high) {
  simd::For<float>(0, n, [=](int64_t i) MILLSTREAM_INLINE_LAMBDA {
    const float d = dy[i];
    const bool below = x[i]<r[i].min, above = x[i]> r[i].max;
    low[i] += below ? d : 0.0f;
    high[i] += above ? d : 0.0f;
    dx[i] = below || above ? 0.0f : d;
  });
}

// Reads the attributes that all of these ops have.
class QuantKernel : public Kernel {
 public:
  explicit QuantKernel(KernelInit& init) {
    const auto bits = init.Attr<int>("num_bits");
    if (bits < 2 || bits > 16) init.Fail(errors::InvalidArgument("num_bits must be between 2 and 16, inclusive"));
    quant_min_ = init.Attr<bool>("narrow_range") ? 1 : 0;
    quant_max_ = bits >= 2 && bits <= 16 ? (1 << bits) - 1 : 255;
    if (!init.HasAttr("min")) return;
    min_ = init.Attr<float>("min");
    max_ = init.Attr<float>("max");
    if (!(min_ < max_)) init.Fail(errors::InvalidArgument("min has to be smaller than max, was: ", min_, " >= ", max_));
  }

 protected:
  // One range for each of the last dimension's `n` channels, from inputs i and i + 1 or the attributes.
  Status Ranges(const KernelContext& ctx, const Tensor& in, int i, bool per_channel, std::vector<Range>* ranges) const {
    if (i < 0) {
      ranges->emplace_back(min_, max_, quant_min_, quant_max_);
      return OkStatus();
    }
    const Tensor &low = ctx.input(i), &high = ctx.input(i + 1);
    if (per_channel) {
      if (in.rank() < 1) return errors::InvalidArgument("inputs must have at least one dimension");
      const int64_t n = in.dim(in.rank() - 1);
      if (low.rank() != 1 || low.dim(0) != n || high.rank() != 1 || high.dim(0) != n) {
        return errors::InvalidArgument("min and max must have one element for each channel");
      }
    } else if (low.rank() != 0 || high.rank() != 0) {
      return errors::InvalidArgument("`min` and `max` must be rank 0");
    }
    for (int64_t k = 0; k < low.num_elements(); ++k) {
      const float a = low.data<float>()[k], b = high.data<float>()[k];
      if (a == 0 && b == 0 && !per_channel) {
        ranges->emplace_back(0.0f, 0.0f, quant_min_, quant_max_);
      } else {
        ranges->emplace_back(a, b, quant_min_, quant_max_);
      }
    }
    return OkStatus();
  }

  int quant_min_ = 0, quant_max_ = 255;
  float min_ = 0, max_ = 0;
};

template <bool kVars, bool kPerChannel>
class FakeQuant final : public QuantKernel {
 public:
  using QuantKernel::QuantKernel;
  Status Compute(KernelContext& ctx) override {
    const Tensor& in = ctx.input(0);
    std::vector<Range> ranges;
    RETURN_IF_ERROR(Ranges(ctx, in, kVars ? 1 : -1, kPerChannel, &ranges));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, in.shape()));
    if (in.num_elements() == 0) return OkStatus();
    const float* x = in.data<float>();
    float* y = out->data<float>();
    if (!kPerChannel) {
      const Range& r = ranges[0];
      const bool empty = kVars && !(r.scale > 0);
      ctx.ParallelFor(
          in.num_elements(), kElementCost,
          [&](int64_t begin, int64_t end) { QuantizeAll(x + begin, end - begin, r, empty, y + begin); }, 64);
      return OkStatus();
    }
    const auto n = static_cast<int64_t>(ranges.size());
    ctx.ParallelFor(in.num_elements() / n, kElementCost * static_cast<double>(n), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) QuantizeRow(x + row * n, n, ranges.data(), y + row * n);
    });
    return OkStatus();
  }
};

// Gradients pass where inputs are inside of the range, and go to its ends otherwise.
template <bool kVars, bool kPerChannel>
class FakeQuantGrad final : public QuantKernel {
 public:
  using QuantKernel::QuantKernel;
  Status Compute(KernelContext& ctx) override {
    const Tensor &dy = ctx.input(0), &in = ctx.input(1);
    if (!(dy.shape() == in.shape())) return errors::InvalidArgument("gradient and input must be the same size");
    std::vector<Range> ranges;
    RETURN_IF_ERROR(Ranges(ctx, in, kVars ? 2 : -1, kPerChannel, &ranges));
    ASSIGN_OR_RETURN(Tensor * dx, ctx.AllocateOutput(0, in.shape()));
    const auto n = static_cast<int64_t>(ranges.size());
    std::vector<float> low(ranges.size(), 0), high(ranges.size(), 0);
    if (in.num_elements() > 0) {
      if (kPerChannel) {
        PassRows(in.data<float>(), dy.data<float>(), in.num_elements() / n, ranges, dx->data<float>(), &low, &high);
      } else if (kVars && !(ranges[0].scale > 0)) {  // min and max are both zero
        std::copy_n(dy.data<float>(), dy.num_elements(), dx->data<float>());
      } else {
        const EndGrads ends =
            PassAll(ctx, in.data<float>(), dy.data<float>(), in.num_elements(), ranges[0], dx->data<float>());
        low[0] = static_cast<float>(ends.low);
        high[0] = static_cast<float>(ends.high);
      }
    }
    if constexpr (kVars) {
      const Shape shape = kPerChannel ? Shape({n}) : Shape();
      ASSIGN_OR_RETURN(Tensor * dlow, ctx.AllocateOutput(1, shape));
      ASSIGN_OR_RETURN(Tensor * dhigh, ctx.AllocateOutput(2, shape));
      std::copy(low.begin(), low.end(), dlow->data<float>());
      std::copy(high.begin(), high.end(), dhigh->data<float>());
    }
    return OkStatus();
  }

 private:
  // Chunks have sums of their own, which depend on the size alone and are added up in order.
  static EndGrads PassAll(KernelContext& ctx, const float* x, const float* dy, int64_t n, const Range& r, float* dx) {
    constexpr int64_t kMaxChunks = 16, kLeastChunk = 1 << 14;
    const int64_t chunk = std::max(kLeastChunk, (n + kMaxChunks - 1) / kMaxChunks), chunks = (n + chunk - 1) / chunk;
    EndGrads parts[kMaxChunks], ends;
    ctx.ParallelFor(chunks, kElementCost * static_cast<double>(chunk), [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) {
        const int64_t first = c * chunk;
        parts[c] = PassInside(x + first, dy + first, std::min(chunk, n - first), r, dx + first);
      }
    });
    for (int64_t c = 0; c < chunks; ++c) ends.low += parts[c].low, ends.high += parts[c].high;
    return ends;
  }
  // On this thread: the sums of each channel go over all rows.
  static void PassRows(const float* x, const float* dy, int64_t rows, const std::vector<Range>& ranges, float* dx,
                       std::vector<float>* low, std::vector<float>* high) {
    const auto n = static_cast<int64_t>(ranges.size());
    for (int64_t at = 0; at < rows * n; at += n) {
      PassRowInside(x + at, dy + at, n, ranges.data(), dx + at, low->data(), high->data());
    }
  }
};

Status VarsShape(ShapeContext& c) {
  PartialShape scalar;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 0, &scalar));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(2), 0, &scalar));
  return UnchangedShape(c);
}
Status PerChannelShape(ShapeContext& c) {
  PartialShape in, low, high;
  RETURN_IF_ERROR(ShapeContext::WithRankAtLeast(c.input(0), 1, &in));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 1, &low));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(2), 1, &high));
  int64_t n = 0;
  RETURN_IF_ERROR(ShapeContext::MergeDim(low.dim(0), high.dim(0), &n));
  if (in.rank_known()) {
    RETURN_IF_ERROR(ShapeContext::MergeDim(n, in.dim(in.rank() - 1), &n));
    in.set_dim(in.rank() - 1, n);
  }
  c.set_output(0, std::move(in));
  return OkStatus();
}
Status VarsGradShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(PartialShape in, c.input(0).MergeWith(c.input(1)));
  c.set_output(0, std::move(in));
  c.set_output(1, Shape());
  c.set_output(2, Shape());
  return OkStatus();
}
Status PerChannelGradShape(ShapeContext& c) {
  PartialShape in;
  ASSIGN_OR_RETURN(in, c.input(0).MergeWith(c.input(1)));
  RETURN_IF_ERROR(ShapeContext::WithRankAtLeast(in, 1, &in));
  PartialShape low;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(2), 1, &low));
  int64_t n = low.dim(0);
  if (in.rank_known()) {
    RETURN_IF_ERROR(ShapeContext::MergeDim(n, in.dim(in.rank() - 1), &n));
    in.set_dim(in.rank() - 1, n);
  }
  c.set_output(0, in);
  c.set_output(1, PartialShape({n}));
  c.set_output(2, PartialShape({n}));
  return OkStatus();
}

Status ArgsGrad(GradContext& g) {
  g.set_dx(0, Relative(g, "FakeQuantWithMinMaxArgsGradient", {g.dy(0), g.input(0)},
                       {"min", "max", "num_bits", "narrow_range"}));
  return g.status();
}
Status VarsGrad(GradContext& g) {
  Node* node = g.Add(absl::StrCat(g.node().type(), "Gradient"), {g.dy(0), g.input(0), g.input(1), g.input(2)},
                     {{"num_bits", g.Attr<int64_t>("num_bits")}, {"narrow_range", g.Attr<bool>("narrow_range")}});
  if (node == nullptr) return g.status();
  for (int i = 0; i < 3; ++i) g.set_dx(i, Output(node, i));
  return g.status();
}

void BitsAttrs(OpBuilder& op) { op.Attr("num_bits: int = 8").Attr("narrow_range: bool = false"); }
void LimitAttrs(OpBuilder& op) { op.Attr("min: float = -6.0").Attr("max: float = 6.0"); }

OP("FakeQuantWithMinMaxArgs")
    .Input("inputs: float")
    .Output("outputs: float")
    .With(LimitAttrs)
    .With(BitsAttrs)
    .Shape(UnchangedShape)
    .Gradient(ArgsGrad)
    .Cpu<FakeQuant<false, false>>()
    .Doc("Values rounded as if they were stored in few bits, in a given range.");

OP("FakeQuantWithMinMaxArgsGradient")
    .Input("gradients: float")
    .Input("inputs: float")
    .Output("backprops: float")
    .With(LimitAttrs)
    .With(BitsAttrs)
    .Shape(MergeBothShapes)
    .NotDifferentiable()
    .Cpu<FakeQuantGrad<false, false>>()
    .Doc("The gradient of FakeQuantWithMinMaxArgs.");

#define VARS(Name, per_channel, shape, grad_shape, doc) \
  OP(Name)                                              \
      .Input("inputs: float")                           \
      .Input("min: float")                              \
      .Input("max: float")                              \
      .Output("outputs: float")                         \
      .With(BitsAttrs)                                  \
      .Shape(shape)                                     \
      .Gradient(VarsGrad)                               \
      .Cpu<FakeQuant<true, per_channel>>()              \
      .Doc(doc);                                        \
  OP(Name "Gradient")                                   \
      .Input("gradients: float")                        \
      .Input("inputs: float")                           \
      .Input("min: float")                              \
      .Input("max: float")                              \
      .Output("backprops_wrt_input: float")             \
      .Output("backprop_wrt_min: float")                \
      .Output("backprop_wrt_max: float")                \
      .With(BitsAttrs)                                  \
      .Shape(grad_shape)                                \
      .NotDifferentiable()                              \
      .Cpu<FakeQuantGrad<true, per_channel>>()          \
      .Doc("The gradient of " Name ".")

VARS("FakeQuantWithMinMaxVars", false, VarsShape, VarsGradShape,
     "Values rounded as if they were stored in few bits, in a range that is computed.");
VARS("FakeQuantWithMinMaxVarsPerChannel", true, PerChannelShape, PerChannelGradShape,
     "As FakeQuantWithMinMaxVars, with a range for each channel.");

}  // namespace
}  // namespace millstream
