// SPDX-License-Identifier: Apache-2.0
// The kernels of gemm_kernels.h, written once. Included by one .cc for each
// instruction set (hence no guard), after it has defined MILLSTREAM_TARGET (the
// target attribute, or nothing) and, in an unnamed namespace, one struct of
// vector operations for each element type.

#if defined(__clang__)
#define MILLSTREAM_UNROLL _Pragma("clang loop unroll(full)")
// Clang needs many minutes for unrolled loops full of checks; GCC's sanitizers
// cover them.
#define MILLSTREAM_KERNEL \
  MILLSTREAM_TARGET       \
  __attribute__((no_sanitize("address", "thread", "undefined")))
#else
#define MILLSTREAM_UNROLL _Pragma("GCC unroll 16")
#define MILLSTREAM_KERNEL MILLSTREAM_TARGET
#endif

namespace millstream::math {
namespace {

template <class V>
MILLSTREAM_TARGET inline __attribute__((always_inline)) typename V::Reg Finish(typename V::Reg x,
                                                                               const Epilogue<typename V::T>& e) {
  if (e.activation == Activation::kNone) return x;
  x = V::Max(V::Zero(), x);  // in this order a NaN stays
  return e.activation == Activation::kRelu6 ? V::Min(V::Set(typename V::T(6)), x) : x;
}

// One vector of results: `n` of its lanes are stored.
template <class V>
MILLSTREAM_TARGET inline __attribute__((always_inline)) void StoreSums(typename V::Reg x,
                                                                       const Epilogue<typename V::T>& e, int offset,
                                                                       typename V::T* c, int n) {
  using T = typename V::T;
  if (e.alpha != T(1)) x = V::Mul(x, V::Set(e.alpha));
  if (n >= V::kWidth) {
    if (e.accumulate) x = V::Add(x, V::Load(c));
    if (e.bias != nullptr) x = V::Add(x, V::Load(e.bias + offset));
    V::Store(c, Finish<V>(x, e));
  } else {
    if (e.accumulate) x = V::Add(x, V::LoadN(c, n));
    if (e.bias != nullptr) x = V::Add(x, V::LoadN(e.bias + offset, n));
    V::StoreN(c, Finish<V>(x, e), n);
  }
}

template <class V, int kRows, int kVectors>
MILLSTREAM_KERNEL void TileKernel(const TileArgs<typename V::T>& args) {
  using Reg = typename V::Reg;
  Reg sum[kRows][kVectors];
  MILLSTREAM_UNROLL
  for (int i = 0; i < kRows; ++i) {
    MILLSTREAM_UNROLL
    for (int j = 0; j < kVectors; ++j) sum[i][j] = V::Zero();
  }
  const int64_t a_row = args.a_row, a_col = args.a_col, ldb = args.ldb;
  constexpr bool kFetches = kRows * kVectors >= 12;  // others have no slots left
  const typename V::T* ahead = args.ahead != nullptr ? args.ahead : args.b;
  const int64_t ahead_step = args.ahead != nullptr ? args.ahead_step : 0;
  for (int64_t line = 0; line < args.lines; ++line) {
    const typename V::T* a = args.a + line * args.a_line;
    const typename V::T* b = args.b + line * args.b_line;
    for (int64_t p = args.k; p > 0; --p) {
      Reg row[kVectors];
      MILLSTREAM_UNROLL
      for (int j = 0; j < kVectors; ++j) row[j] = V::Load(b + j * V::kWidth);
      MILLSTREAM_UNROLL
      for (int i = 0; i < kRows; ++i) {
        const Reg x = V::Set(a[i * a_row]);
        MILLSTREAM_UNROLL
        for (int j = 0; j < kVectors; ++j) sum[i][j] = V::MulAdd(x, row[j], sum[i][j]);
      }
      a += a_col;
      b += ldb;
      if constexpr (kFetches) {
        __builtin_prefetch(ahead, 0, 2);
        __builtin_prefetch(reinterpret_cast<const char*>(ahead) + 64, 0, 2);
        ahead += ahead_step;
      }
    }
  }
  const Epilogue<typename V::T>& e = *args.epilogue;
  const bool plain = e.alpha == 1 && e.bias == nullptr && e.activation == Activation::kNone;
  if (plain && !e.accumulate && args.cols == kVectors * V::kWidth) {
    MILLSTREAM_UNROLL
    for (int i = 0; i < kRows; ++i) {
      MILLSTREAM_UNROLL
      for (int j = 0; j < kVectors; ++j) V::Store(args.c + i * args.ldc + j * V::kWidth, sum[i][j]);
    }
    return;
  }
  MILLSTREAM_UNROLL
  for (int i = 0; i < kRows; ++i) {
    MILLSTREAM_UNROLL
    for (int j = 0; j < kVectors; ++j) {
      const int offset = j * V::kWidth;
      if (offset < args.cols) {
        StoreSums<V>(sum[i][j], e, offset, args.c + i * args.ldc + offset, args.cols - offset);
      }
    }
  }
}

template <class V, int kRows, int kCols>
MILLSTREAM_KERNEL void DotKernel(const DotArgs<typename V::T>& args) {
  using Reg = typename V::Reg;
  Reg sum[kRows][kCols];
  MILLSTREAM_UNROLL
  for (int i = 0; i < kRows; ++i) {
    MILLSTREAM_UNROLL
    for (int j = 0; j < kCols; ++j) sum[i][j] = V::Zero();
  }
  int64_t p = 0;
  for (; p + V::kWidth <= args.k; p += V::kWidth) {
    Reg x[kRows];
    MILLSTREAM_UNROLL
    for (int i = 0; i < kRows; ++i) x[i] = V::Load(args.a + i * args.lda + p);
    MILLSTREAM_UNROLL
    for (int j = 0; j < kCols; ++j) {
      const Reg y = V::Load(args.b + j * args.ldb + p);
      MILLSTREAM_UNROLL
      for (int i = 0; i < kRows; ++i) sum[i][j] = V::MulAdd(x[i], y, sum[i][j]);
    }
  }
  if (const int rest = static_cast<int>(args.k - p); rest > 0) {
    MILLSTREAM_UNROLL
    for (int j = 0; j < kCols; ++j) {
      const Reg y = V::LoadN(args.b + j * args.ldb + p, rest);
      MILLSTREAM_UNROLL
      for (int i = 0; i < kRows; ++i) {
        sum[i][j] = V::MulAdd(V::LoadN(args.a + i * args.lda + p, rest), y, sum[i][j]);
      }
    }
  }
  MILLSTREAM_UNROLL
  for (int i = 0; i < kRows; ++i) V::template SumLanes<kCols>(sum[i], args.sums + i * kCols);
}

template <class V, int kVectors, int kRows>
constexpr void FillTiles(GemmKernels<typename V::T>& kernels) {
  kernels.tile[kVectors][kRows] = &TileKernel<V, kRows, kVectors>;
  if constexpr (kRows > 1) FillTiles<V, kVectors, kRows - 1>(kernels);
}

template <class V, int kRows, int kCols>
constexpr void FillDots(GemmKernels<typename V::T>& kernels) {
  kernels.dot[kRows][kCols] = &DotKernel<V, kRows, kCols>;
  if constexpr (kCols > 1) {
    FillDots<V, kRows, kCols - 1>(kernels);
  } else if constexpr (kRows > 1) {
    FillDots<V, kRows - 1, V::kDotCols>(kernels);
  }
}

template <class V>
constexpr GemmKernels<typename V::T> MakeKernels() {
  GemmKernels<typename V::T> kernels{};
  kernels.width = V::kWidth;
  kernels.max_rows[1] = V::kRows1;
  kernels.max_rows[2] = V::kRows2;
  kernels.max_rows[4] = V::kRows4;
  FillTiles<V, 1, V::kRows1>(kernels);
  FillTiles<V, 2, V::kRows2>(kernels);
  FillTiles<V, 4, V::kRows4>(kernels);
  kernels.dot_rows = V::kDotRows;
  kernels.dot_cols = V::kDotCols;
  FillDots<V, V::kDotRows, V::kDotCols>(kernels);
  return kernels;
}

}  // namespace
}  // namespace millstream::math
