// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/nn/depthwise_vectors.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "millstream/math/simd.h"

#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wpsabi"  // vectors are passed to inlined functions alone
#endif

namespace millstream {
namespace {

constexpr int64_t kUnit = 16;   // whole vectors of every instruction set
constexpr int64_t kAhead = 64;  // elements that a loop may read from any place of a period on

template <typename T, int kBytes>
struct VectorOf {
  using type __attribute__((vector_size(kBytes))) = T;
};
template <typename T, typename V>
inline constexpr int kLanes = sizeof(V) / sizeof(T);

template <typename T, typename V>
MILLSTREAM_ALWAYS_INLINE V Load(const T* from) {
  V v;
  std::memcpy(&v, from, sizeof(V));
  return v;
}
template <typename T, typename V>
MILLSTREAM_ALWAYS_INLINE void Store(const V& v, T* to) {
  std::memcpy(to, &v, sizeof(V));
}

// kVectors vectors from element `i` on, whose weights begin at `place`.
template <typename T, typename V, int kVectors>
MILLSTREAM_ALWAYS_INLINE void SumRun(const Tap<T>* taps, int64_t count, int64_t i, int64_t place, T* out) {
  V sums[kVectors] = {};
  for (int64_t t = 0; t < count; ++t) {
    const T *x = taps[t].x + i, *w = taps[t].w + place;
    for (int v = 0; v < kVectors; ++v) {
      sums[v] += Load<T, V>(x + v * kLanes<T, V>) * Load<T, V>(w + v * kLanes<T, V>);
    }
  }
  for (int v = 0; v < kVectors; ++v) Store<T, V>(sums[v], out + i + v * kLanes<T, V>);
}

template <typename T, typename V>
MILLSTREAM_ALWAYS_INLINE void SumRepeated(const TapLayout& layout, const Tap<T>* taps, int64_t count, int64_t n,
                                          T* out) {
  constexpr int kVectors = 4, kWidth = kLanes<T, V>, kRun = kVectors * kWidth;
  int64_t i = 0, place = 0;
  for (; i + kRun <= n; i += kRun) {
    SumRun<T, V, kVectors>(taps, count, i, place, out);
    for (place += kRun; place >= layout.period; place -= layout.period) {
    }
  }
  // The last vector may do again what is done.
  for (; i < n && n >= kWidth; i += kWidth) {
    const int64_t from = std::min(i, n - kWidth);
    SumRun<T, V, 1>(taps, count, from, from % layout.period, out);
  }
  for (; i < n; ++i) {
    T sum = T(0);
    for (int64_t t = 0; t < count; ++t) sum += taps[t].x[i] * taps[t].w[i % layout.period];
    out[i] = sum;
  }
}

// The part of a line that is left to do.
struct Strip {
  int64_t channels, pixels, x_step, out_step;
};

// kPixels pixels from `pixel` on, kVectors vectors of channels.
template <typename T, typename V, int kPixels, int kVectors>
MILLSTREAM_ALWAYS_INLINE void SumPixels(const Tap<T>* taps, int64_t count, const Strip& s, int64_t pixel, int64_t c,
                                        T* out) {
  constexpr int kWidth = kLanes<T, V>;
  V sums[kPixels][kVectors] = {};
  for (int64_t t = 0; t < count; ++t) {
    const T *w = taps[t].w + c, *x = taps[t].x + pixel * s.x_step + c;
    for (int v = 0; v < kVectors; ++v) {
      const V weight = Load<T, V>(w + v * kWidth);
      for (int p = 0; p < kPixels; ++p) sums[p][v] += Load<T, V>(x + p * s.x_step + v * kWidth) * weight;
    }
  }
  for (int p = 0; p < kPixels; ++p) {
    for (int v = 0; v < kVectors; ++v) Store<T, V>(sums[p][v], out + (pixel + p) * s.out_step + c + v * kWidth);
  }
}

template <typename T, typename V, int kPixels, int kVectors>
MILLSTREAM_ALWAYS_INLINE void SumStrip(const Tap<T>* taps, int64_t count, const Strip& s, int64_t pixel, T* out) {
  constexpr int kWidth = kLanes<T, V>;
  int64_t c = 0;
  for (; c + kVectors * kWidth <= s.channels; c += kVectors * kWidth) {
    SumPixels<T, V, kPixels, kVectors>(taps, count, s, pixel, c, out);
  }
  for (; c < s.channels; c += kWidth) {  // the last vector may do again what is done
    SumPixels<T, V, kPixels, 1>(taps, count, s, pixel, std::min(c, s.channels - kWidth), out);
  }
}

// Whether all taps come in rows of `row` that read neighbouring pixels.
template <typename T>
bool InRows(int64_t row, const Tap<T>* taps, int64_t count, int64_t x_step) {
  for (int64_t t = 0; t < count; ++t) {
    if (taps[t].x - taps[t - t % row].x != t % row * x_step) return false;
  }
  return count % row == 0;
}

// As SumPixels() for such taps: what the taps of a row read is loaded once. One vector of channels.
template <typename T, typename V, int kRow, int kPixels>
MILLSTREAM_ALWAYS_INLINE void SumRows(const Tap<T>* taps, int64_t count, const Strip& s, int64_t pixel, int64_t c,
                                      T* out) {
  V sums[kPixels] = {};
  for (int64_t t = 0; t < count; t += kRow) {
    const T* x = taps[t].x + pixel * s.x_step + c;
    V weights[kRow], read[kRow];
    for (int k = 0; k < kRow; ++k) weights[k] = Load<T, V>(taps[t + k].w + c);
    for (int k = 0; k + 1 < kRow; ++k) read[k] = Load<T, V>(x + k * s.x_step);
    for (int p = 0; p < kPixels; ++p) {
      read[kRow - 1] = Load<T, V>(x + (p + kRow - 1) * s.x_step);
      for (int k = 0; k < kRow; ++k) sums[p] += read[k] * weights[k];
      for (int k = 0; k + 1 < kRow; ++k) read[k] = read[k + 1];
    }
  }
  for (int p = 0; p < kPixels; ++p) Store<T, V>(sums[p], out + (pixel + p) * s.out_step + c);
}

template <typename T, typename V, int kRow, int kPixels>
MILLSTREAM_ALWAYS_INLINE void SumBlocksOfRows(const Tap<T>* taps, int64_t count, const Strip& s, T* out) {
  for (int64_t p = 0; p < s.pixels; p += kPixels) {  // the last pixels and channels may be done again
    for (int64_t c = 0; c < s.channels; c += kLanes<T, V>) {
      SumRows<T, V, kRow, kPixels>(taps, count, s, std::min(p, s.pixels - kPixels),
                                   std::min(c, s.channels - kLanes<T, V>), out);
    }
  }
}

// False where the pixels are too few.
template <typename T, typename V, int kRow>
MILLSTREAM_ALWAYS_INLINE bool SumInRows(const Tap<T>* taps, int64_t count, const Strip& s, T* out) {
  constexpr int kMany = sizeof(V) == 64 ? 8 : 4, kFew = 4;  // as registers hold
  if (s.pixels < kFew || !InRows(kRow, taps, count, s.x_step)) return false;
  if (s.pixels >= kMany) {
    SumBlocksOfRows<T, V, kRow, kMany>(taps, count, s, out);
  } else {
    SumBlocksOfRows<T, V, kRow, kFew>(taps, count, s, out);
  }
  return true;
}

template <typename T, typename V>
MILLSTREAM_ALWAYS_INLINE void SumBlocks(const Tap<T>* taps, int64_t count, const Strip& s, T* out) {
  constexpr int kPixels = 8, kFewPixels = 4;
  if (SumInRows<T, V, 3>(taps, count, s, out) || SumInRows<T, V, 5>(taps, count, s, out)) return;
  int64_t p = 0;
  for (; p < s.pixels && s.pixels >= kPixels; p += kPixels) {  // the last pixels may be done again
    SumStrip<T, V, kPixels, 1>(taps, count, s, std::min(p, s.pixels - kPixels), out);
  }
  for (; p < s.pixels && s.pixels >= kFewPixels; p += kFewPixels) {
    SumStrip<T, V, kFewPixels, 1>(taps, count, s, std::min(p, s.pixels - kFewPixels), out);
  }
  for (; p < s.pixels; ++p) SumStrip<T, V, 1, 4>(taps, count, s, p, out);
}

template <typename T, typename V>
MILLSTREAM_ALWAYS_INLINE void AddRepeated(const TapLayout& layout, const SummedTap<T>& tap, int64_t n, const T* grad) {
  constexpr int kVectors = 4, kWidth = kLanes<T, V>, kRun = kVectors * kWidth;
  int64_t i = 0, place = 0;
  for (; i + kRun <= n; i += kRun) {
    T* to = tap.w + place;
    for (int v = 0; v < kVectors; ++v) {
      const int64_t at = v * kWidth;
      Store<T, V>(Load<T, V>(to + at) + Load<T, V>(tap.x + i + at) * Load<T, V>(grad + i + at), to + at);
    }
    for (place += kRun; place >= layout.period; place -= layout.period) {
    }
  }
  for (; i < n; ++i, ++place) tap.w[place] += tap.x[i] * grad[i];
}

// One vector of channels of kTaps taps; its first `skip` lanes are not added.
template <typename T, typename V, int kTaps>
MILLSTREAM_ALWAYS_INLINE void AddBlock(const SummedTap<T>* taps, const Strip& s, int64_t pixel, int64_t c, int skip,
                                       const T* grad) {
  V sums[kTaps] = {};
  for (int64_t p = pixel; p < pixel + s.pixels; ++p) {
    const V g = Load<T, V>(grad + p * s.out_step + c);
    for (int t = 0; t < kTaps; ++t) sums[t] += Load<T, V>(taps[t].x + p * s.x_step + c) * g;
  }
  for (int t = 0; t < kTaps; ++t) {
    T* to = taps[t].w + c;
    if (skip == 0) {
      Store<T, V>(Load<T, V>(to) + sums[t], to);
    } else {
      for (int l = skip; l < kLanes<T, V>; ++l) to[l] += sums[t][l];
    }
  }
}

// Pixels [begin, end) will be read soon, in an order that the processor does not foresee.
template <typename T>
MILLSTREAM_ALWAYS_INLINE void Fetch(const SummedTap<T>& last, const Strip& s, int64_t begin, int64_t end,
                                    const T* grad) {
  constexpr int64_t kLine = 64 / sizeof(T);
  for (int64_t p = begin; p < end; ++p) {
    for (int64_t c = 0; c < s.channels; c += kLine) {
      __builtin_prefetch(grad + p * s.out_step + c);
      __builtin_prefetch(last.x + p * s.x_step + c);
    }
  }
}

// A few pixels at a time, which stay in the first-level cache.
template <typename T, typename V>
MILLSTREAM_ALWAYS_INLINE void AddBlocks(const SummedTap<T>* taps, int64_t count, const Strip& whole, const T* grad) {
  constexpr int64_t kPixels = 16;
  constexpr int kWidth = kLanes<T, V>;
  if (count == 0) return;
  for (int64_t p = 0; p < whole.pixels; p += kPixels) {
    Strip s = whole;
    s.pixels = std::min(kPixels, whole.pixels - p);
    Fetch(taps[count - 1], whole, p + s.pixels, std::min(p + 2 * kPixels, whole.pixels), grad);
    for (int64_t block = 0; block < s.channels; block += kWidth) {
      const int64_t c = std::min(block, s.channels - kWidth);
      const int skip = static_cast<int>(block - c);
      int64_t t = 0;
      for (; t + 9 <= count; t += 9) AddBlock<T, V, 9>(taps + t, s, p, c, skip, grad);
      for (; t + 3 <= count; t += 3) AddBlock<T, V, 3>(taps + t, s, p, c, skip, grad);
      for (; t < count; ++t) AddBlock<T, V, 1>(taps + t, s, p, c, skip, grad);
    }
  }
}

template <typename T, typename V>
MILLSTREAM_ALWAYS_INLINE void SumAll(const TapLayout& layout, const Tap<T>* taps, int64_t count, const Strip& s,
                                     T* out) {
  if (layout.repeated()) return SumRepeated<T, V>(layout, taps, count, s.pixels * layout.channels, out);
  SumBlocks<T, V>(taps, count, s, out);
}

template <typename T, typename V>
MILLSTREAM_ALWAYS_INLINE void AddAll(const TapLayout& layout, const SummedTap<T>* taps, int64_t count, const Strip& s,
                                     const T* grad) {
  if (!layout.repeated()) return AddBlocks<T, V>(taps, count, s, grad);
  for (int64_t t = 0; t < count; ++t) AddRepeated<T, V>(layout, taps[t], s.pixels * layout.channels, grad);
}

template <typename T>
MILLSTREAM_SIMD_SSE2_ void SumSse2(const TapLayout& l, const Tap<T>* taps, int64_t count, const Strip& s, T* out) {
  SumAll<T, typename VectorOf<T, 16>::type>(l, taps, count, s, out);
}
template <typename T>
MILLSTREAM_SIMD_AVX2_ void SumAvx2(const TapLayout& l, const Tap<T>* taps, int64_t count, const Strip& s, T* out) {
  SumAll<T, typename VectorOf<T, 32>::type>(l, taps, count, s, out);
}
template <typename T>
MILLSTREAM_SIMD_AVX512_ void SumAvx512(const TapLayout& l, const Tap<T>* taps, int64_t count, const Strip& s, T* out) {
  SumAll<T, typename VectorOf<T, 64>::type>(l, taps, count, s, out);
}
template <typename T>
MILLSTREAM_SIMD_SSE2_ void AddSse2(const TapLayout& l, const SummedTap<T>* taps, int64_t count, const Strip& s,
                                   const T* grad) {
  AddAll<T, typename VectorOf<T, 16>::type>(l, taps, count, s, grad);
}
template <typename T>
MILLSTREAM_SIMD_AVX2_ void AddAvx2(const TapLayout& l, const SummedTap<T>* taps, int64_t count, const Strip& s,
                                   const T* grad) {
  AddAll<T, typename VectorOf<T, 32>::type>(l, taps, count, s, grad);
}
template <typename T>
MILLSTREAM_SIMD_AVX512_ void AddAvx512(const TapLayout& l, const SummedTap<T>* taps, int64_t count, const Strip& s,
                                       const T* grad) {
  AddAll<T, typename VectorOf<T, 64>::type>(l, taps, count, s, grad);
}

}  // namespace

TapLayout::TapLayout(int64_t channels) : channels(channels), row(channels) {
  constexpr int64_t kMaxPeriod = 256;  // the weights of all taps should stay in the first-level cache
  const int64_t whole = std::lcm(channels, kUnit);
  if (channels % kUnit == 0 || (channels > kUnit && whole > kMaxPeriod)) return;
  period = whole;
  row = period + kAhead;
}

template <typename T>
std::vector<T> LayOutTaps(const TapLayout& layout, const T* weights, int64_t taps) {
  std::vector<T> rows(static_cast<size_t>(taps * layout.row));
  for (int64_t t = 0; t < taps; ++t) {
    for (int64_t i = 0; i < layout.row; ++i) {
      rows[static_cast<size_t>(t * layout.row + i)] = weights[t * layout.channels + i % layout.channels];
    }
  }
  return rows;
}

template <typename T>
void AddTaps(const TapLayout& layout, const T* rows, int64_t taps, double* totals) {
  for (int64_t t = 0; t < taps; ++t) {
    const T* from = rows + t * layout.row;
    double* to = totals + t * layout.channels;
    for (int64_t first = 0; first < layout.row; first += layout.channels) {
      const int64_t n = std::min(layout.channels, layout.row - first);
      for (int64_t c = 0; c < n; ++c) to[c] += static_cast<double>(from[first + c]);
    }
  }
}

template <typename T>
void SumTaps(const TapLayout& layout, const std::vector<Tap<T>>& taps, int64_t pixels, int64_t x_step, int64_t out_step,
             T* out) {
  const simd::Isa isa = simd::ActiveIsa();
  const auto count = static_cast<int64_t>(taps.size());
  const Strip strip{layout.channels, pixels, x_step, out_step};
  if (isa == simd::Isa::kAvx512) return SumAvx512(layout, taps.data(), count, strip, out);
  if (isa == simd::Isa::kAvx2) return SumAvx2(layout, taps.data(), count, strip, out);
  SumSse2(layout, taps.data(), count, strip, out);
}

template <typename T>
void AddTapProducts(const TapLayout& layout, const std::vector<SummedTap<T>>& taps, int64_t pixels, int64_t x_step,
                    int64_t grad_step, const T* grad) {
  const simd::Isa isa = simd::ActiveIsa();
  const auto count = static_cast<int64_t>(taps.size());
  const Strip strip{layout.channels, pixels, x_step, grad_step};
  if (isa == simd::Isa::kAvx512) return AddAvx512(layout, taps.data(), count, strip, grad);
  if (isa == simd::Isa::kAvx2) return AddAvx2(layout, taps.data(), count, strip, grad);
  AddSse2(layout, taps.data(), count, strip, grad);
}

#define MILLSTREAM_DEPTHWISE_VECTORS(T)                                                               \
  template std::vector<T> LayOutTaps(const TapLayout&, const T*, int64_t);                            \
  template void AddTaps(const TapLayout&, const T*, int64_t, double*);                                \
  template void SumTaps(const TapLayout&, const std::vector<Tap<T>>&, int64_t, int64_t, int64_t, T*); \
  template void AddTapProducts(const TapLayout&, const std::vector<SummedTap<T>>&, int64_t, int64_t, int64_t, const T*)
MILLSTREAM_DEPTHWISE_VECTORS(float);
MILLSTREAM_DEPTHWISE_VECTORS(double);

}  // namespace millstream
