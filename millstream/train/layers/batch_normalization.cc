// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/layers/batch_normalization.h"

#include <algorithm>

#include "millstream/graph/control_flow/control_flow_builders.h"
#include "millstream/graph/gradients/gradient.h"
#include "millstream/train/layers/layers.h"
#include "millstream/train/variables/variables.h"

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
  std::optional<bool> known = {};  // whether it trains
  Output training = {};            // if that is not known
  Output gamma = {}, beta = {};    // or empty
  GraphVariable moving_mean = {}, moving_variance = {};
};

struct Normalized {
  Output y, mean, variance;
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
  if (o.scale) {
    n.gamma = Parameter(n, v, "gamma", o.gamma_initializer, ones, o.gamma_regularizer, o.gamma_constraint);
  }
  if (o.center) n.beta = Parameter(n, v, "beta", o.beta_initializer, zeros, o.beta_regularizer, o.beta_constraint);
  n.moving_mean = Average(n, v, "moving_mean", o.moving_mean_initializer, zeros);
  n.moving_variance = Average(n, v, "moving_variance", o.moving_variance_initializer, ones);
  return n.s.ok();
}

// What is known now, or a branch.
Normalized Choose(const Norm& n, const std::function<Normalized(const Scope&)>& train,
                  const std::function<Normalized(const Scope&)>& infer) {
  if (n.known.has_value()) return *n.known ? train(n.s) : infer(n.s);
  const auto list = [](const Normalized& r) { return std::vector<Output>{r.y, r.mean, r.variance}; };
  const std::vector<Output> out = Cond(
      n.s, n.training, [&](const Scope& s) { return list(train(s)); }, [&](const Scope& s) { return list(infer(s)); });
  return out.size() == 3 ? Normalized{out[0], out[1], out[2]} : Normalized();
}

Normalized Fused(const Norm& n) {
  const Scope& s = n.s;
  const Shape vector({n.size});
  const Output gamma = n.gamma ? n.gamma : OnesInitializer()(s, DType::kFloat, vector);
  const Output beta = n.beta ? n.beta : ZerosInitializer()(s, DType::kFloat, vector);
  const auto node = [&](const Scope& in, Output mean, Output variance, bool is_training) {
    Node* norm = in.Add("FusedBatchNormV3", {n.x, gamma, beta, mean, variance},
                        {{"epsilon", static_cast<float>(std::max(n.options.epsilon, kLeastEpsilon))},
                         {"data_format", n.axis == 3 ? "NHWC" : "NCHW"},
                         {"is_training", is_training}});
    return norm == nullptr ? Normalized() : Normalized{Output(norm, 0), Output(norm, 1), Output(norm, 2)};
  };
  return Choose(
      n,
      [&](const Scope& in) {
        const Output none = in.Const(Tensor(DType::kFloat, Shape({0})));
        return node(in, none, none, true);
      },
      [&](const Scope& in) { return node(in, n.moving_mean.value, n.moving_variance.value, false); });
}

// A vector of features in the shape that goes with x.
Output Wide(const Norm& n, Output v) {
  v = CastTo(n.s, v, n.x.dtype());
  if (!v || n.axis == n.rank - 1) return v;
  std::vector<int32_t> sizes(n.rank, 1);
  sizes[n.axis] = static_cast<int32_t>(n.size);
  return n.s.Op("Reshape", {v, n.s.Const(Tensor::Vector(sizes))});
}

Normalized Moments(const Norm& n, const Scope& scope) {
  const Scope s = scope.NameScope("moments");
  std::vector<int32_t> over;
  for (int i = 0; i < n.rank; ++i) {
    if (i != n.axis) over.push_back(i);
  }
  const Output axes = s.Const(Tensor::Vector(over));
  const Output x = CastTo(s, n.x, ParameterType(n.x.dtype()));
  const Output mean = s.WithOpName("mean").Op("Mean", {x, axes}, {{"keep_dims", true}});
  const Output squares = s.Op("SquaredDifference", {x, s.Op("StopGradient", {mean})});
  const Output variance = s.WithOpName("variance").Op("Mean", {squares, axes}, {{"keep_dims", true}});
  const Output flat = s.Const(Tensor::Vector<int32_t>({static_cast<int32_t>(n.size)}));
  return {{}, s.Op("Reshape", {mean, flat}), s.Op("Reshape", {variance, flat})};
}

Normalized Plain(const Norm& n) {
  const auto identity = [](const Scope& in, Output x) { return in.Op("Identity", {x}); };
  Normalized r;
  if (n.known.has_value()) {
    r = *n.known ? Moments(n, n.s) : Normalized{{}, n.moving_mean.value, n.moving_variance.value};
  } else {
    r = Choose(
        n,
        [&](const Scope& in) {
          const Normalized batch = Moments(n, in);
          return Normalized{identity(in, n.training), batch.mean, batch.variance};
        },
        [&](const Scope& in) {
          return Normalized{identity(in, n.training), identity(in, n.moving_mean.value),
                            identity(in, n.moving_variance.value)};
        });
  }
  if (!n.s.ok()) return {};
  const Scope s = n.s.NameScope("batchnorm");
  const Output epsilon = s.Const(ScalarOf(n.x.dtype(), n.options.epsilon));
  Output factor = s.Op("Rsqrt", {s.Op("AddV2", {Wide(n, r.variance), epsilon})});
  if (n.gamma) factor = s.Op("Mul", {factor, Wide(n, n.gamma)});
  const Output shift = s.Op("Mul", {Wide(n, r.mean), factor});
  const Output offset = n.beta ? s.Op("Sub", {Wide(n, n.beta), shift}) : s.Op("Neg", {shift});
  r.y = s.Op("AddV2", {s.Op("Mul", {n.x, factor}), offset});
  return r;
}

void UpdateAverage(const Norm& n, const GraphVariable& average, Output value) {
  const Scope s = n.s.NameScope("AssignMovingAvg").ColocateWith(average.handle.node);
  const DType dtype = TypeOf(average);
  Output rate = s.WithOpName("decay").Const(ScalarOf(dtype, 1 - n.options.momentum));
  if (!n.known.has_value()) rate = s.Op("SelectV2", {n.training, rate, s.Const(ScalarOf(dtype, 0))});
  const Output now = IsResource(average) ? ReadVariable(s, average) : average.value;
  const Output change = s.Op("Mul", {s.Op("Sub", {now, CastTo(s, value, dtype)}), rate});
  const Output update = SubtractFromVariable(s, average, change);
  if (s.ok()) s.AddToCollection(graph_keys::kUpdateOps, update);
}

Output Build(const VariableScope& variables, Norm n) {
  const VariableScope v = EnterLayer(variables, n.options.name, "batch_normalization");
  n.s = v.scope();
  if (!ReadShape(n) || !MakeVariables(n, v)) return {};
  const bool fusible = n.rank == 4 && (n.axis == 1 || n.axis == 3) && n.x.dtype() != DType::kDouble;
  if (n.options.fused.value_or(false) && !fusible) {
    n.s.Fail(errors::InvalidArgument("Batch normalization layers with `fused=True` only support 4D input tensors"));
    return {};
  }
  const Normalized r = n.options.fused.value_or(true) && fusible ? Fused(n) : Plain(n);
  if (!n.s.ok()) return {};
  if (n.known.value_or(true) && n.options.trainable) {
    UpdateAverage(n, n.moving_mean, r.mean);
    UpdateAverage(n, n.moving_variance, r.variance);
  }
  return n.s.ok() ? r.y : Output();
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
