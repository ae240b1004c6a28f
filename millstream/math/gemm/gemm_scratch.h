// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_MATH_GEMM_GEMM_SCRATCH_H_
#define MILLSTREAM_MATH_GEMM_GEMM_SCRATCH_H_

#include <cstddef>

namespace millstream::math {

// What a thread's scratch buffers are for. One use, one owner at a time: a
// routine may call another one only if that one asks for other uses.
enum class Scratch {
  kPackA,
  kPackB,
  kSplitK,
  kConvData,
  kConvProduct,
  kConvFilter,
  kConvEdge,
  kTurnedFilter,
  kFoldedFilter,
  kCount
};

// At least `bytes` bytes, 64-byte aligned, that belong to this thread and keep
// their address until a larger request for the same use. Contents are
// undefined.
void* ThreadScratch(Scratch use, size_t bytes);

template <typename T>
T* ThreadScratchFor(Scratch use, size_t count) {
  return static_cast<T*>(ThreadScratch(use, count * sizeof(T)));
}

}  // namespace millstream::math

#endif  // MILLSTREAM_MATH_GEMM_GEMM_SCRATCH_H_
