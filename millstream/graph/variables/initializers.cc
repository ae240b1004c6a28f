// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/variables/initializers.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "millstream/graph/gradients/gradient.h"

namespace millstream {
namespace {

// Constants below this many elements are stored whole, as TensorFlow does.
constexpr int64_t kSmall = 1000;
// What TensorFlow combines an op's own seed with if the graph has none.
constexpr int64_t kGraphSeed = 87654321;

Output Dims(const Scope& s, const Shape& shape, absl::string_view name) {
  return s.WithOpName(name).Const(Tensor::Vector(std::vector<int32_t>(shape.dims().begin(), shape.dims().end())));
}

// An output named as the scope itself: "zeros" of the scope "zeros/".
Scope Itself(const Scope& s) { return s.WithOpName(s.name_prefix()); }

Tensor Repeated(const Tensor& scalar, const Shape& shape) {
  Tensor t(scalar.dtype(), shape);
  const size_t size = scalar.ByteSize();
  for (int64_t i = 0; i < shape.num_elements(); ++i)
    std::memcpy(static_cast<char*>(t.raw()) + size * static_cast<size_t>(i), scalar.raw(), size);
  return t;
}

Output Filled(const Scope& scope, absl::string_view name, DType dtype, const Shape& shape, double value) {
  const Scope s = scope.NameScope(name);
  if (dtype == DType::kString && value == 0)
    return Itself(s).Op("Fill", {Dims(s, shape, "shape_as_tensor"), s.Const(Tensor::Scalar(""))});
  const Tensor scalar = ScalarOf(dtype, value);
  if (!scalar.IsInitialized()) {
    s.Fail(errors::InvalidArgument("No constant of type ", DTypeName(dtype), " to begin with"));
    return {};
  }
  if (shape.num_elements() < kSmall) return Itself(s).Const(Repeated(scalar, shape));
  return Itself(s).Op("Fill", {Dims(s, shape, "shape_as_tensor"), s.Const(scalar)});
}

Initializer FilledInitializer(const char* name, double value) {
  return
      [name, value](const Scope& s, DType dtype, const Shape& shape) { return Filled(s, name, dtype, shape, value); };
}

std::vector<std::pair<std::string, AttrValue>> RandomAttrs(const Seed& seed) {
  return {{"seed", seed ? kGraphSeed : int64_t{0}}, {"seed2", seed.value_or(0)}};
}

Output Raw(const Scope& s, const char* type, Output dims, DType dtype, const Seed& seed) {
  auto attrs = RandomAttrs(seed);
  attrs.emplace_back("dtype", dtype);
  Node* node = s.Add(type, {dims}, std::move(attrs));
  return node == nullptr ? Output() : Output(node);
}

bool CheckFloating(const Scope& s, DType dtype) {
  if (!IsFloating(dtype)) s.Fail(errors::InvalidArgument("Expected floating point type, got ", DTypeName(dtype)));
  return s.ok();
}

Output Normal(const Scope& scope, const char* name, const char* type, DType dtype, const Shape& shape, double mean,
              double deviation, const Seed& seed) {
  if (!CheckFloating(scope, dtype)) return {};
  const Scope s = scope.NameScope(name);
  const Output dims = Dims(s, shape, "shape");
  const Output center = s.WithOpName("mean").Const(ScalarOf(dtype, mean));
  const Output spread = s.WithOpName("stddev").Const(ScalarOf(dtype, deviation));
  const Output scaled = s.WithOpName("mul").Op("Mul", {Raw(s, type, dims, dtype, seed), spread});
  return Itself(s).Op("AddV2", {scaled, center});
}

Output Uniform(const Scope& scope, DType dtype, const Shape& shape, double low, double high, const Seed& seed) {
  const Scope s = scope.NameScope("random_uniform");
  const Output dims = Dims(s, shape, "shape");
  const Output from = s.WithOpName("min").Const(ScalarOf(dtype, low));
  const Output to = s.WithOpName("max").Const(ScalarOf(dtype, high));
  if (!IsFloating(dtype)) {
    Node* node = Itself(s).Add("RandomUniformInt", {dims, from, to}, RandomAttrs(seed));
    return node == nullptr ? Output() : Output(node);
  }
  const Output unit = Raw(s, "RandomUniform", dims, dtype, seed);
  const Output width = s.WithOpName("sub").Op("Sub", {to, from});
  return Itself(s).Op("AddV2", {s.WithOpName("mul").Op("Mul", {unit, width}), from});
}

double Fan(const Shape& shape, VarianceScaling::Mode mode) {
  const int rank = shape.rank();
  double in = 1, out = 1;
  if (rank > 0) {
    const double window = rank > 2 ? static_cast<double>(shape.Product(0, rank - 2)) : 1;
    in = window * static_cast<double>(shape.dim(rank > 1 ? rank - 2 : 0));
    out = window * static_cast<double>(shape.dim(rank - 1));
  }
  switch (mode) {
    case VarianceScaling::Mode::kFanIn:
      return std::max(1.0, in);
    case VarianceScaling::Mode::kFanOut:
      return std::max(1.0, out);
    case VarianceScaling::Mode::kFanAverage:
      break;
  }
  return std::max(1.0, (in + out) / 2);
}

Initializer Scaled(double scale, VarianceScaling::Mode mode, VarianceScaling::Distribution distribution,
                   const Seed& seed) {
  return VarianceScalingInitializer({.scale = scale, .mode = mode, .distribution = distribution, .seed = seed});
}

using Mode = VarianceScaling::Mode;
using Distribution = VarianceScaling::Distribution;

// Values of `shape` with the variance of a variable of `whole`.
Output ScaledValues(const Scope& s, DType dtype, const Shape& shape, const Shape& whole,
                    const VarianceScaling& options) {
  if (options.scale <= 0) s.Fail(errors::InvalidArgument("`scale` must be positive: ", options.scale));
  if (!CheckFloating(s, dtype)) return {};
  const double variance = options.scale / Fan(whole, options.mode);
  switch (options.distribution) {
    case Distribution::kTruncatedNormal:
      // A normal distribution cut at two deviations has this deviation.
      return TruncatedNormalInitializer(0, std::sqrt(variance) / .87962566103423978, options.seed)(s, dtype, shape);
    case Distribution::kNormal:
      return RandomNormalInitializer(0, std::sqrt(variance), options.seed)(s, dtype, shape);
    case Distribution::kUniform:
      break;
  }
  const double limit = std::sqrt(3 * variance);
  return Uniform(s, dtype, shape, -limit, limit, options.seed);
}

}  // namespace

Initializer ZerosInitializer() { return FilledInitializer("zeros", 0); }
Initializer OnesInitializer() { return FilledInitializer("ones", 1); }
Initializer ConstantInitializer(double value) { return FilledInitializer("Const", value); }

Initializer InitializerOfPart(const Initializer& initializer, const VariablePart& part) {
  if (initializer.of_part == nullptr) return initializer;
  return [initializer, part](const Scope& s, DType dtype, const Shape&) { return initializer.of_part(s, dtype, part); };
}

Initializer ValueInitializer(Tensor value) {
  const auto checked = [value = std::move(value)](const Scope& s, DType dtype, const Shape& shape) {
    if (value.dtype() == dtype && value.shape() == shape) return s.WithOpName("initial_value").Const(value);
    s.Fail(errors::InvalidArgument("A variable of ", DTypeName(dtype), " ", shape.ToString(),
                                   " cannot begin with a value of ", DTypeName(value.dtype()), " ",
                                   value.shape().ToString()));
    return Output();
  };
  Initializer initializer = checked;
  initializer.of_part = [checked](const Scope& s, DType dtype, const VariablePart& part) {
    const Output whole = checked(s, dtype, part.full_shape);
    const std::vector<int64_t> size(part.shape.dims().begin(), part.shape.dims().end());
    return s.Op("Slice", {whole, s.Const(Tensor::Vector(part.offset)), s.Const(Tensor::Vector(size))});
  };
  return initializer;
}

Initializer RandomUniformInitializer(double low, double high, Seed seed) {
  return [=](const Scope& s, DType dtype, const Shape& shape) { return Uniform(s, dtype, shape, low, high, seed); };
}

Initializer RandomNormalInitializer(double mean, double deviation, Seed seed) {
  return [=](const Scope& s, DType dtype, const Shape& shape) {
    return Normal(s, "random_normal", "RandomStandardNormal", dtype, shape, mean, deviation, seed);
  };
}

Initializer TruncatedNormalInitializer(double mean, double deviation, Seed seed) {
  return [=](const Scope& s, DType dtype, const Shape& shape) {
    return Normal(s, "truncated_normal", "TruncatedNormal", dtype, shape, mean, deviation, seed);
  };
}

Initializer VarianceScalingInitializer(const VarianceScaling& options) {
  Initializer initializer = [options](const Scope& s, DType dtype, const Shape& shape) {
    return ScaledValues(s, dtype, shape, shape, options);
  };
  initializer.of_part = [options](const Scope& s, DType dtype, const VariablePart& part) {
    return ScaledValues(s, dtype, part.shape, part.full_shape, options);
  };
  return initializer;
}

Initializer OrthogonalInitializer(double gain, Seed seed) {
  return [gain, seed](const Scope& s, DType dtype, const Shape& shape) {
    if (shape.rank() < 2)
      s.Fail(errors::InvalidArgument("An orthogonal variable has two dimensions or more: ", shape.ToString()));
    if (!s.ok()) return Output();
    const int64_t rows = shape.Product(0, shape.rank() - 1), columns = shape.dim(shape.rank() - 1);
    const Shape tall({std::max(rows, columns), std::min(rows, columns)});
    Node* qr = s.Add("Qr", {RandomNormalInitializer(0, 1, seed)(s, dtype, tall)}, {{"full_matrices", false}});
    if (qr == nullptr) return Output();
    // With the signs of R's diagonal every orthogonal matrix is equally likely.
    const Output signs = s.Op("Sign", {s.Op("DiagPart", {Output(qr, 1)})});
    Output q = s.WithOpName("mul").Op("Mul", {Output(qr, 0), signs});
    if (rows < columns) {
      const Scope transpose = s.NameScope("matrix_transpose").NameScope("transpose");
      q = Itself(transpose).Op("Transpose", {q, transpose.WithOpName("perm").Constant({1, 0})});
    }
    const Scope reshape = s.NameScope("Reshape");
    q = Itself(reshape).Op("Reshape", {q, Dims(reshape, shape, "shape")});
    const Scope mul = s.NameScope("mul");
    return Itself(mul).Op("Mul", {mul.WithOpName("x").Const(ScalarOf(dtype, gain)), q});
  };
}

Initializer GlorotUniformInitializer(Seed seed) { return Scaled(1, Mode::kFanAverage, Distribution::kUniform, seed); }
Initializer GlorotNormalInitializer(Seed seed) {
  return Scaled(1, Mode::kFanAverage, Distribution::kTruncatedNormal, seed);
}
Initializer HeUniformInitializer(Seed seed) { return Scaled(2, Mode::kFanIn, Distribution::kUniform, seed); }
Initializer HeNormalInitializer(Seed seed) { return Scaled(2, Mode::kFanIn, Distribution::kTruncatedNormal, seed); }
Initializer LecunUniformInitializer(Seed seed) { return Scaled(1, Mode::kFanIn, Distribution::kUniform, seed); }
Initializer LecunNormalInitializer(Seed seed) { return Scaled(1, Mode::kFanIn, Distribution::kTruncatedNormal, seed); }

}  // namespace millstream
