// SPDX-License-Identifier: Apache-2.0
#include "millstream/math/update.h"
#include "millstream/ops/training/update_op.h"

namespace millstream {
namespace {

template <typename T>
class ProximalAdagrad {
 public:
  using Options = math::ProximalOptions<T>;
  explicit ProximalAdagrad(KernelInit& init) : lr_(init, "lr"), l1_(init, "l1"), l2_(init, "l2") {}
  StatusOr<Options> Read(const KernelContext& ctx) const {
    Options o = {};
    RETURN_IF_ERROR(lr_.Read<T>(ctx, &o.lr));
    RETURN_IF_ERROR(l1_.Read<T>(ctx, &o.l1));
    RETURN_IF_ERROR(l2_.Read<T>(ctx, &o.l2));
    if (!(o.lr > 0)) return errors::InvalidArgument("lr is not a positive scalar: ", o.lr);
    if (!(o.l1 >= 0)) return errors::InvalidArgument("l1 regularization strength is not a non-negative scalar: ", o.l1);
    if (!(o.l2 >= 0)) return errors::InvalidArgument("l2 regularization strength is not a non-negative scalar: ", o.l2);
    return o;
  }
  static void Apply(const Options& o, const T* grad, const std::array<T*, 4>& v, int64_t n, ThreadPool* pool) {
    math::ApplyProximalAdagrad<T>(o, grad, v[0], v[1], n, pool);
  }

 private:
  const ScalarInput lr_, l1_, l2_;
};

// Dual averaging.
template <typename T>
class AdagradDa {
 public:
  using Options = math::AdagradDaOptions<T>;
  explicit AdagradDa(KernelInit& init)
      : lr_(init, "lr"), l1_(init, "l1"), l2_(init, "l2"), global_step_(init, "global_step") {}
  StatusOr<Options> Read(const KernelContext& ctx) const {
    Options o = {};
    RETURN_IF_ERROR(lr_.Read<T>(ctx, &o.lr));
    RETURN_IF_ERROR(l1_.Read<T>(ctx, &o.l1));
    RETURN_IF_ERROR(l2_.Read<T>(ctx, &o.l2));
    RETURN_IF_ERROR(global_step_.Read<int64_t>(ctx, &o.global_step));
    return o;
  }
  static void Apply(const Options& o, const T* grad, const std::array<T*, 4>& v, int64_t n, ThreadPool* pool) {
    math::ApplyAdagradDa<T>(o, grad, v[0], v[1], v[2], n, pool);
  }

 private:
  const ScalarInput lr_, l1_, l2_, global_step_;
};

const UpdateSpec kProximal = {.name = "ProximalAdagrad",
                              .variables = {"var", "accum"},
                              .inputs = {"lr", "l1", "l2", "grad", "indices"},
                              .doc = "Adagrad with l1 and l2 penalties, by forward-backward splitting."};
const UpdateSpec kDa = {.name = "AdagradDA",
                        .variables = {"var", "gradient_accumulator", "gradient_squared_accumulator"},
                        .inputs = {"grad", "indices", "lr", "l1", "l2", "global_step"},
                        .doc = "Adagrad by dual averaging."};

[[maybe_unused]] const auto kProximalOps =
    UpdateOps<ProximalAdagrad>().Dense(kProximal, Types<float, double>{}).Sparse(kProximal, Types<float, double>{});
[[maybe_unused]] const auto kDaOps =
    UpdateOps<AdagradDa>().Dense(kDa, Types<float, double>{}).Sparse(kDa, Types<float, double>{});

}  // namespace
}  // namespace millstream
