// SPDX-License-Identifier: Apache-2.0
#include "millstream/math/update.h"
#include "millstream/ops/training/update_op.h"

namespace millstream {
namespace {

// The hyperparameters of both; AddSign has "alpha" where PowerSign has
// "logbase".
template <typename T>
class SignBase {
 public:
  using Options = math::SignOptions<T>;
  explicit SignBase(KernelInit& init)
      : lr_(init, "lr"),
        alpha_(init, "alpha"),
        logbase_(init, "logbase"),
        sign_decay_(init, "sign_decay"),
        beta_(init, "beta") {}
  StatusOr<Options> Read(const KernelContext& ctx) const {
    Options o = {};
    RETURN_IF_ERROR(lr_.Read<T>(ctx, &o.lr));
    RETURN_IF_ERROR(alpha_.Read<T>(ctx, &o.scale));
    RETURN_IF_ERROR(logbase_.Read<T>(ctx, &o.scale));
    RETURN_IF_ERROR(sign_decay_.Read<T>(ctx, &o.sign_decay));
    RETURN_IF_ERROR(beta_.Read<T>(ctx, &o.beta));
    return o;
  }

 private:
  const ScalarInput lr_, alpha_, logbase_, sign_decay_, beta_;
};

template <typename T>
class AddSign : public SignBase<T> {
 public:
  using SignBase<T>::SignBase;
  static void Apply(const math::SignOptions<T>& o, const T* grad, const std::array<T*, 4>& v, int64_t n,
                    ThreadPool* pool) {
    math::ApplyAddSign<T>(o, grad, v[0], v[1], n, pool);
  }
};

template <typename T>
class PowerSign : public SignBase<T> {
 public:
  using SignBase<T>::SignBase;
  static void Apply(const math::SignOptions<T>& o, const T* grad, const std::array<T*, 4>& v, int64_t n,
                    ThreadPool* pool) {
    math::ApplyPowerSign<T>(o, grad, v[0], v[1], n, pool);
  }
};

const UpdateSpec kAddSign = {.name = "AddSign",
                             .variables = {"var", "m"},
                             .inputs = {"lr", "alpha", "sign_decay", "beta", "grad"},
                             .doc = "Larger steps where gradient and running mean have the same sign."};
const UpdateSpec kPowerSign = {.name = "PowerSign",
                               .variables = {"var", "m"},
                               .inputs = {"lr", "logbase", "sign_decay", "beta", "grad"},
                               .doc = "As AddSign, with an exponential factor."};

[[maybe_unused]] const auto kAddSignOps = UpdateOps<AddSign>().Dense(kAddSign, FloatTypes{});
[[maybe_unused]] const auto kPowerSignOps = UpdateOps<PowerSign>().Dense(kPowerSign, FloatTypes{});

}  // namespace
}  // namespace millstream
