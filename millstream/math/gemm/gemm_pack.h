// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_MATH_GEMM_GEMM_PACK_H_
#define MILLSTREAM_MATH_GEMM_GEMM_PACK_H_

#include <cstdint>

#include "millstream/math/gemm/gemm_kernels.h"

namespace millstream::math {

// dst[i * dst_ld + j] = src[i * ld + j] for i < rows, j < cols, and zero for
// cols <= j < padded.
template <typename T>
void CopyPanel(const T* src, int64_t ld, int64_t rows, int64_t cols, T* dst, int64_t dst_ld, int64_t padded);

// dst[j * dst_ld + i] = src[i * ld + j] for i < rows, j < cols, and zero for
// rows <= i < padded.
template <typename T>
void TransposePanel(const T* src, int64_t ld, int64_t rows, int64_t cols, T* dst, int64_t dst_ld, int64_t padded);

// Stores a finished tile transposed: c[j * ldc + i] = epilogue(tile[i * ld +
// j]) for i < rows, j < cols. epilogue.bias, if set, points at the bias of row
// 0 of the tile.
template <typename T>
void StoreTransposed(const T* tile, int64_t ld, int rows, int cols, T* c, int64_t ldc, const Epilogue<T>& epilogue);

// The epilogue of one element. `bias` is its index.
template <typename T>
inline T FinishElement(T sum, T old, int64_t bias, const Epilogue<T>& e) {
  T x = e.alpha * sum;
  if (e.accumulate) x += old;
  if (e.bias != nullptr) x += e.bias[bias];
  if (e.activation != Activation::kNone && x < T(0)) x = T(0);
  if (e.activation == Activation::kRelu6 && x > T(6)) x = T(6);
  return x;
}

}  // namespace millstream::math

#endif  // MILLSTREAM_MATH_GEMM_GEMM_PACK_H_
