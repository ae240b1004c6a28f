// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/signal/line_transform.h"

#include <cmath>
#include <numbers>

namespace millstream {

LineTransform::LineTransform(int64_t n, bool inverse) : n_(n), inverse_(inverse), size_(1) {
  while (size_ < n) size_ *= 2;
  const bool fits = size_ == n;
  if (!fits) {
    size_ = 1;
    while (size_ < 2 * n - 1) size_ *= 2;
  }
  turns_.resize(static_cast<size_t>(size_ / 2));
  for (int64_t k = 0; k < size_ / 2; ++k) {
    const double angle = -2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(size_);
    turns_[k] = {std::cos(angle), std::sin(angle)};
  }
  if (fits) return;
  chirp_.resize(static_cast<size_t>(n));
  filter_.assign(static_cast<size_t>(size_), Complex());
  for (int64_t k = 0; k < n; ++k) {
    // k^2 mod 2n keeps the angle small.
    const auto square = static_cast<int64_t>(static_cast<__int128>(k) * k % (2 * n));
    chirp_[k] = Turn(static_cast<double>(square) / (2.0 * static_cast<double>(n)));
    filter_[k] = std::conj(chirp_[k]);
    if (k > 0) filter_[size_ - k] = filter_[k];
  }
  Radix2(filter_.data(), false);
}

void LineTransform::Run(Complex* x) const {
  if (chirp_.empty()) {
    Radix2(x, inverse_);
    return;
  }
  std::vector<Complex> work(static_cast<size_t>(size_), Complex());
  for (int64_t k = 0; k < n_; ++k) work[k] = x[k] * chirp_[k];
  Radix2(work.data(), false);
  for (int64_t k = 0; k < size_; ++k) work[k] *= filter_[k];
  Radix2(work.data(), true);
  const double scale = 1.0 / static_cast<double>(size_);
  for (int64_t k = 0; k < n_; ++k) x[k] = work[k] * chirp_[k] * scale;
}

LineTransform::Complex LineTransform::Turn(double part) const {
  const double angle = (inverse_ ? 2 : -2) * std::numbers::pi * part;
  return {std::cos(angle), std::sin(angle)};
}

void LineTransform::Radix2(Complex* x, bool inverse) const {
  for (int64_t i = 1, j = 0; i < size_; ++i) {
    int64_t bit = size_ >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) std::swap(x[i], x[j]);
  }
  for (int64_t half = 1; half < size_; half *= 2) {
    const int64_t step = size_ / 2 / half;
    for (int64_t k = 0; k < half; ++k) {
      const Complex w = inverse ? std::conj(turns_[k * step]) : turns_[k * step];
      for (int64_t i = k; i < size_; i += 2 * half) {
        const Complex odd = x[i + half] * w;
        x[i + half] = x[i] - odd;
        x[i] += odd;
      }
    }
  }
}

}  // namespace millstream
