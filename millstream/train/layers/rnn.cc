// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/layers/rnn.h"

#include "millstream/graph/control_flow/control_flow_builders.h"
#include "millstream/graph/gradients/gradient.h"
#include "millstream/graph/shape_refiner.h"
#include "millstream/train/variables/variables.h"

namespace millstream::rnn {
namespace {

Output SwapBatchAndTime(const Scope& s, Output x) {
  return s.WithOpName("transpose").Op("Transpose", {x, s.Constant({1, 0, 2})});
}

Output Element(const Scope& s, Output vector, int i) {
  return s.Op("StridedSlice", {vector, s.Constant({i}), s.Constant({i + 1}), s.Constant({1})},
              {{"shrink_axis_mask", 1}});
}

void MergeShape(const Scope& s, Output x, const PartialShape& shape) {
  if (!s.ok()) return;
  if (Status merged = s.shapes().MergeShape(x, shape); !merged.ok()) s.Fail(merged);
}

// Lengths as an int32 vector of the size of the batch, which the step checks.
Output CheckedLengths(const Scope& s, Output lengths, Output batch_size) {
  if (!lengths || !s.ok()) return {};
  const PartialShape shape = s.ShapeOf(lengths);
  if (shape.rank_known() && shape.rank() != 1) {
    s.Fail(errors::InvalidArgument("sequence_length must be a vector of length batch_size, but saw shape: ",
                                   shape.ToString()));
    return {};
  }
  lengths = CastTo(s, lengths, DType::kInt32);
  const Output size = s.Op("Size", {lengths});
  const Output text =
      s.Const(Tensor::Scalar(std::string("sequence_length must have one element for each of the batch: ")));
  Node* check = s.Add("Assert", {s.Op("Equal", {size, batch_size}), text, size, batch_size});
  return s.WithControlDependencies({check}).WithOpName("CheckSeqLen").Op("Identity", {lengths});
}

// `old` for the sequences that have ended, `now` for the others.
Output Mixed(const Scope& s, Output ended, Output old, Output now) {
  return s.Op("SelectV2", {s.Op("ExpandDims", {ended, s.Const<int32_t>(1)}), old, now});
}

// One call of the cell that leaves alone what has ended.
Cell::Step StepOf(Cell& cell, const VariableScope& v, Output x, const State& state, Output time, Output lengths) {
  Cell::Step step = cell(v, x, state);
  const Scope& s = v.scope();
  if (!s.ok() || !lengths) return step;
  const Output ended = s.Op("GreaterEqual", {time, lengths});
  step.output = Mixed(s, ended, ZerosFor(s, step.output), step.output);
  for (size_t i = 0; i < state.size(); ++i) step.state[i] = Mixed(s, ended, state[i], step.state[i]);
  return step;
}

struct Array {
  Output handle, flow;
};
Array MakeArray(const Scope& s, Output size, DType dtype, const PartialShape& element) {
  Node* array = s.WithOpName("TensorArray")
                    .Add("TensorArrayV3", {size},
                         {{"dtype", dtype}, {"element_shape", element}, {"identical_element_shapes", true}});
  return array == nullptr ? Array() : Array{Output(array, 0), Output(array, 1)};
}

// What the loop needs: inputs [time, batch, size].
struct Loop {
  Cell& cell;
  VariableScope v;
  Output x, steps, lengths;
  PartialShape input;  // of one time
  int64_t batch = -1;  // if known
};

Result RunLoop(const Loop& l, const State& initial, const Options& options) {
  const Scope& s = l.v.scope();
  const PartialShape output({l.batch, l.cell.output_size()});
  const Array in = MakeArray(s, l.steps, l.x.dtype(), l.input), out = MakeArray(s, l.steps, l.x.dtype(), output);
  const Output all = s.Op("Range", {s.Const<int32_t>(0), l.steps, s.Const<int32_t>(1)});
  const Output filled = s.Op("TensorArrayScatterV3", {in.handle, all, l.x, in.flow});
  const std::vector<int64_t> sizes = l.cell.state_sizes();
  std::vector<Output> vars = {s.WithOpName("time").Const<int32_t>(0), out.flow};
  vars.insert(vars.end(), initial.begin(), initial.end());
  if (!s.ok()) return {};
  WhileOptions how;
  how.parallel_iterations = options.parallel_iterations;
  how.swap_memory = options.swap_memory;
  how.shape_invariants = {PartialShape(Shape()), PartialShape(Shape())};
  for (const int64_t size : sizes) how.shape_invariants.push_back(PartialShape({l.batch, size}));
  const auto body = [&](const Scope& in_loop, const std::vector<Output>& now) {
    const Output x = in_loop.Op("TensorArrayReadV3", {in.handle, now[0], filled}, {{"dtype", l.x.dtype()}});
    MergeShape(in_loop, x, l.input);
    const Cell::Step step =
        StepOf(l.cell, l.v.WithScope(in_loop), x, State(now.begin() + 2, now.end()), now[0], l.lengths);
    if (!in_loop.ok()) return std::vector<Output>();
    std::vector<Output> next = {in_loop.Op("AddV2", {now[0], in_loop.Const<int32_t>(1)}),
                                in_loop.Op("TensorArrayWriteV3", {out.handle, now[0], step.output, now[1]})};
    for (size_t i = 0; i < step.state.size(); ++i) MergeShape(in_loop, step.state[i], how.shape_invariants[i + 2]);
    next.insert(next.end(), step.state.begin(), step.state.end());
    return next;
  };
  const std::vector<Output> last = WhileLoop(
      s,
      [&](const Scope& in_loop, const std::vector<Output>& now) {
        return in_loop.Op("Less", {now[0], l.steps});
      },
      body, vars, how);
  if (!s.ok()) return {};
  const Output outputs =
      s.Op("TensorArrayGatherV3", {out.handle, all, last[1]}, {{"dtype", l.x.dtype()}, {"element_shape", output}});
  MergeShape(s, outputs, PartialShape({s.ShapeOf(l.x).dim(0), l.batch, l.cell.output_size()}));
  return {outputs, State(last.begin() + 2, last.end())};
}

Output Backwards(const Scope& s, Output x, Output lengths, int time_axis) {
  if (!lengths) return s.WithOpName("ReverseV2").Op("ReverseV2", {x, s.Constant({time_axis})});
  return s.Op("ReverseSequence", {x, CastTo(s, lengths, DType::kInt64)},
              {{"seq_dim", int64_t{time_axis}}, {"batch_dim", int64_t{1 - time_axis}}});
}

VariableScope EnterRnn(const VariableScope& variables, const Options& options, const char* base) {
  return variables.Enter(options.scope.empty() ? base : options.scope.c_str());
}

}  // namespace

Result DynamicRnn(Cell& cell, const VariableScope& variables, Output inputs, const Options& options) {
  if (!variables.scope().ok()) return {};
  Loop l{cell, EnterRnn(variables, options, "rnn"), {}, {}, {}, {}, -1};
  const Scope& s = l.v.scope();
  const PartialShape shape = s.ShapeOf(inputs);
  if (!inputs || shape.rank() != 3 || shape.dim(2) < 0) {
    s.Fail(errors::InvalidArgument("Inputs of a dynamic rnn have three dimensions, the last one known: found ",
                                   shape.ToString()));
    return {};
  }
  l.x = options.time_major ? inputs : SwapBatchAndTime(s, inputs);
  l.batch = shape.dim(options.time_major ? 1 : 0);
  l.input = PartialShape({l.batch, shape.dim(2)});
  const Output sizes = s.Op("Shape", {l.x});
  l.steps = Element(s, sizes, 0);
  const Output batch_size = Element(s, sizes, 1);
  l.lengths = CheckedLengths(s, options.sequence_length, batch_size);
  const State initial =
      options.initial_state.empty() ? cell.ZeroState(s, batch_size, inputs.dtype()) : options.initial_state;
  if (s.ok() && initial.size() != cell.state_sizes().size()) {
    s.Fail(
        errors::InvalidArgument("The cell has ", cell.state_sizes().size(), " states and was given ", initial.size()));
  }
  if (!s.ok()) return {};
  Result result = RunLoop(l, initial, options);
  if (!s.ok()) return {};
  if (!options.time_major) result.outputs = SwapBatchAndTime(s, result.outputs);
  return result;
}

StaticResult StaticRnn(Cell& cell, const VariableScope& variables, const std::vector<Output>& inputs,
                       const Options& options) {
  if (inputs.empty()) variables.scope().Fail(errors::InvalidArgument("inputs must not be empty"));
  if (!variables.scope().ok()) return {};
  const VariableScope v = EnterRnn(variables, options, "rnn");
  const Scope& s = v.scope();
  const Output batch_size = Element(s, s.Op("Shape", {inputs[0]}), 0);
  const Output lengths = CheckedLengths(s, options.sequence_length, batch_size);
  StaticResult result;
  result.state = options.initial_state;
  if (result.state.empty() && s.ok()) result.state = cell.ZeroState(s, batch_size, inputs[0].dtype());
  for (size_t time = 0; time < inputs.size() && s.ok(); ++time) {
    const Output now = lengths ? s.Const(static_cast<int32_t>(time)) : Output();
    Cell::Step step = StepOf(cell, v, inputs[time], result.state, now, lengths);
    result.outputs.push_back(step.output);
    result.state = std::move(step.state);
  }
  return s.ok() ? result : StaticResult();
}

BidirectionalResult BidirectionalDynamicRnn(Cell& forward, Cell& backward, const VariableScope& variables,
                                            Output inputs, const Options& options) {
  if (!inputs) variables.scope().Fail(errors::InvalidArgument("A bidirectional rnn needs inputs"));
  if (!variables.scope().ok()) return {};
  const VariableScope v = EnterRnn(variables, options, "bidirectional_rnn");
  const Scope& s = v.scope();
  const int time_axis = options.time_major ? 0 : 1;
  Options fw = options, bw = options;
  fw.scope = "fw";
  bw.scope = "bw";
  if (!options.initial_state.empty()) {
    const size_t ours = forward.state_sizes().size();
    if (options.initial_state.size() != ours + backward.state_sizes().size()) {
      s.Fail(errors::InvalidArgument("The cells have ", ours + backward.state_sizes().size(), " states and were given ",
                                     options.initial_state.size()));
      return {};
    }
    const auto middle = options.initial_state.begin() + static_cast<std::ptrdiff_t>(ours);
    fw.initial_state.assign(options.initial_state.begin(), middle);
    bw.initial_state.assign(middle, options.initial_state.end());
  }
  BidirectionalResult result;
  result.forward = DynamicRnn(forward, v, inputs, fw);
  result.backward = DynamicRnn(backward, v, Backwards(s, inputs, options.sequence_length, time_axis), bw);
  if (!s.ok()) return {};
  result.backward.outputs = Backwards(s, result.backward.outputs, options.sequence_length, time_axis);
  return result;
}

}  // namespace millstream::rnn
