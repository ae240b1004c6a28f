// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/nn/fused_batch_norm.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "millstream/math/simd.h"
#include "millstream/ops/elements/as_float.h"

namespace millstream {
namespace {

// Sums of fn(element, channel) over all elements of each channel, in double.
template <typename Fn>
void SumChannels(KernelContext& ctx, const NormView& v, double cost, Fn fn, double* sums) {
  if (v.inner != 1) {
    ctx.ParallelFor(v.channels, cost * static_cast<double>(v.places()), [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) {
        double sum = 0;
        for (int64_t o = 0; o < v.outer; ++o) {
          const int64_t at = (o * v.channels + c) * v.inner;
          for (int64_t i = 0; i < v.inner; ++i) sum += fn(at + i, c);
        }
        sums[c] = sum;
      }
    });
    return;
  }
  // Channels are last: strips of them, so that every thread reads whole cache lines.
  constexpr int64_t kStrip = 16;
  std::fill_n(sums, v.channels, 0.0);
  ctx.ParallelFor(
      v.channels, cost * static_cast<double>(v.outer),
      [&](int64_t begin, int64_t end) {
        simd::Run<float>([=] {
          for (int64_t o = 0; o < v.outer; ++o) {
            const int64_t at = o * v.channels;
            MILLSTREAM_INDEPENDENT_LOOP
            for (int64_t c = begin; c < end; ++c) sums[c] += fn(at + c, c);
          }
          return 0;
        });
      },
      kStrip);
}

// Calls fn(element, channel) for every element.
template <typename Fn>
void ForElements(KernelContext& ctx, const NormView& v, Fn fn) {
  const bool last = v.inner == 1;
  const int64_t rows = last ? v.outer : v.outer * v.channels, width = last ? v.channels : v.inner;
  ctx.ParallelFor(rows, 0.3 * static_cast<double>(width), [&](int64_t begin, int64_t end) {
    simd::Run<float>([=] {
      for (int64_t row = begin; row < end; ++row) {
        const int64_t at = row * width, channel = last ? 0 : row % v.channels;
        if (last) {
          MILLSTREAM_INDEPENDENT_LOOP
          for (int64_t c = 0; c < width; ++c) fn(at + c, c);
        } else {
          MILLSTREAM_INDEPENDENT_LOOP
          for (int64_t i = 0; i < width; ++i) fn(at + i, channel);
        }
      }
      return 0;
    });
  });
}

Status CheckVector(const char* what, const Tensor& t, int64_t channels) {
  if (t.rank() == 1 && t.dim(0) == channels) return OkStatus();
  return errors::InvalidArgument(what, " must be 1-dimensional with as many values as x has channels (", channels,
                                 "), got ", t.shape().ToString());
}

}  // namespace

StatusOr<NormView> ViewForNorm(const Shape& x, const std::string& format) {
  const int rank = static_cast<int>(format.size());
  if (x.rank() != rank) {
    return errors::InvalidArgument("input must be ", rank, "-dimensional, got ", x.ToString());
  }
  const int c = static_cast<int>(format.find('C'));
  return NormView{x.Product(0, c), x.dim(c), x.Product(c + 1, rank)};
}

FusedBatchNorm::FusedBatchNorm(KernelInit& init)
    : epsilon_(init.Attr<float>("epsilon")),
      factor_(init.Attr<float>("exponential_avg_factor")),
      format_(init.Attr<std::string>("data_format")),
      training_(init.Attr<bool>("is_training")) {}

Status FusedBatchNorm::Compute(KernelContext& ctx) {
  const Tensor &x = ctx.input(0), &scale = ctx.input(1), &offset = ctx.input(2);
  ASSIGN_OR_RETURN(const NormView v, ViewForNorm(x.shape(), format_));
  RETURN_IF_ERROR(CheckVector("scale", scale, v.channels));
  RETURN_IF_ERROR(CheckVector("offset", offset, v.channels));
  const bool estimates = !training_ || factor_ != 1.0f;
  if (estimates) {
    RETURN_IF_ERROR(CheckVector("mean", ctx.input(3), v.channels));
    RETURN_IF_ERROR(CheckVector("variance", ctx.input(4), v.channels));
  }
  const float* mean_in = estimates ? ctx.input(3).data<float>() : nullptr;
  const float* variance_in = estimates ? ctx.input(4).data<float>() : nullptr;
  ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, x.shape()));
  float* stats[4];  // mean and variance to hand on, then those for the gradient
  for (int i = 0; i < 4; ++i) {
    ASSIGN_OR_RETURN(Tensor * t, ctx.AllocateOutput(i + 1, Shape({v.channels})));
    stats[i] = t->data<float>();
  }
  if (ctx.num_outputs() > 5) {
    ASSIGN_OR_RETURN(Tensor * reserved, ctx.AllocateOutput(5, Shape()));
    reserved->data<float>()[0] = 0;
  }
  if (x.num_elements() == 0) {  // what was given counts as little
    for (float* values : stats) std::fill_n(values, v.channels, std::nanf(""));
    return OkStatus();
  }
  ASSIGN_OR_RETURN(const Tensor wide, AsFloat(ctx, x));
  if (training_) {
    Moments(ctx, v, wide.data<float>(), stats[2], stats[3]);
    const auto n = static_cast<float>(v.places());
    const float bessel = n > 1 ? n / (n - 1) : 1;
    for (int64_t c = 0; c < v.channels; ++c) {
      const float mean = stats[2][c], variance = stats[3][c] * bessel;
      stats[0][c] = estimates ? (1 - factor_) * mean_in[c] + factor_ * mean : mean;
      stats[1][c] = estimates ? (1 - factor_) * variance_in[c] + factor_ * variance : variance;
    }
  } else {
    for (const int i : {0, 2}) std::copy_n(mean_in, v.channels, stats[i]);
    for (const int i : {1, 3}) std::copy_n(variance_in, v.channels, stats[i]);
  }
  return Normalize(ctx, v, wide, stats[2], stats[3], y);
}

void FusedBatchNorm::Moments(KernelContext& ctx, const NormView& v, const float* x, float* mean, float* variance) {
  std::vector<double> sums(v.channels);
  const auto n = static_cast<double>(v.places());
  SumChannels(
      ctx, v, 0.5, [=](int64_t i, int64_t) MILLSTREAM_INLINE_LAMBDA { return static_cast<double>(x[i]); }, sums.data());
  std::vector<double> means(v.channels);
  for (int64_t c = 0; c < v.channels; ++c) {
    means[c] = sums[c] / n;
    mean[c] = static_cast<float>(means[c]);
  }
  const double* m = means.data();
  SumChannels(
      ctx, v, 0.7,
      [=](int64_t i, int64_t c) MILLSTREAM_INLINE_LAMBDA {
        const double d = static_cast<double>(x[i]) - m[c];
        return d * d;
      },
      sums.data());
  for (int64_t c = 0; c < v.channels; ++c) variance[c] = static_cast<float>(sums[c] / n);
}

Status FusedBatchNorm::Normalize(KernelContext& ctx, const NormView& v, const Tensor& wide, const float* mean,
                                 const float* variance, Tensor* y) const {
  const float *scale = ctx.input(1).data<float>(), *offset = ctx.input(2).data<float>(), *x = wide.data<float>();
  std::vector<float> slope(v.channels);
  for (int64_t c = 0; c < v.channels; ++c) slope[c] = scale[c] / std::sqrt(variance[c] + epsilon_);
  ASSIGN_OR_RETURN(Tensor out, FloatFor(ctx, y));
  float* to = out.data<float>();
  const float* s = slope.data();
  ForElements(ctx, v,
              [=](int64_t i, int64_t c) MILLSTREAM_INLINE_LAMBDA { to[i] = (x[i] - mean[c]) * s[c] + offset[c]; });
  StoreFloat(ctx, out, y);
  return OkStatus();
}

FusedBatchNormGrad::FusedBatchNormGrad(KernelInit& init)
    : epsilon_(init.Attr<float>("epsilon")),
      format_(init.Attr<std::string>("data_format")),
      training_(init.Attr<bool>("is_training")) {}

Status FusedBatchNormGrad::Compute(KernelContext& ctx) {
  const Tensor &dy = ctx.input(0), &x = ctx.input(1), &scale = ctx.input(2), &mean = ctx.input(3),
               &variance = ctx.input(4);
  ASSIGN_OR_RETURN(const NormView v, ViewForNorm(x.shape(), format_));
  if (dy.shape() != x.shape()) {
    return errors::InvalidArgument("x and y_backprop must have same shape, but x has shape ", x.shape().ToString(),
                                   " and y_backprop has shape ", dy.shape().ToString());
  }
  RETURN_IF_ERROR(CheckVector("scale", scale, v.channels));
  RETURN_IF_ERROR(CheckVector("saved mean", mean, v.channels));
  RETURN_IF_ERROR(CheckVector("saved variance", variance, v.channels));
  ASSIGN_OR_RETURN(Tensor * dx, ctx.AllocateOutput(0, x.shape()));
  ASSIGN_OR_RETURN(Tensor * dscale, ctx.AllocateOutput(1, Shape({v.channels})));
  ASSIGN_OR_RETURN(Tensor * doffset, ctx.AllocateOutput(2, Shape({v.channels})));
  for (int i = 3; i < 5; ++i) RETURN_IF_ERROR(ctx.AllocateOutput(i, Shape({0})).status());
  if (x.num_elements() == 0) {  // whatever mean and variance are
    for (Tensor* t : {dscale, doffset}) std::fill_n(t->data<float>(), v.channels, 0.0f);
    return OkStatus();
  }
  ASSIGN_OR_RETURN(const Tensor wide_dy, AsFloat(ctx, dy));
  ASSIGN_OR_RETURN(const Tensor wide_x, AsFloat(ctx, x));
  ASSIGN_OR_RETURN(Tensor result, FloatFor(ctx, dx));
  const float *g = wide_dy.data<float>(), *from = wide_x.data<float>(), *m = mean.data<float>();
  std::vector<double> sums(v.channels), products(v.channels);
  SumChannels(
      ctx, v, 0.5, [=](int64_t i, int64_t) MILLSTREAM_INLINE_LAMBDA { return static_cast<double>(g[i]); }, sums.data());
  SumChannels(
      ctx, v, 0.7,
      [=](int64_t i, int64_t c) MILLSTREAM_INLINE_LAMBDA {
        return static_cast<double>(g[i]) * (static_cast<double>(from[i]) - static_cast<double>(m[c]));
      },
      products.data());
  // dx = slope * (dy - mean(dy) - (x - mean) * mean(dy * (x - mean)) / (variance + epsilon)); without the means where
  // mean and variance did not come from this batch.
  std::vector<float> slope(v.channels), mean_dy(v.channels), mean_product(v.channels);
  const auto n = static_cast<double>(v.places());
  for (int64_t c = 0; c < v.channels; ++c) {
    const double spread = static_cast<double>(variance.data<float>()[c]) + static_cast<double>(epsilon_);
    dscale->data<float>()[c] = static_cast<float>(products[c] / std::sqrt(spread));
    doffset->data<float>()[c] = static_cast<float>(sums[c]);
    slope[c] = static_cast<float>(static_cast<double>(scale.data<float>()[c]) / std::sqrt(spread));
    if (!training_) continue;
    mean_dy[c] = static_cast<float>(sums[c] / n);
    mean_product[c] = static_cast<float>(products[c] / n / spread);
  }
  float* to = result.data<float>();
  const float *s = slope.data(), *md = mean_dy.data(), *mp = mean_product.data();
  if (training_) {
    ForElements(ctx, v, [=](int64_t i, int64_t c) MILLSTREAM_INLINE_LAMBDA {
      to[i] = s[c] * (g[i] - md[c] - (from[i] - m[c]) * mp[c]);
    });
  } else {
    ForElements(ctx, v, [=](int64_t i, int64_t c) MILLSTREAM_INLINE_LAMBDA { to[i] = s[c] * g[i]; });
  }
  StoreFloat(ctx, result, dx);
  return OkStatus();
}

}  // namespace millstream
