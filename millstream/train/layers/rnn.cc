// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/layers/rnn.h"

#include "millstream/graph/control_flow/control_flow_builders.h"
#include "millstream/graph/shape_refiner.h"
#include "millstream/train/operators/operators.h"

namespace millstream::rnn {
namespace {

using operators::At;

void MergeShape(const Scope& s, Output x, const PartialShape& shape) {
  if (!s.ok()) return;
  if (Status merged = s.shapes().MergeShape(x, shape); !merged.ok()) s.Fail(merged);
}

// [batch, time, size] <-> [time, batch, size].
Output SwapBatchAndTime(const Scope& s, Output x) {
  const PartialShape shape = s.ShapeOf(x);
  const Output rest = operators::Range(s, Tensor::Scalar<int32_t>(2), operators::RankOf(s, x));
  const Output order = operators::Concat(s, {std::vector<int32_t>{1, 0}, rest});
  const Output swapped = s.WithOpName("transpose").Op("Transpose", {x, order});
  if (shape.rank() == 3) MergeShape(s, swapped, PartialShape({shape.dim(1), shape.dim(0), shape.dim(2)}));
  return swapped;
}

// A known size, or one that the step finds.
BatchSize SizeOf(const Scope& s, Output x, int axis) {
  const int64_t known = s.ShapeOf(x).dim(axis);
  return known >= 0 ? BatchSize(known) : BatchSize(At(s, operators::ShapeOf(s, x), axis));
}

bool AreLengths(const Scope& s, Output lengths) {
  const PartialShape shape = s.ShapeOf(lengths);
  if (shape.rank_known() && shape.rank() != 1) {
    s.Fail(errors::InvalidArgument("sequence_length must be a vector of length batch_size, but saw shape: ",
                                   shape.ToString()));
  }
  return s.ok();
}

// The lengths after an Assert that there is one for each sequence.
Output CheckedLengths(const Scope& s, Output lengths, const BatchSize& batch_size) {
  const Output found = operators::ShapeOf(s, lengths);
  const Scope stack = s.WithOpName("stack");
  const Output wanted = batch_size.tensor ? stack.Op("Pack", {batch_size.tensor})
                                          : stack.Constant({static_cast<int32_t>(batch_size.known)});
  const Output equal = operators::ReduceAll(s, "All", s.Op("Equal", {found, wanted}));
  if (!s.ok()) return {};
  const Scope in = s.NameScope("Assert");
  const Output text = in.Const(Tensor::Scalar(absl::StrCat("Expected shape for Tensor ", lengths.name(), " is ")));
  const Output but = in.Const(Tensor::Scalar(std::string(" but saw shape: ")));
  Node* check = in.Add("Assert", {equal, text, wanted, but, found});
  return s.WithControlDependencies({check}).WithOpName("CheckSeqLen").Op("Identity", {lengths});
}

// Leaves the state of ended sequences as it is, and gives zeros for their outputs.
class EndedSequences {
 public:
  EndedSequences(const Scope& s, const Operand& time, Output lengths, Output zero_output, const State& state)
      : old_(state), ended_(OpNamed(s, "", "GreaterEqual", {time, lengths})) {
    old_.insert(old_.begin(), zero_output);
  }

  // The output and the states, mixed with the old ones.
  std::vector<Output> Mix(const Scope& s, const std::vector<Output>& values) const {
    std::vector<Output> mixed;
    for (size_t i = 0; i < values.size() && s.ok(); ++i) {
      mixed.push_back(s.ColocateWith(values[i].node).Op("Select", {ended_, old_[i], values[i]}));
      MergeShape(s, mixed.back(), s.ShapeOf(values[i]));
    }
    return mixed;
  }
  const std::vector<Output>& old() const { return old_; }

 private:
  std::vector<Output> old_;
  const Output ended_;
};

std::vector<Output> Values(const Cell::Step& step) {
  std::vector<Output> values = {step.output};
  values.insert(values.end(), step.state.begin(), step.state.end());
  return values;
}

Cell::Step StepOf(const std::vector<Output>& values) {
  return values.empty() ? Cell::Step() : Cell::Step{values[0], State(values.begin() + 1, values.end())};
}

struct Array {
  Array(const Scope& s, Output size, DType type, const PartialShape& element, const std::string& name) : dtype(type) {
    Node* array = s.WithOpName("TensorArray")
                      .Add("TensorArrayV3", {size},
                           {{"dtype", dtype},
                            {"element_shape", element},
                            {"identical_element_shapes", true},
                            {"tensor_array_name", name}});
    if (array == nullptr) return;
    handle = Output(array, 0);
    flow = Output(array, 1);
  }

  // The flow after all rows of x are its elements.
  Output Unstack(const Scope& scope, Output x) const {
    if (!scope.ok()) return {};
    const Scope s = scope.NameScope("TensorArrayUnstack");
    const Output rows = At(s, operators::ShapeOf(s, x), 0);
    const Output all = operators::Range(s, Tensor::Scalar<int32_t>(0), rows);
    return s.NameScope("TensorArrayScatter")
        .ColocateWith(handle.node)
        .Op("TensorArrayScatterV3", {handle, all, x, flow});
  }
  // All elements, after `last`, as the rows of one tensor.
  Output Stack(const Scope& scope, Output last, const PartialShape& element) const {
    if (!scope.ok()) return {};
    const Scope s = scope.ColocateWith(handle.node).NameScope("TensorArrayStack");
    Tensor known;
    const Output own_size = handle.node->input(0);
    const Output size = s.ConstantValue(own_size, &known) ? own_size : s.Op("TensorArraySizeV3", {handle, last});
    const Output all = operators::Range(s, Tensor::Scalar<int32_t>(0), size);
    return s.Op("TensorArrayGatherV3", {handle, all, last}, {{"dtype", dtype}, {"element_shape", element}});
  }

  DType dtype;
  Output handle = {}, flow = {};
};

// What the loop needs: inputs [time, batch, size].
struct Loop {
  Cell& cell;
  VariableScope v;
  Output x, lengths;

  Result Run(const State& initial, const Options& options) const;

 private:
  Cell::Step At(const Scope& s, Output x_now, Output time, const State& state, Output zero_output) const;
};

Cell::Step Loop::At(const Scope& s, Output x_now, Output time, const State& state, Output zero_output) const {
  if (!lengths) return cell(v.WithScope(s), x_now, state);
  const EndedSequences ended(s, time, lengths, zero_output, state);
  const Cell::Step step = cell(v.WithScope(s), x_now, state);
  return s.ok() ? StepOf(ended.Mix(s, Values(step))) : Cell::Step();
}

Result Loop::Run(const State& initial, const Options& options) const {
  const Scope& s = v.scope();
  const PartialShape shape = s.ShapeOf(x);
  const PartialShape output({shape.dim(1), cell.output_size()}), input({shape.dim(1), shape.dim(2)});
  const Output steps = operators::At(s, operators::ShapeOf(s, x), 0);
  const DType dtype = initial.front().dtype();
  const Output zero_output = BatchZeros(s, SizeOf(s, x, 1), cell.output_size(), dtype);
  const Output last_step = lengths ? operators::ReduceAll(s, "Max", lengths) : steps;
  const Output start = s.WithOpName("time").Const<int32_t>(0);
  const std::string base = s.NameScope("dynamic_rnn").name_prefix();
  const Array out(s, steps, dtype, output, base + "output_0");
  const Array in(s, steps, x.dtype(), input, base + "input_0");
  const Output filled = in.Unstack(s, x);
  // At least one step, if there is an input, so that the arrays know the shapes of their elements.
  const Output bound = s.Op("Minimum", {steps, OpNamed(s, "", "Maximum", {1, last_step})});
  if (!s.ok()) return {};
  const auto more = [&](const Scope& inside, const std::vector<Output>& now) {
    return inside.Op("Less", {now[0], bound});
  };
  const auto body = [&](const Scope& inside, const std::vector<Output>& now) {
    const Output x_now =
        inside.ColocateWith(in.handle.node).Op("TensorArrayReadV3", {in.handle, now[0], filled}, {{"dtype", in.dtype}});
    MergeShape(inside, x_now, input);
    const Cell::Step step = At(inside, x_now, now[0], State(now.begin() + 2, now.end()), zero_output);
    if (!inside.ok()) return std::vector<Output>();
    const Output written = inside.NameScope("TensorArrayWrite")
                               .ColocateWith(out.handle.node)
                               .Op("TensorArrayWriteV3", {out.handle, now[0], step.output, now[1]});
    std::vector<Output> next = {operators::Add(inside, now[0], 1), written};
    next.insert(next.end(), step.state.begin(), step.state.end());
    return next;
  };
  std::vector<Output> vars = {start, out.flow};
  vars.insert(vars.end(), initial.begin(), initial.end());
  WhileOptions how;
  how.parallel_iterations = options.parallel_iterations;
  how.swap_memory = options.swap_memory;
  how.maximum_iterations = steps;
  const std::vector<Output> last = WhileLoop(s, more, body, vars, how);
  if (!s.ok()) return {};
  const Output outputs = out.Stack(s, last[1], output);
  MergeShape(s, outputs, PartialShape({shape.dim(0), shape.dim(1), cell.output_size()}));
  return {outputs, State(last.begin() + 2, last.end())};
}

// InvalidArgument unless there are as many as the cell has.
bool StatesFit(const Scope& s, const Cell& cell, const State& states) {
  const size_t wanted = cell.state_sizes().size();
  if (s.ok() && states.size() != wanted) {
    s.Fail(errors::InvalidArgument("The cell has ", wanted, " states and was given ", states.size()));
  }
  return s.ok();
}

// `v` is the scope of the network.
Result DynamicRnnIn(const VariableScope& v, Cell& cell, Output inputs, const Options& options) {
  const Scope& s = v.scope();
  if (!s.ok()) return {};
  const PartialShape shape = s.ShapeOf(inputs);
  if (!inputs || shape.rank() != 3 || shape.dim(2) < 0) {
    s.Fail(errors::InvalidArgument("Inputs of a dynamic rnn have three dimensions, the last one known: found ",
                                   shape.ToString()));
    return {};
  }
  const Output x = options.time_major ? inputs : SwapBatchAndTime(s, inputs);
  Output lengths = options.sequence_length;
  if (lengths) {
    if (!AreLengths(s, lengths)) return {};
    lengths = s.WithOpName("sequence_length").Op("Identity", {CastTo(s, lengths, DType::kInt32)});
  }
  const BatchSize batch_size = SizeOf(s, x, 1);
  const State initial =
      options.initial_state.empty() ? cell.ZeroState(s, batch_size, inputs.dtype()) : options.initial_state;
  if (!StatesFit(s, cell, initial)) return {};
  if (lengths) lengths = CheckedLengths(s, lengths, batch_size);
  Result result = Loop{cell, v, x, lengths}.Run(initial, options);
  if (!s.ok()) return {};
  if (!options.time_major) result.outputs = SwapBatchAndTime(s, result.outputs);
  return result;
}

// Calls the cell only if a sequence goes on, and mixes only if one has ended.
Cell::Step ConditionalStep(const EndedSequences& ended, Cell& cell, const VariableScope& v, Output x,
                           const State& state, int time, Output shortest, Output longest) {
  const auto step = [&](const Scope& s) {
    const std::vector<Output> values = Values(cell(v.WithScope(s), x, state));
    if (!s.ok()) return std::vector<Output>();
    return Cond(
        s, OpNamed(s, "", "Less", {time, shortest}), [&](const Scope&) { return values; },
        [&](const Scope& in) { return ended.Mix(in, values); });
  };
  const Scope& s = v.scope();
  const std::vector<Output> values = Cond(
      s, OpNamed(s, "", "GreaterEqual", {time, longest}), [&](const Scope&) { return ended.old(); }, step);
  for (size_t i = 0; i < values.size(); ++i) MergeShape(s, values[i], s.ShapeOf(ended.old()[i]));
  return StepOf(values);
}

Output Backwards(const Scope& s, Output x, Output lengths, int time_axis) {
  if (!lengths) return OpNamed(s, "", "ReverseV2", {x, std::vector<int32_t>{time_axis}});
  return s.Op("ReverseSequence", {x, lengths},
              {{"seq_dim", int64_t{time_axis}}, {"batch_dim", int64_t{1 - time_axis}}});
}

VariableScope EnterRnn(const VariableScope& variables, const Options& options, const char* base) {
  return variables.Enter(options.scope.empty() ? base : options.scope.c_str());
}

// A direction of a bidirectional network: TensorFlow enters the scope of a direction twice, which doubles the name of
// its ops, but not that of its variables.
VariableScope EnteredTwice(const VariableScope& direction, const char* name) {
  return direction.WithScope(direction.scope().NameScope(name));
}

}  // namespace

Result DynamicRnn(Cell& cell, const VariableScope& variables, Output inputs, const Options& options) {
  if (!variables.scope().ok()) return {};
  return DynamicRnnIn(EnterRnn(variables, options, "rnn"), cell, inputs, options);
}

StaticResult StaticRnn(Cell& cell, const VariableScope& variables, const std::vector<Output>& inputs,
                       const Options& options) {
  if (inputs.empty()) variables.scope().Fail(errors::InvalidArgument("inputs must not be empty"));
  if (!variables.scope().ok()) return {};
  const VariableScope v = EnterRnn(variables, options, "rnn");
  const Scope& s = v.scope();
  const BatchSize batch_size = SizeOf(s, inputs[0], 0);
  StaticResult result;
  result.state = options.initial_state;
  if (result.state.empty() && s.ok()) result.state = cell.ZeroState(s, batch_size, inputs[0].dtype());
  if (!StatesFit(s, cell, result.state)) return {};
  Output lengths = options.sequence_length, zero_output, shortest, longest;
  if (lengths) {
    if (!AreLengths(s, lengths)) return {};
    zero_output = BatchZeros(s, batch_size, cell.output_size(), result.state[0].dtype());
    lengths = CastTo(s, lengths, DType::kInt32);
    shortest = operators::ReduceAll(s, "Min", lengths);
    longest = operators::ReduceAll(s, "Max", lengths);
  }
  for (size_t i = 0; i < inputs.size() && s.ok(); ++i) {
    const int time = static_cast<int>(i);
    Cell::Step step;
    if (lengths) {
      const EndedSequences ended(s, time, lengths, zero_output, result.state);
      step = ConditionalStep(ended, cell, v, inputs[i], result.state, time, shortest, longest);
    } else {
      step = cell(v, inputs[i], result.state);
    }
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
  result.forward = DynamicRnnIn(EnteredTwice(v.Enter("fw"), "fw"), forward, inputs, fw);
  const VariableScope back = v.Enter("bw");
  const Output turned = Backwards(back.scope(), inputs, options.sequence_length, time_axis);
  result.backward = DynamicRnnIn(EnteredTwice(back, "bw"), backward, turned, bw);
  if (!s.ok()) return {};
  result.backward.outputs = Backwards(variables.scope(), result.backward.outputs, options.sequence_length, time_axis);
  return result;
}

}  // namespace millstream::rnn
