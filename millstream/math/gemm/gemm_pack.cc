// SPDX-License-Identifier: Apache-2.0
#include "millstream/math/gemm/gemm_pack.h"

#include <emmintrin.h>

#include <cstring>
#include <type_traits>

namespace millstream::math {
namespace {

// Blocks of 4 x 4 floats are turned in registers; everything else, element by
// element.
void TransposeBlock(const float* src, int64_t ld, float* dst, int64_t dst_ld) {
  __m128 r0 = _mm_loadu_ps(src), r1 = _mm_loadu_ps(src + ld);
  __m128 r2 = _mm_loadu_ps(src + 2 * ld), r3 = _mm_loadu_ps(src + 3 * ld);
  _MM_TRANSPOSE4_PS(r0, r1, r2, r3);
  _mm_storeu_ps(dst, r0);
  _mm_storeu_ps(dst + dst_ld, r1);
  _mm_storeu_ps(dst + 2 * dst_ld, r2);
  _mm_storeu_ps(dst + 3 * dst_ld, r3);
}

// Two rows, four columns: the rest of a panel whose height is not a multiple of
// four.
void TransposePair(const float* src, int64_t ld, float* dst, int64_t dst_ld) {
  const __m128 r0 = _mm_loadu_ps(src), r1 = _mm_loadu_ps(src + ld);
  const __m128 low = _mm_unpacklo_ps(r0, r1), high = _mm_unpackhi_ps(r0, r1);
  _mm_storel_pi(reinterpret_cast<__m64*>(dst), low);
  _mm_storeh_pi(reinterpret_cast<__m64*>(dst + dst_ld), low);
  _mm_storel_pi(reinterpret_cast<__m64*>(dst + 2 * dst_ld), high);
  _mm_storeh_pi(reinterpret_cast<__m64*>(dst + 3 * dst_ld), high);
}

// Returns how many rows were done for columns [0, cols & ~3).
int64_t TransposeQuads(const float* src, int64_t ld, int64_t rows, int64_t cols, float* dst, int64_t dst_ld) {
  const int64_t pairs = rows & ~int64_t{1};
  for (int64_t j = 0; j + 4 <= cols; j += 4) {
    int64_t i = 0;
    for (; i + 4 <= rows; i += 4) TransposeBlock(src + i * ld + j, ld, dst + j * dst_ld + i, dst_ld);
    if (i < pairs) TransposePair(src + i * ld + j, ld, dst + j * dst_ld + i, dst_ld);
  }
  return pairs;
}

inline __m128 FinishQuad(__m128 x, const float* c, const float* bias, const Epilogue<float>& e) {
  if (e.alpha != 1.0f) x = _mm_mul_ps(x, _mm_set1_ps(e.alpha));
  if (e.accumulate) x = _mm_add_ps(x, _mm_loadu_ps(c));
  if (bias != nullptr) x = _mm_add_ps(x, _mm_loadu_ps(bias));
  if (e.activation == Activation::kNone) return x;
  x = _mm_max_ps(_mm_setzero_ps(), x);
  return e.activation == Activation::kRelu6 ? _mm_min_ps(_mm_set1_ps(6), x) : x;
}

void StoreBlock(const float* tile, int64_t ld, float* c, int64_t ldc, const float* bias, const Epilogue<float>& e) {
  __m128 r0 = _mm_load_ps(tile), r1 = _mm_load_ps(tile + ld);
  __m128 r2 = _mm_load_ps(tile + 2 * ld), r3 = _mm_load_ps(tile + 3 * ld);
  _MM_TRANSPOSE4_PS(r0, r1, r2, r3);
  _mm_storeu_ps(c, FinishQuad(r0, c, bias, e));
  _mm_storeu_ps(c + ldc, FinishQuad(r1, c + ldc, bias, e));
  _mm_storeu_ps(c + 2 * ldc, FinishQuad(r2, c + 2 * ldc, bias, e));
  _mm_storeu_ps(c + 3 * ldc, FinishQuad(r3, c + 3 * ldc, bias, e));
}

// The first `lanes` (1 to 3) values.
inline void StoreLanes(float* c, __m128 x, int lanes) {
  if (lanes == 1) return _mm_store_ss(c, x);
  _mm_storel_pi(reinterpret_cast<__m64*>(c), x);
  if (lanes == 3) _mm_store_ss(c + 2, _mm_movehl_ps(x, x));
}

// The last `rows` (1 to 3) rows of a tile, four columns, without an epilogue.
void StoreRest(const float* tile, int64_t ld, int rows, float* c, int64_t ldc) {
  __m128 r0 = _mm_load_ps(tile), r1 = _mm_load_ps(tile + (rows > 1 ? ld : 0));
  __m128 r2 = _mm_load_ps(tile + (rows > 2 ? 2 * ld : 0)), r3 = _mm_setzero_ps();
  _MM_TRANSPOSE4_PS(r0, r1, r2, r3);
  StoreLanes(c, r0, rows);
  StoreLanes(c + ldc, r1, rows);
  StoreLanes(c + 2 * ldc, r2, rows);
  StoreLanes(c + 3 * ldc, r3, rows);
}

template <typename T>
bool IsPlain(const Epilogue<T>& e) {
  return e.alpha == T(1) && !e.accumulate && e.bias == nullptr && e.activation == Activation::kNone;
}

template <typename T>
void StoreElements(const T* tile, int64_t ld, int row, int rows, int col, int cols, T* c, int64_t ldc,
                   const Epilogue<T>& e) {
  for (int j = col; j < cols; ++j) {
    for (int i = row; i < rows; ++i) {
      T& out = c[j * ldc + i];
      out = FinishElement(tile[i * ld + j], out, i, e);
    }
  }
}

}  // namespace

template <typename T>
void CopyPanel(const T* src, int64_t ld, int64_t rows, int64_t cols, T* dst, int64_t dst_ld, int64_t padded) {
  constexpr int64_t kBlock = 64 / sizeof(T);  // copied without a call
  if (cols == padded && cols % kBlock == 0) {
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < cols; j += kBlock) std::memcpy(dst + i * dst_ld + j, src + i * ld + j, 64);
    }
    return;
  }
  for (int64_t i = 0; i < rows; ++i) {
    std::memcpy(dst + i * dst_ld, src + i * ld, cols * sizeof(T));
    for (int64_t j = cols; j < padded; ++j) dst[i * dst_ld + j] = T(0);
  }
}

template <typename T>
void TransposePanel(const T* src, int64_t ld, int64_t rows, int64_t cols, T* dst, int64_t dst_ld, int64_t padded) {
  int64_t done_rows = 0, done_cols = 0;
  if constexpr (std::is_same_v<T, float>) {
    done_rows = TransposeQuads(src, ld, rows, cols, dst, dst_ld);
    done_cols = cols & ~int64_t{3};
  }
  for (int64_t j = 0; j < cols; ++j) {
    for (int64_t i = j < done_cols ? done_rows : 0; i < rows; ++i) dst[j * dst_ld + i] = src[i * ld + j];
    for (int64_t i = rows; i < padded; ++i) dst[j * dst_ld + i] = T(0);
  }
}

template <typename T>
void StoreTransposed(const T* tile, int64_t ld, int rows, int cols, T* c, int64_t ldc, const Epilogue<T>& epilogue) {
  int full_rows = 0, full_cols = 0;
  if constexpr (std::is_same_v<T, float>) {
    full_rows = rows & ~3, full_cols = cols & ~3;
    for (int j = 0; j < full_cols; j += 4) {
      for (int i = 0; i < full_rows; i += 4) {
        const float* bias = epilogue.bias == nullptr ? nullptr : epilogue.bias + i;
        StoreBlock(tile + i * ld + j, ld, c + j * ldc + i, ldc, bias, epilogue);
      }
    }
    if (full_rows < rows && IsPlain(epilogue)) {
      for (int j = 0; j < full_cols; j += 4) {
        StoreRest(tile + full_rows * ld + j, ld, rows - full_rows, c + j * ldc + full_rows, ldc);
      }
      full_rows = rows;
    }
  }
  StoreElements(tile, ld, full_rows, rows, 0, full_cols, c, ldc, epilogue);
  StoreElements(tile, ld, 0, rows, full_cols, cols, c, ldc, epilogue);
}

template void CopyPanel(const float*, int64_t, int64_t, int64_t, float*, int64_t, int64_t);
template void CopyPanel(const double*, int64_t, int64_t, int64_t, double*, int64_t, int64_t);
template void TransposePanel(const float*, int64_t, int64_t, int64_t, float*, int64_t, int64_t);
template void TransposePanel(const double*, int64_t, int64_t, int64_t, double*, int64_t, int64_t);
template void StoreTransposed(const float*, int64_t, int, int, float*, int64_t, const Epilogue<float>&);
template void StoreTransposed(const double*, int64_t, int, int, double*, int64_t, const Epilogue<double>&);

}  // namespace millstream::math
