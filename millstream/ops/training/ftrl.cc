// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "millstream/math/update.h"
#include "millstream/ops/training/update_op.h"

namespace millstream {
namespace {

// The update in steps of T, as TensorFlow has it for 16-bit types: the difference of two roots that are nearly equal is
// mostly rounding there, so rounding later would give another variable.
template <typename T>
void ApplyRounded(const math::FtrlOptions<T>& o, const T* grad, const std::array<T*, 4>& v, int64_t n) {
  const auto round = [](float x) { return static_cast<float>(T(x)); };
  const auto power = [&](float x) { return round(o.lr_power == -0.5f ? std::sqrt(x) : std::pow(x, -o.lr_power)); };
  const bool by_lr = o.multiply_linear_by_lr;
  const float shrinkage = round(2 * o.l2_shrinkage), l1 = by_lr ? round(o.l1 * o.lr) : o.l1;
  const float l2 = by_lr ? round(round(2 * o.l2) * o.lr) : round(2 * o.l2);
  for (int64_t i = 0; i < n; ++i) {
    const float g = grad[i], var = v[0][i], accum = v[1][i];
    const float new_accum = round(accum + round(g * g)), new_power = power(new_accum);
    const float growth = round(new_power - power(accum));
    const float shrunk_grad = shrinkage == 0 ? g : round(g + round(shrinkage * var));
    const float step = by_lr ? round(round(shrunk_grad * o.lr) - round(growth * var))
                             : round(shrunk_grad - round(round(growth / o.lr) * var));
    const float linear = round(static_cast<float>(v[2][i]) + step);
    const float sign = linear > 0 ? 1.0f : linear < 0 ? -1.0f : 0.0f;
    const float divisor = round((by_lr ? new_power : round(new_power / o.lr)) + l2);
    v[1][i] = T(new_accum);
    v[2][i] = T(linear);
    v[0][i] = T(std::fabs(linear) > l1 ? round(round(l1 * sign) - linear) / divisor : 0.0f);
  }
}

// With and without shrinkage.
template <typename T>
class Ftrl {
 public:
  using Options = math::FtrlOptions<T>;
  explicit Ftrl(KernelInit& init)
      : lr_(init, "lr"),
        l1_(init, "l1"),
        l2_(init, "l2"),
        l2_shrinkage_(init, "l2_shrinkage"),
        lr_power_(init, "lr_power"),
        multiply_linear_by_lr_(init.Attr<bool>("multiply_linear_by_lr")) {}
  StatusOr<Options> Read(const KernelContext& ctx) const {
    Options o = {};
    RETURN_IF_ERROR(lr_.Read<T>(ctx, &o.lr));
    RETURN_IF_ERROR(l1_.Read<T>(ctx, &o.l1));
    RETURN_IF_ERROR(l2_.Read<T>(ctx, &o.l2));
    RETURN_IF_ERROR(l2_shrinkage_.Read<T>(ctx, &o.l2_shrinkage));
    RETURN_IF_ERROR(lr_power_.Read<T>(ctx, &o.lr_power));
    o.multiply_linear_by_lr = multiply_linear_by_lr_;
    return Check(o);
  }
  static void Apply(const Options& o, const T* grad, const std::array<T*, 4>& v, int64_t n, ThreadPool* pool) {
    if constexpr (kIsFloat16<T>) {
      ApplyRounded<T>(o, grad, v, n);
    } else {
      math::ApplyFtrl<T>(o, grad, v[0], v[1], v[2], n, pool);
    }
  }

 private:
  static StatusOr<Options> Check(const Options& o) {
    if (!(o.lr > 0 || (o.multiply_linear_by_lr && o.lr >= 0))) {
      return errors::InvalidArgument("lr is not a positive scalar: ", o.lr);
    }
    if (!(o.l1 >= 0)) return errors::InvalidArgument("l1 regularization strength is not a non-negative scalar: ", o.l1);
    if (!(o.l2 >= 0)) return errors::InvalidArgument("l2 regularization strength is not a non-negative scalar: ", o.l2);
    if (!(o.l2_shrinkage >= 0)) {
      return errors::InvalidArgument("l2 shrinkage regularization strength is not a non-negative scalar: ",
                                     o.l2_shrinkage);
    }
    if (!(o.lr_power <= 0)) return errors::InvalidArgument("lr_power is not a non-positive scalar: ", o.lr_power);
    return o;
  }

  const ScalarInput lr_, l1_, l2_, l2_shrinkage_, lr_power_;
  const bool multiply_linear_by_lr_;
};

const UpdateSpec kFtrl = {.name = "Ftrl",
                          .variables = {"var", "accum", "linear"},
                          .inputs = {"grad", "indices", "lr", "l1", "l2", "lr_power"},
                          .attrs = {"multiply_linear_by_lr: bool = false"},
                          .doc = "Follow the regularized leader, proximally."};
const UpdateSpec kFtrlV2 = {.name = "FtrlV2",
                            .variables = {"var", "accum", "linear"},
                            .inputs = {"grad", "indices", "lr", "l1", "l2", "l2_shrinkage", "lr_power"},
                            .attrs = {"multiply_linear_by_lr: bool = false"},
                            .doc = "Ftrl with a penalty on the size of the variable in the gradient."};

[[maybe_unused]] const auto kOps = UpdateOps<Ftrl>().Dense(kFtrl, FloatTypes{}).Sparse(kFtrl, FloatTypes{});
[[maybe_unused]] const auto kV2Ops = UpdateOps<Ftrl>().Dense(kFtrlV2, FloatTypes{}).Sparse(kFtrlV2, FloatTypes{});

}  // namespace
}  // namespace millstream
