// SPDX-License-Identifier: Apache-2.0
#include "millstream/math/update.h"
#include "millstream/ops/training/update_op.h"

namespace millstream {
namespace {

// With and without epsilon.
template <typename T>
class Adagrad {
 public:
  using Options = math::AdagradOptions<T>;
  explicit Adagrad(KernelInit& init)
      : lr_(init, "lr"), epsilon_(init, "epsilon"), update_slots_(init.Attr<bool>("update_slots")) {}
  StatusOr<Options> Read(const KernelContext& ctx) const {
    Options o = {};
    RETURN_IF_ERROR(lr_.Read<T>(ctx, &o.lr));
    RETURN_IF_ERROR(epsilon_.Read<T>(ctx, &o.epsilon));
    o.update_slots = update_slots_;
    return o;
  }
  static void Apply(const Options& o, const T* grad, const std::array<T*, 4>& v, int64_t n, ThreadPool* pool) {
    math::ApplyAdagrad<T>(o, grad, v[0], v[1], n, pool);
  }

 private:
  const ScalarInput lr_, epsilon_;
  const bool update_slots_;
};

const UpdateSpec kAdagrad = {.name = "Adagrad",
                             .variables = {"var", "accum"},
                             .inputs = {"lr", "grad", "indices"},
                             .attrs = {"update_slots: bool = true"},
                             .doc = "accum += grad^2; var -= lr * grad / sqrt(accum)"};
const UpdateSpec kAdagradV2 = {.name = "AdagradV2",
                               .variables = {"var", "accum"},
                               .inputs = {"lr", "epsilon", "grad", "indices"},
                               .attrs = {"update_slots: bool = true"},
                               .doc = "accum += grad^2; var -= lr * grad / (sqrt(accum) + epsilon)"};

[[maybe_unused]] const auto kOps =
    UpdateOps<Adagrad>().Dense(kAdagrad, FloatAndComplexTypes{}).Sparse(kAdagrad, FloatAndComplexTypes{});
[[maybe_unused]] const auto kV2Ops =
    UpdateOps<Adagrad>().Dense(kAdagradV2, FloatAndComplexTypes{}).Sparse(kAdagradV2, FloatAndComplexTypes{});

}  // namespace
}  // namespace millstream
