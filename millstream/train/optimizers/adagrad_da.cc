// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/optimizers/adagrad_da.h"

#include "millstream/train/operators/operators.h"

namespace millstream {

AdagradDAOptimizer::AdagradDAOptimizer(const Hyperparameter& learning_rate, const GraphVariable& global_step,
                                       const Options& options)
    : KernelOptimizer(options.name, options.use_locking,
                      {.op = "AdagradDA",
                       .slots = {{"gradient_accumulator", ConstantInitializer(0)},
                                 {"gradient_squared_accumulator",
                                  ConstantInitializer(options.initial_gradient_squared_accumulator_value)}},
                       .numbers = {{"learning_rate", learning_rate},
                                   {"l1_regularization_strength", options.l1_regularization_strength},
                                   {"l2_regularization_strength", options.l2_regularization_strength}}}),
      global_step_(global_step) {
  RequirePositive("initial_gradient_squared_accumulator_value", options.initial_gradient_squared_accumulator_value);
  if (!global_step) Refuse(errors::InvalidArgument("AdagradDA needs a global step"));
}

void AdagradDAOptimizer::Prepare(const Scope& scope) {
  KernelOptimizer::Prepare(scope);
  if (!scope.ok()) return;
  const Scope s = scope.ColocateWith(learning_rate().node);
  const Output step = CastTo(s, UseVariable(s, global_step_), DType::kInt64);
  step_on_worker_ = operators::Add(s, s.Op("Identity", {step}), 1);
}

void AdagradDAOptimizer::AddLastInputs(const Scope& scope, std::vector<Output>* inputs) {
  inputs->push_back(scope.Op("Identity", {step_on_worker_}));
}

}  // namespace millstream
