// SPDX-License-Identifier: Apache-2.0
// Resampling one axis after the other: rows of the input to rows of the output's width, then sums of such rows.
#include <algorithm>
#include <cstring>

#include "millstream/math/simd.h"
#include "millstream/ops/image/taps.h"

namespace millstream {
namespace {

// Taps of elements of the input instead of the output.
Taps Transposed(const Taps& taps, int64_t in_size) {
  std::vector<int64_t> counts(static_cast<size_t>(in_size) + 1, 0);
  for (const int64_t source : taps.sources) ++counts[source + 1];
  Taps out;
  out.begins.assign(counts.begin(), counts.end());
  for (int64_t i = 0; i < in_size; ++i) out.begins[i + 1] += out.begins[i];
  out.sources.resize(taps.sources.size());
  out.weights.resize(taps.weights.size());
  std::vector<int64_t> next(out.begins.begin(), out.begins.end() - 1);
  for (int64_t i = 0; i < taps.size(); ++i) {
    for (int64_t k = taps.begins[i]; k < taps.begins[i + 1]; ++k) {
      const int64_t at = next[taps.sources[k]]++;
      out.sources[at] = i;
      out.weights[at] = taps.weights[k];
    }
  }
  return out;
}

// Pixels with a number of channels known to the compiler, elements with kTaps taps each.
template <int kChannels, int kTaps>
void ResampleRowFixed(const Taps& x, const float* from, float* to) {
  const int64_t* sources = x.sources.data();
  const float* weights = x.weights.data();
  for (int64_t j = 0, n = x.size(); j < n; ++j, to += kChannels, sources += kTaps, weights += kTaps) {
    float sum[kChannels] = {};
    for (int t = 0; t < kTaps; ++t) {
      const float* pixel = from + sources[t] * kChannels;
      for (int c = 0; c < kChannels; ++c) sum[c] += weights[t] * pixel[c];
    }
    for (int c = 0; c < kChannels; ++c) to[c] = sum[c];
  }
}

template <int kChannels>
void ResampleRowNarrow(const Taps& x, const float* from, float* to) {
  for (int64_t j = 0, n = x.size(); j < n; ++j, to += kChannels) {
    float sum[kChannels] = {};
    for (int64_t k = x.begins[j]; k < x.begins[j + 1]; ++k) {
      const float* pixel = from + x.sources[k] * kChannels;
      for (int c = 0; c < kChannels; ++c) sum[c] += x.weights[k] * pixel[c];
    }
    for (int c = 0; c < kChannels; ++c) to[c] = sum[c];
  }
}

// kLanes channels of one element, whose sums stay in a register.
template <int kLanes>
MILLSTREAM_ALWAYS_INLINE void ResampleLanes(const Taps& x, int64_t begin, int64_t end, int64_t channels,
                                            const float* from, float* to) {
  using V __attribute__((vector_size(kLanes * sizeof(float)))) = float;
  V sum = {};
  for (int64_t k = begin; k < end; ++k) {
    V pixel;
    std::memcpy(&pixel, from + x.sources[k] * channels, sizeof(V));
    sum += x.weights[k] * pixel;
  }
  std::memcpy(to, &sum, sizeof(V));
}

void ResampleRowWide(const Taps& x, int64_t channels, const float* from, float* to) {
  simd::Run<float>([=, &x]() MILLSTREAM_INLINE_LAMBDA {
    for (int64_t j = 0, n = x.size(); j < n; ++j) {
      const int64_t begin = x.begins[j], end = x.begins[j + 1];
      float* pixel = to + j * channels;
      int64_t c = 0;
      for (; c + 16 <= channels; c += 16) ResampleLanes<16>(x, begin, end, channels, from + c, pixel + c);
      for (; c + 4 <= channels; c += 4) ResampleLanes<4>(x, begin, end, channels, from + c, pixel + c);
      for (; c < channels; ++c) ResampleLanes<1>(x, begin, end, channels, from + c, pixel + c);
    }
  });
}

using RowFn = void (*)(const Taps& x, const float* from, float* to);

template <int kChannels>
RowFn NarrowRow(const Taps& x) {
  const auto all = [&x](int64_t taps) {
    for (int64_t j = 0; j < x.size(); ++j) {
      if (x.begins[j + 1] - x.begins[j] != taps) return false;
    }
    return true;
  };
  if (all(2)) return ResampleRowFixed<kChannels, 2>;
  if (all(4)) return ResampleRowFixed<kChannels, 4>;
  return ResampleRowNarrow<kChannels>;
}

// Resamples rows of pixels along x.
class RowResampler {
 public:
  RowResampler(const Taps& x, int64_t channels) : x_(x), channels_(channels) {
    if (channels == 1) narrow_ = NarrowRow<1>(x);
    if (channels == 2) narrow_ = NarrowRow<2>(x);
    if (channels == 3) narrow_ = NarrowRow<3>(x);
    if (channels == 4) narrow_ = NarrowRow<4>(x);
  }
  void Run(const float* from, float* to) const {
    if (narrow_ != nullptr) return narrow_(x_, from, to);
    ResampleRowWide(x_, channels_, from, to);
  }

 private:
  const Taps& x_;
  const int64_t channels_;
  RowFn narrow_ = nullptr;
};

// to = weight * row, or to += weight * row.
void AddRow(float weight, const float* row, bool first, int64_t n, float* to) {
  if (first) {
    simd::For<float>(0, n, [=](int64_t i) MILLSTREAM_INLINE_LAMBDA { to[i] = weight * row[i]; });
  } else {
    simd::For<float>(0, n, [=](int64_t i) MILLSTREAM_INLINE_LAMBDA { to[i] += weight * row[i]; });
  }
}

// to = a * x + b * y.
void AddTwoRows(float a, const float* x, float b, const float* y, int64_t n, float* to) {
  simd::For<float>(0, n, [=](int64_t i) MILLSTREAM_INLINE_LAMBDA { to[i] = a * x[i] + b * y[i]; });
}

// The rows of the input that were resampled last: neighbours in the output share them.
class ResampledRows {
 public:
  ResampledRows(const RowResampler& resampler, int64_t width) : resampler_(resampler), width_(width) {
    rows_.resize(static_cast<size_t>(kRows * width));
  }
  // The row that begins at `from`. Row number `key` of all images replaces the one kRows before it.
  const float* Get(int64_t key, const float* from) {
    float* row = rows_.data() + key % kRows * width_;
    if (keys_[key % kRows] != key) resampler_.Run(from, row);
    keys_[key % kRows] = key;
    return row;
  }

 private:
  static constexpr int64_t kRows = 4;  // what cubic interpolation reads
  const RowResampler& resampler_;
  const int64_t width_;
  std::vector<float> rows_;
  int64_t keys_[kRows] = {-1, -1, -1, -1};
};

double CostOfRow(const Taps& taps, int64_t channels) {
  return 0.4 * static_cast<double>(taps.weights.size()) * static_cast<double>(channels);
}

}  // namespace

void Resample(KernelContext& ctx, const ImageShape& in, const Taps& y, const Taps& x, const float* from, float* to) {
  const int64_t in_row = in.width * in.channels, row = x.size() * in.channels, height = y.size();
  const RowResampler resampler(x, in.channels);
  ctx.ParallelFor(in.batch * height, CostOfRow(x, in.channels), [&](int64_t begin, int64_t end) {
    ResampledRows rows(resampler, row);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t image = i / height, first = y.begins[i % height], last = y.begins[i % height + 1];
      float* out = to + i * row;
      if (first == last) std::fill_n(out, row, 0.0f);
      const auto row_of = [&](int64_t k) {
        const int64_t key = image * in.height + y.sources[k];
        return rows.Get(key, from + key * in_row);
      };
      if (last - first == 2) {
        const float *above = row_of(first), *below = row_of(first + 1);
        AddTwoRows(y.weights[first], above, y.weights[first + 1], below, row, out);
        continue;
      }
      for (int64_t k = first; k < last; ++k) AddRow(y.weights[k], row_of(k), k == first, row, out);
    }
  });
}

void ResampleBack(KernelContext& ctx, const ImageShape& in, const Taps& y, const Taps& x, const float* dy, float* dx) {
  const Taps y_back = Transposed(y, in.height), x_back = Transposed(x, in.width);
  const int64_t in_row = in.width * in.channels, row = x.size() * in.channels;
  const RowResampler resampler(x_back, in.channels);
  const double rows_per_row = static_cast<double>(y.weights.size()) / static_cast<double>(in.height);
  const double cost = CostOfRow(x, in.channels) + 0.1 * rows_per_row * static_cast<double>(row);
  ctx.ParallelFor(in.batch * in.height, cost, [&](int64_t begin, int64_t end) {
    std::vector<float> sum(static_cast<size_t>(row));
    for (int64_t i = begin; i < end; ++i) {
      const int64_t image = i / in.height, first = y_back.begins[i % in.height],
                    last = y_back.begins[i % in.height + 1];
      if (first == last) {
        std::fill_n(dx + i * in_row, in_row, 0.0f);
        continue;
      }
      for (int64_t k = first; k < last; ++k) {
        AddRow(y_back.weights[k], dy + (image * y.size() + y_back.sources[k]) * row, k == first, row, sum.data());
      }
      resampler.Run(sum.data(), dx + i * in_row);
    }
  });
}

}  // namespace millstream
