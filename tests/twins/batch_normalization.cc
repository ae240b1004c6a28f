// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/layers/batch_normalization.h"

#include "millstream/millstream.h"
#include "millstream/train/losses/regularizers.h"
#include "tests/twins/program.h"

namespace millstream::twins {
namespace {

using Options = layers::BatchNormalizationOptions;
enum class When { kTraining, kInference, kFed };

PartialShape ShapeNamed(const std::string& name) {
  if (name == "images") return PartialShape({-1, 4, 4, 3});
  if (name == "channels_first") return PartialShape({-1, 3, 4, 4});
  return PartialShape({name == "known" ? 2 : -1, 3});
}

Output Normalized(const VariableScope& v, const std::string& shape = "matrix", When when = When::kTraining,
                  const Options& options = {}) {
  const Output x = Placeholder(v.scope(), "x", ShapeNamed(shape));
  if (when != When::kFed) return layers::BatchNormalization(v, x, when == When::kTraining, options);
  const Output training = Placeholder(v.scope(), "training", PartialShape(Shape()), DType::kBool);
  return layers::BatchNormalization(v, x, training, options);
}

template <typename OptimizerType>
void Minimize(const VariableScope& v, const std::string& shape, When when, const Options& options) {
  const Output loss = L2Loss(v.scope(), Normalized(v, shape, when, options));
  if (!v.scope().ok()) return;
  OptimizerType(0.1).Minimize(v.scope().WithControlDependencies(layers::UpdateOps(v.scope())), loss);
}

void TwoLayers(const Scope& s) {
  const VariableScope v(s);
  const Output x = layers::Dense(v, Normalized(v), 4, {.activation = layers::Relu});
  layers::BatchNormalization(v, x, true, {.name = "second"});
  layers::BatchNormalization(v, x, true);
}

void OnPs(const Scope& root) {
  Minimize<AdamOptimizer>(WithReplicaDevices(root, {.ps_tasks = 2}), "images", When::kTraining, {});
}

void Regularized(const Scope& s) {
  Options options;
  options.gamma_regularizer = L2Regularizer(0.1);
  options.beta_initializer = ConstantInitializer(0.5);
  options.moving_mean_initializer = ConstantInitializer(0.25);
  options.momentum = 0.5;
  options.epsilon = 0.25;
  Normalized(VariableScope(s), "matrix", When::kTraining, options);
}

struct Kind {
  const char* name;
  const char* shape;
  Options options;
};
std::vector<Kind> Kinds() {
  return {
      {"matrix", "matrix", {}},
      {"known", "known", {}},
      {"images", "images", {}},
      {"images.plain", "images", {.fused = false}},
      {"channels_first", "channels_first", {.axis = 1}},
      {"channels_first.plain", "channels_first", {.axis = 1, .fused = false}},
      {"matrix.no_scale", "matrix", {.scale = false}},
      {"matrix.no_center", "matrix", {.center = false}},
      {"images.no_scale", "images", {.scale = false}},
      {"images.no_center", "images", {.center = false}},
  };
}

}  // namespace

Programs BatchNormalizationPrograms() {
  Programs programs = {
      {"two_layers", TwoLayers},
      {"on_ps", OnPs},
      {"regularized", Regularized},
      {"not_trainable",
       [](const Scope& s) { Normalized(VariableScope(s), "matrix", When::kTraining, {.trainable = false}); }},
  };
  const std::pair<const char*, When> whens[] = {
      {"training", When::kTraining}, {"inference", When::kInference}, {"fed", When::kFed}};
  for (const Kind& kind : Kinds()) {
    for (const auto& [name, when] : whens) {
      programs.push_back({absl::StrCat(kind.name, ".", name), [kind, when = when](const Scope& s) {
                            Minimize<GradientDescentOptimizer>(VariableScope(s), kind.shape, when, kind.options);
                          }});
    }
  }
  return programs;
}

}  // namespace millstream::twins
