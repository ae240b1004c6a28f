// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/layers/rnn_wrappers.h"

#include "millstream/base/md5.h"
#include "millstream/train/operators/operators.h"

namespace millstream::rnn {
namespace {

// The seed of one of several dropouts, as TensorFlow derives it: the first bytes of a digest of "<seed><what>_<index>".
Seed SeedOf(const Seed& seed, const char* what, size_t index) {
  if (!seed.has_value()) return seed;
  const std::array<uint8_t, 16> digest = Md5(absl::StrCat(*seed, what, "_", index));
  int64_t value = 0;
  for (size_t i = 0; i < 4; ++i) value = value << 8 | digest[i];
  return value & 0x7fffffff;
}

}  // namespace

std::vector<int64_t> MultiRnnCell::state_sizes() const {
  std::vector<int64_t> sizes;
  for (const auto& cell : cells_) {
    const std::vector<int64_t> own = cell->state_sizes();
    sizes.insert(sizes.end(), own.begin(), own.end());
  }
  return sizes;
}

std::vector<bool> MultiRnnCell::state_may_drop() const {
  std::vector<bool> may;
  for (const auto& cell : cells_) {
    const std::vector<bool> own = cell->state_may_drop();
    may.insert(may.end(), own.begin(), own.end());
  }
  return may;
}

State MultiRnnCell::ZeroState(const Scope& scope, const BatchSize& batch_size, DType dtype) const {
  const Scope s = scope.NameScope(absl::StrCat(class_name(), "ZeroState"));
  State zeros;
  for (const auto& cell : cells_) {
    const State own = cell->ZeroState(s, batch_size, dtype);
    zeros.insert(zeros.end(), own.begin(), own.end());
  }
  return zeros;
}

Cell::Step MultiRnnCell::Call(const VariableScope& variables, Output x, const State& state) {
  if (!own_.has_value()) own_ = layers::EnterLayer(variables, "", "multi_rnn_cell");
  const VariableScope v = own_->WithScope(variables.scope().NameScope(own_->scope().name_prefix()));
  Step step{x, {}};
  auto at = state.begin();
  for (size_t i = 0; i < cells_.size(); ++i) {
    const auto end = at + static_cast<std::ptrdiff_t>(cells_[i]->state_sizes().size());
    const Step own = (*cells_[i])(v.Enter(absl::StrCat("cell_", i)), step.output, State(at, end));
    at = end;
    step.output = own.output;
    step.state.insert(step.state.end(), own.state.begin(), own.state.end());
  }
  return step;
}

State DropoutWrapper::ZeroState(const Scope& scope, const BatchSize& batch_size, DType dtype) const {
  return cell_->ZeroState(scope.NameScope(absl::StrCat(class_name(), "ZeroState")), batch_size, dtype);
}

Output DropoutWrapper::Drop(const Scope& s, Output x, const KeepProb& keep, const char* what, size_t index) const {
  if (!s.ok() || (!keep.tensor && keep.value == 1)) return x;
  if (!keep.tensor && !(keep.value > 0 && keep.value < 1)) {
    s.Fail(errors::InvalidArgument("Parameter keep_prob must be in (0, 1]: ", keep.value));
    return {};
  }
  const Seed seed = SeedOf(options_.seed, what, index);
  if (!keep.tensor) return layers::DropElements(s, x, 1 - keep.value, seed);
  return layers::DropElements(s, x, operators::Sub(s, 1, keep.tensor), seed);
}

Cell::Step DropoutWrapper::Call(const VariableScope& variables, Output x, const State& state) {
  const Scope& s = variables.scope();
  Step step = (*cell_)(variables, Drop(s, x, options_.input_keep_prob, "input", 0), state);
  if (!s.ok()) return {};
  const std::vector<bool> may_drop = state_may_drop();
  for (size_t i = 0; i < step.state.size(); ++i) {
    if (may_drop[i]) step.state[i] = Drop(s, step.state[i], options_.state_keep_prob, "state", i);
  }
  step.output = Drop(s, step.output, options_.output_keep_prob, "output", 0);
  return step;
}

}  // namespace millstream::rnn
