// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_OPTIMIZERS_MOVING_AVERAGES_H_
#define MILLSTREAM_TRAIN_OPTIMIZERS_MOVING_AVERAGES_H_

#include <map>
#include <string>
#include <vector>

#include "millstream/train/operators/operators.h"

namespace millstream {

// variable -= (1 - decay) * (variable - value). `decay` is a float scalar. With `zero_debias` the average is corrected
// for its start at zero; it keeps "<variable>/biased" and "<variable>/local_step" for that. Gives the new average.
Output AssignMovingAverage(const Scope& scope, const GraphVariable& variable, const Operand& value, Output decay,
                           bool zero_debias);

// Shadow variables "<variable>/ExponentialMovingAverage" that follow variables, or scalars and tensors that steps
// compute. An object belongs to one graph. Errors go to the scope's status.
class ExponentialMovingAverage {
 public:
  struct Options {
    Output num_updates = {};   // with it, the decay is at most (1 + n) / (10 + n): averages follow faster at the start
    bool zero_debias = false;  // of averages of tensors, which begin with zeros
    std::string name = "ExponentialMovingAverage";
  };
  explicit ExponentialMovingAverage(double decay) : ExponentialMovingAverage(decay, Options()) {}
  ExponentialMovingAverage(double decay, const Options& options) : decay_(decay), options_(options) {}

  const std::string& name() const { return options_.name; }
  // A node that updates the averages of these variables (none given: of the trainable ones) and tensors. Averages of
  // variables begin as the variables do.
  Node* Apply(const Scope& scope, const std::vector<GraphVariable>& variables = {},
              const std::vector<Output>& tensors = {});
  // The average of a variable (by its handle) or a tensor: an empty one if there is none.
  GraphVariable Average(Output of) const;
  // The name that it has, or would have.
  std::string AverageName(Output of) const;
  // For a Saver that restores averages in place of values: handles by the names under which a checkpoint has them.
  // Trainable and averaged variables are looked up under their averages' names, all others under their own.
  std::map<std::string, Output> VariablesToRestore(const Scope& scope) const;

 private:
  Output Decay(const Scope& scope) const;
  void MakeAverage(const Scope& scope, const GraphVariable& of, bool variable);

  const double decay_;
  const Options options_;
  std::map<std::string, GraphVariable> averages_;  // by the name of what they follow
};

}  // namespace millstream

#endif  // MILLSTREAM_TRAIN_OPTIMIZERS_MOVING_AVERAGES_H_
