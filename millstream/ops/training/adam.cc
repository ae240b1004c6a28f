// SPDX-License-Identifier: Apache-2.0
#include "millstream/math/update.h"
#include "millstream/ops/training/update_op.h"

namespace millstream {
namespace {

// The hyperparameters of Adam and its relatives; those an op does not have keep
// their defaults.
template <typename T>
class AdamBase {
 public:
  using Options = math::AdamOptions<T>;
  explicit AdamBase(KernelInit& init)
      : beta1_power_(init, "beta1_power"),
        beta2_power_(init, "beta2_power"),
        lr_(init, "lr"),
        beta1_(init, "beta1"),
        beta2_(init, "beta2"),
        epsilon_(init, "epsilon"),
        nesterov_(init.HasAttr("use_nesterov") && init.Attr<bool>("use_nesterov")) {}
  StatusOr<Options> Read(const KernelContext& ctx) const {
    Options o = {};
    RETURN_IF_ERROR(beta1_power_.Read<T>(ctx, &o.beta1_power));
    RETURN_IF_ERROR(beta2_power_.Read<T>(ctx, &o.beta2_power));
    RETURN_IF_ERROR(lr_.Read<T>(ctx, &o.lr));
    RETURN_IF_ERROR(beta1_.Read<T>(ctx, &o.beta1));
    RETURN_IF_ERROR(beta2_.Read<T>(ctx, &o.beta2));
    RETURN_IF_ERROR(epsilon_.Read<T>(ctx, &o.epsilon));
    o.nesterov = nesterov_;
    return o;
  }

 private:
  const ScalarInput beta1_power_, beta2_power_, lr_, beta1_, beta2_, epsilon_;
  const bool nesterov_;
};

template <typename T>
class Adam : public AdamBase<T> {
 public:
  using AdamBase<T>::AdamBase;
  static void Apply(const math::AdamOptions<T>& o, const T* grad, const std::array<T*, 4>& v, int64_t n,
                    ThreadPool* pool) {
    math::ApplyAdam<T>(o, grad, v[0], v[1], v[2], n, pool);
  }
};

template <typename T>
class Amsgrad : public AdamBase<T> {
 public:
  using AdamBase<T>::AdamBase;
  static void Apply(const math::AdamOptions<T>& o, const T* grad, const std::array<T*, 4>& v, int64_t n,
                    ThreadPool* pool) {
    math::ApplyAdamWithAmsgrad<T>(o, grad, v[0], v[1], v[2], v[3], n, pool);
  }
};

template <typename T>
class AdaMax : public AdamBase<T> {
 public:
  using AdamBase<T>::AdamBase;
  static void Apply(const math::AdamOptions<T>& o, const T* grad, const std::array<T*, 4>& v, int64_t n,
                    ThreadPool* pool) {
    math::ApplyAdaMax<T>(o, grad, v[0], v[1], v[2], n, pool);
  }
};

const UpdateSpec kAdam = {.name = "Adam",
                          .variables = {"var", "m", "v"},
                          .inputs = {"beta1_power", "beta2_power", "lr", "beta1", "beta2", "epsilon", "grad"},
                          .attrs = {"use_nesterov: bool = false"},
                          .doc =
                              "Steps along the running mean of gradients, scaled by the root of the "
                              "running mean of squares."};
const UpdateSpec kAmsgrad = {.name = "AdamWithAmsgrad",
                             .variables = {"var", "m", "v", "vhat"},
                             .inputs = {"beta1_power", "beta2_power", "lr", "beta1", "beta2", "epsilon", "grad"},
                             .doc = "Adam that divides by the largest running mean of squares so far."};
const UpdateSpec kAdaMax = {.name = "AdaMax",
                            .variables = {"var", "m", "v"},
                            .inputs = {"beta1_power", "lr", "beta1", "beta2", "epsilon", "grad"},
                            .doc = "Adam with the infinity norm."};

[[maybe_unused]] const auto kOps = UpdateOps<Adam>().Dense(kAdam, FloatAndComplexTypes{});
[[maybe_unused]] const auto kAmsgradOps = UpdateOps<Amsgrad>().ResourceDense(kAmsgrad, FloatTypes{});
[[maybe_unused]] const auto kAdaMaxOps = UpdateOps<AdaMax>().Dense(kAdaMax, FloatTypes{});

}  // namespace
}  // namespace millstream
