// SPDX-License-Identifier: Apache-2.0
#include "millstream/math/update.h"
#include "millstream/ops/training/update_op.h"

namespace millstream {
namespace {

template <typename T>
class Adadelta {
 public:
  using Options = math::AdadeltaOptions<T>;
  explicit Adadelta(KernelInit& init) : lr_(init, "lr"), rho_(init, "rho"), epsilon_(init, "epsilon") {}
  StatusOr<Options> Read(const KernelContext& ctx) const {
    Options o = {};
    RETURN_IF_ERROR(lr_.Read<T>(ctx, &o.lr));
    RETURN_IF_ERROR(rho_.Read<T>(ctx, &o.rho));
    RETURN_IF_ERROR(epsilon_.Read<T>(ctx, &o.epsilon));
    return o;
  }
  static void Apply(const Options& o, const T* grad, const std::array<T*, 4>& v, int64_t n, ThreadPool* pool) {
    math::ApplyAdadelta<T>(o, grad, v[0], v[1], v[2], n, pool);
  }

 private:
  const ScalarInput lr_, rho_, epsilon_;
};

const UpdateSpec kAdadelta = {.name = "Adadelta",
                              .variables = {"var", "accum", "accum_update"},
                              .inputs = {"lr", "rho", "epsilon", "grad", "indices"},
                              .doc =
                                  "Steps scaled by the ratio of running means of squared steps and "
                                  "squared gradients."};

[[maybe_unused]] const auto kOps =
    UpdateOps<Adadelta>().Dense(kAdadelta, FloatAndComplexTypes{}).Sparse(kAdadelta, FloatAndComplexTypes{});

}  // namespace
}  // namespace millstream
