// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/elements/strided_copy.h"

#include <emmintrin.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "millstream/math/simd.h"
#include "millstream/math/turn_inl.h"
#include "millstream/ops/elements/fill_vectors.h"

namespace millstream {
namespace {

using Axis = StridedCopy::Axis;

// Walks the grid of some outer axes in row-major order, keeping the two offsets.
class Odometer {
 public:
  Odometer(const Axis* axes, size_t n, int64_t position) : axes_(axes), index_(n) {
    for (size_t k = n; k-- > 0;) {
      index_[k] = position % axes[k].size;
      position /= axes[k].size;
      from_ += index_[k] * axes[k].from;
      to_ += index_[k] * axes[k].to;
    }
  }
  int64_t from() const { return from_; }
  int64_t to() const { return to_; }
  void Next() {
    for (size_t k = index_.size(); k-- > 0;) {
      from_ += axes_[k].from;
      to_ += axes_[k].to;
      if (++index_[k] < axes_[k].size) return;
      index_[k] = 0;
      from_ -= axes_[k].from * axes_[k].size;
      to_ -= axes_[k].to * axes_[k].size;
    }
  }

 private:
  const Axis* axes_;
  absl::InlinedVector<int64_t, 8> index_;
  int64_t from_ = 0;
  int64_t to_ = 0;
};

template <typename T>
void CopyAxis(const Axis& axis, const T* from, T* to) {
  if (axis.to == 1 && axis.from == 1) {
    CopyRun(from, axis.size, to);
  } else if (axis.to == 1 && axis.from == 0) {
    FillVectors(*from, axis.size, to);
  } else if (std::is_trivially_copyable_v<T> && axis.to == 1 && axis.from == -1) {
    // Steps that the compiler knows become shuffles; loops "of float" exist for every instruction set.
    simd::For<float>(0, axis.size, [=](int64_t i) MILLSTREAM_INLINE_LAMBDA { Bits(to[i]) = Bits(from[-i]); });
  } else if (std::is_trivially_copyable_v<T> && axis.to == 1 && axis.from == 2) {
    simd::For<float>(0, axis.size, [=](int64_t i) MILLSTREAM_INLINE_LAMBDA { Bits(to[i]) = Bits(from[2 * i]); });
  } else {
    for (int64_t i = 0; i < axis.size; ++i) to[i * axis.to] = from[i * axis.from];
  }
}

// Rows of kPart to 2 * kPart bytes, `from_step` and `to_step` bytes apart: two parts each, which may overlap.
template <int64_t kPart>
void CopyPartPairs(int64_t rows, int64_t bytes, const char* from, int64_t from_step, char* to, int64_t to_step) {
  struct Part {
    char bytes[kPart];
  };
  Part head, tail;
  for (int64_t i = 0; i < rows; ++i, from += from_step, to += to_step) {
    std::memcpy(&head, from, kPart);
    std::memcpy(&tail, from + bytes - kPart, kPart);
    std::memcpy(to, &head, kPart);
    std::memcpy(to + bytes - kPart, &tail, kPart);
  }
}

// Rows of more than kPart bytes, by parts of which the last may overlap the one before it.
template <int64_t kPart>
void CopyParts(int64_t rows, int64_t bytes, const char* from, int64_t from_step, char* to, int64_t to_step) {
  for (int64_t i = 0; i < rows; ++i, from += from_step, to += to_step) {
    for (int64_t at = 0; at + kPart < bytes; at += kPart) std::memcpy(to + at, from + at, kPart);
    std::memcpy(to + bytes - kPart, from + bytes - kPart, kPart);
  }
}

// Contiguous rows so short that a call of memcpy() would take longer than their bytes do.
constexpr int64_t kShortRowBytes = 256;
void CopyShortRows(int64_t rows, int64_t bytes, const char* from, int64_t from_step, char* to, int64_t to_step) {
  if (bytes < 2) return CopyPartPairs<1>(rows, bytes, from, from_step, to, to_step);
  if (bytes < 4) return CopyPartPairs<2>(rows, bytes, from, from_step, to, to_step);
  if (bytes < 8) return CopyPartPairs<4>(rows, bytes, from, from_step, to, to_step);
  if (bytes < 16) return CopyPartPairs<8>(rows, bytes, from, from_step, to, to_step);
  if (bytes < 32) return CopyPartPairs<16>(rows, bytes, from, from_step, to, to_step);
  if (bytes < 64) return CopyPartPairs<32>(rows, bytes, from, from_step, to, to_step);
  CopyParts<64>(rows, bytes, from, from_step, to, to_step);
}

// `count` rows that are the steps of `rows` apart.
template <typename T>
void CopyRowsOf(const Axis& rows, int64_t count, const Axis& row, const T* from, T* to) {
  if constexpr (std::is_trivially_copyable_v<T>) {
    constexpr int64_t kSize = sizeof(T);
    if (row.from == 1 && row.to == 1 && row.size * kSize <= kShortRowBytes) {
      return CopyShortRows(count, row.size * kSize, reinterpret_cast<const char*>(from), rows.from * kSize,
                           reinterpret_cast<char*>(to), rows.to * kSize);
    }
  }
  for (int64_t i = 0; i < count; ++i) CopyAxis(row, from + i * rows.from, to + i * rows.to);
}

template <typename T>
inline constexpr int64_t kTileSize = std::is_trivially_copyable_v<T> ? std::clamp<int64_t>(64 / sizeof(T), 16, 32) : 8;

// Elements as wide as T of two vectors, one from the one and one from the other.
template <typename T>
__m128i InterleaveLow(__m128i a, __m128i b) {
  if constexpr (sizeof(T) == 1) return _mm_unpacklo_epi8(a, b);
  if constexpr (sizeof(T) == 2) return _mm_unpacklo_epi16(a, b);
  if constexpr (sizeof(T) == 4) return _mm_unpacklo_epi32(a, b);
  return _mm_unpacklo_epi64(a, b);
}
template <typename T>
__m128i InterleaveHigh(__m128i a, __m128i b) {
  if constexpr (sizeof(T) == 1) return _mm_unpackhi_epi8(a, b);
  if constexpr (sizeof(T) == 2) return _mm_unpackhi_epi16(a, b);
  if constexpr (sizeof(T) == 4) return _mm_unpackhi_epi32(a, b);
  return _mm_unpackhi_epi64(a, b);
}

// Elements whose squares of vectors are turned in registers.
template <typename T>
inline constexpr bool kTurns = std::is_trivially_copyable_v<T> && sizeof(T) <= 8;
template <typename T>
inline constexpr int64_t kSquare = 16 / static_cast<int64_t>(sizeof(T));

// Interleaves the first half of the vectors with the second: `i` counts halves.
template <typename T, int... i>
void InterleaveHalves(__m128i* v, std::integer_sequence<int, i...>) {
  constexpr int kHalf = sizeof...(i);
  const __m128i all[2][kHalf] = {{InterleaveLow<T>(v[i], v[i + kHalf])...}, {InterleaveHigh<T>(v[i], v[i + kHalf])...}};
  ((v[2 * i] = all[0][i], v[2 * i + 1] = all[1][i]), ...);
}

// to[r * to_step + c] = from[c * from_step + r] for r, c < kSquare. After as many rounds as an index of a vector has
// bits, its bits and those of the lane have changed places.
template <typename T>
void TransposeSquare(const T* from, int64_t from_step, T* to, int64_t to_step) {
  constexpr int kSize = kSquare<T>;
  constexpr auto kHalves = std::make_integer_sequence<int, kSize / 2>();
  __m128i v[kSize];
  for (int i = 0; i < kSize; ++i) std::memcpy(&v[i], from + i * from_step, sizeof(v[i]));
  InterleaveHalves<T>(v, kHalves);
  if constexpr (kSize >= 4) InterleaveHalves<T>(v, kHalves);
  if constexpr (kSize >= 8) InterleaveHalves<T>(v, kHalves);
  if constexpr (kSize >= 16) InterleaveHalves<T>(v, kHalves);
  for (int i = 0; i < kSize; ++i) std::memcpy(to + i * to_step, &v[i], sizeof(v[i]));
}

// to[r * to_step + c] = from[c * from_step + r] for r < rows, c < cols.
template <typename T>
void TransposeBlock(const T* from, int64_t from_step, int64_t rows, int64_t cols, T* to, int64_t to_step) {
  int64_t r = 0;
  if constexpr (kTurns<T>) {
    constexpr int64_t kSize = kSquare<T>;
    for (; cols >= kSize && r + kSize <= rows; r += kSize) {
      int64_t c = 0;
      for (; c + kSize <= cols; c += kSize) {
        TransposeSquare(from + c * from_step + r, from_step, to + r * to_step + c, to_step);
      }
      for (int64_t i = r; i < r + kSize; ++i) {
        for (int64_t j = c; j < cols; ++j) to[i * to_step + j] = from[j * from_step + i];
      }
    }
  }
  for (; r < rows; ++r) {
    for (int64_t c = 0; c < cols; ++c) to[r * to_step + c] = from[c * from_step + r];
  }
}

// A full tile, by squares of rows that are as long as the longest vectors, which are cache lines.
template <typename U, int64_t kTile>
MILLSTREAM_SIMD_AVX512_ void TransposeTileAvx512(const void* from, int64_t from_step, void* to, int64_t to_step) {
  using V = typename math::VectorOf<U, 64>::type;
  constexpr int64_t kWidth = math::kLanes<U, V>;
  const U* source = static_cast<const U*>(from);
  U* target = static_cast<U*>(to);
  for (int64_t r = 0; r < kTile; r += kWidth) {
    for (int64_t c = 0; c < kTile; c += kWidth) {
      V square[kWidth];
      for (int64_t i = 0; i < kWidth; ++i) square[i] = math::LoadVector<V>(source + (c + i) * from_step + r);
      math::TurnSquare<U>(square);
      for (int64_t i = 0; i < kWidth; ++i) math::StoreVector(square[i], target + (r + i) * to_step + c);
    }
  }
}

// A full tile. Plain elements go through a buffer, so that each cache line of either array is touched once: with steps
// that are powers of two, lines of different rows drive each other out of the cache.
template <typename T>
void TransposeTile(const T* from, int64_t from_step, T* to, int64_t to_step) {
  constexpr int64_t kTile = kTileSize<T>;
  if constexpr (kTurns<T> && sizeof(T) >= 4) {
    if (simd::ActiveIsa() == simd::Isa::kAvx512) {
      return TransposeTileAvx512<decltype(T::bits), kTile>(from, from_step, to, to_step);
    }
  }
  if constexpr (std::is_trivially_copyable_v<T>) {
    alignas(64) T buffer[kTile][kTile];
    for (int64_t c = 0; c < kTile; ++c) std::memcpy(buffer[c], from + c * from_step, sizeof(buffer[c]));
    if constexpr (kTurns<T>) {
      constexpr int64_t kFarBytes = 4096;     // lines of neighbouring rows may be in each other's way
      alignas(64) T rows[kSquare<T>][kTile];  // so that they are written as a whole
      if (to_step * static_cast<int64_t>(sizeof(T)) < kFarBytes) {
        for (int64_t r = 0; r < kTile; r += kSquare<T>) {
          for (int64_t c = 0; c < kTile; c += kSquare<T>) {
            TransposeSquare(&buffer[c][r], kTile, to + r * to_step + c, to_step);
          }
        }
        return;
      }
      for (int64_t r = 0; r < kTile; r += kSquare<T>) {
        for (int64_t c = 0; c < kTile; c += kSquare<T>) TransposeSquare(&buffer[c][r], kTile, &rows[0][c], kTile);
        for (int64_t i = 0; i < kSquare<T>; ++i) std::memcpy(to + (r + i) * to_step, rows[i], sizeof(rows[i]));
      }
    } else {
      for (int64_t r = 0; r < kTile; ++r) {
        for (int64_t c = 0; c < kTile; ++c) to[r * to_step + c] = buffer[c][r];
      }
    }
  } else {
    for (int64_t r = 0; r < kTile; ++r) {
      for (int64_t c = 0; c < kTile; ++c) to[r * to_step + c] = from[c * from_step + r];
    }
  }
}

int64_t GridSize(const Axis* axes, size_t n) {
  int64_t size = 1;
  for (size_t k = 0; k < n; ++k) size *= axes[k].size;
  return size;
}

}  // namespace

void StridedCopy::Add(int64_t size, int64_t from_step, int64_t to_step) {
  if (size == 0) empty_ = true;
  if (size == 1) return;
  if (!axes_.empty()) {
    Axis& outer = axes_.back();
    if (outer.from == from_step * size && outer.to == to_step * size) {
      outer = {outer.size * size, from_step, to_step};
      return;
    }
  }
  axes_.push_back({size, from_step, to_step});
}

bool StridedCopy::PrepareTiles() {
  if (axes_.size() < 2 || axes_.back().from == 1 || axes_.back().from == 0 || axes_.back().to != 1) return false;
  for (size_t k = 0; k + 1 < axes_.size(); ++k) {
    if (axes_[k].from == 1) {
      std::rotate(axes_.begin() + k, axes_.begin() + k + 1, axes_.end() - 1);
      return true;
    }
  }
  return false;
}

template <typename T>
void StridedCopy::RunRows(const KernelContext& ctx, const T* from, T* to) const {
  const Axis row = axes_.back();
  const size_t outer = axes_.size() - 1;
  const double element_cost = row.from == 1 && row.to == 1 ? kCopyCost<T> : std::max(kCopyCost<T>, 0.5);
  if (outer == 0) {
    ctx.ParallelFor(
        row.size, element_cost,
        [=](int64_t begin, int64_t end) {
          CopyAxis(Axis{end - begin, row.from, row.to}, from + begin * row.from, to + begin * row.to);
        },
        64);
    return;
  }
  const double cost = 3.0 + element_cost * static_cast<double>(row.size);
  const Axis rows = axes_[outer - 1];
  ctx.ParallelFor(GridSize(axes_.data(), outer), cost, [&](int64_t begin, int64_t end) {
    Odometer at(axes_.data(), outer - 1, begin / rows.size);
    int64_t first = begin % rows.size;
    for (; begin < end; at.Next()) {
      const int64_t count = std::min(rows.size - first, end - begin);
      CopyRowsOf(rows, count, row, from + at.from() + first * rows.from, to + at.to() + first * rows.to);
      begin += count;
      first = 0;
    }
  });
}

// The two innermost axes are a transposition: by tiles whose rows and columns are about a cache line long.
template <typename T>
void StridedCopy::RunTiles(const KernelContext& ctx, const T* from, T* to) const {
  constexpr int64_t kTile = kTileSize<T>;
  const Axis rows = axes_[axes_.size() - 2];  // contiguous in the source
  const Axis cols = axes_.back();             // contiguous in the target
  const size_t outer = axes_.size() - 2;
  const int64_t strips = (rows.size + kTile - 1) / kTile;
  const double cost = 1.0 + 1.0 * static_cast<double>(std::min(kTile, rows.size) * cols.size);
  ctx.ParallelFor(GridSize(axes_.data(), outer) * strips, cost, [&](int64_t begin, int64_t end) {
    Odometer at(axes_.data(), outer, begin / strips);
    int64_t strip = begin % strips;
    for (; begin < end; ++begin) {
      const int64_t r0 = strip * kTile, r1 = std::min(r0 + kTile, rows.size);
      for (int64_t c0 = 0; c0 < cols.size; c0 += kTile) {
        const int64_t c1 = std::min(c0 + kTile, cols.size);
        const T* source = from + at.from() + c0 * cols.from + r0;
        T* target = to + at.to() + r0 * rows.to + c0;
        if (r1 - r0 == kTile && c1 - c0 == kTile) {
          TransposeTile(source, cols.from, target, rows.to);
        } else {
          TransposeBlock(source, cols.from, r1 - r0, c1 - c0, target, rows.to);
        }
      }
      if (++strip == strips) {
        strip = 0;
        at.Next();
      }
    }
  });
}

void StridedCopy::Run(const KernelContext& ctx, DType dtype, const void* from, void* to) {
  if (empty_) return;
  if (axes_.empty()) axes_.push_back({1, 1, 1});
  const bool tiles = PrepareTiles();
  DispatchBlob(dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    if (tiles)
      RunTiles(ctx, static_cast<const T*>(from), static_cast<T*>(to));
    else
      RunRows(ctx, static_cast<const T*>(from), static_cast<T*>(to));
  });
}

}  // namespace millstream
