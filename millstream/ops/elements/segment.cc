// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/elements/segment.h"

#include <algorithm>
#include <complex>
#include <limits>

#include "millstream/math/simd_types.h"
#include "millstream/ops/elements/cast_plan.h"
#include "millstream/tensor/dispatch.h"

namespace millstream {
namespace {

// Row ids[i] of `totals` = that row op row i of `data`, for all ids that are not negative.
using CombineFn = void (*)(const void* data, const std::vector<int64_t>& ids, int64_t columns, void* totals);
using FillFn = void (*)(DType dtype, void* data, int64_t n);

// total[j] = total[j] op row[j].
template <typename T, SegmentOp op>
MILLSTREAM_ALWAYS_INLINE void CombineRow(const T* x, T* y, int64_t n) {
  MILLSTREAM_INDEPENDENT_LOOP
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (std::is_same_v<T, int64_t> && op == SegmentOp::kMean) {  // sums wrap around
      y[i] = static_cast<int64_t>(static_cast<uint64_t>(y[i]) + static_cast<uint64_t>(x[i]));
    } else if constexpr (op == SegmentOp::kSum || op == SegmentOp::kMean)
      y[i] += x[i];
    else if constexpr (op == SegmentOp::kProd)
      y[i] *= x[i];
    else if constexpr (op == SegmentOp::kMax)
      y[i] = x[i] > y[i] ? x[i] : y[i];
    else
      y[i] = x[i] < y[i] ? x[i] : y[i];
  }
}

template <typename T, SegmentOp op>
void Combine(const void* data, const std::vector<int64_t>& ids, int64_t columns, void* totals) {
  const auto* x = static_cast<const T*>(data);
  auto* y = static_cast<T*>(totals);
  const int64_t* id = ids.data();
  const auto n = static_cast<int64_t>(ids.size());
  if (columns == 1) {
    // A run of equal ids, of which sorted ones are made, adds up in a register.
    for (int64_t i = 0; i < n;) {
      const int64_t row = id[i];
      if (row < 0) {
        ++i;
        continue;
      }
      T total = y[row];
      for (; i < n && id[i] == row; ++i) CombineRow<T, op>(x + i, &total, 1);
      y[row] = total;
    }
    return;
  }
  simd::Run<simd::VectorOf<T>>([=] {
    for (int64_t i = 0; i < n; ++i) {
      if (id[i] >= 0) CombineRow<T, op>(x + i * columns, y + id[i] * columns, columns);
    }
  });
}

// The lowest (or largest) finite value of type `dtype`, as the type T of the loop.
template <typename T, bool lowest>
T Limit(DType dtype) {
  using Limits = std::numeric_limits<T>;
  T limit = lowest ? Limits::lowest() : Limits::max();
  if (dtype == DType::kHalf) limit = static_cast<T>(lowest ? -65504 : 65504);
  if (dtype == DType::kBfloat16) limit = static_cast<T>(lowest ? -0x1.fep127f : 0x1.fep127f);
  DispatchOver(IntTypes{}, dtype, [&](auto tag) {
    using Stored = std::numeric_limits<typename decltype(tag)::type>;
    limit = static_cast<T>(lowest ? Stored::lowest() : Stored::max());
  });
  return limit;
}

// `dtype` is what the elements are stored as.
template <typename T, SegmentOp op>
void Fill(DType dtype, void* data, int64_t n) {
  T value(op == SegmentOp::kProd ? 1 : 0);
  if constexpr (op == SegmentOp::kMax) value = Limit<T, true>(dtype);
  if constexpr (op == SegmentOp::kMin) value = Limit<T, false>(dtype);
  std::fill_n(static_cast<T*>(data), n, value);
}

// The types that have loops of their own: sums and products of integers wrap around, as unsigned ones.
DType LoopType(SegmentOp op, DType t) {
  if (t == DType::kHalf || t == DType::kBfloat16) return DType::kFloat;
  if (!IsInteger(t)) return t;
  if (op == SegmentOp::kMax || op == SegmentOp::kMin) return t == DType::kUint64 ? t : DType::kInt64;
  return op == SegmentOp::kMean ? DType::kInt64 : DTypeSize(t) == 8 ? DType::kUint64 : DType::kUint32;
}

struct Loops {
  CombineFn combine = nullptr;
  FillFn fill = nullptr;
};

template <SegmentOp op>
Loops Select(DType dtype) {
  constexpr bool kOrdered = op == SegmentOp::kMax || op == SegmentOp::kMin;
  using Ordered = Types<float, double, int64_t, uint64_t>;
  using Wrapping = Types<float, double, uint32_t, uint64_t, std::complex<float>, std::complex<double>>;
  using Averaged = Types<float, double, int64_t, std::complex<float>, std::complex<double>>;
  using All = std::conditional_t<kOrdered, Ordered, std::conditional_t<op == SegmentOp::kMean, Averaged, Wrapping>>;
  Loops loops;
  DispatchOver(All{}, dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    loops = {&Combine<T, op>, &Fill<T, op>};
  });
  return loops;
}

Loops SelectLoops(SegmentOp op, DType dtype) {
  switch (op) {
    case SegmentOp::kSum:
      return Select<SegmentOp::kSum>(dtype);
    case SegmentOp::kMean:
      return Select<SegmentOp::kMean>(dtype);
    case SegmentOp::kProd:
      return Select<SegmentOp::kProd>(dtype);
    case SegmentOp::kMax:
      return Select<SegmentOp::kMax>(dtype);
    case SegmentOp::kMin:
      return Select<SegmentOp::kMin>(dtype);
  }
  return {};
}

// Divides rows by their counts.
void Divide(Tensor* sums, const std::vector<int64_t>& counts, int64_t columns) {
  using Averaged = Types<float, double, int64_t, std::complex<float>, std::complex<double>>;
  DispatchOver(Averaged{}, sums->dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (size_t r = 0; r < counts.size(); ++r) {
      if (counts[r] < 2) continue;
      T* row = sums->data<T>() + static_cast<int64_t>(r) * columns;
      for (int64_t j = 0; j < columns; ++j) {
        if constexpr (std::is_integral_v<T>)
          row[j] /= counts[r];
        else
          row[j] /= T(static_cast<float>(counts[r]));
      }
    }
  });
}

}  // namespace

Status CombineSegments(KernelContext& ctx, SegmentOp op, const Tensor& data, const std::vector<int64_t>& ids,
                       bool zero_where_empty, Tensor* out) {
  const DType loop_type = LoopType(op, data.dtype());
  const Loops loops = SelectLoops(op, loop_type);
  if (loops.combine == nullptr) return errors::Unimplemented("No segments of type ", DTypeName(data.dtype()));
  Tensor from = data, to = *out;
  if (loop_type != data.dtype()) {
    ASSIGN_OR_RETURN(from, ctx.AllocateTemp(loop_type, data.shape()));
    CastPlan::Make(data.dtype(), loop_type, false).Run(data.raw(), from.raw(), data.num_elements());
    ASSIGN_OR_RETURN(to, ctx.AllocateTemp(loop_type, out->shape()));
  }
  const int64_t rows = out->rank() == 0 ? 1 : out->dim(0);
  const int64_t columns = rows == 0 ? 0 : out->num_elements() / rows;
  const auto size = static_cast<int64_t>(DTypeSize(loop_type));
  auto* totals = static_cast<char*>(to.raw());
  loops.fill(data.dtype(), totals, out->num_elements());
  std::vector<int64_t> counts(zero_where_empty ? rows : 0, 0);
  loops.combine(from.raw(), ids, columns, totals);
  for (size_t i = 0; zero_where_empty && i < ids.size();) {
    const size_t first = i;
    while (i < ids.size() && ids[i] == ids[first]) ++i;
    if (ids[first] >= 0) counts[ids[first]] += static_cast<int64_t>(i - first);
  }
  for (size_t r = 0; r < counts.size(); ++r) {
    if (counts[r] == 0) std::fill_n(totals + static_cast<int64_t>(r) * columns * size, columns * size, char{0});
  }
  if (op == SegmentOp::kMean) Divide(&to, counts, columns);
  if (loop_type == data.dtype()) return OkStatus();
  CastPlan::Make(loop_type, data.dtype(), false).Run(to.raw(), out->raw(), out->num_elements());
  return OkStatus();
}

}  // namespace millstream
