// SPDX-License-Identifier: Apache-2.0
#include "millstream/math/fft/fft.h"

#include <cmath>
#include <cstdlib>

#include "millstream/math/fft/fft_job_inl.h"

namespace millstream::math {
namespace {

template <typename T>
MILLSTREAM_SIMD_SSE2_ void RunSse2(const FftJob<T>& job, int64_t begin, int64_t end, void* work) {
  RunGroups<T, typename VectorOf<T, 16>::type>(job, begin, end, work);
}
template <typename T, int kBytes>
MILLSTREAM_SIMD_AVX2_ void RunAvx2(const FftJob<T>& job, int64_t begin, int64_t end, void* work) {
  RunGroups<T, typename VectorOf<T, kBytes>::type>(job, begin, end, work);
}
template <typename T>
MILLSTREAM_SIMD_AVX512_ void RunAvx512(const FftJob<T>& job, int64_t begin, int64_t end, void* work) {
  RunGroups<T, typename VectorOf<T, 64>::type>(job, begin, end, work);
}

// At least `bytes` bytes for this thread, aligned to vectors.
void* Work(size_t bytes) {
  constexpr size_t kAlign = 64;
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  thread_local std::unique_ptr<void, Free> memory;
  thread_local size_t size = 0;
  if (bytes > size) {
    size = (bytes + kAlign - 1) / kAlign * kAlign;
    memory.reset(std::aligned_alloc(kAlign, size));
    if (memory == nullptr) std::abort();
  }
  return memory.get();
}

// Calls fn(begin, end) on parts of [0, n), on `pool` if there is one.
void Split(ThreadPool* pool, int64_t n, double cost, absl::FunctionRef<void(int64_t, int64_t)> fn) {
  if (pool == nullptr) return fn(0, n);
  pool->ParallelFor(n, cost, fn);
}

template <typename T>
double CostOfLine(int64_t n) {
  constexpr double kNanoseconds = 0.05 * sizeof(T) / sizeof(float);
  return kNanoseconds * static_cast<double>(n) * (4 + std::log2(static_cast<double>(n)));
}

// The shortest vectors that hold all lines, or the longest there are.
template <typename T>
int64_t VectorBytes(simd::Isa isa, int64_t lines) {
  const int64_t most = isa == simd::Isa::kAvx512 ? 64 : isa == simd::Isa::kAvx2 ? 32 : 16;
  int64_t bytes = 16;
  while (bytes < most && bytes < lines * static_cast<int64_t>(sizeof(T))) bytes *= 2;
  return bytes;
}

template <typename T>
void RunJob(const FftJob<T>& job, ThreadPool* pool) {
  const simd::Isa isa = simd::ActiveIsa();
  const int64_t bytes = VectorBytes<T>(isa, job.count);
  const int64_t lanes = bytes / static_cast<int64_t>(sizeof(T)), groups = (job.count + lanes - 1) / lanes;
  const double cost = CostOfLine<T>(WorkSize(*job.plan)) * static_cast<double>(lanes);
  Split(pool, groups, cost, [&](int64_t begin, int64_t end) {
    void* work = Work(static_cast<size_t>(4 * WorkElements(job) * bytes));
    if (bytes == 64) {
      RunAvx512(job, begin, end, work);
    } else if (bytes == 32) {
      RunAvx2<T, 32>(job, begin, end, work);
    } else if (isa != simd::Isa::kSse2) {
      RunAvx2<T, 16>(job, begin, end, work);
    } else {
      RunSse2(job, begin, end, work);
    }
  });
}

// As many lines leave most lanes empty: each is better cut into several.
constexpr int64_t kFewLines = 3;

template <typename T>
void Multiply(const std::complex<T>* factors, bool conjugate, int64_t n, std::complex<T>* x, ThreadPool* pool) {
  const T sign = conjugate ? T(-1) : T(1);
  Split(pool, n, 1.0, [=](int64_t begin, int64_t end) {
    const T* w = reinterpret_cast<const T*>(factors);
    T* z = reinterpret_cast<T*>(x);
    simd::For<T>(begin, end, [=](int64_t i) {
      const T re = z[2 * i], im = z[2 * i + 1], c = w[2 * i], s = w[2 * i + 1] * sign;
      z[2 * i] = re * c - im * s;
      z[2 * i + 1] = re * s + im * c;
    });
  });
}

}  // namespace

// n = rows * columns: transforms of all columns of the line seen as a matrix, factors, transforms of all rows, read by
// columns.
template <typename T>
void FftPlan<T>::RunLong(const Complex* in, int64_t in_step, Complex* out, int64_t out_step, bool inverse, T scale,
                         ThreadPool* pool) const {
  if (chirp_ != nullptr) return RunLongChirp(in, in_step, out, out_step, inverse, scale, pool);
  const int64_t columns = columns_->size(), rows = rows_->size();
  std::vector<Complex> middle(static_cast<size_t>(n_));
  rows_->Run(in, {.inner = columns, .inner_stride = in_step, .step = columns * in_step}, middle.data(),
             {.inner = columns, .inner_stride = 1, .step = columns}, columns, inverse, T(1), pool);
  Multiply(line_turns_.data(), inverse, n_, middle.data(), pool);
  columns_->Run(middle.data(), {.inner = rows, .inner_stride = columns, .step = 1}, out,
                {.inner = rows, .inner_stride = out_step, .step = rows * out_step}, rows, inverse, scale, pool);
}

template <typename T>
void FftPlan<T>::RunLongChirp(const Complex* in, int64_t in_step, Complex* out, int64_t out_step, bool inverse, T scale,
                              ThreadPool* pool) const {
  std::vector<Complex> x(static_cast<size_t>(chirp_->longer->size()));
  for (int64_t k = 0; k < n_; ++k) x[k] = inverse ? std::conj(in[k * in_step]) : in[k * in_step];
  Multiply(chirp_->chirp.data(), false, n_, x.data(), pool);
  chirp_->longer->Run(x.data(), {}, x.data(), {}, 1, false, T(1), pool);
  Multiply(chirp_->spectrum.data(), false, chirp_->longer->size(), x.data(), pool);
  chirp_->longer->Run(x.data(), {}, x.data(), {}, 1, true, T(1), pool);
  Multiply(chirp_->chirp.data(), false, n_, x.data(), pool);
  for (int64_t k = 0; k < n_; ++k) out[k * out_step] = scale * (inverse ? std::conj(x[k]) : x[k]);
}

template <typename T>
void FftPlan<T>::Run(const Complex* in, const FftLines& in_lines, Complex* out, const FftLines& out_lines,
                     int64_t count, bool inverse, T scale, ThreadPool* pool) const {
  if (CutsLines(count)) {
    for (int64_t i = 0; i < count; ++i) {
      RunLong(in + in_lines.Offset(i), in_lines.step, out + out_lines.Offset(i), out_lines.step, inverse, scale, pool);
    }
    return;
  }
  RunJob(FftJob<T>{.kind = FftKind::kComplex,
                   .plan = this,
                   .n = n_,
                   .in = reinterpret_cast<const T*>(in),
                   .out = reinterpret_cast<T*>(out),
                   .in_lines = in_lines,
                   .out_lines = out_lines,
                   .count = count,
                   .inverse = inverse,
                   .scale = scale},
         pool);
}

template <typename T>
bool FftPlan<T>::CutsLines(int64_t count) const {
  const FftPlan& plan = chirp_ != nullptr ? *chirp_->longer : *this;
  return count <= kFewLines && plan.columns_ != nullptr;
}

template <typename T>
void FftPlan<T>::RunFromReal(const T* in, const FftLines& in_lines, Complex* out, const FftLines& out_lines,
                             int64_t count, ThreadPool* pool) const {
  if (CutsLines(count)) {
    std::vector<Complex> line(static_cast<size_t>(n_));
    for (int64_t i = 0; i < count; ++i) {
      std::copy_n(in + in_lines.Offset(i), n_, line.begin());
      RunLong(line.data(), 1, line.data(), 1, false, T(1), pool);
      for (int64_t k = 0; k <= n_ / 2; ++k) out[out_lines.Offset(i) + k * out_lines.step] = line[k];
    }
    return;
  }
  RunJob(FftJob<T>{.kind = FftKind::kFromReal,
                   .plan = half_ != nullptr ? half_.get() : this,
                   .turns = half_ != nullptr ? half_turns_.data() : nullptr,
                   .n = n_,
                   .in = in,
                   .out = reinterpret_cast<T*>(out),
                   .in_lines = in_lines,
                   .out_lines = out_lines,
                   .count = count},
         pool);
}

template <typename T>
void FftPlan<T>::RunToReal(const Complex* in, const FftLines& in_lines, T* out, const FftLines& out_lines,
                           int64_t count, T scale, ThreadPool* pool) const {
  if (CutsLines(count)) {
    std::vector<Complex> line(static_cast<size_t>(n_));
    for (int64_t i = 0; i < count; ++i) {
      const Complex* from = in + in_lines.Offset(i);
      for (int64_t k = 0; k <= n_ / 2; ++k) {
        line[(n_ - k) % n_] = std::conj(from[k * in_lines.step]);
        line[k] = from[k * in_lines.step];
      }
      line[0] = line[0].real();
      if (n_ % 2 == 0) line[n_ / 2] = line[n_ / 2].real();
      RunLong(line.data(), 1, line.data(), 1, true, scale, pool);
      for (int64_t k = 0; k < n_; ++k) out[out_lines.Offset(i) + k] = line[k].real();
    }
    return;
  }
  RunJob(FftJob<T>{.kind = FftKind::kToReal,
                   .plan = half_ != nullptr ? half_.get() : this,
                   .turns = half_ != nullptr ? half_turns_.data() : nullptr,
                   .n = n_,
                   .in = reinterpret_cast<const T*>(in),
                   .out = out,
                   .in_lines = in_lines,
                   .out_lines = out_lines,
                   .count = count,
                   .scale = scale},
         pool);
}

#define MILLSTREAM_FFT_RUNS(T)                                                                                       \
  template void FftPlan<T>::Run(const Complex*, const FftLines&, Complex*, const FftLines&, int64_t, bool, T,        \
                                ThreadPool*) const;                                                                  \
  template void FftPlan<T>::RunFromReal(const T*, const FftLines&, Complex*, const FftLines&, int64_t, ThreadPool*)  \
      const;                                                                                                         \
  template void FftPlan<T>::RunToReal(const Complex*, const FftLines&, T*, const FftLines&, int64_t, T, ThreadPool*) \
      const
MILLSTREAM_FFT_RUNS(float);
MILLSTREAM_FFT_RUNS(double);

}  // namespace millstream::math
