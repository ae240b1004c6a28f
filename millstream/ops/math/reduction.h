// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_MATH_REDUCTION_H_
#define MILLSTREAM_OPS_MATH_REDUCTION_H_

#include <vector>

#include "millstream/framework/op.h"
#include "millstream/graph/gradients/gradient.h"
#include "millstream/ops/elements/cast_plan.h"

namespace millstream {

namespace math {
struct ReduceShape;
}

enum class Reduction { kSum, kProd, kMean, kMax, kMin, kAll, kAny, kNorm };

// The axes of a reduction: sets (*reduced)[i] if dimension i is reduced. InvalidArgument for axes that are out of range
// or occur twice.
Status ReadAxes(const Tensor& axes, int rank, std::vector<bool>* reduced);

// Reduces input 0 over the axes in input 1. Types are computed as the nearest of float, double, int32, int64 and
// complex; the others are converted before and after, so that few loops have to be compiled.
class ReduceKernel : public Kernel {
 public:
  ReduceKernel(KernelInit& init, Reduction op);
  Status Compute(KernelContext& ctx) final;

 private:
  using Fn = void (*)(const void* in, void* out, const math::ReduceShape& shape, ThreadPool* pool);
  struct Group {
    int64_t size;
    bool reduced;
  };
  void SelectLoops();
  static bool InOneStep(const std::vector<Group>& groups);
  static math::ReduceShape ShapeOf(const std::vector<Group>& groups);
  Status Reduce(KernelContext& ctx, const Tensor& in, std::vector<Group> groups, Tensor* out);
  Status ReduceInSteps(KernelContext& ctx, const Tensor& in, std::vector<Group> groups, Tensor* out);

  const Reduction op_;
  const bool keep_dims_;
  DType dtype_;          // of input and output
  DType compute_;        // of the loops
  Fn whole_ = nullptr;   // for a reduction in one step
  Fn direct_ = nullptr;  // the same for elements of type `dtype_`, where that needs no conversion before
  Fn first_ = nullptr;  // for several: the first step, the others, and what is left to do with `count` elements reduced
  Fn next_ = nullptr;
  void (*finish_)(void* data, int64_t n, int64_t count) = nullptr;
  CastPlan widen_, narrow_;
};

template <Reduction op>
class ReduceOp final : public ReduceKernel {
 public:
  explicit ReduceOp(KernelInit& init) : ReduceKernel(init, op) {}
};

// The declaration of a reduction of elements of the attribute `type`; its kernels keep "reduction_indices" in host
// memory.
#define REDUCTION(Name, type)                  \
  OP(Name)                                     \
      .Input("input: T")                       \
      .Input("reduction_indices: Tidx")        \
      .Output("output: T")                     \
      .Attr("keep_dims: bool = false")         \
      .Attr(type)                              \
      .Attr("Tidx: {int32, int64} = DT_INT32") \
      .Shape(ReductionShape)

// For gradients of reductions.
// `y`, of the shape of the output, with the reduced dimensions put back as 1 wherever broadcasting needs them.
Output WithReducedDims(GradContext& g, Output y);
// `y` of the shape that WithReducedDims() gives, repeated to the shape of the input.
Output BroadcastToInput(GradContext& g, Output y);

// `values`, one for each dimension of the input (int32), with `reduced` (0 or 1) in place of those of reduced
// dimensions; worked out when the step runs.
Output ReplaceReduced(GradContext& g, Output values, int32_t reduced);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_MATH_REDUCTION_H_
