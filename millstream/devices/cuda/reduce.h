// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DEVICES_CUDA_REDUCE_H_
#define MILLSTREAM_DEVICES_CUDA_REDUCE_H_

#include "millstream/devices/cuda/cuda_kernel.h"

namespace millstream::cuda {

// An array [outer, reduce, inner], reduced along the middle.
struct ReduceSizes {
  int64_t outer, reduce, inner;
};

// What becomes of a sum in the end.
enum class Finish : uint8_t { kNone, kMean, kRoot, kHalf };

// One step of a reduction.
struct ReduceStep {
  bool square = false;  // elements are squared first
  Finish finish = Finish::kNone;
  int64_t count = 1;            // elements of the whole input for each result, for the mean
  DType out = DType::kInvalid;  // the type of the results: that of the input, or the wide type of a 16-bit input
};

// Sums of floating elements or int64 of type `in`. REQUIRES: there are results.
Status ReduceSum(Call& call, DType in, const ReduceSizes& sizes, const ReduceStep& step, const void* from, void* to);

}  // namespace millstream::cuda

#endif  // MILLSTREAM_DEVICES_CUDA_REDUCE_H_
