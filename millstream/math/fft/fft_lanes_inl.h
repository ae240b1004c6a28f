// SPDX-License-Identifier: Apache-2.0
// Transforms of as many lines as a vector register has lanes. Private to the source that includes it, and inlined there
// into functions compiled for one instruction set.
#ifndef MILLSTREAM_MATH_FFT_FFT_LANES_INL_H_
#define MILLSTREAM_MATH_FFT_FFT_LANES_INL_H_

#include <algorithm>
#include <complex>
#include <cstdint>
#include <utility>

#include "millstream/math/fft/fft.h"
#include "millstream/math/turn_inl.h"

namespace millstream::math {
namespace {

// One complex number of each line.
template <typename V>
struct Cx {
  V re, im;
};
template <typename V>
MILLSTREAM_ALWAYS_INLINE Cx<V> operator+(const Cx<V>& a, const Cx<V>& b) {
  return {a.re + b.re, a.im + b.im};
}
template <typename V>
MILLSTREAM_ALWAYS_INLINE Cx<V> operator-(const Cx<V>& a, const Cx<V>& b) {
  return {a.re - b.re, a.im - b.im};
}
template <typename V, typename T>
MILLSTREAM_ALWAYS_INLINE Cx<V> Times(const Cx<V>& a, const std::complex<T>& w) {
  return {a.re * w.real() - a.im * w.imag(), a.re * w.imag() + a.im * w.real()};
}
template <typename V, typename T>
MILLSTREAM_ALWAYS_INLINE Cx<V> Scaled(const Cx<V>& a, T factor) {
  return {a.re * factor, a.im * factor};
}
// Times -i.
template <typename V>
MILLSTREAM_ALWAYS_INLINE Cx<V> Turned(const Cx<V>& a) {
  return {a.im, -a.re};
}

// The transform of kRadix numbers, in place.
template <typename T, typename V>
MILLSTREAM_ALWAYS_INLINE void Butterfly2(Cx<V>* a) {
  const Cx<V> x = a[0], y = a[1];
  a[0] = x + y;
  a[1] = x - y;
}
template <typename T, typename V>
MILLSTREAM_ALWAYS_INLINE void Butterfly3(Cx<V>* a) {
  constexpr T kSin = static_cast<T>(0.86602540378443864676);
  const Cx<V> sum = a[1] + a[2], turned = Turned(Scaled(a[1] - a[2], kSin)), middle = a[0] - Scaled(sum, T(0.5));
  a[0] = a[0] + sum;
  a[1] = middle + turned;
  a[2] = middle - turned;
}
template <typename T, typename V>
MILLSTREAM_ALWAYS_INLINE void Butterfly4(Cx<V>* a) {
  const Cx<V> even = a[0] + a[2], odd = a[1] + a[3], low = a[0] - a[2], high = Turned(a[1] - a[3]);
  a[0] = even + odd;
  a[1] = low + high;
  a[2] = even - odd;
  a[3] = low - high;
}
template <typename T, typename V>
MILLSTREAM_ALWAYS_INLINE void Butterfly8(Cx<V>* a) {
  constexpr T kHalfRoot = static_cast<T>(0.70710678118654752440);
  Cx<V> even[4], odd[4];
  for (int k = 0; k < 4; ++k) {
    even[k] = a[k] + a[k + 4];
    odd[k] = a[k] - a[k + 4];
  }
  // Times e^(-2 pi i k / 8).
  odd[1] = Scaled(Cx<V>{odd[1].re + odd[1].im, odd[1].im - odd[1].re}, kHalfRoot);
  odd[2] = Turned(odd[2]);
  odd[3] = Scaled(Cx<V>{odd[3].im - odd[3].re, -(odd[3].re + odd[3].im)}, kHalfRoot);
  Butterfly4<T, V>(even);
  Butterfly4<T, V>(odd);
  for (int k = 0; k < 4; ++k) {
    a[2 * k] = even[k];
    a[2 * k + 1] = odd[k];
  }
}
template <typename T, typename V>
MILLSTREAM_ALWAYS_INLINE void Butterfly5(Cx<V>* a) {
  constexpr T kCos1 = static_cast<T>(0.30901699437494742410), kSin1 = static_cast<T>(0.95105651629515357212);
  constexpr T kCos2 = static_cast<T>(-0.80901699437494742410), kSin2 = static_cast<T>(0.58778525229247312917);
  const Cx<V> s1 = a[1] + a[4], s2 = a[2] + a[3], d1 = a[1] - a[4], d2 = a[2] - a[3];
  const Cx<V> m1 = a[0] + Scaled(s1, kCos1) + Scaled(s2, kCos2), m2 = a[0] + Scaled(s1, kCos2) + Scaled(s2, kCos1);
  const Cx<V> t1 = Turned(Scaled(d1, kSin1) + Scaled(d2, kSin2)), t2 = Turned(Scaled(d1, kSin2) - Scaled(d2, kSin1));
  a[0] = a[0] + s1 + s2;
  a[1] = m1 + t1;
  a[2] = m2 + t2;
  a[3] = m2 - t2;
  a[4] = m1 - t1;
}

template <typename T, typename V, int kRadix, void (*kButterfly)(Cx<V>*)>
MILLSTREAM_ALWAYS_INLINE void RunPass(const typename FftPlan<T>::Pass& pass, const Cx<V>* x, Cx<V>* y) {
  const std::complex<T>* turns = pass.turns.data();
  const int64_t rest = pass.rest, stride = pass.stride;
  for (int64_t p = 0; p < rest; ++p, turns += kRadix - 1) {
    for (int64_t q = 0; q < stride; ++q) {
      Cx<V> a[kRadix];
      for (int k = 0; k < kRadix; ++k) a[k] = x[q + stride * (p + rest * k)];
      kButterfly(a);
      Cx<V>* to = y + q + stride * kRadix * p;
      to[0] = a[0];
      for (int j = 1; j < kRadix; ++j) to[stride * j] = Times(a[j], turns[j - 1]);
    }
  }
}

// A radix without code of its own; it is odd. Outputs j and radix - j share their products.
template <typename T, typename V>
MILLSTREAM_ALWAYS_INLINE void RunOddPass(const typename FftPlan<T>::Pass& pass, const Cx<V>* x, Cx<V>* y) {
  const int64_t radix = pass.radix, rest = pass.rest, stride = pass.stride, half = radix / 2;
  for (int64_t p = 0; p < rest; ++p) {
    const std::complex<T>* turns = pass.turns.data() + p * (radix - 1);
    for (int64_t q = 0; q < stride; ++q) {
      Cx<V> sums[16], differences[16];
      const Cx<V> first = x[q + stride * p];
      Cx<V> total = first;
      for (int64_t k = 0; k < half; ++k) {
        const Cx<V> a = x[q + stride * (p + rest * (k + 1))], b = x[q + stride * (p + rest * (radix - 1 - k))];
        sums[k] = a + b;
        differences[k] = a - b;
        total = total + sums[k];
      }
      Cx<V>* to = y + q + stride * radix * p;
      to[0] = total;
      for (int64_t j = 1; j <= half; ++j) {
        Cx<V> even = first, odd{V{}, V{}};
        for (int64_t k = 0, at = j; k < half; ++k, at = at + j < radix ? at + j : at + j - radix) {
          even = even + Scaled(sums[k], pass.roots[at].real());
          odd = odd + Scaled(differences[k], -pass.roots[at].imag());
        }
        odd = Turned(odd);
        to[stride * j] = Times(even + odd, turns[j - 1]);
        to[stride * (radix - j)] = Times(even - odd, turns[radix - j - 1]);
      }
    }
  }
}

// Returns where the result is: x or y.
template <typename T, typename V>
MILLSTREAM_ALWAYS_INLINE Cx<V>* RunPasses(const FftPlan<T>& plan, Cx<V>* x, Cx<V>* y) {
  for (const auto& pass : plan.passes()) {
    switch (pass.radix) {
      case 2:
        RunPass<T, V, 2, Butterfly2<T, V>>(pass, x, y);
        break;
      case 3:
        RunPass<T, V, 3, Butterfly3<T, V>>(pass, x, y);
        break;
      case 4:
        RunPass<T, V, 4, Butterfly4<T, V>>(pass, x, y);
        break;
      case 5:
        RunPass<T, V, 5, Butterfly5<T, V>>(pass, x, y);
        break;
      case 8:
        RunPass<T, V, 8, Butterfly8<T, V>>(pass, x, y);
        break;
      default:
        RunOddPass<T, V>(pass, x, y);
    }
    std::swap(x, y);
  }
  return x;
}

// As RunPasses(), for every length. x and y have the size of WorkSize().
template <typename T>
int64_t WorkSize(const FftPlan<T>& plan) {
  return plan.chirp() == nullptr ? plan.size() : plan.chirp()->longer->size();
}
template <typename T, typename V>
MILLSTREAM_ALWAYS_INLINE Cx<V>* RunLanes(const FftPlan<T>& plan, Cx<V>* x, Cx<V>* y) {
  if (plan.chirp() == nullptr) return RunPasses(plan, x, y);
  const auto& chirp = *plan.chirp();
  const int64_t n = plan.size(), m = chirp.longer->size();
  for (int64_t k = 0; k < n; ++k) x[k] = Times(x[k], chirp.chirp[k]);
  std::fill(x + n, x + m, Cx<V>{V{}, V{}});
  Cx<V>* z = RunPasses(*chirp.longer, x, y);
  // Exchanging the parts before and after makes the inverse transform of a transform.
  for (int64_t k = 0; k < m; ++k) {
    const Cx<V> product = Times(z[k], chirp.spectrum[k]);
    z[k] = {product.im, product.re};
  }
  z = RunPasses(*chirp.longer, z, z == x ? y : x);
  for (int64_t k = 0; k < n; ++k) z[k] = Times(Cx<V>{z[k].im, z[k].re}, chirp.chirp[k]);
  return z;
}

}  // namespace
}  // namespace millstream::math

#endif  // MILLSTREAM_MATH_FFT_FFT_LANES_INL_H_
