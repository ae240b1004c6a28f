// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_TENSOR_ARRAY_TENSOR_ARRAY_INPUT_H_
#define MILLSTREAM_OPS_TENSOR_ARRAY_TENSOR_ARRAY_INPUT_H_

#include "millstream/framework/kernel.h"
#include "millstream/graph/gradients/gradient.h"
#include "millstream/ops/tensor_array/tensor_array.h"

namespace millstream {

// The array behind input 0. InvalidArgument, with what the op does, if it does not hold elements of `dtype`.
StatusOr<Ref<TensorArray>> TensorArrayInput(const KernelContext& ctx, DType dtype, const char* does = "requested");
inline constexpr char kWrites[] = "is trying to write";

// Handle and flow of the array that collects gradients of the array `handle`;
// one for each call of gradients. The new array is made before whatever uses
// the flow.
struct GradientArray {
  Output handle, flow;
};
GradientArray MakeGradientArray(GradContext& g, Output handle, Output flow);

// The gradient of an op that reads what input 1 says of an array: `write` puts it there. And of one that writes:
// `read` takes it from there.
Status ArrayReadGradient(GradContext& g, const char* write);
Status ArrayWriteGradient(GradContext& g, const char* read);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_TENSOR_ARRAY_TENSOR_ARRAY_INPUT_H_
