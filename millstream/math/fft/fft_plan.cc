// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <numbers>

#include "millstream/math/fft/fft.h"

namespace millstream::math {
namespace {

constexpr int64_t kLargestRadix = 31;  // beyond it a chirp is cheaper than radix^2 operations
// Shorter lines, and lines that cannot be cut into that many, run in one lane when they come alone.
constexpr int64_t kLongLine = 64, kFewestColumns = 8;

// Factors in the order of their passes; the last one may be a prime too large for a pass. Each pass reads and writes
// all of the line, so powers of two go by eights, as far as no single two is left.
std::vector<int64_t> Factors(int64_t n) {
  std::vector<int64_t> factors;
  const auto take = [&](int64_t radix, int64_t multiple) {
    for (; n % multiple == 0; n /= radix) factors.push_back(radix);
  };
  take(8, 32);
  if (n % 16 != 0) take(8, 8);
  for (const int64_t radix : {4, 2, 3, 5}) take(radix, radix);
  for (int64_t p = 7; p * p <= n; p += 2) take(p, p);
  if (n > 1) factors.push_back(n);
  return factors;
}

// The smallest number from n on whose prime factors are 2, 3 and 5.
int64_t SmoothSize(int64_t n) {
  for (;; ++n) {
    int64_t rest = n;
    for (const int64_t p : {2, 3, 5}) {
      while (rest % p == 0) rest /= p;
    }
    if (rest == 1) return n;
  }
}

// e^(-2 pi i k / n), from the octant of the angle so that it is accurate for every k.
template <typename T>
std::complex<T> RootOfUnity(int64_t k, int64_t n) {
  k %= n;
  int64_t eighth = 8 * k;  // in units of 1 / (8 n) turns
  bool flip = false, mirror = false, swap = false;
  if (eighth > 4 * n) {
    eighth = 8 * n - eighth;
    flip = true;
  }
  if (eighth > 2 * n) {
    eighth = 4 * n - eighth;
    mirror = true;
  }
  if (eighth > n) {
    eighth = 2 * n - eighth;
    swap = true;
  }
  const double angle = std::numbers::pi * static_cast<double>(eighth) / (4.0 * static_cast<double>(n));
  double c = std::cos(angle), s = std::sin(angle);
  if (swap) std::swap(c, s);
  if (mirror) c = -c;
  if (!flip) s = -s;
  return {static_cast<T>(c), static_cast<T>(s)};
}

// The divisor of n nearest to its square root from below, for lines cut in two.
int64_t NearestDivisor(int64_t n) {
  auto d = static_cast<int64_t>(std::sqrt(static_cast<double>(n)));
  while (n % d != 0) --d;
  return d;
}

template <typename T>
std::unique_ptr<typename FftPlan<T>::Chirp> MakeChirp(int64_t n) {
  auto result = std::make_unique<typename FftPlan<T>::Chirp>();
  const int64_t m = SmoothSize(2 * n - 1);
  result->longer = std::make_unique<FftPlan<T>>(m);
  // In doubles: the spectrum of the chirp would otherwise carry the rounding of its own transform.
  std::vector<std::complex<double>> filter(static_cast<size_t>(m));
  for (int64_t k = 0, square = 0; k < n; ++k) {  // square is k^2 mod 2 n
    const std::complex<double> turn = RootOfUnity<double>(square, 2 * n);
    result->chirp.emplace_back(static_cast<T>(turn.real()), static_cast<T>(turn.imag()));
    filter[k] = filter[(m - k) % m] = std::conj(turn) / static_cast<double>(m);
    square = (square + 2 * k + 1) % (2 * n);
  }
  const FftPlan<double> exact(m);
  exact.Run(filter.data(), {}, filter.data(), {}, 1, false, 1.0, nullptr);
  for (const std::complex<double>& x : filter) {
    result->spectrum.emplace_back(static_cast<T>(x.real()), static_cast<T>(x.imag()));
  }
  return result;
}

template <typename T>
std::vector<typename FftPlan<T>::Pass> MakePasses(int64_t n, const std::vector<int64_t>& factors) {
  std::vector<typename FftPlan<T>::Pass> passes;
  int64_t length = n;
  for (const int64_t radix : factors) {
    typename FftPlan<T>::Pass pass;
    pass.radix = radix;
    pass.rest = length / radix;
    pass.stride = n / length;
    for (int64_t p = 0; p < pass.rest; ++p) {
      for (int64_t j = 1; j < radix; ++j) pass.turns.push_back(RootOfUnity<T>(p * j, length));
    }
    for (int64_t j = 0; radix > 5 && radix % 2 == 1 && j < radix; ++j) pass.roots.push_back(RootOfUnity<T>(j, radix));
    passes.push_back(std::move(pass));
    length /= radix;
  }
  return passes;
}

}  // namespace

template <typename T>
FftPlan<T>::FftPlan(int64_t n, bool real) : n_(n) {
  const std::vector<int64_t> factors = Factors(n);
  if (!factors.empty() && factors.back() > kLargestRadix) {
    chirp_ = MakeChirp<T>(n);
  } else {
    passes_ = MakePasses<T>(n, factors);
  }
  if (real && n % 2 == 0) {
    half_ = std::make_unique<FftPlan>(n / 2);
    for (int64_t k = 0; k < n / 2; ++k) half_turns_.push_back(RootOfUnity<T>(k, n));
  }
  if (chirp_ != nullptr || n < kLongLine) return;
  const int64_t columns = NearestDivisor(n);
  if (columns < kFewestColumns) return;
  columns_ = std::make_unique<FftPlan>(columns);
  rows_ = std::make_unique<FftPlan>(n / columns);
  line_turns_.reserve(static_cast<size_t>(n));
  for (int64_t row = 0; row < n / columns; ++row) {
    for (int64_t column = 0; column < columns; ++column) line_turns_.push_back(RootOfUnity<T>(row * column, n));
  }
}

template FftPlan<float>::FftPlan(int64_t, bool);
template FftPlan<double>::FftPlan(int64_t, bool);

}  // namespace millstream::math
