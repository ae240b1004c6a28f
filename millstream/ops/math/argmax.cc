// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <type_traits>

#include "millstream/graph/gradients/gradient.h"
#include "millstream/math/simd_types.h"
#include "millstream/ops/elements/cast_plan.h"
#include "millstream/tensor/dispatch.h"

namespace millstream {
namespace {

// The index of the first largest (or smallest) of n elements `step` apart. NaN is never chosen, unless nothing else is
// there: then the answer is 0.
template <typename T, bool max>
int64_t FindExtreme(const T* x, int64_t n, int64_t step) {
  T best = max ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max();
  int64_t at = 0;
  for (int64_t i = 0; i < n; ++i) {
    const T v = x[i * step];
    if (max ? v > best : v < best) best = v, at = i;
  }
  return at;
}

// Elements that are compared at a time, so many that comparisons need not wait for each other.
template <typename T>
inline constexpr int kRowLanes = 256 / sizeof(T);

// The largest (smallest) of n elements; `worst` where all of them are NaN.
template <typename T, bool max>
MILLSTREAM_ALWAYS_INLINE T ExtremeOfRow(const T* x, int64_t n, T worst) {
  constexpr int kLanes = kRowLanes<T>;
  T best[kLanes];
  for (int j = 0; j < kLanes; ++j) best[j] = worst;
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    MILLSTREAM_INDEPENDENT_LOOP
    for (int j = 0; j < kLanes; ++j) {
      const T v = x[i + j];
      best[j] = (max ? v > best[j] : v < best[j]) ? v : best[j];
    }
  }
  T all = worst;
  for (int j = 0; j < kLanes; ++j) all = (max ? best[j] > all : best[j] < all) ? best[j] : all;
  for (; i < n; ++i) all = (max ? x[i] > all : x[i] < all) ? x[i] : all;
  return all;
}

// A long row: the extreme value first, which vectorises, then where it is.
template <typename T, bool max>
int64_t FindInRow(const T* x, int64_t n) {
  constexpr int kLanes = 64 / sizeof(T);
  const T worst = max ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max();
  const T best =
      simd::Run<simd::VectorOf<T>>([=]() MILLSTREAM_INLINE_LAMBDA { return ExtremeOfRow<T, max>(x, n, worst); });
  if (best == worst) return FindExtreme<T, max>(x, n, 1);
  int64_t at = simd::Run<simd::VectorOf<T>>([=]() MILLSTREAM_INLINE_LAMBDA {
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      int here = 0;
      for (int j = 0; j < kLanes; ++j) here |= static_cast<int>(x[i + j] == best);
      if (here != 0) break;
    }
    return i;
  });
  while (at < n && x[at] != best) ++at;
  return at;
}

// Columns [begin, end), whose n elements are `inner` apart, side by side: the columns are `step` apart.
template <typename T, bool max>
void FindInColumns(const T* x, int64_t n, int64_t inner, int64_t step, int64_t begin, int64_t end, int64_t* out) {
  using Index = std::conditional_t<sizeof(T) == sizeof(int32_t), int32_t, int64_t>;
  constexpr int64_t kColumns = 64;
  if (n > std::numeric_limits<int32_t>::max()) {
    for (int64_t c = begin; c < end; ++c) out[c - begin] = FindExtreme<T, max>(x + c * step, n, inner);
    return;
  }
  simd::Run<simd::VectorOf<T>>([=]() MILLSTREAM_INLINE_LAMBDA {
    T best[kColumns];
    Index at[kColumns];
    for (int64_t c = begin; c < end; c += kColumns) {
      const int64_t columns = std::min(kColumns, end - c);
      std::fill_n(best, columns, max ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max());
      std::fill_n(at, columns, Index{0});
      for (int64_t i = 0; i < n; ++i) {
        const T* row = x + i * inner + c * step;
        const auto index = static_cast<Index>(i);
        MILLSTREAM_INDEPENDENT_LOOP
        for (int64_t j = 0; j < columns; ++j) {
          const T v = row[j * step], old = best[j];
          const bool better = max ? v > old : v < old;
          best[j] = better ? v : old;
          at[j] = better ? index : at[j];
        }
      }
      for (int64_t j = 0; j < columns; ++j) out[c - begin + j] = at[j];
    }
  });
}

using FindFn = void (*)(const void* in, int64_t n, int64_t inner, int64_t begin, int64_t end, int64_t* out);

// Rows that are shorter are done many at a time.
constexpr int64_t kShortRow = 64;

// Outputs [begin, end) of the array [*, n, inner].
template <typename T, bool max>
void FindAll(const void* in, int64_t n, int64_t inner, int64_t begin, int64_t end, int64_t* out) {
  const T* x = static_cast<const T*>(in);
  if (inner == 1 && n < kShortRow) return FindInColumns<T, max>(x, n, 1, n, begin, end, out + begin);
  if (inner == 1) {
    for (int64_t o = begin; o < end; ++o) out[o] = FindInRow<T, max>(x + o * n, n);
    return;
  }
  for (int64_t o = begin; o < end;) {
    const int64_t first = o % inner, last = std::min(inner, first + end - o);
    FindInColumns<T, max>(x + o / inner * n * inner, n, inner, 1, first, last, out + o);
    o += last - first;
  }
}

// Types are compared as the nearest of a few; the others are converted first, which keeps their order.
DType CompareType(DType t) {
  switch (t) {
    case DType::kHalf:
    case DType::kBfloat16:
      return DType::kFloat;
    case DType::kBool:
    case DType::kInt8:
    case DType::kUint8:
    case DType::kInt16:
    case DType::kUint16:
      return DType::kInt32;
    case DType::kUint32:
      return DType::kInt64;
    default:
      return t;
  }
}

template <bool max>
class ArgKernel final : public Kernel {
 public:
  explicit ArgKernel(KernelInit& init)
      : dtype_(RemoveRef(init.input_types()[0])),
        compare_(CompareType(dtype_)),
        widen_(CastPlan::Make(dtype_, compare_, false)),
        result_(CastPlan::Make(DType::kInt64, init.output_types()[0], false)) {
    DispatchOver(Types<float, double, int32_t, int64_t, uint64_t>{}, compare_,
                 [&](auto tag) { find_ = &FindAll<typename decltype(tag)::type, max>; });
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor& in = ctx.input(0);
    int64_t axis = 0;
    RETURN_IF_ERROR(ReadAxis(ctx.input(1), in, &axis));
    Shape shape = in.shape();
    shape.RemoveDim(static_cast<int>(axis));
    const int64_t n = in.dim(static_cast<int>(axis));
    if (n == 0) {
      return errors::InvalidArgument("Reduction axis ", axis, " is empty in shape ", in.shape().ToString());
    }
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return OkStatus();
    Tensor wide = in;
    if (compare_ != dtype_) {
      ASSIGN_OR_RETURN(wide, ctx.AllocateTemp(compare_, in.shape()));
      widen_.Run(ctx, in, &wide);
    }
    Tensor found = *out;
    if (out->dtype() != DType::kInt64) {
      ASSIGN_OR_RETURN(found, ctx.AllocateTemp(DType::kInt64, shape));
    }
    const int64_t inner = in.shape().Product(static_cast<int>(axis) + 1, in.rank());
    const int64_t outputs = shape.num_elements();
    int64_t* indices = found.data<int64_t>();
    ctx.ParallelFor(outputs, 0.5 * static_cast<double>(n),
                    [&](int64_t begin, int64_t end) { find_(wide.raw(), n, inner, begin, end, indices); });
    if (out->dtype() != DType::kInt64) result_.Run(indices, out->raw(), outputs);
    return OkStatus();
  }

 private:
  static Status ReadAxis(const Tensor& dim, const Tensor& in, int64_t* axis) {
    if (dim.rank() != 0) {
      return errors::InvalidArgument("dim must be a scalar, but received tensor of shape: ", dim.shape().ToString());
    }
    DispatchOver(Types<int16_t, int32_t, int64_t>{}, dim.dtype(),
                 [&](auto tag) { *axis = dim.scalar<typename decltype(tag)::type>(); });
    if (*axis < -in.rank() || *axis >= in.rank()) {
      return errors::InvalidArgument("Expected dimension in the range [", -in.rank(), ", ", in.rank(), "), but got ",
                                     *axis);
    }
    if (*axis < 0) *axis += in.rank();
    return OkStatus();
  }

  const DType dtype_;
  const DType compare_;
  const CastPlan widen_, result_;
  FindFn find_ = nullptr;
};

Status ArgShape(ShapeContext& c) {
  PartialShape scalar;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 0, &scalar));
  const PartialShape& in = c.input(0);
  if (!in.rank_known()) return OkStatus();
  if (in.rank() <= 1) {
    c.set_output(0, Shape());
    return OkStatus();
  }
  int64_t axis = 0;
  if (!c.ConstantInt(1, &axis)) {
    c.set_output(0, PartialShape::UnknownOfRank(in.rank() - 1));
    return OkStatus();
  }
  if (axis < -in.rank() || axis >= in.rank()) {
    return errors::InvalidArgument("Dimension (", axis, ") must be in the range [", -in.rank(), ", ", in.rank(),
                                   "), where ", in.rank(), " is the number of dimensions in the input.");
  }
  std::vector<int64_t> dims = in.dims();
  dims.erase(dims.begin() + (axis < 0 ? axis + in.rank() : axis));
  c.set_output(0, PartialShape(std::move(dims)));
  return OkStatus();
}

Status NoGrad(GradContext& g) { return g.status(); }

using ComparedTypes = Join<RealTypes, Types<bool>>;

OP("ArgMax")
    .Input("input: T")
    .Input("dimension: Tidx")
    .Output("output: output_type")
    .Attr(
        "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64, "
        "qint8, quint8, qint32, qint16, quint16, bool}")
    .Attr("Tidx: {int16, int32, int64} = DT_INT32")
    .Attr("output_type: {int16, uint16, int32, int64} = DT_INT64")
    .Shape(ArgShape)
    .Gradient(NoGrad)
    .CpuFor<ArgKernel<true>>(ComparedTypes{})
    .HostMemory("dimension")
    .Doc("The index of the largest element along an axis; the first of equal ones.");

OP("ArgMin")
    .Input("input: T")
    .Input("dimension: Tidx")
    .Output("output: output_type")
    .Attr(
        "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64, "
        "qint8, quint8, qint32, qint16, quint16, bool}")
    .Attr("Tidx: {int32, int64} = DT_INT32")
    .Attr("output_type: {int32, int64} = DT_INT64")
    .Shape(ArgShape)
    .Gradient(NoGrad)
    .CpuFor<ArgKernel<false>>(ComparedTypes{})
    .HostMemory("dimension")
    .Doc("The index of the smallest element along an axis; the first of equal ones.");

}  // namespace
}  // namespace millstream
