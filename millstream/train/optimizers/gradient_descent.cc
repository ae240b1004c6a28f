// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/optimizers/gradient_descent.h"

#include "millstream/train/operators/operators.h"

namespace millstream {

GradientDescentOptimizer::GradientDescentOptimizer(const Hyperparameter& learning_rate, const Options& options)
    : KernelOptimizer(
          options.name, options.use_locking,
          {.op = "GradientDescent", .numbers = {{"learning_rate", learning_rate}}, .numbers_before_gradient = 1}) {}

// Rows may be subtracted one after the other, so their sums are not needed.
Node* GradientDescentOptimizer::ApplySparseDuplicates(const Scope& scope, Output values, Output indices,
                                                      const GraphVariable& v) {
  const Output rate = Number(scope, 0, v);
  if (IsResource(v)) {
    return scope.Add("ResourceScatterAdd", {v.handle, indices, operators::Mul(scope, scope.Op("Neg", {values}), rate)});
  }
  return scope.Add("ScatterSub", {v.handle, indices, operators::Mul(scope, values, rate)},
                   {{"use_locking", use_locking()}});
}

}  // namespace millstream
