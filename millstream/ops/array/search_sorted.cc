// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "millstream/framework/op.h"
#include "millstream/tensor/dispatch.h"

namespace millstream {
namespace {

// For each value of a row, where it would go in the sorted row of the same number.
template <typename T, bool upper>
class BoundKernel : public Kernel {
 public:
  explicit BoundKernel(KernelInit&) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor &sorted = ctx.input(0), &values = ctx.input(1);
    if (sorted.rank() != 2) return errors::InvalidArgument("sorted input argument must be a matrix");
    if (values.rank() != 2) return errors::InvalidArgument("values input argument must be a matrix");
    if (sorted.dim(0) != values.dim(0)) {
      return errors::InvalidArgument("Leading dim_size of both tensors must match.");
    }
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, values.shape()));
    if (out->dtype() == DType::kInt32 && values.num_elements() >= std::numeric_limits<int32_t>::max()) {
      return errors::InvalidArgument("values tensor size must less than INT_MAX");
    }
    if (out->dtype() == DType::kInt32 && sorted.dim(1) >= std::numeric_limits<int32_t>::max()) {
      return errors::InvalidArgument("trailing dim_size must less than INT_MAX for int32 output type, was ",
                                     sorted.dim(1));
    }
    DispatchOver(IndexTypes{}, out->dtype(),
                 [&](auto type) { Search(ctx, sorted, values, out->data<typename decltype(type)::type>()); });
    return OkStatus();
  }

 private:
  // Halves what is left without a branch, which would be guessed wrongly every other time.
  static int64_t Bound(const T* row, int64_t n, T value) {
    const T* from = row;
    for (; n > 0;) {
      const int64_t half = n / 2;
      const bool after = upper ? !(value < from[half]) : from[half] < value;
      from = after ? from + half + 1 : from;
      n = after ? n - half - 1 : half;
    }
    return from - row;
  }

  template <typename Index>
  static void Search(KernelContext& ctx, const Tensor& sorted, const Tensor& values, Index* out) {
    const int64_t n = sorted.dim(1), per_row = values.dim(1);
    const T* x = sorted.data<T>();
    const T* v = values.data<T>();
    ctx.ParallelFor(values.num_elements(), 15, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T* row = x + i / per_row * n;
        out[i] = static_cast<Index>(Bound(row, n, v[i]));
      }
    });
  }
};
template <typename T>
using LowerBoundKernel = BoundKernel<T, false>;
template <typename T>
using UpperBoundKernel = BoundKernel<T, true>;

Status BoundShape(ShapeContext& c) {
  PartialShape sorted, values;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 2, &sorted));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 2, &values));
  c.set_output(0, c.input(1));
  return OkStatus();
}

#define BOUND(Name, doc)                           \
  OP(#Name)                                        \
      .Input("sorted_inputs: T")                   \
      .Input("values: T")                          \
      .Output("output: out_type")                  \
      .Attr("T: type")                             \
      .Attr("out_type: {int32, int64} = DT_INT32") \
      .Shape(BoundShape)                           \
      .Cpu<Name##Kernel>(RealTypes{})              \
      .Doc(doc)

BOUND(LowerBound, "Where each value would go in its sorted row, before equal elements.");
BOUND(UpperBound, "Where each value would go in its sorted row, after equal elements.");
#undef BOUND

}  // namespace
}  // namespace millstream
