// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/array/slices/strided_slice_copy.h"

namespace millstream {

Status ReadSlice(const KernelContext& ctx, int first, std::span<const int64_t> dims, const SliceMasks& masks,
                 SlicePlan* plan) {
  Dims begin, end, strides;
  RETURN_IF_ERROR(ReadIntVector(ctx.input(first), "begin", &begin));
  RETURN_IF_ERROR(ReadIntVector(ctx.input(first + 1), "end", &end));
  RETURN_IF_ERROR(ReadIntVector(ctx.input(first + 2), "strides", &strides));
  return ResolveSlice(dims, &begin, &end, strides, masks, plan);
}

int64_t AddSliceAxes(const Shape& whole, const SlicePlan& plan, bool whole_is_target, StridedCopy* copy) {
  int64_t step = whole.num_elements(), small_step = 1, offset = 0;
  for (const int64_t size : plan.size) small_step *= size;
  for (int d = 0; d < whole.rank(); ++d) {
    step /= whole.dim(d);
    small_step /= plan.size[d];
    offset += plan.begin[d] * step;
    const int64_t stride = plan.size[d] > 1 ? plan.stride[d] * step : step;
    if (whole_is_target)
      copy->Add(plan.size[d], small_step, stride);
    else
      copy->Add(plan.size[d], stride, small_step);
  }
  return offset;
}

}  // namespace millstream
