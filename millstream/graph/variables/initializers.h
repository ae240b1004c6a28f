// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_GRAPH_VARIABLES_INITIALIZERS_H_
#define MILLSTREAM_GRAPH_VARIABLES_INITIALIZERS_H_

#include <functional>
#include <optional>
#include <vector>

#include "millstream/graph/scope.h"

namespace millstream {

// The first value of a variable of that shape: nodes in the scope that it is given. They have the names that
// TensorFlow's initializers give them. Without a seed random values differ from run to run; with one they are those
// that TensorFlow draws for the same seed.
//
// For a part of a partitioned variable it may have a function of its own, where the part alone does not tell enough: a
// variance that depends on the whole shape, say, or values that are a slice.
struct VariablePart {
  Shape full_shape;
  std::vector<int64_t> offset;
  Shape shape;
};
struct Initializer : std::function<Output(const Scope&, DType, const Shape&)> {
  using function::function;
  std::function<Output(const Scope&, DType, const VariablePart&)> of_part = nullptr;  // none: as for a whole variable
};
// The same for one part.
Initializer InitializerOfPart(const Initializer& initializer, const VariablePart& part);
using Seed = std::optional<int64_t>;

Initializer ZerosInitializer();  // of any type; strings are empty
Initializer OnesInitializer();
Initializer ConstantInitializer(double value);
// These values. InvalidArgument if the variable has another type or shape.
Initializer ValueInitializer(Tensor value);

Initializer RandomUniformInitializer(double low, double high, Seed seed = {});
Initializer RandomNormalInitializer(double mean = 0, double deviation = 1, Seed seed = {});
// Drawn again until within two deviations.
Initializer TruncatedNormalInitializer(double mean = 0, double deviation = 1, Seed seed = {});

// Random with the variance scale / n, where n counts a unit's inputs, its outputs, or half of both. A matrix has
// [inputs, outputs]; sizes before the last two are the window of a filter and count for both.
struct VarianceScaling {
  enum class Mode { kFanIn, kFanOut, kFanAverage };
  enum class Distribution { kTruncatedNormal, kNormal, kUniform };
  double scale = 1;
  Mode mode = Mode::kFanIn;
  Distribution distribution = Distribution::kTruncatedNormal;
  Seed seed = {};
};
Initializer VarianceScalingInitializer(const VarianceScaling& options);
Initializer GlorotUniformInitializer(Seed seed = {});  // TensorFlow's default: scale 1 over the average
Initializer GlorotNormalInitializer(Seed seed = {});
Initializer HeUniformInitializer(Seed seed = {});  // scale 2 over the inputs
Initializer HeNormalInitializer(Seed seed = {});
Initializer LecunUniformInitializer(Seed seed = {});  // scale 1 over the inputs
Initializer LecunNormalInitializer(Seed seed = {});

// Orthonormal columns (or rows, if there are fewer of them) times `gain`; all sizes but the last count as rows.
// InvalidArgument below two dimensions.
Initializer OrthogonalInitializer(double gain = 1, Seed seed = {});

}  // namespace millstream

#endif  // MILLSTREAM_GRAPH_VARIABLES_INITIALIZERS_H_
