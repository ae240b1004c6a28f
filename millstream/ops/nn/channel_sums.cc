// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/nn/channel_sums.h"

#include <algorithm>
#include <vector>

#include "absl/functional/function_ref.h"
#include "millstream/math/simd.h"

namespace millstream {
namespace {

constexpr int64_t kBlockElements = 8192;  // fit the first-level cache
constexpr int64_t kChunkElements = 1 << 16, kMaxChunks = 32;

void Split(ThreadPool* pool, int64_t n, double cost, absl::FunctionRef<void(int64_t, int64_t)> body) {
  if (pool == nullptr) return body(0, n);
  pool->ParallelFor(n, cost, body);
}

// Channels last: fn(first row, rows, float scratch of `kinds` lines of channels, double totals of as many) adds a block
// to the totals of its chunk; the totals of all chunks are added to `totals` in order.
void SumRowBlocks(ThreadPool* pool, const NormView& v, int64_t kinds, double cost, double* totals,
                  absl::FunctionRef<void(int64_t, int64_t, float*, double*)> fn) {
  const int64_t elements = v.outer * v.channels, size = kinds * v.channels;
  const int64_t block = std::max<int64_t>(4, kBlockElements / v.channels / 4 * 4);
  const int64_t blocks = (v.outer + block - 1) / block;
  const int64_t chunks = std::clamp<int64_t>(elements / kChunkElements, 1, std::min(kMaxChunks, blocks));
  std::vector<double> sums(static_cast<size_t>(chunks * size));
  Split(pool, chunks, cost * static_cast<double>(elements) / static_cast<double>(chunks),
        [&](int64_t begin, int64_t end) {
          std::vector<float> scratch(static_cast<size_t>(size));
          for (int64_t chunk = begin; chunk < end; ++chunk) {
            for (int64_t b = chunk * blocks / chunks; b < (chunk + 1) * blocks / chunks; ++b) {
              fn(b * block, std::min(block, v.outer - b * block), scratch.data(), sums.data() + chunk * size);
            }
          }
        });
  std::fill_n(totals, size, 0.0);
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    for (int64_t i = 0; i < size; ++i) totals[i] += sums[static_cast<size_t>(chunk * size + i)];
  }
}

// sums[c] = the sum of term(element, c) over `rows` rows that begin at element `first`. Four rows at a time: the sums
// are loaded and stored as many times less often.
template <typename Term>
MILLSTREAM_ALWAYS_INLINE void SumRows(int64_t first, int64_t rows, int64_t channels, float* sums, Term term) {
  MILLSTREAM_INDEPENDENT_LOOP
  for (int64_t c = 0; c < channels; ++c) sums[c] = 0;
  int64_t row = 0;
  for (; row + 4 <= rows; row += 4) {
    const int64_t a = first + row * channels, b = a + channels, d = b + channels, e = d + channels;
    MILLSTREAM_INDEPENDENT_LOOP
    for (int64_t c = 0; c < channels; ++c) {
      sums[c] += (term(a + c, c) + term(b + c, c)) + (term(d + c, c) + term(e + c, c));
    }
  }
  for (; row < rows; ++row) {
    const int64_t at = first + row * channels;
    MILLSTREAM_INDEPENDENT_LOOP
    for (int64_t c = 0; c < channels; ++c) sums[c] += term(at + c, c);
  }
}

// sums[c] and products[c]: of grad(element, c), and of that times (x - mean[c]), in one pass.
template <typename Grad>
MILLSTREAM_ALWAYS_INLINE void SumRowProducts(int64_t first, int64_t rows, int64_t channels, const float* x,
                                             const float* mean, Grad grad, float* sums, float* products) {
  MILLSTREAM_INDEPENDENT_LOOP
  for (int64_t c = 0; c < channels; ++c) sums[c] = products[c] = 0;
  int64_t row = 0;
  for (; row + 2 <= rows; row += 2) {
    const int64_t a = first + row * channels, b = a + channels;
    MILLSTREAM_INDEPENDENT_LOOP
    for (int64_t c = 0; c < channels; ++c) {
      const float ga = grad(a + c, c), gb = grad(b + c, c);
      sums[c] += ga + gb;
      products[c] += ga * (x[a + c] - mean[c]) + gb * (x[b + c] - mean[c]);
    }
  }
  for (; row < rows; ++row) {
    const int64_t at = first + row * channels;
    MILLSTREAM_INDEPENDENT_LOOP
    for (int64_t c = 0; c < channels; ++c) {
      const float g = grad(at + c, c);
      sums[c] += g;
      products[c] += g * (x[at + c] - mean[c]);
    }
  }
}

// The sum of term(i) for 0 <= i < n, with so many accumulators that additions need not wait for each other.
template <typename Term>
MILLSTREAM_ALWAYS_INLINE float SumLine(int64_t n, Term term) {
  constexpr int kLanes = 32;
  float lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    MILLSTREAM_INDEPENDENT_LOOP
    for (int l = 0; l < kLanes; ++l) lanes[l] += term(i + l);
  }
  for (; i < n; ++i) lanes[0] += term(i);
  for (int width = kLanes / 2; width > 0; width /= 2) {
    for (int l = 0; l < width; ++l) lanes[l] += lanes[l + width];
  }
  return lanes[0];
}

// Channels first: fn(channel, first element, count) for each block of each line of a channel.
void SumLineBlocks(ThreadPool* pool, const NormView& v, double cost,
                   absl::FunctionRef<void(int64_t, int64_t, int64_t)> fn) {
  Split(pool, v.channels, cost * static_cast<double>(v.places()), [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      for (int64_t o = 0; o < v.outer; ++o) {
        const int64_t at = (o * v.channels + c) * v.inner;
        for (int64_t i = 0; i < v.inner; i += kBlockElements) fn(c, at + i, std::min(kBlockElements, v.inner - i));
      }
    }
  });
}

// Of blocks whose sums and squares (about the mean of each block) are known, `between` being the sum of sum * mean of
// each: squares about the mean of all. Only the differences of means cancel, and those in double.
double SquaresAboutMean(double squares, double between, double sum, double count) {
  return std::max(squares + (between - sum * sum / count), 0.0);  // in this order a NaN stays
}

void MomentsOfRows(ThreadPool* pool, const NormView& v, const float* x, double* sums, double* squares) {
  const int64_t channels = v.channels;
  std::vector<double> totals(static_cast<size_t>(3 * channels));
  SumRowBlocks(pool, v, 3, 0.15, totals.data(), [&](int64_t row, int64_t rows, float* scratch, double* chunk) {
    simd::Run<float>([=] {
      const float scale = 1 / static_cast<float>(rows), *block = x + row * channels;
      float *sum = scratch, *mean = scratch + channels, *square = scratch + 2 * channels;
      SumRows(0, rows, channels, sum, [=](int64_t i, int64_t) MILLSTREAM_INLINE_LAMBDA { return block[i]; });
      MILLSTREAM_INDEPENDENT_LOOP
      for (int64_t c = 0; c < channels; ++c) mean[c] = sum[c] * scale;
      SumRows(0, rows, channels, square, [=](int64_t i, int64_t c) MILLSTREAM_INLINE_LAMBDA {
        const float d = block[i] - mean[c];
        return d * d;
      });
      const auto count = static_cast<double>(rows);
      MILLSTREAM_INDEPENDENT_LOOP
      for (int64_t c = 0; c < channels; ++c) {
        // `mean` is rounded: the squares are about it, not about the exact mean.
        const double s = sum[c], m = mean[c];
        chunk[c] += s;
        chunk[channels + c] += static_cast<double>(square[c]) - (s - count * m) * (s / count - m);
        chunk[2 * channels + c] += s * (s / count);
      }
      return 0;
    });
  });
  for (int64_t c = 0; c < channels; ++c) {
    sums[c] = totals[c];
    squares[c] =
        SquaresAboutMean(totals[channels + c], totals[2 * channels + c], sums[c], static_cast<double>(v.places()));
  }
}

void MomentsOfLines(ThreadPool* pool, const NormView& v, const float* x, double* sums, double* squares) {
  std::vector<double> between(static_cast<size_t>(v.channels));
  std::fill_n(sums, v.channels, 0.0);
  std::fill_n(squares, v.channels, 0.0);
  SumLineBlocks(pool, v, 0.15, [&](int64_t c, int64_t first, int64_t n) {
    const float* line = x + first;
    const float sum =
        simd::Run<float>([=] { return SumLine(n, [=](int64_t i) MILLSTREAM_INLINE_LAMBDA { return line[i]; }); });
    const double mean = static_cast<double>(sum) / static_cast<double>(n);
    const auto m = static_cast<float>(mean);
    const float square = simd::Run<float>(
        [=] { return SumLine(n, [=](int64_t i) MILLSTREAM_INLINE_LAMBDA { return (line[i] - m) * (line[i] - m); }); });
    const double off = mean - static_cast<double>(m);
    sums[c] += static_cast<double>(sum);
    squares[c] += static_cast<double>(square) - static_cast<double>(n) * off * off;
    between[c] += static_cast<double>(sum) * mean;
  });
  for (int64_t c = 0; c < v.channels; ++c) {
    squares[c] = SquaresAboutMean(squares[c], between[c], sums[c], static_cast<double>(v.places()));
  }
}

template <typename Grad>
void ProductsOfRows(ThreadPool* pool, const NormView& v, const float* x, const float* mean, Grad grad, double* sums,
                    double* products) {
  const int64_t channels = v.channels;
  std::vector<double> totals(static_cast<size_t>(2 * channels));
  SumRowBlocks(pool, v, 2, 0.2, totals.data(), [&](int64_t row, int64_t rows, float* scratch, double* chunk) {
    simd::Run<float>([=] {
      SumRowProducts(row * channels, rows, channels, x, mean, grad, scratch, scratch + channels);
      MILLSTREAM_INDEPENDENT_LOOP
      for (int64_t c = 0; c < 2 * channels; ++c) chunk[c] += static_cast<double>(scratch[c]);
      return 0;
    });
  });
  std::copy_n(totals.data(), channels, sums);
  std::copy_n(totals.data() + channels, channels, products);
}

template <typename Grad>
void ProductsOfLines(ThreadPool* pool, const NormView& v, const float* x, const float* mean, Grad grad, double* sums,
                     double* products) {
  std::fill_n(sums, v.channels, 0.0);
  std::fill_n(products, v.channels, 0.0);
  SumLineBlocks(pool, v, 0.2, [&](int64_t c, int64_t first, int64_t n) {
    const float m = mean[c];
    sums[c] += static_cast<double>(simd::Run<float>(
        [=] { return SumLine(n, [=](int64_t i) MILLSTREAM_INLINE_LAMBDA { return grad(first + i, c); }); }));
    products[c] += static_cast<double>(simd::Run<float>([=] {
      return SumLine(n, [=](int64_t i) MILLSTREAM_INLINE_LAMBDA { return grad(first + i, c) * (x[first + i] - m); });
    }));
  });
}

}  // namespace

void SumMoments(ThreadPool* pool, const NormView& v, const float* x, double* sums, double* squares) {
  return v.inner == 1 ? MomentsOfRows(pool, v, x, sums, squares) : MomentsOfLines(pool, v, x, sums, squares);
}

template <typename Grad>
void SumProducts(ThreadPool* pool, const NormView& v, const float* x, const float* mean, Grad grad, double* sums,
                 double* products) {
  return v.inner == 1 ? ProductsOfRows(pool, v, x, mean, grad, sums, products)
                      : ProductsOfLines(pool, v, x, mean, grad, sums, products);
}
template void SumProducts(ThreadPool*, const NormView&, const float*, const float*, PlainGradient, double*, double*);
template void SumProducts(ThreadPool*, const NormView&, const float*, const float*, ClampedGradient, double*, double*);

}  // namespace millstream
