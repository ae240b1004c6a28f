// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/op.h"
#include "millstream/ops/resources/variable_input.h"

namespace millstream {
namespace {

template <typename T>
class CountUpTo final : public Kernel {
 public:
  explicit CountUpTo(KernelInit& init) : limit_(init.Attr<int64_t>("limit")) {}

  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(Ref<Variable> variable, VariableInput(ctx, 0, kDTypeOf<T>));
    MutexLock lock(variable->mu());
    const Tensor& value = variable->tensor();
    if (!value.IsInitialized()) return MissingVariable(ctx, 0);
    if (value.rank() != 0) return errors::InvalidArgument("input is not a scalar: ", value.shape().ToString());
    const T before = value.scalar<T>();
    if (before >= limit_) return errors::OutOfRange("Reached limit of ", limit_);
    ctx.set_output(0, Tensor::Scalar<T>(before));
    variable->set_tensor(Tensor::Scalar<T>(static_cast<T>(int64_t{before} + 1)));
    return OkStatus();
  }

 private:
  const int64_t limit_;
};

OP("CountUpTo")
    .Updates()
    .Input("ref: Ref(T)")
    .Output("output: T")
    .Attr("limit: int")
    .Attr("T: {int32, int64}")
    .Shape(ScalarShape)
    .Cpu<CountUpTo>(IndexTypes{})
    .Doc("The value before it is counted up; OutOfRange at the limit.");

OP("ResourceCountUpTo")
    .Updates()
    .Input("resource: resource")
    .Output("output: T")
    .Attr("limit: int")
    .Attr("T: {int32, int64}")
    .Stateful()
    .Shape(ScalarShape)
    .Cpu<CountUpTo>(IndexTypes{})
    .Doc("CountUpTo behind a handle.");

}  // namespace
}  // namespace millstream
