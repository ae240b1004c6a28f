// SPDX-License-Identifier: Apache-2.0
// Normalization by given moments in one op, as graphs before version 9 have it.
#include <cmath>
#include <vector>

#include "millstream/framework/op.h"
#include "millstream/graph/gradients/gradient.h"

namespace millstream {
namespace {

// Checks of op and gradient: images, and vectors of the length of their channels in inputs 1 to 3 (and 4, unless that
// is a gradient).
Status CheckMoments(const KernelContext& ctx, int vectors) {
  const char* const names[] = {"input", "mean", "var", vectors == 4 ? "beta" : "gamma", "gamma"};
  const Tensor& images = ctx.input(0);
  if (images.rank() != 4) return errors::InvalidArgument("input must be 4-dimensional", images.shape().ToString());
  for (int i = 1; i <= vectors; ++i) {
    const Tensor& t = ctx.input(i);
    if (t.rank() != 1) return errors::InvalidArgument(names[i], " must be 1-dimensional", t.shape().ToString());
    if (t.dim(0) == images.dim(3)) continue;
    return errors::InvalidArgument(names[i], " must have as many elements as there are channels: ", t.dim(0), " vs. ",
                                   images.dim(3));
  }
  return OkStatus();
}

template <typename T>
class BatchNormGlobal final : public Kernel {
 public:
  explicit BatchNormGlobal(KernelInit& init)
      : epsilon_(init.Attr<float>("variance_epsilon")), scale_(init.Attr<bool>("scale_after_normalization")) {}

  Status Compute(KernelContext& ctx) override {
    RETURN_IF_ERROR(CheckMoments(ctx, 4));
    const Tensor& images = ctx.input(0);
    ASSIGN_OR_RETURN(Tensor * out, ctx.ForwardOrAllocate({0}, 0, images.shape()));
    const int64_t channels = images.dim(3);
    std::vector<double> factor(static_cast<size_t>(channels)), shift(factor.size());
    const auto at = [&](int i, int64_t c) { return static_cast<double>(ctx.input(i).template data<T>()[c]); };
    for (int64_t c = 0; c < channels; ++c) {
      factor[c] = (scale_ ? at(4, c) : 1.0) / std::sqrt(at(2, c) + epsilon_);
      shift[c] = at(3, c) - at(1, c) * factor[c];
    }
    const T* from = images.data<T>();
    T* to = out->data<T>();
    for (int64_t i = 0; i < images.num_elements(); i += channels) {
      for (int64_t c = 0; c < channels; ++c) {
        to[i + c] = static_cast<T>(static_cast<double>(from[i + c]) * factor[c] + shift[c]);
      }
    }
    return OkStatus();
  }

 private:
  const double epsilon_;
  const bool scale_;
};

// Inputs: images, mean, variance, gamma, gradient. Outputs: gradients of images, mean, variance, beta, gamma.
template <typename T>
class BatchNormGlobalGrad final : public Kernel {
 public:
  explicit BatchNormGlobalGrad(KernelInit& init)
      : epsilon_(init.Attr<float>("variance_epsilon")), scale_(init.Attr<bool>("scale_after_normalization")) {}

  Status Compute(KernelContext& ctx) override {
    RETURN_IF_ERROR(CheckMoments(ctx, 3));
    const Tensor &images = ctx.input(0), &grad = ctx.input(4);
    if (!(grad.shape() == images.shape())) {
      return errors::InvalidArgument("out_backprop must have the shape of the input: ", grad.shape().ToString(),
                                     " vs. ", images.shape().ToString());
    }
    ASSIGN_OR_RETURN(Tensor * dx, ctx.AllocateOutput(0, images.shape()));
    T* vectors[5] = {};
    for (int i = 1; i < 5; ++i) {
      ASSIGN_OR_RETURN(Tensor * t, ctx.AllocateOutput(i, ctx.input(1).shape()));
      vectors[i] = t->data<T>();
    }
    const int64_t channels = images.dim(3), n = images.num_elements();
    const T *x = images.data<T>(), *dy = grad.data<T>();
    for (int64_t c = 0; c < channels; ++c) {
      const auto at = [&](int i) { return static_cast<double>(ctx.input(i).template data<T>()[c]); };
      const double mean = at(1), variance = at(2) + epsilon_, root = 1 / std::sqrt(variance);
      const double factor = scale_ ? at(3) * root : root;
      double sum = 0, moment = 0;
      for (int64_t i = c; i < n; i += channels) {
        const auto g = static_cast<double>(dy[i]);
        sum += g;
        moment += g * (static_cast<double>(x[i]) - mean);
        dx->data<T>()[i] = static_cast<T>(g * factor);
      }
      vectors[1][c] = static_cast<T>(-sum * factor);
      vectors[2][c] = static_cast<T>(-0.5 * moment * factor / variance);
      vectors[3][c] = static_cast<T>(sum);
      vectors[4][c] = static_cast<T>(scale_ ? moment * root : 0.0);
    }
    return OkStatus();
  }

 private:
  const double epsilon_;
  const bool scale_;
};

Status NormShape(ShapeContext& c) {
  PartialShape images;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 4, &images));
  int64_t channels = images.dim(3);
  for (int i = 1; i < 5; ++i) {
    PartialShape vector;
    RETURN_IF_ERROR(ShapeContext::WithRank(c.input(i), 1, &vector));
    RETURN_IF_ERROR(ShapeContext::MergeDim(channels, vector.dim(0), &channels));
  }
  images.set_dim(3, channels);
  c.set_output(0, std::move(images));
  return OkStatus();
}

Status NormGradShape(ShapeContext& c) {
  PartialShape images;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 4, &images));
  ASSIGN_OR_RETURN(images, images.MergeWith(c.input(4)));
  int64_t channels = images.dim(3);
  for (int i = 1; i < 4; ++i) {
    PartialShape vector;
    RETURN_IF_ERROR(ShapeContext::WithRank(c.input(i), 1, &vector));
    RETURN_IF_ERROR(ShapeContext::MergeDim(channels, vector.dim(0), &channels));
  }
  images.set_dim(3, channels);
  c.set_output(0, std::move(images));
  for (int i = 1; i < 5; ++i) c.set_output(i, PartialShape({channels}));
  return OkStatus();
}

Status NormGradient(GradContext& g) {
  Node* node =
      g.scope().Add("BatchNormWithGlobalNormalizationGrad", {g.input(0), g.input(1), g.input(2), g.input(4), g.dy(0)},
                    {{"variance_epsilon", g.Attr<float>("variance_epsilon")},
                     {"scale_after_normalization", g.Attr<bool>("scale_after_normalization")}});
  for (int i = 0; node != nullptr && i < 5; ++i) g.set_dx(i, Output(node, i));
  return g.status();
}

void MomentsAttrs(OpBuilder& op) {
  op.Attr("T: numbertype").Attr("variance_epsilon: float").Attr("scale_after_normalization: bool");
}

OP("BatchNormWithGlobalNormalization")
    .Input("t: T")
    .Input("m: T")
    .Input("v: T")
    .Input("beta: T")
    .Input("gamma: T")
    .Output("result: T")
    .With(MomentsAttrs)
    .Shape(NormShape)
    .Gradient(NormGradient)
    .Cpu<BatchNormGlobal>(Types<float, double, Half>{})
    .Doc("Normalizes images by given means and variances of their channels.");

OP("BatchNormWithGlobalNormalizationGrad")
    .Input("t: T")
    .Input("m: T")
    .Input("v: T")
    .Input("gamma: T")
    .Input("backprop: T")
    .Output("dx: T")
    .Output("dm: T")
    .Output("dv: T")
    .Output("db: T")
    .Output("dg: T")
    .With(MomentsAttrs)
    .Shape(NormGradShape)
    .Cpu<BatchNormGlobalGrad>(Types<float, double, Half>{})
    .Doc("The gradients of BatchNormWithGlobalNormalization.");

}  // namespace
}  // namespace millstream
