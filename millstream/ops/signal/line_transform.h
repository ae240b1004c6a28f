// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_SIGNAL_LINE_TRANSFORM_H_
#define MILLSTREAM_OPS_SIGNAL_LINE_TRANSFORM_H_

#include <complex>
#include <cstdint>
#include <vector>

namespace millstream {

// The discrete Fourier transform of lines of n numbers, without a factor: radix 2 where it fits, Bluestein's detour
// over a power of two otherwise. REQUIRES: n > 0.
class LineTransform {
 public:
  using Complex = std::complex<double>;

  LineTransform(int64_t n, bool inverse);
  // In place.
  void Run(Complex* x) const;

 private:
  Complex Turn(double part) const;
  void Radix2(Complex* x, bool inverse) const;

  const int64_t n_;
  const bool inverse_;
  int64_t size_ = 0;                     // of the transform by radix 2
  std::vector<Complex> turns_;           // e^(-2 pi i k / size), half a turn
  std::vector<Complex> chirp_, filter_;  // empty if n is a power of two
};

}  // namespace millstream

#endif  // MILLSTREAM_OPS_SIGNAL_LINE_TRANSFORM_H_
