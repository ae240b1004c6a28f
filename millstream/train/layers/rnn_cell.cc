// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/layers/rnn_cell.h"

#include "absl/strings/strip.h"
#include "millstream/graph/gradients/gradient.h"
#include "millstream/train/variables/variables.h"

namespace millstream::rnn {
namespace {

Output Number(const Scope& s, Output like, double value) { return s.Const(ScalarOf(like.dtype(), value)); }

Output Sigmoid(const Scope& s, Output x) { return s.Op("Sigmoid", {x}); }

// [x, h] * kernel + bias
Output Linear(const Scope& s, Output x, Output h, Output kernel, Output bias) {
  const Output both = s.Op("ConcatV2", {x, h, s.Const<int32_t>(1)});
  return s.Op("BiasAdd", {s.Op("MatMul", {both, kernel}), bias});
}

// Equal parts along the columns; empty ones after an error.
std::vector<Output> Split(const Scope& s, Output x, int64_t parts) {
  Node* split = s.Add("Split", {s.Const<int32_t>(1), x}, {{"num_split", parts}});
  std::vector<Output> columns(static_cast<size_t>(parts));
  for (int i = 0; split != nullptr && i < parts; ++i) columns[static_cast<size_t>(i)] = Output(split, i);
  return columns;
}

Output Clip(const Scope& s, Output x, double limit) {
  if (limit == 0 || !s.ok()) return x;
  return s.Op("Maximum", {s.Op("Minimum", {x, Number(s, x, limit)}), Number(s, x, -limit)});
}

Output Times(const Scope& s, Output a, Output b) { return s.Op("Mul", {a, b}); }
Output Plus(const Scope& s, Output a, Output b) { return s.Op("AddV2", {a, b}); }

Output Drop(const Scope& scope, Output x, const KeepProb& keep, const Seed& seed) {
  if (!scope.ok() || (!keep.tensor && keep.value == 1)) return x;
  if (!keep.tensor && !(keep.value > 0 && keep.value < 1)) {
    scope.Fail(errors::InvalidArgument("Parameter keep_prob must be in (0, 1]: ", keep.value));
    return {};
  }
  if (!keep.tensor) return layers::Dropout(scope, x, 1 - keep.value, seed);
  const Scope s = scope.NameScope("dropout");
  const Output p = CastTo(s, keep.tensor, x.dtype());
  const Output noise =
      s.Op("RandomUniform", {s.Op("Shape", {x})},
           {{"dtype", x.dtype()}, {"seed", int64_t{seed ? 87654321 : 0}}, {"seed2", seed.value_or(0)}});
  const Output kept = s.Op("Floor", {Plus(s, noise, p)});
  return Times(s, s.Op("RealDiv", {x, p}), kept);
}

}  // namespace

Cell::Step Cell::operator()(const VariableScope& variables, Output x, const State& state) {
  const Scope& s = variables.scope();
  if (!s.ok()) return {};
  if (state.size() != state_sizes().size()) {
    s.Fail(errors::InvalidArgument("The cell has ", state_sizes().size(), " states and was given ", state.size()));
    return {};
  }
  Step step = Call(variables, x, state);
  return s.ok() ? step : Step();
}

State Cell::ZeroState(const Scope& scope, Output batch_size, DType dtype) const {
  const Scope s = scope.NameScope("zero_state");
  State zeros;
  for (const int64_t size : state_sizes()) {
    const Output dims = s.Op("Pack", {CastTo(s, batch_size, DType::kInt32), s.Const(static_cast<int32_t>(size))});
    zeros.push_back(s.Op("Fill", {dims, s.Const(ScalarOf(dtype, 0))}));
  }
  return zeros;
}

Cell::Step LayerCell::Call(const VariableScope& variables, Output x, const State& state) {
  if (!built_) {
    const PartialShape shape = variables.scope().ShapeOf(x);
    if (shape.rank() != 2 || shape.dim(1) < 0 || num_units_ <= 0) {
      variables.scope().Fail(errors::InvalidArgument("Expected inputs.shape[-1] of a cell of ", num_units_,
                                                     " units to be known, saw shape: ", shape.ToString()));
      return {};
    }
    const VariableScope own = layers::EnterLayer(variables, options_.name, base_);
    Build(own, shape.dim(1), x.dtype());
    built_ = true;
    return variables.scope().ok() ? Compute(own.scope(), x, state) : Step();
  }
  return Compute(variables.scope().NameScope(options_.name.empty() ? base_ : options_.name.c_str()), x, state);
}

Output LayerCell::Kernel(const VariableScope& v, const char* name, int64_t rows, int64_t columns, DType dtype) const {
  VariableOptions own;
  own.dtype = dtype;
  own.initializer = options_.kernel_initializer;
  return v.GetValue(name, rows > 0 ? Shape({rows, columns}) : Shape({columns}), own);
}

Output LayerCell::Bias(const VariableScope& v, const char* name, int64_t size, DType dtype, double initial) const {
  VariableOptions own;
  own.dtype = dtype;
  own.initializer = options_.bias_initializer != nullptr ? options_.bias_initializer
                    : initial == 0                       ? ZerosInitializer()
                                                         : ConstantInitializer(initial);
  return v.GetValue(name, Shape({size}), own);
}

void BasicRnnCell::Build(const VariableScope& v, int64_t depth, DType dtype) {
  kernel_ = Kernel(v, "kernel", depth + num_units_, num_units_, dtype);
  bias_ = Bias(v, "bias", num_units_, dtype);
}

Cell::Step BasicRnnCell::Compute(const Scope& s, Output x, const State& state) {
  const Output y = options_.activation(s, Linear(s, x, state[0], kernel_, bias_));
  return {y, {y}};
}

void GruCell::Build(const VariableScope& v, int64_t depth, DType dtype) {
  gate_kernel_ = Kernel(v, "gates/kernel", depth + num_units_, 2 * num_units_, dtype);
  gate_bias_ = Bias(v, "gates/bias", 2 * num_units_, dtype, 1);
  candidate_kernel_ = Kernel(v, "candidate/kernel", depth + num_units_, num_units_, dtype);
  candidate_bias_ = Bias(v, "candidate/bias", num_units_, dtype);
}

Cell::Step GruCell::Compute(const Scope& s, Output x, const State& state) {
  const std::vector<Output> gates = Split(s, Sigmoid(s, Linear(s, x, state[0], gate_kernel_, gate_bias_)), 2);
  const Output reset = gates[0], update = gates[1];
  const Output candidate =
      options_.activation(s, Linear(s, x, Times(s, reset, state[0]), candidate_kernel_, candidate_bias_));
  const Output rest = s.Op("Sub", {Number(s, x, 1), update});
  const Output h = Plus(s, Times(s, update, state[0]), Times(s, rest, candidate));
  return {h, {h}};
}

void BasicLstmCell::Build(const VariableScope& v, int64_t depth, DType dtype) {
  kernel_ = Kernel(v, "kernel", depth + num_units_, 4 * num_units_, dtype);
  bias_ = Bias(v, "bias", 4 * num_units_, dtype);
}

Cell::Step BasicLstmCell::Compute(const Scope& s, Output x, const State& state) {
  const std::vector<Output> g = Split(s, Linear(s, x, state[1], kernel_, bias_), 4);  // input, new, forget, output
  const Output forget = Sigmoid(s, Plus(s, g[2], Number(s, x, forget_bias_)));
  const Output c = Plus(s, Times(s, state[0], forget), Times(s, Sigmoid(s, g[0]), options_.activation(s, g[1])));
  const Output h = Times(s, options_.activation(s, c), Sigmoid(s, g[3]));
  return {h, {c, h}};
}

void LstmCell::Build(const VariableScope& v, int64_t depth, DType dtype) {
  kernel_ = Kernel(v, "kernel", depth + output_size(), 4 * num_units_, dtype);
  bias_ = Bias(v, "bias", 4 * num_units_, dtype);
  if (lstm_.use_peepholes) {
    w_f_diag_ = Kernel(v, "w_f_diag", 0, num_units_, dtype);
    w_i_diag_ = Kernel(v, "w_i_diag", 0, num_units_, dtype);
    w_o_diag_ = Kernel(v, "w_o_diag", 0, num_units_, dtype);
  }
  if (lstm_.num_proj > 0) projection_ = Kernel(v, "projection/kernel", num_units_, lstm_.num_proj, dtype);
}

Cell::Step LstmCell::Compute(const Scope& s, Output x, const State& state) {
  const std::vector<Output> g = Split(s, Linear(s, x, state[1], kernel_, bias_), 4);  // input, new, forget, output
  const auto peep = [&](Output gate, Output diagonal, Output c) {
    return lstm_.use_peepholes ? Plus(s, gate, Times(s, diagonal, c)) : gate;
  };
  const Output forget = Sigmoid(s, peep(Plus(s, g[2], Number(s, x, lstm_.forget_bias)), w_f_diag_, state[0]));
  const Output input = Sigmoid(s, peep(g[0], w_i_diag_, state[0]));
  Output c = Plus(s, Times(s, forget, state[0]), Times(s, input, options_.activation(s, g[1])));
  c = Clip(s, c, lstm_.cell_clip);
  Output m = Times(s, Sigmoid(s, peep(g[3], w_o_diag_, c)), options_.activation(s, c));
  if (projection_) m = Clip(s, s.Op("MatMul", {m, projection_}), lstm_.proj_clip);
  return {m, {c, m}};
}

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

Cell::Step MultiRnnCell::Call(const VariableScope& variables, Output x, const State& state) {
  const VariableScope v = variables.Enter("multi_rnn_cell");
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

Cell::Step DropoutWrapper::Call(const VariableScope& variables, Output x, const State& state) {
  const Scope& s = variables.scope();
  Step step = (*cell_)(variables, Drop(s, x, options_.input_keep_prob, options_.seed), state);
  if (!s.ok()) return {};
  const std::vector<bool> may_drop = state_may_drop();
  for (size_t i = 0; i < step.state.size(); ++i) {
    if (may_drop[i]) step.state[i] = Drop(s, step.state[i], options_.state_keep_prob, options_.seed);
  }
  step.output = Drop(s, step.output, options_.output_keep_prob, options_.seed);
  return step;
}

}  // namespace millstream::rnn
