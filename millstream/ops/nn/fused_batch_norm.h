// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_NN_FUSED_BATCH_NORM_H_
#define MILLSTREAM_OPS_NN_FUSED_BATCH_NORM_H_

#include <limits>
#include <string>

#include "millstream/framework/op.h"
#include "millstream/ops/nn/channel_sums.h"

// Batch normalisation: x of any 16-bit or 32-bit float type, statistics in float; how they are summed: channel_sums.h.
namespace millstream {

// `format` is "NHWC", "NCHW", "NDHWC" or "NCDHW".
StatusOr<NormView> ViewForNorm(const Shape& x, const std::string& format);

// InvalidArgument unless all of them have one value for each channel; `mean` and `variance` only if `estimates`.
Status CheckNormInputs(const NormView& v, const Tensor& scale, const Tensor& offset, const Tensor& mean,
                       const Tensor& variance, bool estimates);
Status CheckNormGradInputs(const NormView& v, const Tensor& dy, const Tensor& x, const Tensor& scale,
                           const Tensor& mean, const Tensor& variance);

// What follows a normalization in the same pass over memory: a clamp, which is the identity by default.
struct NormActivation {
  float low = -std::numeric_limits<float>::infinity(), high = std::numeric_limits<float>::infinity();

  // Of the attribute `activation`.
  static NormActivation Read(KernelInit& init);
  bool is_identity() const { return low != 0; }
};

// Inputs: x, scale, offset, estimated mean and variance; with an activation perhaps an image that is added before it.
// Outputs: y, mean and variance to hand on, mean and variance of the batch for the gradient; in version 3 something
// unused, with an activation the slopes and offsets that were applied, as rows of a matrix.
class FusedBatchNorm : public Kernel {
 public:
  explicit FusedBatchNorm(KernelInit& init) : FusedBatchNorm(init, {}) {}
  Status Compute(KernelContext& ctx) override;

 protected:
  FusedBatchNorm(KernelInit& init, NormActivation activation);

 private:
  static void Moments(KernelContext& ctx, const NormView& v, const float* x, float* mean, float* variance);
  void SetStatistics(KernelContext& ctx, const NormView& v, const float* x, float* const* stats) const;
  Status Normalize(KernelContext& ctx, const NormView& v, const Tensor& wide, const float* mean, const float* variance,
                   Tensor* y, float* applied) const;

  const float epsilon_, factor_;
  const std::string format_;
  const bool training_;
  const NormActivation activation_;
};

class FusedBatchNormActivation final : public FusedBatchNorm {
 public:
  explicit FusedBatchNormActivation(KernelInit& init) : FusedBatchNorm(init, NormActivation::Read(init)) {}
};

// Inputs: gradient of y, x, scale, mean and variance; with an activation the last output of the forward op. Outputs:
// gradients of x, scale and offset; two empty ones.
class FusedBatchNormGrad : public Kernel {
 public:
  explicit FusedBatchNormGrad(KernelInit& init) : FusedBatchNormGrad(init, {}) {}
  Status Compute(KernelContext& ctx) override;

 protected:
  FusedBatchNormGrad(KernelInit& init, NormActivation activation);

 private:
  Status CheckInputs(KernelContext& ctx, const NormView& v) const;
  // `grad(i, c)` is the gradient at element i of channel c, before the activation.
  template <typename Grad>
  void Backprop(KernelContext& ctx, const NormView& v, const float* x, Grad grad, float* dx) const;

  const float epsilon_;
  const std::string format_;
  const bool training_;
  const NormActivation activation_;
};

class FusedBatchNormActivationGrad final : public FusedBatchNormGrad {
 public:
  explicit FusedBatchNormActivationGrad(KernelInit& init) : FusedBatchNormGrad(init, NormActivation::Read(init)) {}
};

}  // namespace millstream

#endif  // MILLSTREAM_OPS_NN_FUSED_BATCH_NORM_H_
