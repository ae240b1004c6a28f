// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_MATH_GEMM_GEMM_KERNELS_H_
#define MILLSTREAM_MATH_GEMM_GEMM_KERNELS_H_

#include <cstdint>

#include "millstream/math/gemm/gemm.h"
#include "millstream/math/simd.h"

namespace millstream::math {

// What happens to a finished sum before it is stored.
template <typename T>
struct Epilogue {
  T alpha = T(1);
  bool accumulate = false;
  const T* bias = nullptr;
  Activation activation = Activation::kNone;
};

// c[rows x cols] = epilogue(a * b): a(i, p) = a[i * a_row + p * a_col]; b(p, j)
// = b[p * ldb + j], readable up to the next multiple of the vector width. The
// sum over p < k is repeated for `lines` pairs of a and b, which lie a_line and
// b_line apart: convolutions need it. epilogue->bias, if set, points at the
// bias of column 0.
template <typename T>
struct TileArgs {
  int64_t k = 0;
  const T* a = nullptr;
  int64_t a_row = 0, a_col = 0;
  const T* b = nullptr;
  int64_t ldb = 0;
  T* c = nullptr;
  int64_t ldc = 0;
  int cols = 0;
  const Epilogue<T>* epilogue = nullptr;
  int64_t lines = 1, a_line = 0, b_line = 0;
  // Memory that will be wanted soon, and that the larger kernels bring to the second-level cache meanwhile: 128 bytes
  // for each step of k, `ahead_step` elements apart. Null: none.
  const T* ahead = nullptr;
  int64_t ahead_step = 0;
};

// sums[i * cols + j] = dot(a + i * lda, b + j * ldb) over k elements.
template <typename T>
struct DotArgs {
  int64_t k;
  const T* a;
  int64_t lda;
  const T* b;
  int64_t ldb;
  T* sums;
};

// The kernels of one instruction set. Each works on a small block whose height
// and width are fixed at compile time.
template <typename T>
struct GemmKernels {
  static constexpr int kMaxVectors = 4;
  static constexpr int kMaxRows = 14;
  static constexpr int kMaxDotRows = 4;
  static constexpr int kMaxDotCols = 5;
  using Tile = void (*)(const TileArgs<T>&);
  using Dot = void (*)(const DotArgs<T>&);

  int width;                      // elements in a vector
  int max_rows[kMaxVectors + 1];  // by tile width in vectors: 1, 2 and 4 exist
  Tile tile[kMaxVectors + 1][kMaxRows + 1];
  int dot_rows, dot_cols;
  Dot dot[kMaxDotRows + 1][kMaxDotCols + 1];
};

// Those of simd::ActiveIsa().
template <typename T>
const GemmKernels<T>& CurrentKernels();

extern const GemmKernels<float> kSse2Float, kAvx2Float, kAvx512Float;
extern const GemmKernels<double> kSse2Double, kAvx2Double, kAvx512Double;

}  // namespace millstream::math

#endif  // MILLSTREAM_MATH_GEMM_GEMM_KERNELS_H_
