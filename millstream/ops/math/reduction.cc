// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/math/reduction.h"

#include <algorithm>
#include <cmath>

#include "absl/container/inlined_vector.h"
#include "millstream/math/reduce.h"
#include "millstream/tensor/dispatch.h"

namespace millstream {
namespace {

using math::ReduceShape;
namespace ops = math::reduction;

// Squares of complex numbers are x * conj(x).
struct SumAbsSquares : ops::Sum {
  using Core = SumAbsSquares;
  template <typename A>
  static A Map(A x) {
    return x * std::conj(x);
  }
};

template <typename Op, typename T>
void Run(const void* in, void* out, const ReduceShape& shape, ThreadPool* pool) {
  math::Reduce<Op>(static_cast<const T*>(in), static_cast<T*>(out), shape, pool);
}

// Sums of complex numbers are those of twice as many real ones.
template <typename R>
void RunComplexSum(const void* in, void* out, const ReduceShape& shape, ThreadPool* pool) {
  if (shape.inner == 1 && shape.outer > 1) return Run<ops::Sum, std::complex<R>>(in, out, shape, pool);  // rows
  ReduceShape parts = shape;
  parts.inner *= 2;
  math::Reduce<ops::Sum>(static_cast<const R*>(in), static_cast<R*>(out), parts, pool);
}

template <typename T>
void DivideBy(void* data, int64_t n, int64_t count) {
  T* x = static_cast<T*>(data);
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (std::is_integral_v<T>)
      x[i] = count == 0 ? 0 : static_cast<T>(x[i] / count);
    else
      x[i] /= T(static_cast<double>(count));
  }
}

template <typename T>
void Root(void* data, int64_t n, int64_t) {
  T* x = static_cast<T*>(data);
  for (int64_t i = 0; i < n; ++i) x[i] = std::sqrt(x[i]);
}

// The type to compute in.
DType ComputeType(Reduction op, DType t) {
  switch (t) {
    case DType::kHalf:
    case DType::kBfloat16:
      return DType::kFloat;
    case DType::kInt8:
    case DType::kInt16:
    case DType::kUint8:
    case DType::kUint16:
      return op == Reduction::kNorm ? DType::kDouble : op == Reduction::kMean ? DType::kInt32 : t;
    case DType::kUint32:
    case DType::kUint64:
      return op == Reduction::kNorm ? DType::kDouble : op == Reduction::kMean ? DType::kInt64 : t;
    case DType::kInt32:
    case DType::kInt64:
      return op == Reduction::kNorm ? DType::kDouble : t;
    default:
      return t;
  }
}

// Sums and products of integers wrap, so those of signed and of unsigned ones have the same bits.
DType WrappingType(DType t) {
  switch (t) {
    case DType::kInt8:
      return DType::kUint8;
    case DType::kInt16:
      return DType::kUint16;
    case DType::kUint32:
      return DType::kInt32;
    case DType::kUint64:
      return DType::kInt64;
    default:
      return t;
  }
}

template <typename T>
constexpr auto SumLoop() {
  if constexpr (kIsComplex<T>)
    return &RunComplexSum<typename T::value_type>;
  else
    return &Run<ops::Sum, T>;
}

// The loop that reads and writes 16-bit floats itself.
template <typename T>
auto DirectLoop(Reduction op) -> decltype(&Run<ops::Sum, T>) {
  switch (op) {
    case Reduction::kSum:
      return &Run<ops::Sum, T>;
    case Reduction::kMean:
      return &Run<ops::Mean, T>;
    case Reduction::kMax:
      return &Run<ops::Max, T>;
    case Reduction::kMin:
      return &Run<ops::Min, T>;
    default:
      return nullptr;
  }
}

}  // namespace

Status ReadAxes(const Tensor& axes, int rank, std::vector<bool>* reduced) {
  reduced->assign(rank, false);
  for (int64_t i = 0; i < axes.num_elements(); ++i) {
    const int64_t axis = axes.dtype() == DType::kInt32 ? axes.data<int32_t>()[i] : axes.data<int64_t>()[i];
    if (axis < -rank || axis >= rank) {
      return errors::InvalidArgument("Invalid reduction dimension (", axis, " for input with ", rank, " dimension(s)");
    }
    const auto at = static_cast<size_t>(axis < 0 ? axis + rank : axis);
    if ((*reduced)[at]) {
      return errors::InvalidArgument("Invalid reduction arguments: Axes contains duplicate dimension: ", at);
    }
    (*reduced)[at] = true;
  }
  return OkStatus();
}

ReduceKernel::ReduceKernel(KernelInit& init, Reduction op)
    : op_(op),
      keep_dims_(init.Attr<bool>("keep_dims")),
      dtype_(RemoveRef(init.input_types()[0])),
      compute_(ComputeType(op, dtype_)),
      widen_(CastPlan::Make(dtype_, compute_, false)),
      narrow_(CastPlan::Make(compute_, dtype_, false)) {
  if (op == Reduction::kAll) whole_ = first_ = next_ = &Run<ops::All, bool>;
  if (op == Reduction::kAny) whole_ = first_ = next_ = &Run<ops::Any, bool>;
  SelectLoops();
  if (dtype_ == DType::kBfloat16) direct_ = DirectLoop<BFloat16>(op);
}

void ReduceKernel::SelectLoops() {
  using Loops = Types<float, double, int32_t, int64_t, std::complex<float>, std::complex<double>>;
  DispatchOver(Join<Loops, Types<uint8_t, uint16_t>>{}, WrappingType(compute_), [this](auto tag) {
    using T = typename decltype(tag)::type;
    if (op_ == Reduction::kSum) whole_ = first_ = next_ = SumLoop<T>();
    if (op_ == Reduction::kProd) whole_ = first_ = next_ = &Run<ops::Prod, T>;
  });
  DispatchOver(Join<Types<float, double>, IntTypes>{}, compute_, [this](auto tag) {
    using T = typename decltype(tag)::type;
    if (op_ == Reduction::kMax) whole_ = first_ = next_ = &Run<ops::Max, T>;
    if (op_ == Reduction::kMin) whole_ = first_ = next_ = &Run<ops::Min, T>;
  });
  DispatchOver(Loops{}, compute_, [this](auto tag) {
    using T = typename decltype(tag)::type;
    if (op_ == Reduction::kMean) {
      whole_ = kIsComplex<T> ? nullptr : &Run<ops::Mean, T>;
      first_ = next_ = SumLoop<T>();
      finish_ = &DivideBy<T>;
    }
    if constexpr (!std::is_integral_v<T>) {
      if (op_ == Reduction::kNorm) {
        first_ = &Run<std::conditional_t<kIsComplex<T>, SumAbsSquares, ops::SumSquares>, T>;
        next_ = &Run<ops::Sum, T>;
        finish_ = &Root<T>;
      }
    }
  });
}

Status ReduceKernel::Compute(KernelContext& ctx) {
  const Tensor& in = ctx.input(0);
  std::vector<bool> reduced;
  RETURN_IF_ERROR(ReadAxes(ctx.input(1), in.rank(), &reduced));
  absl::InlinedVector<int64_t, 8> dims;
  std::vector<Group> groups;  // neighbours of one kind are one; dimensions of size 1 are of either kind
  for (int i = 0; i < in.rank(); ++i) {
    if (!reduced[i])
      dims.push_back(in.dim(i));
    else if (keep_dims_)
      dims.push_back(1);
    if (in.dim(i) == 1) continue;
    if (!groups.empty() && groups.back().reduced == reduced[i])
      groups.back().size *= in.dim(i);
    else
      groups.push_back({in.dim(i), reduced[i]});
  }
  // Cannot overflow: kept sizes of a valid shape, unless a size 0 is reduced away.
  ASSIGN_OR_RETURN(const Shape shape, Shape::Make(std::span<const int64_t>(dims.data(), dims.size())));
  if (groups.empty()) groups.push_back({1, false});
  if (groups.size() == 1 && !groups[0].reduced && op_ != Reduction::kNorm) {
    ctx.set_output(0, ctx.TakeInput(0).Reshaped(shape));
    return OkStatus();
  }
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
  if (compute_ == dtype_) return Reduce(ctx, in, std::move(groups), out);
  constexpr int64_t kShortRow = 32;  // conversions of fewer elements do not fill vectors
  if (direct_ != nullptr && InOneStep(groups) && ShapeOf(groups).reduce >= kShortRow) {
    direct_(in.raw(), out->raw(), ShapeOf(groups), ctx.pool());
    return OkStatus();
  }
  ASSIGN_OR_RETURN(Tensor wide, ctx.AllocateTemp(compute_, in.shape()));
  ASSIGN_OR_RETURN(Tensor result, ctx.AllocateTemp(compute_, shape));
  widen_.Run(ctx, in, &wide);
  RETURN_IF_ERROR(Reduce(ctx, wide, std::move(groups), &result));
  narrow_.Run(result.raw(), out->raw(), shape.num_elements());
  return OkStatus();
}

bool ReduceKernel::InOneStep(const std::vector<Group>& groups) {
  return groups.size() <= 2 || (groups.size() == 3 && groups[1].reduced);
}

// REQUIRES: in one step.
ReduceShape ReduceKernel::ShapeOf(const std::vector<Group>& groups) {
  ReduceShape shape;
  size_t at = 0;
  if (!groups[at].reduced) shape.outer = groups[at++].size;
  if (at < groups.size()) shape.reduce = groups[at++].size;
  if (at < groups.size()) shape.inner = groups[at].size;
  return shape;
}

Status ReduceKernel::Reduce(KernelContext& ctx, const Tensor& in, std::vector<Group> groups, Tensor* out) {
  if (whole_ == nullptr || !InOneStep(groups)) return ReduceInSteps(ctx, in, std::move(groups), out);
  whole_(in.raw(), out->raw(), ShapeOf(groups), ctx.pool());
  return OkStatus();
}

// One run of reduced dimensions at a time, the innermost first.
Status ReduceKernel::ReduceInSteps(KernelContext& ctx, const Tensor& in, std::vector<Group> groups, Tensor* out) {
  int64_t count = 1;
  Tensor from = in;
  if (groups.size() == 1 && !groups[0].reduced) groups.push_back({1, true});
  for (bool first = true; true; first = false) {
    auto at = static_cast<int>(groups.size()) - 1;
    while (at >= 0 && !groups[at].reduced) --at;
    if (at < 0) break;
    ReduceShape shape;
    shape.reduce = groups[at].size;
    count *= groups[at].size;
    for (int i = 0; i < at; ++i) shape.outer *= groups[i].size;
    for (size_t i = at + 1; i < groups.size(); ++i) shape.inner *= groups[i].size;
    groups.erase(groups.begin() + at);
    bool last = true;
    for (const Group& g : groups) last = last && !g.reduced;
    Tensor to = *out;
    if (!last) {
      ASSIGN_OR_RETURN(to, ctx.AllocateTemp(compute_, Shape({shape.outer * shape.inner})));
    }
    (first ? first_ : next_)(from.raw(), to.raw(), shape, ctx.pool());
    from = to;
  }
  if (finish_ != nullptr) finish_(out->raw(), out->num_elements(), count);
  return OkStatus();
}

}  // namespace millstream
