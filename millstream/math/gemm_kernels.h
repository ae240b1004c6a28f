// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_MATH_GEMM_KERNELS_H_
#define MILLSTREAM_MATH_GEMM_KERNELS_H_

#include <cstdint>

#include "millstream/math/gemm.h"

namespace millstream::math {

enum class Isa { kSse2, kAvx2, kAvx512 };

// The best instruction set of this machine that the kernels know.
Isa BestIsa();
// The one in use. Tests may lower it; REQUIRES: isa <= BestIsa(), no product under way.
Isa CurrentIsa();
void SetIsaForTest(Isa isa);

// What happens to a finished sum before it is stored.
template <typename T>
struct Epilogue {
  T alpha = T(1);
  bool accumulate = false;
  const T* bias = nullptr;
  Activation activation = Activation::kNone;
};

// c[rows x cols] = epilogue(a * b): a(i, p) = a[i * a_row + p * a_col]; b(p, j) = b[p * ldb + j], readable up to the
// next multiple of the vector width. epilogue->bias, if set, points at the bias of column 0.
template <typename T>
struct TileArgs {
  int64_t k;
  const T* a;
  int64_t a_row, a_col;
  const T* b;
  int64_t ldb;
  T* c;
  int64_t ldc;
  int cols;
  const Epilogue<T>* epilogue;
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

// The kernels of one instruction set. Each works on a small block whose height and width are fixed at compile time.
template <typename T>
struct GemmKernels {
  static constexpr int kMaxVectors = 4;
  static constexpr int kMaxRows = 14;
  static constexpr int kMaxDotRows = 4;
  static constexpr int kMaxDotCols = 5;
  using Tile = void (*)(const TileArgs<T>&);
  using Dot = void (*)(const DotArgs<T>&);

  int width;                            // elements in a vector
  int max_rows[kMaxVectors + 1];        // by tile width in vectors: 1, 2 and 4 exist
  Tile tile[kMaxVectors + 1][kMaxRows + 1];
  int dot_rows, dot_cols;
  Dot dot[kMaxDotRows + 1][kMaxDotCols + 1];
};

template <typename T>
const GemmKernels<T>& KernelsFor(Isa isa);
template <typename T>
const GemmKernels<T>& CurrentKernels() {
  return KernelsFor<T>(CurrentIsa());
}

const GemmKernels<float>& Sse2KernelsFloat();
const GemmKernels<double>& Sse2KernelsDouble();
const GemmKernels<float>& Avx2KernelsFloat();
const GemmKernels<double>& Avx2KernelsDouble();
const GemmKernels<float>& Avx512KernelsFloat();
const GemmKernels<double>& Avx512KernelsDouble();

}  // namespace millstream::math

#endif  // MILLSTREAM_MATH_GEMM_KERNELS_H_
