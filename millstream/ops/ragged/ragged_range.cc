// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "millstream/framework/op.h"
#include "millstream/ops/ragged/ragged.h"

namespace millstream {
namespace {

// How many steps of `delta` there are from `start` until `limit` is reached. -1: more than int64 can hold.
template <typename T>
int64_t CountSteps(T start, T limit, T delta) {
  if (delta > T(0) ? limit < start : limit > start) return 0;
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    const U span =
        delta > 0 ? static_cast<U>(limit) - static_cast<U>(start) : static_cast<U>(start) - static_cast<U>(limit);
    const U step = delta > 0 ? static_cast<U>(delta) : static_cast<U>(0) - static_cast<U>(delta);
    const U count = span / step + (span % step != 0 ? 1 : 0);
    return static_cast<uint64_t>(count) > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())
               ? -1
               : static_cast<int64_t>(count);
  } else {
    const double count =
        std::ceil(std::abs((static_cast<double>(limit) - static_cast<double>(start)) / static_cast<double>(delta)));
    return count < 9.2e18 ? static_cast<int64_t>(count) : -1;
  }
}

template <typename T>
class RaggedRange : public Kernel {
 public:
  explicit RaggedRange(KernelInit&) {}

  Status Compute(KernelContext& ctx) override {
    static constexpr const char* kNames[] = {"starts", "limits", "deltas"};
    int64_t rows = -1;
    for (int i = 0; i < 3; ++i) {
      const Tensor& t = ctx.input(i);
      if (t.rank() > 1) return errors::InvalidArgument(kNames[i], " must be a scalar or vector");
      if (t.rank() == 0) continue;
      if (rows >= 0 && t.dim(0) != rows) {
        return errors::InvalidArgument("starts, limits, and deltas must have the same shape");
      }
      rows = t.dim(0);
    }
    if (rows < 0) rows = 1;
    const auto at = [&](int i, int64_t row) { return ctx.input(i).data<T>()[ctx.input(i).rank() == 0 ? 0 : row]; };
    const int64_t most = ctx.output_dtype(0) == DType::kInt32 ? std::numeric_limits<int32_t>::max()
                                                              : std::numeric_limits<int64_t>::max();
    Splits splits = {0};
    for (int64_t row = 0; row < rows; ++row) {
      const T delta = at(2, row);
      if (delta == T(0)) return errors::InvalidArgument("Requires delta != 0");
      const int64_t count = CountSteps(at(0, row), at(1, row), delta);
      if (count < 0 || count > most) return errors::InvalidArgument("Requires ((limit - start) / delta) <= ", most);
      if (count > most - splits.back()) {
        return errors::InvalidArgument(
            "The total range size overflowed. Consider using int64 instead of int32 for row_splits_dtype.");
      }
      splits.push_back(splits.back() + count);
    }
    RETURN_IF_ERROR(OutputInts(ctx, 0, splits));
    ASSIGN_OR_RETURN(Tensor * values, ctx.AllocateOutput(1, Shape({splits.back()})));
    T* to = values->data<T>();
    for (int64_t row = 0; row < rows; ++row) {
      T value = at(0, row);
      const T delta = at(2, row);
      for (int64_t i = splits[row]; i < splits[row + 1]; ++i) {
        *to++ = value;
        if (i + 1 < splits[row + 1]) value = static_cast<T>(value + delta);
      }
    }
    return OkStatus();
  }
};

Status RangeShape(ShapeContext& c) {
  int64_t rows = -1;
  bool scalars = true;
  for (int i = 0; i < 3; ++i) {
    PartialShape shape;
    RETURN_IF_ERROR(ShapeContext::WithRankAtMost(c.input(i), 1, &shape));
    if (shape.rank_known() && shape.rank() == 0) continue;
    scalars = false;
    if (shape.rank_known()) RETURN_IF_ERROR(ShapeContext::MergeDim(shape.dim(0), rows, &rows));
  }
  c.set_output(0, PartialShape({scalars ? 2 : rows < 0 ? -1 : rows + 1}));
  c.set_output(1, PartialShape({-1}));
  return OkStatus();
}

OP("RaggedRange")
    .Input("starts: T")
    .Input("limits: T")
    .Input("deltas: T")
    .Output("rt_nested_splits: Tsplits")
    .Output("rt_dense_values: T")
    .Attr("T: {bfloat16, float, double, int32, int64} = DT_INT32")
    .Attr("Tsplits: {int32, int64} = DT_INT64")
    .Shape(RangeShape)
    .NotDifferentiable()
    .Cpu<RaggedRange>(Types<BFloat16, float, double, int32_t, int64_t>{})
    .Doc("Ranges of numbers as the rows of a ragged tensor.");

}  // namespace
}  // namespace millstream
