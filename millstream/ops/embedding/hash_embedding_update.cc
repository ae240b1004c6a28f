// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/op.h"
#include "millstream/math/update.h"
#include "millstream/ops/embedding/hash_rows.h"

namespace millstream {
namespace {

StatusOr<float> ScalarFloat(const KernelContext& ctx, int i) {
  const Tensor& t = ctx.input(i);
  if (t.rank() == 0) return t.scalar<float>();
  return errors::InvalidArgument(ctx.op().inputs[static_cast<size_t>(i)].name,
                                 " is not a scalar: ", t.shape().ToString());
}

Status GradientDescentCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(const Ref<HashRows> table, ctx.ResourceInput<HashRows>(0));
  ASSIGN_OR_RETURN(const float lr, ScalarFloat(ctx, 3));
  return table->Update(ctx.input(1), ctx.input(2), {}, [&](const float* gradient, std::span<float* const> columns) {
    math::ApplyGradientDescent<float>(lr, gradient, columns[0], table->options().width, nullptr);
  });
}

class AdagradOp final : public Kernel {
 public:
  explicit AdagradOp(KernelInit& init) : initial_(init.Attr<float>("initial_accumulator_value")) {}

  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const Ref<HashRows> table, ctx.ResourceInput<HashRows>(0));
    math::AdagradOptions<float> options = {};
    ASSIGN_OR_RETURN(options.lr, ScalarFloat(ctx, 3));
    const HashRows::Slot slots[] = {{"accumulator", initial_}};
    return table->Update(
        ctx.input(1), ctx.input(2), slots, [&](const float* gradient, std::span<float* const> columns) {
          math::ApplyAdagrad<float>(options, gradient, columns[0], columns[1], table->options().width, nullptr);
        });
  }

 private:
  const float initial_;
};

Status AdamCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(const Ref<HashRows> table, ctx.ResourceInput<HashRows>(0));
  math::AdamOptions<float> options = {};
  int i = 3;
  for (float* number :
       {&options.lr, &options.beta1_power, &options.beta2_power, &options.beta1, &options.beta2, &options.epsilon}) {
    ASSIGN_OR_RETURN(*number, ScalarFloat(ctx, i++));
  }
  const HashRows::Slot slots[] = {{"m", 0}, {"v", 0}};
  return table->Update(ctx.input(1), ctx.input(2), slots, [&](const float* gradient, std::span<float* const> columns) {
    math::ApplyAdam<float>(options, gradient, columns[0], columns[1], columns[2], table->options().width, nullptr);
  });
}

void KeysAndGradients(OpBuilder& op) {
  op.Input("handle: resource")
      .Input("keys: Tkeys")
      .Input("gradients: float")
      .Input("lr: float")
      .Attr("Tkeys: {int64, string}")
      .Updates()
      .Stateful()
      .Shape(NoOutputs)
      .NotDifferentiable();
}

OP("HashEmbeddingApplyGradientDescent")
    .With(KeysAndGradients)
    .Cpu(GradientDescentCpu)
    .Doc("Gradient descent on the rows of keys; keys without a row are ignored.");

OP("HashEmbeddingApplyAdagrad")
    .With(KeysAndGradients)
    .Attr("initial_accumulator_value: float = 0.1")
    .Cpu<AdagradOp>()
    .Doc("Adagrad on the rows of keys; keys without a row are ignored.");

OP("HashEmbeddingApplyAdam")
    .With(KeysAndGradients)
    .Input("beta1_power: float")
    .Input("beta2_power: float")
    .Input("beta1: float")
    .Input("beta2: float")
    .Input("epsilon: float")
    .Cpu(AdamCpu)
    .Doc("Adam on the rows of keys alone: the slots of other rows do not decay. Keys without a row are ignored.");

}  // namespace
}  // namespace millstream
