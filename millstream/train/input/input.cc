// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/input/input.h"

#include "millstream/graph/shape_refiner.h"
#include "millstream/train/input/input_queue.h"
#include "millstream/train/input/queue_runner.h"
#include "millstream/train/operators/operators.h"

namespace millstream::input {
namespace {

Scope EnterProducer(const Scope& scope, const ProducerOptions& options) {
  return scope.NameScope(options.name.empty() ? "input_producer" : options.name.c_str());
}

// In the producer's own scope.
Output MakeProducer(const Scope& s, Output tensor, const ProducerOptions& options, const std::string& queue_name) {
  if (!s.ok()) return {};
  const PartialShape shape = s.ShapeOf(tensor);
  if (shape.rank() < 1 || !shape.Slice(1, shape.rank()).IsFullyDefined()) {
    s.Fail(errors::InvalidArgument("The rows of an input producer have a known shape. Found ", shape.ToString()));
    return {};
  }
  const PartialShape row = shape.Slice(1, shape.rank());
  if (options.shuffle) {
    tensor = s.Op("RandomShuffle", {tensor},
                  {{"seed", int64_t{options.seed ? 87654321 : 0}}, {"seed2", options.seed.value_or(0)}});
  }
  tensor = LimitEpochs(s, tensor, options.num_epochs);
  if (!s.ok()) return {};
  InputQueue how;
  how.types = {tensor.dtype()};
  how.shapes = {row};
  how.capacity = options.capacity;
  how.shared_name = options.shared_name;
  how.name = queue_name;
  const Output queue = MakeInputQueue(s, how);
  if (!s.ok()) return {};
  Node* enqueue = s.WithOpName(QueueOpName(queue, "EnqueueMany")).Add("QueueEnqueueManyV2", {queue, tensor});
  RunQueue(s, queue, {enqueue});
  SummarizeFullness(s, queue, 0, options.capacity);
  return s.ok() ? queue : Output();
}

}  // namespace

Output LimitEpochs(const Scope& scope, Output tensor, std::optional<int64_t> num_epochs) {
  if (!num_epochs.has_value() || !scope.ok()) return tensor;
  if (*num_epochs <= 0) {
    scope.Fail(errors::InvalidArgument("num_epochs must be > 0 not ", *num_epochs, "."));
    return {};
  }
  const Scope s = scope.NameScope("limit_epochs");
  VariableOptions options;
  options.dtype = DType::kInt64;
  options.initial_value = s.Const<int64_t>(0);
  options.trainable = false;
  options.collections = {graph_keys::kLocalVariables};
  const GraphVariable epochs = MakeVariable(s, s.UniqueName("epochs"), Shape(), options);
  if (!s.ok()) return {};
  Node* counter = s.Add("CountUpTo", {epochs.handle}, {{"limit", *num_epochs}});
  return s.WithControlDependencies({counter}).WithOpName(s.name_prefix()).Op("Identity", {tensor});
}

Output InputProducer(const Scope& scope, Output tensor, const ProducerOptions& options) {
  if (!tensor) scope.Fail(errors::InvalidArgument("An input producer needs a tensor"));
  return scope.ok() ? MakeProducer(EnterProducer(scope, options), tensor, options, options.name) : Output();
}

Output StringInputProducer(const Scope& scope, const std::vector<std::string>& strings,
                           const ProducerOptions& options) {
  if (strings.empty()) {
    scope.Fail(errors::InvalidArgument("string_input_producer requires a non-null input tensor"));
  }
  if (!scope.ok()) return {};
  const Scope s = EnterProducer(scope, options);
  return MakeProducer(s, s.Const(Tensor::Vector(strings)), options, s.name_prefix());
}

Output RangeInputProducer(const Scope& scope, Output limit, const ProducerOptions& options) {
  if (!limit) scope.Fail(errors::InvalidArgument("An input producer needs a limit"));
  if (!scope.ok()) return {};
  const Scope s = EnterProducer(scope, options);
  return MakeProducer(s, OpNamed(s, "range", "Range", {0, CastTo(s, limit, DType::kInt32), 1}), options,
                      s.name_prefix());
}

std::vector<Output> SliceInputProducer(const Scope& scope, const std::vector<Output>& tensors,
                                       const ProducerOptions& options) {
  if (tensors.empty()) {
    scope.Fail(errors::InvalidArgument("Expected at least one tensor in slice_input_producer()."));
  }
  for (const Output& tensor : tensors) {
    if (!tensor || scope.ShapeOf(tensor).rank() == 0)
      scope.Fail(errors::InvalidArgument("slice_input_producer() needs tensors of rank 1 or more"));
  }
  if (!scope.ok()) return {};
  const Scope s = EnterProducer(scope, options);
  const Output rows = operators::At(s, operators::ShapeOf(s, tensors[0]), 0);
  ProducerOptions own = options;
  own.name.clear();
  const Output row = Dequeue(s, RangeInputProducer(s, rows, own), DType::kInt32, PartialShape(Shape()));
  std::vector<Output> slices;
  for (const Output& tensor : tensors) {
    slices.push_back(OpNamed(s, "", "GatherV2", {tensor, row, Tensor::Scalar<int32_t>(0)}));
  }
  return s.ok() ? slices : std::vector<Output>();
}

Output Dequeue(const Scope& scope, Output queue, DType dtype, const PartialShape& shape) {
  if (!scope.ok()) return {};
  const Output value = scope.WithOpName(QueueOpName(queue, "Dequeue"))
                           .Op("QueueDequeueV2", {queue}, {{"component_types", std::vector<DType>{dtype}}});
  if (!scope.ok()) return {};
  if (Status merged = scope.shapes().MergeShape(value, shape); !merged.ok()) scope.Fail(merged);
  return value;
}

}  // namespace millstream::input
