// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/layers/rnn_cell.h"

#include "millstream/graph/gradients/gradient.h"
#include "millstream/train/operators/operators.h"

namespace millstream::rnn {
namespace {

using operators::Add;
using operators::Mul;

// [x, h] * kernel + bias
Output Linear(const Scope& s, Output x, Output h, Output kernel, Output bias) {
  const Output both = OpNamed(s, "concat", "ConcatV2", {x, h, 1});
  return s.Op("BiasAdd", {s.Op("MatMul", {both, kernel}), bias});
}

// Equal parts along the columns; empty ones after an error.
std::vector<Output> Split(const Scope& s, const Operand& axis, Output x, int64_t parts) {
  Node* split = AddNamed(s, "split", "Split", {axis, x}, {{"num_split", parts}});
  std::vector<Output> columns(static_cast<size_t>(parts));
  for (int i = 0; split != nullptr && i < parts; ++i) columns[static_cast<size_t>(i)] = Output(split, i);
  return columns;
}

Output Clip(const Scope& scope, Output x, double limit) {
  if (limit == 0 || !scope.ok()) return x;
  const Scope s = scope.NameScope("clip_by_value");
  const Output below = OpNamed(s, "", "Minimum", {x, limit});
  return OpNamed(s, s.name_prefix(), "Maximum", {below, -limit});
}

}  // namespace

Output BatchZeros(const Scope& s, const BatchSize& batch_size, int64_t size, DType dtype) {
  const Output batch = batch_size.tensor ? OpNamed(s, "", "ExpandDims", {batch_size.tensor, 0})
                                         : s.Constant({static_cast<int32_t>(batch_size.known)});
  const Output sizes = operators::Concat(s, {batch, s.Constant({static_cast<int32_t>(size)})});
  const Scope zeros = s.NameScope("zeros");
  const Output value = zeros.Const(ScalarOf(dtype, 0));
  return zeros.WithOpName(zeros.name_prefix()).Op("Fill", {sizes, value});
}

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

State Cell::ZeroState(const Scope& scope, const BatchSize& batch_size, DType dtype) const {
  const Scope s = scope.NameScope(absl::StrCat(class_name(), "ZeroState"));
  State zeros;
  for (const int64_t size : state_sizes()) zeros.push_back(BatchZeros(s, batch_size, size, dtype));
  return zeros;
}

Cell::Step LayerCell::Call(const VariableScope& variables, Output x, const State& state) {
  if (name_scope_.empty()) {
    const PartialShape shape = variables.scope().ShapeOf(x);
    if (shape.rank() != 2 || shape.dim(1) < 0 || num_units_ <= 0) {
      variables.scope().Fail(errors::InvalidArgument("Expected inputs.shape[-1] of a cell of ", num_units_,
                                                     " units to be known, saw shape: ", shape.ToString()));
      return {};
    }
    const VariableScope own = layers::EnterLayer(variables, options_.name, base_);
    Build(own, shape.dim(1), x.dtype());
    if (!variables.scope().ok()) return {};
    name_scope_ = own.scope().name_prefix();
  }
  return Compute(variables.scope().NameScope(name_scope_), x, state);
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
  const Output both = s.Op("Sigmoid", {Linear(s, x, state[0], gate_kernel_, gate_bias_)});
  const std::vector<Output> gates = Split(s, 1, both, 2);
  const Output reset = gates[0], update = gates[1];
  const Output kept = Mul(s, reset, state[0]);
  const Output candidate = options_.activation(s, Linear(s, x, kept, candidate_kernel_, candidate_bias_));
  const Output old = Mul(s, update, state[0]);
  const Output h = Add(s, old, Mul(s, operators::Sub(s, 1, update), candidate));
  return {h, {h}};
}

void BasicLstmCell::Build(const VariableScope& v, int64_t depth, DType dtype) {
  kernel_ = Kernel(v, "kernel", depth + num_units_, 4 * num_units_, dtype);
  bias_ = Bias(v, "bias", 4 * num_units_, dtype);
}

// Names follow TensorFlow, which uses functions here and operators in the other cells: "Mul", not "mul".
Cell::Step BasicLstmCell::Compute(const Scope& s, Output x, const State& state) {
  const auto add = [&s](Output a, Output b) { return s.WithOpName("Add").Op("AddV2", {a, b}); };
  const auto multiply = [&s](Output a, Output b) { return s.Op("Mul", {a, b}); };
  const auto sigmoid = [&s](Output a) { return s.Op("Sigmoid", {a}); };
  const Output columns = s.Const<int32_t>(1);
  // Input, new input, forget and output gates.
  const std::vector<Output> g = Split(s, columns, Linear(s, x, state[1], kernel_, bias_), 4);
  const Output bias = s.Const(ScalarOf(x.dtype(), forget_bias_));
  const Output kept = multiply(state[0], sigmoid(add(g[2], bias)));
  const Output input = sigmoid(g[0]);
  const Output c = add(kept, multiply(input, options_.activation(s, g[1])));
  const Output activated = options_.activation(s, c);
  const Output h = multiply(activated, sigmoid(g[3]));
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
  // Input, new input, forget and output gates.
  const std::vector<Output> g = Split(s, 1, Linear(s, x, state[1], kernel_, bias_), 4);
  const auto open = [&](Output gate, Output diagonal, Output c) {
    return s.Op("Sigmoid", {lstm_.use_peepholes ? Add(s, gate, Mul(s, diagonal, c)) : gate});
  };
  const Output kept = Mul(s, open(Add(s, g[2], lstm_.forget_bias), w_f_diag_, state[0]), state[0]);
  const Output input = open(g[0], w_i_diag_, state[0]);
  Output c = Add(s, kept, Mul(s, input, options_.activation(s, g[1])));
  c = Clip(s, c, lstm_.cell_clip);
  const Output output = open(g[3], w_o_diag_, c);
  Output m = Mul(s, output, options_.activation(s, c));
  if (projection_) m = Clip(s, s.Op("MatMul", {m, projection_}), lstm_.proj_clip);
  return {m, {c, m}};
}

}  // namespace millstream::rnn
