// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_OPTIMIZERS_WRAPPING_OPTIMIZER_H_
#define MILLSTREAM_TRAIN_OPTIMIZERS_WRAPPING_OPTIMIZER_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "millstream/train/optimizers/optimizer.h"

namespace millstream {

// An optimizer that leaves gradients, updates and slots to another one, unless a subclass says otherwise.
class WrappingOptimizer : public Optimizer {
 public:
  std::vector<GradientAndVariable> ComputeGradients(const Scope& scope, Output loss,
                                                    const ComputeGradientsOptions& options = {}) override {
    return optimizer_->ComputeGradients(scope, loss, options);
  }
  Node* ApplyGradients(const Scope& scope, const std::vector<GradientAndVariable>& gradients,
                       const ApplyGradientsOptions& options = {}) override {
    return optimizer_->ApplyGradients(scope, gradients, options);
  }
  GraphVariable Slot(const GraphVariable& v, const std::string& slot) const override {
    return optimizer_->Slot(v, slot);
  }
  std::vector<std::string> SlotNames() const override { return optimizer_->SlotNames(); }
  std::vector<GraphVariable> Variables() const override { return optimizer_->Variables(); }

 protected:
  WrappingOptimizer(std::shared_ptr<Optimizer> optimizer, std::string name, bool use_locking)
      : Optimizer(std::move(name), use_locking), optimizer_(std::move(optimizer)) {}

  Optimizer& wrapped() const { return *optimizer_; }
  Node* ApplyDense(const Scope&, Output, const GraphVariable&) override { return nullptr; }  // the wrapped optimizer's
  Node* ApplySparse(const Scope&, Output, Output, const GraphVariable&) override { return nullptr; }

 private:
  const std::shared_ptr<Optimizer> optimizer_;
};

}  // namespace millstream

#endif  // MILLSTREAM_TRAIN_OPTIMIZERS_WRAPPING_OPTIMIZER_H_
