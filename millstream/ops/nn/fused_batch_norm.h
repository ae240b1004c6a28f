// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_NN_FUSED_BATCH_NORM_H_
#define MILLSTREAM_OPS_NN_FUSED_BATCH_NORM_H_

#include <string>

#include "millstream/framework/op.h"

// Batch normalisation: x of any 16-bit or 32-bit float type, statistics in float, sums in double.
namespace millstream {

// Images seen as [outer, channels, inner]; inner is 1 when channels come last.
struct NormView {
  int64_t outer, channels, inner;
  int64_t places() const { return outer * inner; }  // values of each channel
};
// `format` is "NHWC", "NCHW", "NDHWC" or "NCDHW".
StatusOr<NormView> ViewForNorm(const Shape& x, const std::string& format);

// Inputs: x, scale, offset, estimated mean and variance. Outputs: y, mean and variance to hand on, mean and variance of
// the batch for the gradient, and in version 3 something unused.
class FusedBatchNorm final : public Kernel {
 public:
  explicit FusedBatchNorm(KernelInit& init);
  Status Compute(KernelContext& ctx) override;

 private:
  static void Moments(KernelContext& ctx, const NormView& v, const float* x, float* mean, float* variance);
  Status Normalize(KernelContext& ctx, const NormView& v, const Tensor& wide, const float* mean, const float* variance,
                   Tensor* y) const;

  const float epsilon_, factor_;
  const std::string format_;
  const bool training_;
};

// Inputs: gradient of y, x, scale, mean and variance. Outputs: gradients of x, scale and offset; two empty ones.
class FusedBatchNormGrad final : public Kernel {
 public:
  explicit FusedBatchNormGrad(KernelInit& init);
  Status Compute(KernelContext& ctx) override;

 private:
  const float epsilon_;
  const std::string format_;
  const bool training_;
};

}  // namespace millstream

#endif  // MILLSTREAM_OPS_NN_FUSED_BATCH_NORM_H_
