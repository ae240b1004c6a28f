// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/nn/fused_batch_norm.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "millstream/math/simd.h"
#include "millstream/ops/elements/as_float.h"

namespace millstream {
namespace {

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

Status CheckNormInputs(const NormView& v, const Tensor& scale, const Tensor& offset, const Tensor& mean,
                       const Tensor& variance, bool estimates) {
  RETURN_IF_ERROR(CheckVector("scale", scale, v.channels));
  RETURN_IF_ERROR(CheckVector("offset", offset, v.channels));
  if (!estimates) return OkStatus();
  RETURN_IF_ERROR(CheckVector("mean", mean, v.channels));
  return CheckVector("variance", variance, v.channels);
}

Status CheckNormGradInputs(const NormView& v, const Tensor& dy, const Tensor& x, const Tensor& scale,
                           const Tensor& mean, const Tensor& variance) {
  if (dy.shape() != x.shape()) {
    return errors::InvalidArgument("x and y_backprop must have same shape, but x has shape ", x.shape().ToString(),
                                   " and y_backprop has shape ", dy.shape().ToString());
  }
  RETURN_IF_ERROR(CheckVector("scale", scale, v.channels));
  RETURN_IF_ERROR(CheckVector("saved mean", mean, v.channels));
  return CheckVector("saved variance", variance, v.channels);
}

NormActivation NormActivation::Read(KernelInit& init) {
  const bool six = init.Attr<std::string>("activation") == "Relu6";
  return {0, six ? 6.0f : std::numeric_limits<float>::infinity()};
}

FusedBatchNorm::FusedBatchNorm(KernelInit& init, NormActivation activation)
    : epsilon_(init.Attr<float>("epsilon")),
      factor_(init.Attr<float>("exponential_avg_factor")),
      format_(init.Attr<std::string>("data_format")),
      training_(init.Attr<bool>("is_training")),
      activation_(activation) {}

Status FusedBatchNorm::Compute(KernelContext& ctx) {
  const Tensor& x = ctx.input(0);
  ASSIGN_OR_RETURN(const NormView v, ViewForNorm(x.shape(), format_));
  const bool estimates = !training_ || factor_ != 1.0f;
  RETURN_IF_ERROR(CheckNormInputs(v, ctx.input(1), ctx.input(2), ctx.input(3), ctx.input(4), estimates));
  if (ctx.num_inputs() > 5 && ctx.input(5).shape() != x.shape()) {
    return errors::InvalidArgument("side_input must have the shape of x, ", x.shape().ToString(), ", got ",
                                   ctx.input(5).shape().ToString());
  }
  ASSIGN_OR_RETURN(Tensor * y, ctx.num_inputs() > 5 ? ctx.ForwardOrAllocate({0, 5}, 0, x.shape())
                                                    : ctx.ForwardOrAllocate({0}, 0, x.shape()));
  float* stats[4];  // mean and variance to hand on, then those for the gradient
  for (int i = 0; i < 4; ++i) {
    ASSIGN_OR_RETURN(Tensor * t, ctx.AllocateOutput(i + 1, Shape({v.channels})));
    stats[i] = t->data<float>();
  }
  float* applied = nullptr;
  if (ctx.num_outputs() > 5) {
    const bool keeps = !activation_.is_identity();
    ASSIGN_OR_RETURN(Tensor * reserved, ctx.AllocateOutput(5, keeps ? Shape({2, v.channels}) : Shape()));
    std::fill_n(reserved->data<float>(), reserved->num_elements(), 0.0f);
    if (keeps) applied = reserved->data<float>();
  }
  if (x.num_elements() == 0) {  // what was given counts as little
    for (float* values : stats) std::fill_n(values, v.channels, std::nanf(""));
    return OkStatus();
  }
  ASSIGN_OR_RETURN(const Tensor wide, AsFloat(ctx, x));
  SetStatistics(ctx, v, wide.data<float>(), stats);
  return Normalize(ctx, v, wide, stats[2], stats[3], y, applied);
}

void FusedBatchNorm::SetStatistics(KernelContext& ctx, const NormView& v, const float* x, float* const* stats) const {
  const bool estimates = !training_ || factor_ != 1.0f;
  const float* mean_in = estimates ? ctx.input(3).data<float>() : nullptr;
  const float* variance_in = estimates ? ctx.input(4).data<float>() : nullptr;
  if (!training_) {
    for (const int i : {0, 2}) std::copy_n(mean_in, v.channels, stats[i]);
    for (const int i : {1, 3}) std::copy_n(variance_in, v.channels, stats[i]);
    return;
  }
  Moments(ctx, v, x, stats[2], stats[3]);
  const auto n = static_cast<float>(v.places());
  const float bessel = n > 1 ? n / (n - 1) : 1;
  for (int64_t c = 0; c < v.channels; ++c) {
    const float mean = stats[2][c], variance = stats[3][c] * bessel;
    stats[0][c] = estimates ? (1 - factor_) * mean_in[c] + factor_ * mean : mean;
    stats[1][c] = estimates ? (1 - factor_) * variance_in[c] + factor_ * variance : variance;
  }
}

void FusedBatchNorm::Moments(KernelContext& ctx, const NormView& v, const float* x, float* mean, float* variance) {
  std::vector<double> sums(v.channels), squares(v.channels);
  const auto n = static_cast<double>(v.places());
  SumMoments(ctx.pool(), v, x, sums.data(), squares.data());
  for (int64_t c = 0; c < v.channels; ++c) {
    mean[c] = static_cast<float>(sums[c] / n);
    variance[c] = static_cast<float>(squares[c] / n);
  }
}

Status FusedBatchNorm::Normalize(KernelContext& ctx, const NormView& v, const Tensor& wide, const float* mean,
                                 const float* variance, Tensor* y, float* applied) const {
  const float *scale = ctx.input(1).data<float>(), *offset = ctx.input(2).data<float>(), *x = wide.data<float>();
  std::vector<float> slope(v.channels);
  for (int64_t c = 0; c < v.channels; ++c) slope[c] = scale[c] / std::sqrt(variance[c] + epsilon_);
  if (applied != nullptr) {
    std::copy_n(slope.data(), v.channels, applied);
    std::copy_n(offset, v.channels, applied + v.channels);
  }
  ASSIGN_OR_RETURN(Tensor out, FloatFor(ctx, y));
  float* to = out.data<float>();
  const float *s = slope.data(), low = activation_.low, high = activation_.high;
  // The comparisons are such that NaN stays NaN.
  const auto clamp = [=](float z) MILLSTREAM_INLINE_LAMBDA {
    z = z < low ? low : z;
    return z > high ? high : z;
  };
  if (ctx.num_inputs() > 5) {
    ASSIGN_OR_RETURN(const Tensor wide_side, AsFloat(ctx, ctx.input(5)));
    const float* side = wide_side.data<float>();
    ForElements(ctx, v, [=](int64_t i, int64_t c) MILLSTREAM_INLINE_LAMBDA {
      to[i] = clamp((x[i] - mean[c]) * s[c] + offset[c] + side[i]);
    });
  } else if (activation_.is_identity()) {
    ForElements(ctx, v,
                [=](int64_t i, int64_t c) MILLSTREAM_INLINE_LAMBDA { to[i] = (x[i] - mean[c]) * s[c] + offset[c]; });
  } else {
    ForElements(ctx, v, [=](int64_t i, int64_t c) MILLSTREAM_INLINE_LAMBDA {
      to[i] = clamp((x[i] - mean[c]) * s[c] + offset[c]);
    });
  }
  StoreFloat(ctx, out, y);
  return OkStatus();
}

FusedBatchNormGrad::FusedBatchNormGrad(KernelInit& init, NormActivation activation)
    : epsilon_(init.Attr<float>("epsilon")),
      format_(init.Attr<std::string>("data_format")),
      training_(init.Attr<bool>("is_training")),
      activation_(activation) {}

Status FusedBatchNormGrad::CheckInputs(KernelContext& ctx, const NormView& v) const {
  RETURN_IF_ERROR(CheckNormGradInputs(v, ctx.input(0), ctx.input(1), ctx.input(2), ctx.input(3), ctx.input(4)));
  if (activation_.is_identity() || ctx.input(5).shape() == Shape({2, v.channels})) return OkStatus();
  return errors::InvalidArgument("applied must have two rows of ", v.channels, " values, got ",
                                 ctx.input(5).shape().ToString());
}

Status FusedBatchNormGrad::Compute(KernelContext& ctx) {
  const Tensor &dy = ctx.input(0), &x = ctx.input(1);
  ASSIGN_OR_RETURN(const NormView v, ViewForNorm(x.shape(), format_));
  RETURN_IF_ERROR(CheckInputs(ctx, v));
  ASSIGN_OR_RETURN(Tensor * dx, ctx.AllocateOutput(0, x.shape()));
  for (int i = 1; i < 3; ++i) {
    ASSIGN_OR_RETURN(Tensor * t, ctx.AllocateOutput(i, Shape({v.channels})));
    std::fill_n(t->data<float>(), v.channels, 0.0f);
  }
  for (int i = 3; i < 5; ++i) RETURN_IF_ERROR(ctx.AllocateOutput(i, Shape({0})).status());
  if (x.num_elements() == 0) return OkStatus();  // whatever mean and variance are
  ASSIGN_OR_RETURN(const Tensor wide_dy, AsFloat(ctx, dy));
  ASSIGN_OR_RETURN(const Tensor wide_x, AsFloat(ctx, x));
  ASSIGN_OR_RETURN(Tensor result, FloatFor(ctx, dx));
  const float *g = wide_dy.data<float>(), *from = wide_x.data<float>();
  if (activation_.is_identity()) {
    Backprop(ctx, v, from, PlainGradient{g}, result.data<float>());
  } else {
    const float* applied = ctx.input(5).data<float>();
    const float end = std::isinf(activation_.high) ? std::nanf("") : activation_.high;
    Backprop(ctx, v, from, ClampedGradient{g, from, ctx.input(3).data<float>(), applied, applied + v.channels, end},
             result.data<float>());
  }
  StoreFloat(ctx, result, dx);
  return OkStatus();
}

template <typename Grad>
void FusedBatchNormGrad::Backprop(KernelContext& ctx, const NormView& v, const float* x, Grad grad, float* dx) const {
  const float *scale = ctx.input(2).data<float>(), *m = ctx.input(3).data<float>();
  const float* variance = ctx.input(4).data<float>();
  float *dscale = ctx.output(1)->data<float>(), *doffset = ctx.output(2)->data<float>();
  std::vector<double> sums(v.channels), products(v.channels);
  SumProducts(ctx.pool(), v, x, m, grad, sums.data(), products.data());
  // dx = slope * (dy - mean(dy) - (x - mean) * mean(dy * (x - mean)) / (variance + epsilon)); without the means where
  // mean and variance did not come from this batch.
  std::vector<float> slope(v.channels), mean_dy(v.channels), mean_product(v.channels);
  const auto n = static_cast<double>(v.places());
  for (int64_t c = 0; c < v.channels; ++c) {
    const double spread = static_cast<double>(variance[c]) + static_cast<double>(epsilon_);
    dscale[c] = static_cast<float>(products[c] / std::sqrt(spread));
    doffset[c] = static_cast<float>(sums[c]);
    slope[c] = static_cast<float>(static_cast<double>(scale[c]) / std::sqrt(spread));
    if (!training_) continue;
    mean_dy[c] = static_cast<float>(sums[c] / n);
    mean_product[c] = static_cast<float>(products[c] / n / spread);
  }
  const float *s = slope.data(), *md = mean_dy.data(), *mp = mean_product.data();
  if (training_) {
    ForElements(ctx, v, [=](int64_t i, int64_t c) MILLSTREAM_INLINE_LAMBDA {
      dx[i] = s[c] * (grad(i, c) - md[c] - (x[i] - m[c]) * mp[c]);
    });
  } else {
    ForElements(ctx, v, [=](int64_t i, int64_t c) MILLSTREAM_INLINE_LAMBDA { dx[i] = s[c] * grad(i, c); });
  }
}

}  // namespace millstream
