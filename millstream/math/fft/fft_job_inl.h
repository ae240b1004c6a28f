// SPDX-License-Identifier: Apache-2.0
// Moves lines between memory and lanes, around the transforms of fft_lanes_inl.h. Private to the source that includes
// it.
#ifndef MILLSTREAM_MATH_FFT_FFT_JOB_INL_H_
#define MILLSTREAM_MATH_FFT_FFT_JOB_INL_H_

#include "millstream/math/fft/fft_lanes_inl.h"

namespace millstream::math {
namespace {

enum class FftKind { kComplex, kFromReal, kToReal };

// Transforms of many lines. Memory is seen as numbers of type T: offsets and steps of complex lines count twice.
template <typename T>
struct FftJob {
  FftKind kind = FftKind::kComplex;
  const FftPlan<T>* plan = nullptr;        // of n, or of n / 2 for real lines of even length
  const std::complex<T>* turns = nullptr;  // of real lines of even length: FftPlan::half_turns()
  int64_t n = 0;
  const T* in = nullptr;
  T* out = nullptr;
  FftLines in_lines, out_lines;
  int64_t count = 0;
  bool inverse = false;
  T scale = T(1);
};

// Where each lane's line begins. Lanes without a line repeat the first one; `dense`: each next to the one before it.
template <typename T, typename V>
struct LaneOffsets {
  LaneOffsets(const FftLines& lines, int64_t first, int count, int64_t unit) {
    dense = count == kLanes<T, V>;
    for (int l = 0; l < kLanes<T, V>; ++l) {
      at[l] = lines.Offset(first + (l < count ? l : 0)) * unit;
      dense = dense && at[l] == at[0] + l * unit;
    }
  }
  int64_t at[kLanes<T, V>];
  bool dense;
};

// Numbers [begin, n) of lines whose pairs (or single numbers) lie `step` numbers apart.
template <typename T, typename V, bool kPairs>
MILLSTREAM_ALWAYS_INLINE void LoadSteps(const T* in, const LaneOffsets<T, V>& offsets, int64_t step, int64_t begin,
                                        int64_t n, Cx<V>* x) {
  constexpr int64_t kWidth = kLanes<T, V>, kBlock = 8;  // a cache line or so at a time
  T* to = reinterpret_cast<T*>(x);
  for (; begin < n; begin += kBlock) {
    const int64_t end = std::min(n, begin + kBlock);
    for (int l = 0; l < kWidth; ++l) {
      const T* from = in + offsets.at[l];
      for (int64_t k = begin; k < end; ++k) {
        to[k * 2 * kWidth + l] = from[k * step];
        to[k * 2 * kWidth + kWidth + l] = kPairs ? from[k * step + 1] : T(0);
      }
    }
  }
}

// Loads n pairs of numbers, `step` apart, as real and imaginary parts; or single numbers with zeros as imaginary parts.
// Lines that are contiguous are transposed in registers, a square at a time.
template <typename T, typename V, bool kPairs>
MILLSTREAM_ALWAYS_INLINE void LoadLanes(const T* in, const LaneOffsets<T, V>& offsets, int64_t step, int64_t n,
                                        Cx<V>* x) {
  constexpr int64_t kWidth = kLanes<T, V>, kParts = kPairs ? 2 : 1, kSquare = kWidth / kParts;
  if (kPairs && offsets.dense) {
    for (int64_t k = 0; k < n; ++k) {
      const T* from = in + offsets.at[0] + k * step;
      SplitPlaces<T>(LoadVector<V>(from), LoadVector<V>(from + kWidth), &x[k].re, &x[k].im);
    }
    return;
  }
  int64_t k = 0;
  for (; step == kParts && k + kSquare <= n; k += kSquare) {
    V square[kWidth];
    for (int l = 0; l < kWidth; ++l) square[l] = LoadVector<V>(in + offsets.at[l] + k * kParts);
    TurnSquare<T>(square);
    for (int i = 0; i < kSquare; ++i) x[k + i] = {square[i * kParts], kPairs ? square[i * kParts + 1] : V{}};
  }
  LoadSteps<T, V, kPairs>(in, offsets, step, k, n, x);
}

// The reverse of LoadSteps(), for `lanes` lines.
template <typename T, typename V, bool kPairs>
MILLSTREAM_ALWAYS_INLINE void StoreSteps(const Cx<V>* x, const LaneOffsets<T, V>& offsets, int64_t step, int64_t begin,
                                         int64_t n, int lanes, T scale, T* out) {
  constexpr int64_t kWidth = kLanes<T, V>, kBlock = 8;
  const T* from = reinterpret_cast<const T*>(x);
  for (; begin < n; begin += kBlock) {
    const int64_t end = std::min(n, begin + kBlock);
    for (int l = 0; l < lanes; ++l) {
      T* to = out + offsets.at[l];
      for (int64_t k = begin; k < end; ++k) {
        to[k * step] = from[k * 2 * kWidth + l] * scale;
        if (kPairs) to[k * step + 1] = from[k * 2 * kWidth + kWidth + l] * scale;
      }
    }
  }
}

// The reverse of LoadLanes(), for `lanes` lines.
template <typename T, typename V, bool kPairs>
MILLSTREAM_ALWAYS_INLINE void StoreLanes(const Cx<V>* x, const LaneOffsets<T, V>& offsets, int64_t step, int64_t n,
                                         int lanes, T scale, T* out) {
  constexpr int64_t kWidth = kLanes<T, V>, kParts = kPairs ? 2 : 1, kSquare = kWidth / kParts;
  if (kPairs && offsets.dense) {
    for (int64_t k = 0; k < n; ++k) {
      T* to = out + offsets.at[0] + k * step;
      V a, b;
      MixPlaces<T>(x[k].re * scale, x[k].im * scale, &a, &b);
      StoreVector(a, to);
      StoreVector(b, to + kWidth);
    }
    return;
  }
  int64_t k = 0;
  for (; step == kParts && k + kSquare <= n; k += kSquare) {
    V square[kWidth];
    for (int i = 0; i < kSquare; ++i) {
      square[i * kParts] = x[k + i].re * scale;
      if (kPairs) square[i * kParts + 1] = x[k + i].im * scale;
    }
    TurnSquare<T>(square);
    for (int l = 0; l < lanes; ++l) StoreVector(square[l], out + offsets.at[l] + k * kParts);
  }
  StoreSteps<T, V, kPairs>(x, offsets, step, k, n, lanes, scale, out);
}

template <typename V>
MILLSTREAM_ALWAYS_INLINE void ExchangeParts(Cx<V>* x, int64_t n) {
  for (int64_t k = 0; k < n; ++k) std::swap(x[k].re, x[k].im);
}
template <typename V>
MILLSTREAM_ALWAYS_INLINE Cx<V> Conjugate(const Cx<V>& a) {
  return {a.re, -a.im};
}

// x is the transform of h pairs of neighbours; becomes the first half (h + 1 elements) of the transform of 2 h numbers.
template <typename T, typename V>
MILLSTREAM_ALWAYS_INLINE void SplitPairs(int64_t h, const std::complex<T>* turns, Cx<V>* x) {
  const Cx<V> first = x[0];
  x[0] = {first.re + first.im, V{}};
  x[h] = {first.re - first.im, V{}};
  for (int64_t k = 1; k <= h - k; ++k) {
    const Cx<V> a = x[k], b = Conjugate(x[h - k]);
    const Cx<V> even = Scaled(a + b, T(0.5)), odd = Times(Turned(Scaled(a - b, T(0.5))), turns[k]);
    x[k] = even + odd;
    x[h - k] = Conjugate(even - odd);
  }
}

// The reverse of SplitPairs(), times two. Imaginary parts of the first and the last element do not count.
template <typename T, typename V>
MILLSTREAM_ALWAYS_INLINE void JoinPairs(int64_t h, const std::complex<T>* turns, Cx<V>* x) {
  x[0] = {x[0].re + x[h].re, x[0].re - x[h].re};
  for (int64_t k = 1; k <= h - k; ++k) {
    const Cx<V> a = x[k], b = Conjugate(x[h - k]);
    const Cx<V> even = a + b, odd = Times(a - b, std::conj(turns[k]));
    const Cx<V> turned{-odd.im, odd.re};  // times i
    x[k] = even + turned;
    x[h - k] = Conjugate(even - turned);
  }
}

template <typename T, typename V>
MILLSTREAM_ALWAYS_INLINE void RunComplex(const FftJob<T>& job, int64_t first, int lanes, Cx<V>* x, Cx<V>* y) {
  const LaneOffsets<T, V> in(job.in_lines, first, lanes, 2), out(job.out_lines, first, lanes, 2);
  LoadLanes<T, V, true>(job.in, in, 2 * job.in_lines.step, job.n, x);
  if (job.inverse) ExchangeParts(x, job.n);
  Cx<V>* z = RunLanes(*job.plan, x, y);
  if (job.inverse) ExchangeParts(z, job.n);
  StoreLanes<T, V, true>(z, out, 2 * job.out_lines.step, job.n, lanes, job.scale, job.out);
}

template <typename T, typename V>
MILLSTREAM_ALWAYS_INLINE void RunFromReal(const FftJob<T>& job, int64_t first, int lanes, Cx<V>* x, Cx<V>* y) {
  const LaneOffsets<T, V> in(job.in_lines, first, lanes, 1), out(job.out_lines, first, lanes, 2);
  const bool even = job.turns != nullptr;
  if (even) {
    LoadLanes<T, V, true>(job.in, in, 2, job.n / 2, x);
  } else {
    LoadLanes<T, V, false>(job.in, in, 1, job.n, x);
  }
  Cx<V>* z = RunLanes(*job.plan, x, y);
  if (even) SplitPairs(job.n / 2, job.turns, z);
  StoreLanes<T, V, true>(z, out, 2 * job.out_lines.step, job.n / 2 + 1, lanes, job.scale, job.out);
}

template <typename T, typename V>
MILLSTREAM_ALWAYS_INLINE void RunToReal(const FftJob<T>& job, int64_t first, int lanes, Cx<V>* x, Cx<V>* y) {
  const LaneOffsets<T, V> in(job.in_lines, first, lanes, 2), out(job.out_lines, first, lanes, 1);
  const bool even = job.turns != nullptr;
  const int64_t n = job.n, h = n / 2;
  LoadLanes<T, V, true>(job.in, in, 2 * job.in_lines.step, h + 1, x);
  if (even) {
    JoinPairs(h, job.turns, x);
  } else {
    x[0].im = V{};
    for (int64_t k = 1; k <= h; ++k) x[n - k] = Conjugate(x[k]);
  }
  ExchangeParts(x, even ? h : n);
  Cx<V>* z = RunLanes(*job.plan, x, y);
  ExchangeParts(z, even ? h : n);
  if (even) {
    StoreLanes<T, V, true>(z, out, 2, h, lanes, job.scale, job.out);
  } else {
    StoreLanes<T, V, false>(z, out, 1, n, lanes, job.scale, job.out);
  }
}

// Groups of as many lines as there are lanes, from `begin` to `end`. `work` has room for 2 * WorkElements().
template <typename T>
int64_t WorkElements(const FftJob<T>& job) {
  return WorkSize(*job.plan) + 1;
}
template <typename T, typename V>
MILLSTREAM_ALWAYS_INLINE void RunGroups(const FftJob<T>& job, int64_t begin, int64_t end, void* work) {
  Cx<V>* x = static_cast<Cx<V>*>(work);
  Cx<V>* y = x + WorkElements(job);
  for (int64_t group = begin; group < end; ++group) {
    const int64_t first = group * kLanes<T, V>;
    const int lanes = static_cast<int>(std::min<int64_t>(kLanes<T, V>, job.count - first));
    if (job.kind == FftKind::kComplex) {
      RunComplex(job, first, lanes, x, y);
    } else if (job.kind == FftKind::kFromReal) {
      RunFromReal(job, first, lanes, x, y);
    } else {
      RunToReal(job, first, lanes, x, y);
    }
  }
}

}  // namespace
}  // namespace millstream::math

#endif  // MILLSTREAM_MATH_FFT_FFT_JOB_INL_H_
