// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_MATH_REDUCE_INL_H_
#define MILLSTREAM_MATH_REDUCE_INL_H_

// Definitions of reduce.h; include that.
#include <algorithm>

#include "absl/functional/function_ref.h"
#include "millstream/math/reduce.h"
#include "millstream/math/simd_types.h"

namespace millstream::math {

namespace reduce_internal {

// Independent accumulators of a row; enough to hide the latency of additions
// with every instruction set.
inline constexpr int kLanes = 32;
// Maxima and minima, which look for NaN, take longer: long rows have more.
template <typename Op>
inline constexpr bool kOrders = std::is_same_v<Op, reduction::Max> || std::is_same_v<Op, reduction::Min>;
inline constexpr int kManyLanes = 64;
inline constexpr int64_t kLongRow = 256;
// Elements (rows) that are accumulated in the narrow type.
inline constexpr int64_t kBlock = 4096;
// Columns whose accumulators are kept on the stack at a time.
inline constexpr int64_t kColumns = 512;
inline constexpr int kMaxPartials = 16;
// Below this many elements one thread is enough.
inline constexpr int64_t kParallelElements = 1 << 16;
inline constexpr double kNsPerElement = 0.08;

// The type of partial results within a block. Unsigned for sums and products of
// integers, which wrap.
template <typename Op, typename T>
struct NarrowOf {
  using Type = simd::Wide<T>;
};
template <typename Op, typename T>
requires(std::is_integral_v<T> && !std::is_same_v<T, bool> && !std::is_same_v<Op, reduction::Max> &&
         !std::is_same_v<Op, reduction::Min>) struct NarrowOf<Op, T> {
  // Not below 32 bits: C++ would promote to the signed int.
  using Type = std::conditional_t<sizeof(T) <= 4, uint32_t, std::make_unsigned_t<T>>;
};
template <typename Op>
struct NarrowOf<Op, bool> {
  using Type = uint8_t;
};
template <typename Op, typename T>
using Narrow = typename NarrowOf<Op, T>::Type;

// The type in which blocks are combined.
template <typename A>
using Total = std::conditional_t<std::is_same_v<A, float>, double, A>;

inline void Split(ThreadPool* pool, int64_t n, double cost, absl::FunctionRef<void(int64_t, int64_t)> body,
                  int64_t align = 1) {
  if (pool == nullptr) return body(0, n);
  pool->ParallelFor(n, cost, body, align);
}

template <typename Op, typename T>
MILLSTREAM_ALWAYS_INLINE Narrow<Op, T> Load(const T* x) {
  using A = Narrow<Op, T>;
  return Op::template Map<A>(static_cast<A>(*x));
}

// Reduces x[0, n) with `kCount` accumulators, which are combined pairwise.
template <typename Op, int kCount, typename T>
MILLSTREAM_ALWAYS_INLINE Narrow<Op, T> ReduceWith(const T* x, int64_t n) {
  using A = Narrow<Op, T>;
  int64_t i = 0;
  A result = Op::template Neutral<A>();
  if (n >= kCount) {
    A lanes[kCount];
    for (int j = 0; j < kCount; ++j) lanes[j] = Load<Op>(x + j);
    for (i = kCount; i + kCount <= n; i += kCount) {
      MILLSTREAM_INDEPENDENT_LOOP
      for (int j = 0; j < kCount; ++j) {
        lanes[j] = Op::template Combine<A>(lanes[j], Load<Op>(x + i + j));
      }
    }
    for (int width = kCount / 2; width > 0; width /= 2) {
      for (int j = 0; j < width; ++j) {
        lanes[j] = Op::template Combine<A>(lanes[j], lanes[j + width]);
      }
    }
    result = lanes[0];
  }
  for (; i < n; ++i) result = Op::template Combine<A>(result, Load<Op>(x + i));
  return result;
}

template <typename Op, typename T>
MILLSTREAM_ALWAYS_INLINE Narrow<Op, T> ReduceLanes(const T* x, int64_t n) {
  if constexpr (kOrders<Op>) {
    const int64_t whole = n < kLongRow ? 0 : n / kManyLanes * kManyLanes;
    if (whole > 0) {
      return Op::template Combine<Narrow<Op, T>>(ReduceWith<Op, kManyLanes>(x, whole),
                                                 ReduceWith<Op, kLanes>(x + whole, n - whole));
    }
  }
  return ReduceWith<Op, kLanes>(x, n);
}

template <typename Op, typename T>
Total<Narrow<Op, T>> ReduceSpan(const T* x, int64_t n) {
  using A = Narrow<Op, T>;
  return simd::Run<simd::VectorOf<A>>([=] {
    Total<A> total = Op::template Neutral<Total<A>>();
    for (int64_t i = 0; i < n; i += kBlock) {
      total = Op::template Combine<Total<A>>(total, ReduceLanes<Op>(x + i, std::min(kBlock, n - i)));
    }
    return total;
  });
}

// Rows that ReduceLanes() would reduce one element after the other: several of them at a time.
inline constexpr int kRowsTogether = 8;
template <typename Op, typename T>
MILLSTREAM_ALWAYS_INLINE void ReduceRowsTogether(const T* in, T* out, int64_t n) {
  using Core = typename Op::Core;
  using A = Narrow<Core, T>;
  A total[kRowsTogether];
  for (A& row : total) row = Core::template Neutral<A>();
  for (int64_t i = 0; i < n; ++i) {
    for (int r = 0; r < kRowsTogether; ++r) total[r] = Core::template Combine<A>(total[r], Load<Core>(in + r * n + i));
  }
  for (int r = 0; r < kRowsTogether; ++r) out[r] = Op::template Finish<T>(total[r], n);
}

// Rows [begin, end) of [*, n], none of them longer than a block.
template <typename Op, typename T>
void ReduceShortRows(const T* in, T* out, int64_t begin, int64_t end, int64_t n) {
  simd::Run<simd::VectorOf<Narrow<Op, T>>>([=] {
    int64_t o = begin;
    for (; n < kLanes && o + kRowsTogether <= end; o += kRowsTogether) {
      ReduceRowsTogether<Op>(in + o * n, out + o, n);
    }
    for (; o < end; ++o) {
      out[o] = Op::template Finish<T>(ReduceLanes<typename Op::Core>(in + o * n, n), n);
    }
  });
}

// One long row, by chunks.
template <typename Op, typename T>
Total<Narrow<Op, T>> ReduceLongRow(const T* x, int64_t n, ThreadPool* pool) {
  using A = Total<Narrow<Op, T>>;
  A partials[kMaxPartials] = {};
  const int64_t chunk = ((n + kMaxPartials - 1) / kMaxPartials + kBlock - 1) / kBlock * kBlock;
  const int64_t chunks = (n + chunk - 1) / chunk;
  Split(pool, chunks, static_cast<double>(chunk) * kNsPerElement, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      partials[c] = ReduceSpan<Op>(x + c * chunk, std::min(chunk, n - c * chunk));
    }
  });
  A total = partials[0];
  for (int64_t c = 1; c < chunks; ++c) {
    total = Op::template Combine<A>(total, partials[c]);
  }
  return total;
}

template <typename Op, typename T>
void ReduceRows(const T* in, T* out, int64_t rows, int64_t n, ThreadPool* pool) {
  using Core = typename Op::Core;
  if (rows < 2 * kMaxPartials && n >= kParallelElements) {
    for (int64_t o = 0; o < rows; ++o) {
      out[o] = Op::template Finish<T>(ReduceLongRow<Core>(in + o * n, n, pool), n);
    }
    return;
  }
  const double cost = 4.0 + static_cast<double>(n) * kNsPerElement;
  if (n <= kBlock) {
    return Split(
        pool, rows, cost, [=](int64_t begin, int64_t end) { ReduceShortRows<Op>(in, out, begin, end, n); },
        /*align=*/16);
  }
  Split(pool, rows, cost, [=](int64_t begin, int64_t end) {
    for (int64_t o = begin; o < end; ++o) {
      out[o] = Op::template Finish<T>(ReduceSpan<Core>(in + o * n, n), n);
    }
  });
}

// acc[j] = op over r of in[r * stride + j] for j < columns <= kColumns.
template <typename Op, typename T>
void ReduceColumns(const T* in, int64_t rows, int64_t columns, int64_t stride, Total<Narrow<Op, T>>* total) {
  using A = Narrow<Op, T>;
  simd::Run<simd::VectorOf<A>>([=] {
    alignas(64) A acc[kColumns];
    for (int64_t j = 0; j < columns; ++j) {
      total[j] = Op::template Neutral<Total<A>>();
    }
    for (int64_t block = 0; block < rows; block += kBlock) {
      for (int64_t j = 0; j < columns; ++j) acc[j] = Op::template Neutral<A>();
      const int64_t end = std::min(rows, block + kBlock);
      int64_t r = block;
      for (; r + 4 <= end; r += 4) {
        const T* row = in + r * stride;
        MILLSTREAM_INDEPENDENT_LOOP
        for (int64_t j = 0; j < columns; ++j) {
          const A first = Op::template Combine<A>(Load<Op>(row + j), Load<Op>(row + stride + j));
          const A second = Op::template Combine<A>(Load<Op>(row + 2 * stride + j), Load<Op>(row + 3 * stride + j));
          acc[j] = Op::template Combine<A>(acc[j], Op::template Combine<A>(first, second));
        }
      }
      for (; r < end; ++r) {
        const T* row = in + r * stride;
        MILLSTREAM_INDEPENDENT_LOOP
        for (int64_t j = 0; j < columns; ++j) {
          acc[j] = Op::template Combine<A>(acc[j], Load<Op>(row + j));
        }
      }
      for (int64_t j = 0; j < columns; ++j) {
        total[j] = Op::template Combine<Total<A>>(total[j], acc[j]);
      }
    }
  });
}

// As ReduceColumns for rows that follow each other (stride = columns). Several
// narrow rows are taken as one, to fill vectors.
template <typename Op, typename T>
void ReduceNarrowColumns(const T* in, int64_t rows, int64_t columns, Total<Narrow<Op, T>>* total) {
  using A = Total<Narrow<Op, T>>;
  const int64_t fold = columns >= 32 ? 1 : std::min(rows, 128 / columns);
  if (fold <= 1) return ReduceColumns<Op>(in, rows, columns, columns, total);
  A wide[128];
  const int64_t folded_rows = rows / fold;
  ReduceColumns<Op>(in, folded_rows, columns * fold, columns * fold, wide);
  ReduceColumns<Op>(in + folded_rows * fold * columns, rows % fold, columns, columns, total);
  for (int64_t k = 0; k < fold; ++k) {
    for (int64_t j = 0; j < columns; ++j) {
      total[j] = Op::template Combine<A>(total[j], wide[k * columns + j]);
    }
  }
}

// The first `columns` columns of one [reduce, inner] matrix; large ones by
// chunks of rows if `may_split`.
template <typename Op, typename T>
void ReduceColumnBlock(const T* in, T* out, const ReduceShape& shape, int64_t columns, bool may_split,
                       ThreadPool* pool) {
  using Core = typename Op::Core;
  using A = Total<Narrow<Core, T>>;
  const auto reduce = [&](int64_t row, int64_t rows, A* total) {
    const T* start = in + row * shape.inner;
    if (columns == shape.inner) {
      ReduceNarrowColumns<Core>(start, rows, columns, total);
    } else {
      ReduceColumns<Core>(start, rows, columns, shape.inner, total);
    }
  };
  A totals[kMaxPartials][kColumns];
  const int64_t rows = shape.reduce;
  const bool split = may_split && rows >= 2 * kMaxPartials && rows * columns >= kParallelElements;
  const int64_t chunk = split ? (rows + kMaxPartials - 1) / kMaxPartials : rows;
  const int64_t chunks = split ? (rows + chunk - 1) / chunk : 1;
  Split(pool, chunks, static_cast<double>(chunk * columns) * kNsPerElement, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      reduce(c * chunk, std::min(chunk, rows - c * chunk), totals[c]);
    }
  });
  for (int64_t j = 0; j < columns; ++j) {
    A total = totals[0][j];
    for (int64_t c = 1; c < chunks; ++c) {
      total = Core::template Combine<A>(total, totals[c][j]);
    }
    out[j] = Op::template Finish<T>(total, rows);
  }
}

}  // namespace reduce_internal

template <typename Op, typename T>
void Reduce(const T* in, T* out, const ReduceShape& shape, ThreadPool* pool) {
  using namespace reduce_internal;  // NOLINT(google-build-using-namespace)
  if (shape.outer <= 0 || shape.inner <= 0) return;
  if (shape.inner == 1) {
    return ReduceRows<Op>(in, out, shape.outer, shape.reduce, pool);
  }
  const int64_t blocks = (shape.inner + kColumns - 1) / kColumns;
  const int64_t tasks = shape.outer * blocks;
  // Few large tasks are split inside, many are shared out.
  const bool may_split = tasks < kMaxPartials;
  const auto reduce = [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t o = task / blocks, first = task % blocks * kColumns;
      ReduceColumnBlock<Op>(in + o * shape.reduce * shape.inner + first, out + o * shape.inner + first, shape,
                            std::min(kColumns, shape.inner - first), may_split, may_split ? pool : nullptr);
    }
  };
  if (may_split) return reduce(0, tasks);
  const int64_t columns = std::min(kColumns, shape.inner);
  Split(pool, tasks, static_cast<double>(shape.reduce * columns) * kNsPerElement, reduce);
}

#define MILLSTREAM_REDUCE_INSTANCE(extern_, Op, T) \
  extern_ template void Reduce<reduction::Op, T>(const T*, T*, const ReduceShape&, ThreadPool*);
#define MILLSTREAM_REDUCE_INSTANCES(extern_, T)      \
  MILLSTREAM_REDUCE_INSTANCE(extern_, Sum, T)        \
  MILLSTREAM_REDUCE_INSTANCE(extern_, SumSquares, T) \
  MILLSTREAM_REDUCE_INSTANCE(extern_, Mean, T)       \
  MILLSTREAM_REDUCE_INSTANCE(extern_, Prod, T)       \
  MILLSTREAM_REDUCE_INSTANCE(extern_, Max, T)        \
  MILLSTREAM_REDUCE_INSTANCE(extern_, Min, T)
#define MILLSTREAM_ALL_REDUCE_INSTANCES(extern_) \
  MILLSTREAM_REDUCE_INSTANCES(extern_, float)    \
  MILLSTREAM_REDUCE_INSTANCES(extern_, double)   \
  MILLSTREAM_REDUCE_INSTANCES(extern_, int32_t)  \
  MILLSTREAM_REDUCE_INSTANCES(extern_, int64_t)  \
  MILLSTREAM_REDUCE_INSTANCE(extern_, All, bool) \
  MILLSTREAM_REDUCE_INSTANCE(extern_, Any, bool)
MILLSTREAM_ALL_REDUCE_INSTANCES(extern)

}  // namespace millstream::math

#endif  // MILLSTREAM_MATH_REDUCE_INL_H_
