// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/layers/layers.h"

#include "millstream/graph/control_flow/control_flow_builders.h"
#include "millstream/graph/gradients/gradient.h"
#include "millstream/train/operators/operators.h"

namespace millstream::layers {
namespace {

Output Variable(const VariableScope& v, const char* name, const Shape& shape, DType dtype,
                const Initializer& initializer, const Regularizer& regularizer, const Constraint& constraint) {
  VariableOptions options;
  options.dtype = dtype;
  options.initializer = initializer;
  options.regularizer = regularizer;
  options.constraint = constraint;
  return v.GetValue(name, shape, options);
}

Output Kernel(const VariableScope& v, const Shape& shape, DType dtype, const Options& options) {
  return Variable(v, "kernel", shape, dtype, options.kernel_initializer, options.kernel_regularizer,
                  options.kernel_constraint);
}

Output Pool(const Scope& scope, const char* name, const char* type, Output x, int64_t window, int64_t stride,
            absl::string_view padding) {
  return scope.NameScope(name).Op(type, {x},
                                  {{"ksize", std::vector<int64_t>{1, window, window, 1}},
                                   {"strides", std::vector<int64_t>{1, stride, stride, 1}},
                                   {"padding", padding}});
}

Output BiasAndActivation(const VariableScope& v, Output y, int64_t units, const Options& options) {
  const Scope& s = v.scope();
  if (options.use_bias && s.ok()) {
    const Initializer initializer = options.bias_initializer != nullptr ? options.bias_initializer : ZerosInitializer();
    y = s.Op("BiasAdd", {y, Variable(v, "bias", Shape({units}), y.dtype(), initializer, options.bias_regularizer,
                                     options.bias_constraint)});
  }
  return options.activation == nullptr ? y : options.activation(s, y);
}

// The last size of x, which has that rank: InvalidArgument if it is not known.
int64_t LastDim(const Scope& s, Output x, int rank, const char* layer) {
  const PartialShape shape = s.ShapeOf(x);
  if (shape.rank() == rank && shape.dim(rank - 1) >= 0) return shape.dim(rank - 1);
  s.Fail(errors::InvalidArgument("The input of a ", layer, " layer has rank ", rank, " and a known last size. Found ",
                                 shape.ToString()));
  return -1;
}

bool AreClassNumbers(Output labels) { return labels.dtype() == DType::kInt32 || labels.dtype() == DType::kInt64; }

}  // namespace

VariableScope EnterLayer(const VariableScope& variables, const std::string& name, const char* base) {
  return name.empty() ? variables.EnterNew(base) : variables.Enter(name);
}

Output Relu(const Scope& scope, Output x) { return scope.Op("Relu", {x}); }
Output Sigmoid(const Scope& scope, Output x) { return scope.Op("Sigmoid", {x}); }
Output Tanh(const Scope& scope, Output x) { return scope.Op("Tanh", {x}); }

Output Dense(const VariableScope& variables, Output x, int64_t units, const Options& options) {
  if (!variables.scope().ok()) return {};
  const VariableScope v = EnterLayer(variables, options.name, "dense");
  const Scope& s = v.scope();
  const int64_t inputs = LastDim(s, x, 2, "dense");
  if (units <= 0) s.Fail(errors::InvalidArgument("A dense layer of ", units, " units"));
  if (!s.ok()) return {};
  const Output kernel = Kernel(v, Shape({inputs, units}), x.dtype(), options);
  return BiasAndActivation(v, s.Op("MatMul", {x, kernel}), units, options);
}

Output Conv2D(const VariableScope& variables, Output x, int64_t filters, int64_t window, const Conv2DOptions& options) {
  if (!variables.scope().ok()) return {};
  const VariableScope v = EnterLayer(variables, options.name, "conv2d");
  const Scope& s = v.scope();
  const int64_t channels = LastDim(s, x, 4, "conv2d");
  if (filters <= 0 || window <= 0)
    s.Fail(errors::InvalidArgument("A conv2d layer of ", filters, " filters of size ", window));
  if (!s.ok()) return {};
  const Output kernel = Kernel(v, Shape({window, window, channels, filters}), x.dtype(), options);
  const Output y =
      s.Op("Conv2D", {x, kernel},
           {{"strides", std::vector<int64_t>{1, options.stride, options.stride, 1}}, {"padding", options.padding}});
  return BiasAndActivation(v, y, filters, options);
}

Output MaxPool(const Scope& scope, Output x, int64_t window, int64_t stride, absl::string_view padding) {
  return Pool(scope, "max_pooling2d", "MaxPool", x, window, stride, padding);
}

Output AveragePool(const Scope& scope, Output x, int64_t window, int64_t stride, absl::string_view padding) {
  return Pool(scope, "average_pooling2d", "AvgPool", x, window, stride, padding);
}

Output Flatten(const Scope& scope, Output x) {
  const Scope s = scope.NameScope("flatten");
  const PartialShape shape = s.ShapeOf(x);
  const PartialShape rest = shape.rank() > 0 ? shape.Slice(1, shape.rank()) : PartialShape();
  if (!rest.IsFullyDefined()) {
    s.Fail(errors::InvalidArgument("Flatten() needs to know all sizes but the first. Found ", shape.ToString()));
    return {};
  }
  const auto batch = static_cast<int32_t>(shape.dim(0));  // -1 if it is not known
  return OpNamed(s, "", "Reshape", {x, std::vector<int32_t>{batch, static_cast<int32_t>(rest.num_elements())}});
}

namespace {

// tf.random_uniform() from 0 to 1.
Output RandomUniform(const Scope& s, Output sizes, DType dtype, const Seed& seed) {
  return s.NameScope("random_uniform")
      .Op("RandomUniform", {sizes},
          {{"dtype", dtype}, {"seed", int64_t{seed ? 87654321 : 0}}, {"seed2", seed.value_or(0)}});
}

bool CheckDropout(const Scope& scope, Output x, double rate) {
  if (!scope.ok()) return false;
  if (!(rate >= 0 && rate < 1) || !IsFloating(x.dtype())) {
    scope.Fail(errors::InvalidArgument("Dropout of ", DTypeName(x.dtype()), " at the rate ", rate,
                                       ": a floating type and a rate in [0, 1) are needed"));
  }
  return scope.ok();
}

}  // namespace

Output DropElements(const Scope& scope, Output x, double rate, Seed seed) {
  if (!CheckDropout(scope, x, rate)) return {};
  const Scope s = scope.NameScope("dropout");
  if (rate == 0) return x;
  const DType dtype = x.dtype();
  const Output scaled = s.Op("Mul", {x, s.Const(ScalarOf(dtype, 1 / (1 - rate)))});
  const Output noise = RandomUniform(s, operators::ShapeOf(s, x), dtype, seed);
  const Output keep = OpNamed(s, "", "GreaterEqual", {noise, rate});
  return s.Op("SelectV2", {keep, scaled, s.Const(ScalarOf(dtype, 0))});
}

Output DropElements(const Scope& scope, Output x, Output rate, Seed seed) {
  if (!CheckDropout(scope, x, 0)) return {};
  const Scope s = scope.NameScope("dropout");
  const DType dtype = x.dtype();
  const Output one = s.Const(ScalarOf(dtype, 1));
  const Output scaled = s.Op("RealDiv", {x, s.Op("Sub", {one, CastTo(s, rate, dtype)})});
  const Output noise = RandomUniform(s, operators::ShapeOf(s, x), dtype, seed);
  const Output keep = s.Op("GreaterEqual", {noise, rate});
  return s.Op("SelectV2", {keep, scaled, s.Const(ScalarOf(dtype, 0))});
}

Output Dropout(const Scope& scope, Output x, double rate, Seed seed) {
  return CheckDropout(scope, x, rate) ? DropElements(scope.NameScope("dropout"), x, rate, seed) : Output();
}

Output Dropout(const Scope& scope, Output x, double rate, Output training, Seed seed) {
  if (!CheckDropout(scope, x, rate)) return {};
  const std::vector<Output> y = Cond(
      scope.NameScope("dropout"), training,
      [&](const Scope& s) { return std::vector<Output>{DropElements(s, x, rate, seed)}; },
      [&](const Scope& s) { return std::vector<Output>{s.Op("Identity", {x})}; });
  return y.empty() ? Output() : y[0];
}

Output SoftmaxCrossEntropy(const Scope& scope, Output logits, Output labels) {
  if (!scope.ok()) return {};
  const Scope s = scope.NameScope("softmax_cross_entropy");
  const Output losses =
      s.Op(AreClassNumbers(labels) ? "SparseSoftmaxCrossEntropyWithLogits" : "SoftmaxCrossEntropyWithLogits",
           {logits, labels});
  return s.WithOpName("value").Op("Mean", {losses, s.Constant({0})});
}

Output Accuracy(const Scope& scope, Output logits, Output labels) {
  if (!scope.ok()) return {};
  const Scope s = scope.NameScope("accuracy");
  const Output axis = s.Const<int32_t>(1);
  const Output guess = s.Op("ArgMax", {logits, axis});
  const Output truth =
      AreClassNumbers(labels) ? s.Op("Cast", {labels}, {{"DstT", DType::kInt64}}) : s.Op("ArgMax", {labels, axis});
  const Output hits = s.Op("Cast", {s.Op("Equal", {guess, truth})}, {{"DstT", DType::kFloat}});
  return s.WithOpName("value").Op("Mean", {hits, s.Constant({0})});
}

}  // namespace millstream::layers
