// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/elements/strided_copy.h"

#include <algorithm>

#include "millstream/math/simd.h"
#include "millstream/ops/elements/blob.h"

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
    FillRun(*from, axis.size, to);
  } else if (std::is_trivially_copyable_v<T> && axis.to == 1 && axis.from == -1) {
    // Steps that the compiler knows become shuffles; loops "of float" exist for every instruction set.
    simd::For<float>(0, axis.size, [=](int64_t i) MILLSTREAM_INLINE_LAMBDA { Bits(to[i]) = Bits(from[-i]); });
  } else if (std::is_trivially_copyable_v<T> && axis.to == 1 && axis.from == 2) {
    simd::For<float>(0, axis.size, [=](int64_t i) MILLSTREAM_INLINE_LAMBDA { Bits(to[i]) = Bits(from[2 * i]); });
  } else {
    for (int64_t i = 0; i < axis.size; ++i) to[i * axis.to] = from[i * axis.from];
  }
}

template <typename T>
inline constexpr int64_t kTileSize = std::is_trivially_copyable_v<T> ? std::clamp<int64_t>(64 / sizeof(T), 16, 32) : 8;

// A full tile. Plain elements go through a buffer, so that each cache line of either array is touched once: with steps
// that are powers of two, lines of different rows drive each other out of the cache.
template <typename T>
void TransposeTile(const T* from, int64_t from_step, T* to, int64_t to_step) {
  constexpr int64_t kTile = kTileSize<T>;
  if constexpr (std::is_trivially_copyable_v<T>) {
    alignas(64) T buffer[kTile][kTile];
    for (int64_t c = 0; c < kTile; ++c) std::memcpy(buffer[c], from + c * from_step, sizeof(buffer[c]));
    for (int64_t r = 0; r < kTile; ++r) {
      T* target = to + r * to_step;
      for (int64_t c = 0; c < kTile; ++c) target[c] = buffer[c][r];
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
  ctx.ParallelFor(GridSize(axes_.data(), outer), cost, [&](int64_t begin, int64_t end) {
    Odometer at(axes_.data(), outer, begin);
    for (; begin < end; ++begin, at.Next()) CopyAxis(row, from + at.from(), to + at.to());
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
          for (int64_t r = r0; r < r1; ++r, ++source, target += rows.to) {
            for (int64_t c = 0; c < c1 - c0; ++c) target[c] = source[c * cols.from];
          }
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
