// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/layers/batch_normalization.h"

#include <algorithm>

#include "millstream/graph/control_flow/control_flow_builders.h"
#include "millstream/graph/gradients/gradient.h"
#include "millstream/train/layers/layers.h"
#include "millstream/train/operators/operators.h"

namespace millstream::layers {
namespace {

constexpr double kLeastEpsilon = 1.001e-5;  // of fused normalization, as TensorFlow has it

// One call of the layer.
struct Norm {
  const BatchNormalizationOptions& options;
  Scope s;
  Output x;
  int axis = 0, rank = 0;
  int64_t size = 0;
  bool fused = false;
  std::optional<bool> known = {};  // whether it trains
  Output training = {};            // if that is not known
  Output gamma = {}, beta = {};    // or empty
  GraphVariable moving_mean = {}, moving_variance = {};
};

// InvalidArgument if the layer cannot be over x.
bool ReadShape(Norm& n) {
  const PartialShape shape = n.s.ShapeOf(n.x);
  n.rank = shape.rank();
  n.axis = n.options.axis < 0 ? n.options.axis + n.rank : n.options.axis;
  if (n.rank < 0) {
    n.s.Fail(errors::InvalidArgument("Input of batch normalization has undefined rank"));
  } else if (n.axis < 0 || n.axis >= n.rank) {
    n.s.Fail(errors::InvalidArgument("Invalid axis: ", n.options.axis, " of ", shape.ToString()));
  } else if (shape.dim(n.axis) < 0) {
    n.s.Fail(errors::InvalidArgument("Input has undefined `axis` dimension. Received input with shape ",
                                     shape.ToString(), "."));
  } else if (!IsFloating(n.x.dtype())) {
    n.s.Fail(errors::InvalidArgument("Batch normalization of ", DTypeName(n.x.dtype())));
  } else {
    n.size = shape.dim(n.axis);
  }
  return n.s.ok();
}

DType ParameterType(DType dtype) { return dtype == DType::kDouble ? dtype : DType::kFloat; }

Output Parameter(const Norm& n, const VariableScope& v, const char* name, const Initializer& initializer,
                 const Initializer& standard, const Regularizer& regularizer, const Constraint& constraint) {
  VariableOptions own;
  own.dtype = ParameterType(n.x.dtype());
  own.initializer = initializer == nullptr ? standard : initializer;
  own.trainable = n.options.trainable;
  own.regularizer = regularizer;
  own.constraint = constraint;
  return v.GetValue(name, Shape({n.size}), own);
}

// Averages are assigned as a whole, and are not what regularizers of the scope mean.
GraphVariable Average(const Norm& n, const VariableScope& v, const char* name, const Initializer& initializer,
                      const Initializer& standard) {
  VariableOptions own;
  own.dtype = ParameterType(n.x.dtype());
  own.initializer = initializer == nullptr ? standard : initializer;
  own.trainable = false;
  own.regularizer = NoRegularizer;
  return v.WithPartitioner(nullptr).Get(name, Shape({n.size}), own);
}

bool MakeVariables(Norm& n, const VariableScope& v) {
  const BatchNormalizationOptions& o = n.options;
  const Initializer zeros = ZerosInitializer(), ones = OnesInitializer();
  // The fused kernel needs both, the plain one does without.
  const auto constant = [&](double value) {
    Tensor filled(ParameterType(n.x.dtype()), Shape({n.size}));
    for (float& element : filled.flat<float>()) element = static_cast<float>(value);
    return n.s.Const(std::move(filled));
  };
  if (o.scale) {
    n.gamma = Parameter(n, v, "gamma", o.gamma_initializer, ones, o.gamma_regularizer, o.gamma_constraint);
  } else if (n.fused) {
    n.gamma = constant(1);
  }
  if (o.center) {
    n.beta = Parameter(n, v, "beta", o.beta_initializer, zeros, o.beta_regularizer, o.beta_constraint);
  } else if (n.fused) {
    n.beta = constant(0);
  }
  n.moving_mean = Average(n, v, "moving_mean", o.moving_mean_initializer, zeros);
  n.moving_variance = Average(n, v, "moving_variance", o.moving_variance_initializer, ones);
  return n.s.ok();
}

using Branch = std::function<std::vector<Output>(const Scope&)>;

// What is known now, or a branch of the graph. Empty after an error.
std::vector<Output> Choose(const Norm& n, const Branch& train, const Branch& infer) {
  if (n.known.has_value()) return *n.known ? train(n.s) : infer(n.s);
  return Cond(n.s, n.training, train, infer);
}

// average -= (average - value) * (1 - momentum): `decay` makes the factor in a scope.
Output UpdateAverage(const Scope& scope, const GraphVariable& average, Output value,
                     const std::function<Output(const Scope&)>& decay) {
  const Scope s = scope.NameScope("AssignMovingAvg").ColocateWith(average.handle.node);
  const DType dtype = TypeOf(average);
  const Output rate = CastTo(s, decay(s), dtype);
  const Output change = operators::Mul(s, operators::Sub(s, average, CastTo(s, value, dtype)), rate);
  return SubtractFromVariable(s.WithOpName(s.name_prefix()), average, change);
}

void AddUpdate(const Norm& n, Output update) {
  if (n.s.ok()) n.s.AddToCollection(graph_keys::kUpdateOps, update);
}

bool Updates(const Norm& n) { return n.known.value_or(true) && n.options.trainable; }

Output Fused(const Norm& n) {
  const auto node = [&](const Scope& in, const std::vector<Operand>& averages, bool is_training) {
    std::vector<Operand> inputs = {n.x, n.gamma, n.beta};
    inputs.insert(inputs.end(), averages.begin(), averages.end());
    Node* norm = AddNamed(in, "", "FusedBatchNormV3", inputs,
                          {{"epsilon", static_cast<float>(std::max(n.options.epsilon, kLeastEpsilon))},
                           {"data_format", n.axis == 3 ? "NHWC" : "NCHW"},
                           {"is_training", is_training}});
    if (norm == nullptr) return std::vector<Output>();
    return std::vector<Output>{Output(norm, 0), Output(norm, 1), Output(norm, 2)};
  };
  const auto train = [&](const Scope& in) {
    const Tensor none(DType::kFloat, Shape({0}));
    const Output mean = in.Const(none), variance = in.Const(none);
    return node(in, {mean, variance}, true);
  };
  const auto infer = [&](const Scope& in) { return node(in, {n.moving_mean, n.moving_variance}, false); };
  const std::vector<Output> norm = Choose(n, train, infer);
  const auto number = [](const Scope& in, double value) {
    return std::vector<Output>{in.Const(static_cast<float>(value))};
  };
  const std::vector<Output> momentum =
      n.known.has_value() ? number(n.s, n.options.momentum)
                          : Cond(
                                n.s, n.training, [&](const Scope& in) { return number(in, n.options.momentum); },
                                [&](const Scope& in) { return number(in, 1); });
  if (!n.s.ok() || !Updates(n)) return n.s.ok() ? norm[0] : Output();
  const auto decay = [&](const Scope& in) { return operators::Sub(in, 1, momentum[0]); };
  AddUpdate(n, UpdateAverage(n.s, n.moving_mean, norm[1], decay));
  AddUpdate(n, UpdateAverage(n.s, n.moving_variance, norm[2], decay));
  return norm[0];
}

// A vector of features in the shape that goes with x.
Operand Wide(const Norm& n, const Operand& v) {
  if (n.axis == n.rank - 1) return v;
  std::vector<int32_t> sizes(static_cast<size_t>(n.rank), 1);
  sizes[static_cast<size_t>(n.axis)] = static_cast<int32_t>(n.size);
  return OpNamed(n.s, "", "Reshape", {v, sizes});
}

struct Statistics {
  Output mean, variance;
};

// Those of the batch: tf.nn.moments().
Statistics Moments(const Norm& n) {
  const Output x = CastTo(n.s, n.x, ParameterType(n.x.dtype()));
  const Scope s = n.s.NameScope("moments");
  std::vector<int32_t> over;
  std::vector<int64_t> squeezed;
  for (int i = 0; i < n.rank; ++i) {
    if (i == n.axis) continue;
    over.push_back(i);
    squeezed.push_back(i);
  }
  const auto mean_of = [&](Output values, const char* name) {
    return OpNamed(s, name, "Mean", {values, over}, {{"keep_dims", true}});
  };
  const Output mean = mean_of(x, "mean");
  const Output squares = s.Op("SquaredDifference", {x, s.Op("StopGradient", {mean})});
  const Output variance = mean_of(squares, "variance");
  const Output flat_mean = s.Op("Squeeze", {mean}, {{"squeeze_dims", squeezed}});
  return {flat_mean, s.Op("Squeeze", {variance}, {{"squeeze_dims", squeezed}})};
}

// Those of the batch while training, which then update the averages.
Statistics BatchOrMoving(const Norm& n) {
  if (n.known.has_value() && !*n.known) return {UseVariable(n.s, n.moving_mean), UseVariable(n.s, n.moving_variance)};
  const Statistics batch = Moments(n);
  const auto choose = [&n](Output own, const GraphVariable& average) {
    const std::vector<Output> chosen = Choose(
        n, [&](const Scope&) { return std::vector<Output>{own}; },
        [&](const Scope& in) { return std::vector<Output>{UseVariable(in, average)}; });
    return chosen.empty() ? Output() : chosen[0];
  };
  const Output mean = choose(batch.mean, n.moving_mean), variance = choose(batch.variance, n.moving_variance);
  const auto update = [&n](const GraphVariable& average, Output value) {
    const auto decay = [&](const Scope& in) {
      return in.WithOpName("decay").Const(static_cast<float>(1 - n.options.momentum));
    };
    const std::vector<Output> done = Choose(
        n,
        [&](const Scope& in) {
          const Output updated = UpdateAverage(in, average, value, decay);
          return std::vector<Output>{n.known.has_value() || IsResource(average) ? updated
                                                                                : in.Op("Identity", {updated})};
        },
        [&](const Scope& in) { return std::vector<Output>{UseVariable(in, average)}; });
    if (!done.empty()) AddUpdate(n, done[0]);
  };
  if (n.s.ok() && Updates(n)) {
    update(n.moving_mean, mean);
    update(n.moving_variance, variance);
  }
  return {mean, variance};
}

Output Plain(const Norm& n) {
  const DType dtype = n.x.dtype();
  const auto cast = [&](const Operand& v) { return CastTo(n.s, v.ToOutput(n.s, "", dtype), dtype); };
  std::optional<Operand> scale, offset;
  if (n.gamma) scale = Wide(n, n.gamma);
  if (n.beta) offset = Wide(n, n.beta);
  const Statistics statistics = BatchOrMoving(n);
  if (!n.s.ok()) return {};
  const Output own_mean = CastTo(n.s, statistics.mean, dtype), own_variance = CastTo(n.s, statistics.variance, dtype);
  if (offset.has_value()) offset = cast(*offset);
  if (scale.has_value()) scale = cast(*scale);
  const Operand mean = Wide(n, own_mean), variance = Wide(n, own_variance);
  const Scope s = n.s.NameScope("batchnorm");
  Output factor = s.Op("Rsqrt", {operators::Add(s, variance, n.options.epsilon)});
  if (scale.has_value()) factor = operators::Mul(s, factor, *scale);
  const Output scaled = operators::Mul(s, n.x, factor);
  if (offset.has_value()) {
    return operators::Add(s, scaled, operators::Sub(s, *offset, operators::Mul(s, mean, factor)));
  }
  const Output negative = OpNamed(s, "Neg", "Neg", {mean});
  return operators::Add(s, scaled, operators::Mul(s, negative, factor));
}

Output Build(const VariableScope& variables, Norm n) {
  const VariableScope v = EnterLayer(variables, n.options.name, "batch_normalization");
  n.s = v.scope();
  if (!ReadShape(n)) return {};
  const bool fusible = n.rank == 4 && (n.axis == 1 || n.axis == 3) && n.x.dtype() != DType::kDouble;
  if (n.options.fused.value_or(false) && !fusible) {
    n.s.Fail(errors::InvalidArgument("Batch normalization layers with `fused=True` only support 4D input tensors"));
    return {};
  }
  n.fused = n.options.fused.value_or(true) && fusible;
  if (!MakeVariables(n, v)) return {};
  const Output y = n.fused ? Fused(n) : Plain(n);
  return n.s.ok() ? y : Output();
}

}  // namespace

Output BatchNormalization(const VariableScope& variables, Output x, Output training,
                          const BatchNormalizationOptions& options) {
  const Scope& s = variables.scope();
  if (!x || !training) s.Fail(errors::InvalidArgument("Batch normalization needs an input, and whether it trains"));
  if (!s.ok()) return {};
  Norm n{.options = options, .s = s, .x = x, .known = {}, .training = training};
  Tensor value;
  if (training.dtype() == DType::kBool && s.ConstantValue(training, &value) && value.rank() == 0) {
    n.known = value.scalar<bool>();
  }
  return Build(variables, std::move(n));
}

Output BatchNormalization(const VariableScope& variables, Output x, bool training,
                          const BatchNormalizationOptions& options) {
  const Scope& s = variables.scope();
  if (!x) s.Fail(errors::InvalidArgument("Batch normalization needs an input"));
  return s.ok() ? Build(variables, Norm{.options = options, .s = s, .x = x, .known = training}) : Output();
}

std::vector<Node*> UpdateOps(const Scope& scope) {
  std::vector<Node*> nodes;
  for (const Output& update : scope.Collection(graph_keys::kUpdateOps)) nodes.push_back(update.node);
  return nodes;
}

}  // namespace millstream::layers
