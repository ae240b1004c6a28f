// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

#include "millstream/math/simd_types.h"
#include "millstream/ops/gradients/gradients.h"
#include "millstream/tensor/dispatch.h"

namespace millstream {
namespace {

struct Layout {
  int64_t n, inner;  // the array is [*, n, inner], scanned along n
  bool exclusive, reverse;
};

constexpr int64_t kStrip = 64;  // columns that advance together

enum class Kind { kSum, kProduct, kLogSumExp };

template <Kind kind, typename C>
C Identity() {
  if constexpr (kind == Kind::kLogSumExp)
    return -std::numeric_limits<C>::infinity();
  else
    return C(kind == Kind::kProduct ? 1 : 0);
}
template <Kind kind, typename C>
C Combine(C a, C b) {
  if constexpr (kind == Kind::kLogSumExp) {
    const C high = std::max(a, b);
    return std::isinf(high) && high < 0 ? high : high + std::log(std::exp(a - high) + std::exp(b - high));
  } else {
    return static_cast<C>(kind == Kind::kProduct ? a * b : a + b);
  }
}

// What running totals of elements of type T are kept in: uint16_t would be promoted to int, whose product may overflow.
template <typename T>
using Total = std::conditional_t<std::is_integral_v<T> && sizeof(T) < 4, uint32_t, Compute<T>>;

// One strip: x and y point at its first row.
template <typename T, Kind kind>
MILLSTREAM_ALWAYS_INLINE void ScanStrip(const T* x, T* y, const Layout& s, int64_t columns) {
  using C = Total<T>;
  C total[kStrip];
  std::fill_n(total, columns, Identity<kind, C>());
  const bool exclusive = s.exclusive;
  for (int64_t r = 0; r < s.n; ++r) {
    const int64_t row = (s.reverse ? s.n - 1 - r : r) * s.inner;
    MILLSTREAM_INDEPENDENT_LOOP
    for (int64_t j = 0; j < columns; ++j) {
      const C before = total[j], after = Combine<kind>(before, static_cast<C>(x[row + j]));
      total[j] = after;
      y[row + j] = static_cast<T>(exclusive ? before : after);
    }
  }
}

// kLines lines side by side, so that no addition waits for the one before it; element j of each is `step` from element
// j + 1, and the lines are n apart.
template <typename T, Kind kind, bool exclusive, int kLines>
MILLSTREAM_ALWAYS_INLINE void ScanLines(const T* x, T* y, int64_t n, int64_t step) {
  using C = Total<T>;
  C total[kLines];
  for (C& t : total) t = Identity<kind, C>();
  for (int64_t i = 0, at = step < 0 ? n - 1 : 0; i < n; ++i, at += step) {
    for (int l = 0; l < kLines; ++l) {
      const C before = total[l];
      total[l] = Combine<kind>(before, static_cast<C>(x[l * n + at]));
      y[l * n + at] = static_cast<T>(exclusive ? before : total[l]);
    }
  }
}

constexpr int kLinesTogether = 8;

// Lines [begin, end) of contiguous elements.
template <typename T, Kind kind, bool exclusive>
void ScanAllLines(const T* x, T* y, const Layout& s, int64_t begin, int64_t end) {
  const int64_t n = s.n, step = s.reverse ? -1 : 1;
  for (; begin + kLinesTogether <= end; begin += kLinesTogether) {
    ScanLines<T, kind, exclusive, kLinesTogether>(x + begin * n, y + begin * n, n, step);
  }
  for (; begin < end; ++begin) ScanLines<T, kind, exclusive, 1>(x + begin * n, y + begin * n, n, step);
}

using ScanFn = void (*)(const void* x, void* y, const Layout& s, int64_t begin, int64_t end);

// Strips [begin, end): each outer index has ceil(inner / kStrip) of them.
template <typename T, Kind kind>
void Scan(const void* in, void* out, const Layout& s, int64_t begin, int64_t end) {
  const T* x = static_cast<const T*>(in);
  T* y = static_cast<T*>(out);
  if (s.inner == 1) {
    if (s.exclusive) return ScanAllLines<T, kind, true>(x, y, s, begin, end);
    return ScanAllLines<T, kind, false>(x, y, s, begin, end);
  }
  const int64_t strips = (s.inner + kStrip - 1) / kStrip;
  for (int64_t i = begin; i < end; ++i) {
    const int64_t column = i % strips * kStrip, at = i / strips * s.n * s.inner + column;
    const int64_t columns = std::min(kStrip, s.inner - column);
    if constexpr (kind == Kind::kLogSumExp) {
      ScanStrip<T, kind>(x + at, y + at, s, columns);
    } else {
      simd::Run<simd::VectorOf<T>>([=]() MILLSTREAM_INLINE_LAMBDA { ScanStrip<T, kind>(x + at, y + at, s, columns); });
    }
  }
}

// Integers wrap around: one unsigned loop serves both signs.
DType LoopType(DType t) {
  if (!IsInteger(t)) return t;
  switch (DTypeSize(t)) {
    case 1:
      return DType::kUint8;
    case 2:
      return DType::kUint16;
    case 4:
      return DType::kUint32;
    default:
      return DType::kUint64;
  }
}

template <Kind kind>
class ScanKernel final : public Kernel {
 public:
  explicit ScanKernel(KernelInit& init)
      : exclusive_(init.Attr<bool>("exclusive")), reverse_(init.Attr<bool>("reverse")) {
    using Loops =
        std::conditional_t<kind == Kind::kLogSumExp, FloatTypes, Join<FloatTypes, Join<ComplexTypes, UnsignedTypes>>>;
    DispatchOver(Loops{}, LoopType(RemoveRef(init.input_types()[0])),
                 [&](auto tag) { scan_ = &Scan<typename decltype(tag)::type, kind>; });
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor &x = ctx.input(0), &axis_tensor = ctx.input(1);
    if (axis_tensor.rank() != 0) {
      return errors::InvalidArgument("ScanOp: axis must be a scalar, not ", axis_tensor.shape().ToString());
    }
    int64_t axis = axis_tensor.dtype() == DType::kInt32 ? axis_tensor.scalar<int32_t>() : axis_tensor.scalar<int64_t>();
    if (axis < -x.rank() || axis >= x.rank()) {
      return errors::InvalidArgument("ScanOp: Expected scan axis in the range [", -x.rank(), ", ", x.rank(),
                                     "), but got ", axis);
    }
    if (axis < 0) axis += x.rank();
    ASSIGN_OR_RETURN(Tensor * y, ctx.ForwardOrAllocate({0}, 0, x.shape()));
    if (x.num_elements() == 0) return OkStatus();
    const auto at = static_cast<int>(axis);
    const Layout s{x.dim(at), x.shape().Product(at + 1, x.rank()), exclusive_, reverse_};
    const int64_t strips = x.num_elements() / (s.n * s.inner) * ((s.inner + kStrip - 1) / kStrip);
    const double cost = (kind == Kind::kLogSumExp ? 20.0 : 1.0) * static_cast<double>(s.n) *
                        static_cast<double>(std::min(kStrip, s.inner));
    ctx.ParallelFor(
        strips, cost, [&](int64_t begin, int64_t end) { scan_(x.raw(), y->raw(), s, begin, end); },
        s.inner == 1 ? kLinesTogether : 1);
    return OkStatus();
  }

 private:
  const bool exclusive_, reverse_;
  ScanFn scan_ = nullptr;
};

Status CumsumGrad(GradContext& g) {
  const auto exclusive = g.Attr<bool>("exclusive"), reverse = g.Attr<bool>("reverse");
  g.set_dx(0, g.Op("Cumsum", {g.dy(0), g.input(1)}, {{"exclusive", exclusive}, {"reverse", !reverse}}));
  return g.status();
}

Status CumprodGrad(GradContext& g) {
  const auto exclusive = g.Attr<bool>("exclusive"), reverse = g.Attr<bool>("reverse");
  const Output x = g.input(0), axis = g.input(1);
  const Output weighted = GradMath(g).Mul(g.output(0), g.dy(0));
  const Output sum = g.Op("Cumsum", {weighted, axis}, {{"exclusive", exclusive}, {"reverse", !reverse}});
  g.set_dx(0, g.Op("DivNoNan", {sum, x}));
  return g.status();
}

// The positive and the negative part of dy by themselves, so that both have logarithms.
Status CumulativeLogsumexpGrad(GradContext& g) {
  const GradMath m(g);
  const auto exclusive = g.Attr<bool>("exclusive"), reverse = g.Attr<bool>("reverse");
  const Output x = g.input(0), dy = g.dy(0), zero = g.ConstLike(dy, 0);
  const double lowest = dy && dy.dtype() == DType::kDouble ? -std::numeric_limits<double>::max()
                        : dy && dy.dtype() == DType::kHalf ? -65504.0
                                                           : -std::numeric_limits<float>::max();
  const auto part = [&](Output d) {
    const Output logs = g.Op("SelectV2", {g.Op("Greater", {d, zero}), g.Op("Log", {d}), g.ConstLike(d, lowest)});
    const Output sums = g.Op("CumulativeLogsumexp", {m.Sub(logs, g.output(0)), g.input(1)},
                             {{"exclusive", exclusive}, {"reverse", !reverse}});
    return g.Op("Exp", {m.Add(sums, x)});
  };
  g.set_dx(0, m.Sub(part(dy), part(m.Neg(dy))));
  return g.status();
}

#define SCAN(Name, type)                       \
  OP(Name)                                     \
      .Input("x: T")                           \
      .Input("axis: Tidx")                     \
      .Output("out: T")                        \
      .Attr("exclusive: bool = false")         \
      .Attr("reverse: bool = false")           \
      .Attr(type)                              \
      .Attr("Tidx: {int32, int64} = DT_INT32") \
      .Shape(UnchangedShape)

SCAN("Cumsum", "T: numbertype")
    .Gradient(CumsumGrad)
    .CpuFor<ScanKernel<Kind::kSum>>(NumberTypes{})
    .HostMemory("axis")
    .Doc("Running sums along an axis.");

SCAN("Cumprod", "T: numbertype")
    .Gradient(CumprodGrad)
    .CpuFor<ScanKernel<Kind::kProduct>>(NumberTypes{})
    .HostMemory("axis")
    .Doc("Running products along an axis.");

SCAN("CumulativeLogsumexp", "T: {bfloat16, half, float, double}")
    .Gradient(CumulativeLogsumexpGrad)
    .CpuFor<ScanKernel<Kind::kLogSumExp>>(FloatTypes{})
    .HostMemory("axis")
    .Doc("Logarithms of the running sums of exponentials along an axis.");
#undef SCAN

}  // namespace
}  // namespace millstream
