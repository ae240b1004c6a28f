// SPDX-License-Identifier: Apache-2.0
#include "millstream/math/update.h"
#include "millstream/ops/training/update_op.h"

namespace millstream {
namespace {

template <typename T>
class MomentumBase {
 public:
  using Options = math::MomentumOptions<T>;
  explicit MomentumBase(KernelInit& init)
      : lr_(init, "lr"), momentum_(init, "momentum"), nesterov_(init.Attr<bool>("use_nesterov")) {}
  StatusOr<Options> Read(const KernelContext& ctx) const {
    Options o = {};
    RETURN_IF_ERROR(lr_.Read<T>(ctx, &o.lr));
    RETURN_IF_ERROR(momentum_.Read<T>(ctx, &o.momentum));
    o.nesterov = nesterov_;
    return o;
  }

 private:
  const ScalarInput lr_, momentum_;
  const bool nesterov_;
};

template <typename T>
class Momentum : public MomentumBase<T> {
 public:
  using MomentumBase<T>::MomentumBase;
  static void Apply(const math::MomentumOptions<T>& o, const T* grad, const std::array<T*, 4>& v, int64_t n,
                    ThreadPool* pool) {
    math::ApplyMomentum<T>(o, grad, v[0], v[1], n, pool);
  }
};

template <typename T>
class KerasMomentum : public MomentumBase<T> {
 public:
  using MomentumBase<T>::MomentumBase;
  static void Apply(const math::MomentumOptions<T>& o, const T* grad, const std::array<T*, 4>& v, int64_t n,
                    ThreadPool* pool) {
    math::ApplyKerasMomentum<T>(o, grad, v[0], v[1], n, pool);
  }
};

const UpdateSpec kMomentum = {.name = "Momentum",
                              .variables = {"var", "accum"},
                              .inputs = {"lr", "grad", "indices", "momentum"},
                              .attrs = {"use_nesterov: bool = false"},
                              .doc = "accum = momentum * accum + grad; var -= lr * accum"};
const UpdateSpec kKerasMomentum = {.name = "KerasMomentum",
                                   .variables = {"var", "accum"},
                                   .inputs = {"lr", "grad", "indices", "momentum"},
                                   .attrs = {"use_nesterov: bool = false"},
                                   .doc = "accum = momentum * accum - lr * grad; var += accum"};

[[maybe_unused]] const auto kOps =
    UpdateOps<Momentum>().Dense(kMomentum, FloatAndComplexTypes{}).Sparse(kMomentum, FloatAndComplexTypes{});
[[maybe_unused]] const auto kKerasOps = UpdateOps<KerasMomentum>()
                                            .ResourceDense(kKerasMomentum, FloatAndComplexTypes{})
                                            .ResourceSparse(kKerasMomentum, FloatAndComplexTypes{});

}  // namespace
}  // namespace millstream
