// SPDX-License-Identifier: Apache-2.0
#include "millstream/math/update.h"
#include "millstream/ops/training/update_op.h"

namespace millstream {
namespace {

template <typename T>
class RmsPropBase {
 public:
  using Options = math::RmsPropOptions<T>;
  explicit RmsPropBase(KernelInit& init)
      : lr_(init, "lr"), rho_(init, "rho"), momentum_(init, "momentum"), epsilon_(init, "epsilon") {}
  StatusOr<Options> Read(const KernelContext& ctx) const {
    Options o = {};
    RETURN_IF_ERROR(lr_.Read<T>(ctx, &o.lr));
    RETURN_IF_ERROR(rho_.Read<T>(ctx, &o.rho));
    RETURN_IF_ERROR(momentum_.Read<T>(ctx, &o.momentum));
    RETURN_IF_ERROR(epsilon_.Read<T>(ctx, &o.epsilon));
    return o;
  }

 private:
  const ScalarInput lr_, rho_, momentum_, epsilon_;
};

template <typename T>
class RmsProp : public RmsPropBase<T> {
 public:
  using RmsPropBase<T>::RmsPropBase;
  static void Apply(const math::RmsPropOptions<T>& o, const T* grad, const std::array<T*, 4>& v, int64_t n,
                    ThreadPool* pool) {
    math::ApplyRmsProp<T>(o, grad, v[0], v[1], v[2], n, pool);
  }
};

template <typename T>
class CenteredRmsProp : public RmsPropBase<T> {
 public:
  using RmsPropBase<T>::RmsPropBase;
  static void Apply(const math::RmsPropOptions<T>& o, const T* grad, const std::array<T*, 4>& v, int64_t n,
                    ThreadPool* pool) {
    math::ApplyCenteredRmsProp<T>(o, grad, v[0], v[1], v[2], v[3], n, pool);
  }
};

const UpdateSpec kRmsProp = {.name = "RMSProp",
                             .variables = {"var", "ms", "mom"},
                             .inputs = {"lr", "rho", "momentum", "epsilon", "grad", "indices"},
                             .doc =
                                 "Momentum over gradients divided by the root of their running mean of "
                                 "squares."};
const UpdateSpec kCentered = {.name = "CenteredRMSProp",
                              .variables = {"var", "mg", "ms", "mom"},
                              .inputs = {"lr", "rho", "momentum", "epsilon", "grad", "indices"},
                              .doc = "RMSProp with the running variance in place of the mean of squares."};

[[maybe_unused]] const auto kOps =
    UpdateOps<RmsProp>().Dense(kRmsProp, FloatAndComplexTypes{}).Sparse(kRmsProp, FloatAndComplexTypes{});
[[maybe_unused]] const auto kCenteredOps =
    UpdateOps<CenteredRmsProp>().Dense(kCentered, FloatAndComplexTypes{}).Sparse(kCentered, FloatAndComplexTypes{});

}  // namespace
}  // namespace millstream
