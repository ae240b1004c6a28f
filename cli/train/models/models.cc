// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "absl/strings/str_join.h"
#include "cli/train/models/model.h"
#include "millstream/millstream.h"
#include "millstream/train/layers/layers.h"

namespace millstream::cli {

extern const Model kSoftmax, kMlp, kLenet, kLinear, kWideDeep;

namespace {

constexpr std::array<const Model*, 5> kModels = {&kSoftmax, &kMlp, &kLenet, &kLinear, &kWideDeep};

// The mean over the batch, of sums over an example's outputs: wanted is 1 for the right class and 0 for others.
Output SquaredLoss(const Scope& s, const ModelSpec& spec, Output outputs, Output labels) {
  if (spec.classes == 0)
    return ops::Mean(s, ops::SquaredDifference(s, ops::Reshape(s, outputs, s.Constant({-1})), labels), s.Constant({0}));
  const Output wanted =
      ops::OneHot(s, labels, s.Const(static_cast<int32_t>(spec.classes)), s.Const(1.0f), s.Const(0.0f));
  const Output errors = ops::Sum(s, ops::SquaredDifference(s, outputs, wanted), s.Constant({1}));
  return ops::Mean(s, errors, s.Constant({0}));
}

}  // namespace

int64_t ModelSpec::width() const {
  int64_t width = 1;
  for (const int64_t dim : dims) width *= dim;
  return width;
}

std::span<const Model* const> AllModels() { return kModels; }

StatusOr<const Model*> FindModel(const std::string& name) {
  std::vector<std::string> names;
  for (const Model* model : kModels) {
    if (name == model->name) return model;
    names.push_back(model->name);
  }
  return errors::InvalidArgument("There is no model '", name, "' (", absl::StrJoin(names, ", "), ")");
}

StatusOr<ModelGraph> BuildModel(const Model& model, const ModelSpec& spec, const VariableScope& variables) {
  const Scope& s = variables.scope();
  if (spec.width() == 0 && !model.uses_categories) {
    return errors::InvalidArgument(model.name,
                                   " learns from numbers, but the examples have categories only; train wide-deep");
  }
  ModelGraph graph;
  graph.inputs.numbers =
      ops::Placeholder(s.WithOpName("numbers"), DType::kFloat, {.shape = PartialShape({-1, spec.width()})});
  if (spec.category_columns > 0) {
    graph.inputs.categories = ops::Placeholder(s.WithOpName("categories"), DType::kInt32,
                                               {.shape = PartialShape({-1, spec.category_columns})});
  }
  graph.inputs.labels = ops::Placeholder(s.WithOpName("labels"), spec.classes > 0 ? DType::kInt32 : DType::kFloat,
                                         {.shape = PartialShape({-1})});
  const VariableScope seeded = variables.WithInitializer(GlorotUniformInitializer(spec.seed));
  ASSIGN_OR_RETURN(const Output outputs, model.build(seeded, spec, graph.inputs));
  const bool squared = spec.classes == 0 || model.loss == Model::Loss::kSquared;
  // What the status page shows has the names of these nodes.
  graph.loss = ops::Identity(
      s.WithOpName("loss"), squared ? SquaredLoss(s.NameScope("losses"), spec, outputs, graph.inputs.labels)
                                    : layers::SoftmaxCrossEntropy(s.NameScope("losses"), outputs, graph.inputs.labels));
  graph.score = spec.classes > 0 ? ops::Identity(s.WithOpName("accuracy"),
                                                 layers::Accuracy(s.NameScope("scores"), outputs, graph.inputs.labels))
                                 : ops::Sub(s.WithOpName("r2"), s.Const(1.0f), graph.loss);
  RETURN_IF_ERROR(s.status());
  return graph;
}

}  // namespace millstream::cli
