// SPDX-License-Identifier: Apache-2.0
#include "millstream/math/update.h"
#include "millstream/ops/training/update_op.h"

namespace millstream {
namespace {

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
  static void Apply(const Options& o, const T* grad, const std::array<T*, 4>& v,
                    int64_t n, ThreadPool* pool) {
    math::ApplyFtrl<T>(o, grad, v[0], v[1], v[2], n, pool);
  }

 private:
  static StatusOr<Options> Check(const Options& o) {
    if (!(o.lr > 0 || (o.multiply_linear_by_lr && o.lr >= 0))) {
      return errors::InvalidArgument("lr is not a positive scalar: ", o.lr);
    }
    if (!(o.l1 >= 0))
      return errors::InvalidArgument(
          "l1 regularization strength is not a non-negative scalar: ", o.l1);
    if (!(o.l2 >= 0))
      return errors::InvalidArgument(
          "l2 regularization strength is not a non-negative scalar: ", o.l2);
    if (!(o.l2_shrinkage >= 0)) {
      return errors::InvalidArgument(
          "l2 shrinkage regularization strength is not a non-negative scalar: ",
          o.l2_shrinkage);
    }
    if (!(o.lr_power <= 0))
      return errors::InvalidArgument("lr_power is not a non-positive scalar: ",
                                     o.lr_power);
    return o;
  }

  const ScalarInput lr_, l1_, l2_, l2_shrinkage_, lr_power_;
  const bool multiply_linear_by_lr_;
};

const UpdateSpec kFtrl = {
    .name = "Ftrl",
    .variables = {"var", "accum", "linear"},
    .inputs = {"grad", "indices", "lr", "l1", "l2", "lr_power"},
    .attrs = {"multiply_linear_by_lr: bool = false"},
    .doc = "Follow the regularized leader, proximally."};
const UpdateSpec kFtrlV2 = {
    .name = "FtrlV2",
    .variables = {"var", "accum", "linear"},
    .inputs = {"grad", "indices", "lr", "l1", "l2", "l2_shrinkage", "lr_power"},
    .attrs = {"multiply_linear_by_lr: bool = false"},
    .doc = "Ftrl with a penalty on the size of the variable in the gradient."};

[[maybe_unused]] const auto kOps =
    UpdateOps<Ftrl>().Dense(kFtrl, FloatTypes{}).Sparse(kFtrl, FloatTypes{});
[[maybe_unused]] const auto kV2Ops = UpdateOps<Ftrl>()
                                         .Dense(kFtrlV2, FloatTypes{})
                                         .Sparse(kFtrlV2, FloatTypes{});

}  // namespace
}  // namespace millstream
