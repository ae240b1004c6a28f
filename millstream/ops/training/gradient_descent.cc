// SPDX-License-Identifier: Apache-2.0
#include "millstream/math/update.h"
#include "millstream/ops/training/update_op.h"

namespace millstream {
namespace {

template <typename T>
class GradientDescent {
 public:
  explicit GradientDescent(KernelInit& init) : alpha_(init, "alpha") {}
  StatusOr<math::Hyper<T>> Read(const KernelContext& ctx) const {
    math::Hyper<T> alpha = {};
    RETURN_IF_ERROR(alpha_.Read<T>(ctx, &alpha));
    return alpha;
  }
  static void Apply(math::Hyper<T> alpha, const T* grad, const std::array<T*, 4>& v, int64_t n, ThreadPool* pool) {
    math::ApplyGradientDescent<T>(alpha, grad, v[0], n, pool);
  }

 private:
  const ScalarInput alpha_;
};

// Steps towards smaller l1 and l2 norms too.
template <typename T>
class ProximalGradientDescent {
 public:
  using Options = math::ProximalOptions<T>;
  explicit ProximalGradientDescent(KernelInit& init) : alpha_(init, "alpha"), l1_(init, "l1"), l2_(init, "l2") {}
  StatusOr<Options> Read(const KernelContext& ctx) const {
    Options o = {};
    RETURN_IF_ERROR(alpha_.Read<T>(ctx, &o.lr));
    RETURN_IF_ERROR(l1_.Read<T>(ctx, &o.l1));
    RETURN_IF_ERROR(l2_.Read<T>(ctx, &o.l2));
    return o;
  }
  static void Apply(const Options& o, const T* grad, const std::array<T*, 4>& v, int64_t n, ThreadPool* pool) {
    math::ApplyProximalGradientDescent<T>(o, grad, v[0], n, pool);
  }

 private:
  const ScalarInput alpha_, l1_, l2_;
};

const UpdateSpec kGradientDescent = {.name = "GradientDescent",
                                     .variables = {"var"},
                                     .inputs = {"alpha", "grad"},
                                     .doc = "var -= alpha * delta",
                                     .dense_grad = "delta"};
const UpdateSpec kProximal = {.name = "ProximalGradientDescent",
                              .variables = {"var"},
                              .inputs = {"alpha", "l1", "l2", "grad", "indices"},
                              .doc =
                                  "Gradient descent with l1 and l2 penalties, by forward-backward "
                                  "splitting.",
                              .dense_grad = "delta"};

[[maybe_unused]] const auto kOps = UpdateOps<GradientDescent>().Dense(kGradientDescent, FloatAndComplexTypes{});
[[maybe_unused]] const auto kProximalOps = UpdateOps<ProximalGradientDescent>()
                                               .Dense(kProximal, Types<float, double>{})
                                               .Sparse(kProximal, Types<float, double>{});

}  // namespace
}  // namespace millstream
