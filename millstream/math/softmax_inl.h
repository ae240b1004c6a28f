// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_MATH_SOFTMAX_INL_H_
#define MILLSTREAM_MATH_SOFTMAX_INL_H_

// Definitions of softmax.h; include that.
#include <algorithm>
#include <limits>

#include "millstream/math/reduce.h"
#include "millstream/math/softmax.h"
#include "millstream/math/vector_double.h"

namespace millstream::math {

namespace softmax_internal {

// Elements that are held on the stack at a time: rows up to this length are
// read once, longer ones three times.
inline constexpr int64_t kChunk = 1024;

// `count` elements of `row` from `first`: x - max(row) and exp of that.
template <typename W>
struct Piece {
  int64_t row;
  int64_t first;
  int64_t count;
  const W* shifted;
  const W* exps;
  W sum;  // of exps, over the whole row
};

template <typename T, typename W>
MILLSTREAM_ALWAYS_INLINE void Shift(const T* x, int64_t n, W max, W* shifted) {
  MILLSTREAM_INDEPENDENT_LOOP
  for (int64_t j = 0; j < n; ++j) shifted[j] = W(x[j]) - max;
}

template <typename W>
MILLSTREAM_ALWAYS_INLINE void Exponentials(const W* x, int64_t n, W* exps) {
  MILLSTREAM_INDEPENDENT_LOOP
  for (int64_t j = 0; j < n; ++j) exps[j] = wide::Exp(x[j]);
}

// Calls emit(piece) for the pieces of rows [begin, end), each row in order.
// Many short rows share one loop of exponentials, so that it is vectorised
// however few classes there are.
template <typename T, typename W, typename Emit>
MILLSTREAM_ALWAYS_INLINE void ForShortRows(const T* logits, int64_t begin, int64_t end, int64_t classes, Emit emit) {
  using reduce_internal::ReduceLanes;
  alignas(64) W shifted[kChunk];
  alignas(64) W exps[kChunk];
  const int64_t group = kChunk / classes;
  for (int64_t first = begin; first < end; first += group) {
    const int64_t rows = std::min(group, end - first);
    for (int64_t r = 0; r < rows; ++r) {
      const T* x = logits + (first + r) * classes;
      Shift(x, classes, W(ReduceLanes<reduction::Max>(x, classes)), shifted + r * classes);
    }
    Exponentials(shifted, rows * classes, exps);
    for (int64_t r = 0; r < rows; ++r) {
      const W* e = exps + r * classes;
      emit(Piece<W>{first + r, 0, classes, shifted + r * classes, e, ReduceLanes<reduction::Sum>(e, classes)});
    }
  }
}

template <typename T, typename W, typename Emit>
MILLSTREAM_ALWAYS_INLINE void ForLongRows(const T* logits, int64_t begin, int64_t end, int64_t classes, Emit emit) {
  using reduce_internal::ReduceLanes;
  alignas(64) W shifted[kChunk];
  alignas(64) W exps[kChunk];
  for (int64_t row = begin; row < end; ++row) {
    const T* x = logits + row * classes;
    const W max = ReduceLanes<reduction::Max>(x, classes);
    double sum = 0;
    for (int64_t j = 0; j < classes; j += kChunk) {
      const int64_t n = std::min(kChunk, classes - j);
      Shift(x + j, n, max, shifted);
      Exponentials(shifted, n, exps);
      sum += ReduceLanes<reduction::Sum>(exps, n);
    }
    for (int64_t j = 0; j < classes; j += kChunk) {
      const int64_t n = std::min(kChunk, classes - j);
      Shift(x + j, n, max, shifted);
      Exponentials(shifted, n, exps);
      emit(Piece<W>{row, j, n, shifted, exps, static_cast<W>(sum)});
    }
  }
}

template <typename T, typename Emit>
void ForRows(const T* logits, RowShape shape, ThreadPool* pool, Emit emit) {
  using W = simd::Wide<T>;
  if (shape.rows <= 0 || shape.classes <= 0) return;
  const int64_t classes = shape.classes;
  const auto rows = [=](int64_t begin, int64_t end) {
    simd::Run<W>([=] {
      if (classes <= kChunk) {
        ForShortRows<T, W>(logits, begin, end, classes, emit);
      } else {
        ForLongRows<T, W>(logits, begin, end, classes, emit);
      }
    });
  };
  if (pool == nullptr) return rows(0, shape.rows);
  const double ns_per_element = sizeof(W) == 4 ? 1.0 : 2.0;
  pool->ParallelFor(shape.rows, 15 + static_cast<double>(classes) * ns_per_element, rows);
}

}  // namespace softmax_internal

template <typename T>
void Softmax(const T* logits, T* out, RowShape shape, ThreadPool* pool) {
  using W = simd::Wide<T>;
  softmax_internal::ForRows(logits, shape, pool,
                            [out, classes = shape.classes](const softmax_internal::Piece<W>& p)
                                MILLSTREAM_INLINE_LAMBDA {
                                  T* y = out + p.row * classes + p.first;
                                  const W scale = W(1) / p.sum;
                                  const W* exps = p.exps;
                                  MILLSTREAM_INDEPENDENT_LOOP
                                  for (int64_t j = 0; j < p.count; ++j) y[j] = T(exps[j] * scale);
                                });
}

template <typename T>
void LogSoftmax(const T* logits, T* out, RowShape shape, ThreadPool* pool) {
  using W = simd::Wide<T>;
  softmax_internal::ForRows(logits, shape, pool,
                            [out, classes = shape.classes](const softmax_internal::Piece<W>& p)
                                MILLSTREAM_INLINE_LAMBDA {
                                  T* y = out + p.row * classes + p.first;
                                  const W log_sum = wide::Log(p.sum);
                                  const W* shifted = p.shifted;
                                  MILLSTREAM_INDEPENDENT_LOOP
                                  for (int64_t j = 0; j < p.count; ++j) y[j] = T(shifted[j] - log_sum);
                                });
}

template <typename T>
void SoftmaxCrossEntropy(const T* logits, const T* labels, T* loss, T* backprop, RowShape shape, ThreadPool* pool) {
  using W = simd::Wide<T>;
  softmax_internal::ForRows(
      logits, shape, pool, [=, classes = shape.classes](const softmax_internal::Piece<W>& p) MILLSTREAM_INLINE_LAMBDA {
        const int64_t offset = p.row * classes + p.first;
        const T* label = labels + offset;
        T* y = backprop + offset;
        const W log_sum = wide::Log(p.sum), scale = W(1) / p.sum;
        alignas(64) W losses[softmax_internal::kChunk];
        const W *exps = p.exps, *shifted = p.shifted;
        MILLSTREAM_INDEPENDENT_LOOP
        for (int64_t j = 0; j < p.count; ++j) {
          const W l = W(label[j]);
          losses[j] = l * (log_sum - shifted[j]);
          y[j] = T(exps[j] * scale - l);
        }
        const W before = p.first == 0 ? W(0) : W(loss[p.row]);
        loss[p.row] = T(before + reduce_internal::ReduceLanes<reduction::Sum>(static_cast<const W*>(losses), p.count));
      });
}

template <typename T, typename Label>
void SparseSoftmaxCrossEntropy(const T* logits, const Label* labels, T* loss, T* backprop, RowShape shape,
                               ThreadPool* pool) {
  using W = simd::Wide<T>;
  softmax_internal::ForRows(logits, shape, pool,
                            [=, classes = shape.classes](const softmax_internal::Piece<W>& p) MILLSTREAM_INLINE_LAMBDA {
                              const int64_t label = static_cast<int64_t>(labels[p.row]);
                              const bool valid = label >= 0 && label < classes;
                              T* y = backprop + p.row * classes + p.first;
                              const W nan = std::numeric_limits<W>::quiet_NaN();
                              const W scale = valid ? W(1) / p.sum : nan;
                              const W* exps = p.exps;
                              MILLSTREAM_INDEPENDENT_LOOP
                              for (int64_t j = 0; j < p.count; ++j) y[j] = T(exps[j] * scale);
                              if (!valid) {
                                loss[p.row] = T(nan);
                              } else if (label >= p.first && label < p.first + p.count) {
                                const int64_t j = label - p.first;
                                loss[p.row] = T(Log(p.sum) - p.shifted[j]);
                                y[j] = T(exps[j] * scale - W(1));
                              }
                            });
}

#define MILLSTREAM_SOFTMAX_INSTANCES(extern_, T)                                                          \
  extern_ template void Softmax<T>(const T*, T*, RowShape, ThreadPool*);                                  \
  extern_ template void LogSoftmax<T>(const T*, T*, RowShape, ThreadPool*);                               \
  extern_ template void SoftmaxCrossEntropy<T>(const T*, const T*, T*, T*, RowShape, ThreadPool*);        \
  extern_ template void SparseSoftmaxCrossEntropy<T, int32_t>(const T*, const int32_t*, T*, T*, RowShape, \
                                                              ThreadPool*);                               \
  extern_ template void SparseSoftmaxCrossEntropy<T, int64_t>(const T*, const int64_t*, T*, T*, RowShape, ThreadPool*)
MILLSTREAM_SOFTMAX_INSTANCES(extern, float);
MILLSTREAM_SOFTMAX_INSTANCES(extern, double);

}  // namespace millstream::math

#endif  // MILLSTREAM_MATH_SOFTMAX_INL_H_
