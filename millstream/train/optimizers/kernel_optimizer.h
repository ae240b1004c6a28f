// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_OPTIMIZERS_KERNEL_OPTIMIZER_H_
#define MILLSTREAM_TRAIN_OPTIMIZERS_KERNEL_OPTIMIZER_H_

#include <string>
#include <utility>
#include <vector>

#include "millstream/train/optimizers/optimizer.h"

namespace millstream {

// An optimizer whose whole update is one op, of four twins: Apply<op>, SparseApply<op>, ResourceApply<op>,
// ResourceSparseApply<op>. A subclass describes the op; the inputs are the variable, slots, some numbers, the gradient
// (and indices), the other numbers.
class KernelOptimizer : public Optimizer {
 protected:
  struct SlotSpec {
    std::string name;
    Initializer initializer;
    std::string op_name = {};  // none: the optimizer's
  };
  struct Kernel {
    std::string op;
    std::vector<SlotSpec> slots = {};                                  // in the order in which they are made
    std::vector<size_t> slot_inputs = {};                              // the op's order; none: the same
    std::vector<std::pair<std::string, Hyperparameter>> numbers = {};  // in the order in which they are made
    std::vector<size_t> number_inputs = {};                            // the op's order; none: the same
    size_t numbers_before_gradient = 0;
    std::vector<std::pair<std::string, AttrValue>> attrs = {};  // besides use_locking
  };

  KernelOptimizer(std::string name, bool use_locking, Kernel kernel);
  // InvalidArgument, reported when gradients are applied: arguments of the constructor make no sense.
  void Refuse(Status why) { refused_.Update(std::move(why)); }
  void RequirePositive(absl::string_view what, double number) {
    if (!(number > 0)) Refuse(errors::InvalidArgument(what, " must be positive: ", number));
  }

  void CreateSlots(const Scope& scope, const std::vector<GraphVariable>& variables) override;
  void Prepare(const Scope& scope) override;
  Node* ApplyDense(const Scope& scope, Output gradient, const GraphVariable& v) override;
  Node* ApplySparse(const Scope& scope, Output values, Output indices, const GraphVariable& v) override;
  // Inputs after all numbers.
  virtual void AddLastInputs(const Scope& /*scope*/, std::vector<Output>* /*inputs*/) {}

  // The first number, after Prepare().
  Output learning_rate() const { return tensors_[0]; }
  // The i-th number in the type of the variable.
  Output Number(const Scope& scope, size_t i, const GraphVariable& v) const {
    return CastTo(scope, tensors_[i], TypeOf(v));
  }

 private:
  Node* Run(const Scope& scope, const GraphVariable& v, const std::vector<Output>& gradient);

  Kernel kernel_;
  Status refused_;
  std::vector<Output> tensors_;
};

}  // namespace millstream

#endif  // MILLSTREAM_TRAIN_OPTIMIZERS_KERNEL_OPTIMIZER_H_
