// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_MATH_FFT_FFT_H_
#define MILLSTREAM_MATH_FFT_FFT_H_

#include <complex>
#include <cstdint>
#include <memory>
#include <vector>

#include "millstream/base/thread_pool.h"

namespace millstream::math {

// Where a set of lines lies in memory, in elements: element k of line number i is at
// (i / inner) * outer_stride + (i % inner) * inner_stride + k * step.
struct FftLines {
  int64_t inner = 1, inner_stride = 0, outer_stride = 0, step = 1;
  int64_t Offset(int64_t i) const { return i / inner * outer_stride + i % inner * inner_stride; }
};

// Everything that discrete Fourier transforms of one length have in common: factors and roots of unity. Constant after
// construction; any thread may use it. float and double.
//
// The lanes of vector registers hold the same element of several lines, so that every length, primes included, runs in
// full vectors; a single long line is cut into several shorter ones. Results do not depend on the number of threads.
template <typename T>
class FftPlan {
 public:
  using Complex = std::complex<T>;

  // `real`: also for RunFromReal() and RunToReal(). REQUIRES: n > 0
  explicit FftPlan(int64_t n, bool real = false);
  FftPlan(const FftPlan&) = delete;
  FftPlan& operator=(const FftPlan&) = delete;

  int64_t size() const { return n_; }

  // Transforms `count` lines of n elements, times `scale`. In and out may be the same memory with the same layout.
  void Run(const Complex* in, const FftLines& in_lines, Complex* out, const FftLines& out_lines, int64_t count,
           bool inverse, T scale, ThreadPool* pool) const;
  // From n real numbers to the first n / 2 + 1 elements of their transform. REQUIRES: real, in_lines.step is 1.
  void RunFromReal(const T* in, const FftLines& in_lines, Complex* out, const FftLines& out_lines, int64_t count,
                   ThreadPool* pool) const;
  // The inverse: from n / 2 + 1 elements to n real numbers, times `scale`. REQUIRES: real, out_lines.step is 1.
  void RunToReal(const Complex* in, const FftLines& in_lines, T* out, const FftLines& out_lines, int64_t count, T scale,
                 ThreadPool* pool) const;

  // One step of the transform, after which lines are `radix` times shorter and as many times more (Stockham's order).
  struct Pass {
    int64_t radix = 1;
    int64_t rest = 1;            // length of the lines after this pass
    int64_t stride = 1;          // lines before this pass
    std::vector<Complex> turns;  // rest x (radix - 1): e^(-2 pi i p j / (rest * radix)) for j > 0
    std::vector<Complex> roots;  // e^(-2 pi i j / radix), of radices without code of their own
  };
  // Lengths with a large prime factor become a convolution with a chirp, of a length without such factors (Bluestein).
  struct Chirp {
    std::vector<Complex> chirp;     // e^(-pi i k^2 / n)
    std::vector<Complex> spectrum;  // of the conjugate chirp, over the longer length and its inverse's factor
    std::unique_ptr<FftPlan> longer;
  };

  const std::vector<Pass>& passes() const { return passes_; }
  const Chirp* chirp() const { return chirp_.get(); }
  // e^(-2 pi i k / n) for k < n / 2, if n is even and the plan is for real lines.
  const std::vector<Complex>& half_turns() const { return half_turns_; }

 private:
  void RunLong(const Complex* in, int64_t in_step, Complex* out, int64_t out_step, bool inverse, T scale,
               ThreadPool* pool) const;
  void RunLongChirp(const Complex* in, int64_t in_step, Complex* out, int64_t out_step, bool inverse, T scale,
                    ThreadPool* pool) const;
  // Whether so few lines are better cut into several shorter ones.
  bool CutsLines(int64_t count) const;

  const int64_t n_;
  std::vector<Pass> passes_;
  std::unique_ptr<Chirp> chirp_;
  std::unique_ptr<FftPlan> half_;  // of n / 2, for real lines of even length
  std::vector<Complex> half_turns_;
  std::unique_ptr<FftPlan> columns_, rows_;  // n = columns * rows, for single long lines
  std::vector<Complex> line_turns_;          // rows x columns: e^(-2 pi i row column / n)
};

}  // namespace millstream::math

#endif  // MILLSTREAM_MATH_FFT_FFT_H_
