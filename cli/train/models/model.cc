// SPDX-License-Identifier: Apache-2.0
#include "cli/train/models/model.h"

#include <cstdlib>

#include "absl/strings/str_join.h"
#include "millstream/millstream.h"
#include "millstream/train/layers/layers.h"

namespace millstream::cli {
namespace {

// The mean over the batch, of sums over an example's outputs: wanted is 1 for the right class and 0 for others.
Output SquaredLoss(const Scope& s, const ModelSpec& spec, Output outputs, Output labels) {
  if (spec.classes == 0)
    return ops::Mean(s, ops::SquaredDifference(s, ops::Reshape(s, outputs, s.Constant({-1})), labels), s.Constant({0}));
  const Output wanted =
      ops::OneHot(s, labels, s.Const(static_cast<int32_t>(spec.classes)), s.Const(1.0f), s.Const(0.0f));
  const Output errors = ops::Sum(s, ops::SquaredDifference(s, outputs, wanted), s.Constant({1}));
  return ops::Mean(s, errors, s.Constant({0}));
}

std::string ModelsThat(bool (*can)(const Model&)) {
  std::vector<std::string> names;
  for (const Model* model : Registry<Model>::All()) {
    if (can(*model)) names.push_back(model->name);
  }
  return absl::StrJoin(names, ", ");
}

Status CheckSuits(const Model& model, const ModelSpec& spec) {
  if (spec.width() == 0 && !model.uses_categories) {
    return errors::InvalidArgument(model.name,
                                   " learns from numbers, but the examples have categories only; use --model ",
                                   ModelsThatUseCategories());
  }
  if (spec.classes == 0 && !model.predicts_values) {
    return errors::InvalidArgument(model.name, " tells classes apart, but the labels are values; use --model ",
                                   ModelsThat([](const Model& m) { return m.predicts_values; }));
  }
  return OkStatus();
}

}  // namespace

int64_t ModelSpec::width() const {
  int64_t width = 1;
  for (const int64_t dim : dims) width *= dim;
  return width;
}

const Model& DefaultModel() {
  for (const Model* model : Registry<Model>::All()) {
    if (model->is_default) return *model;
  }
  std::abort();  // cli/train/registrations_test.cc
}

std::string ModelsThatUseCategories() {
  return ModelsThat([](const Model& model) { return model.uses_categories; });
}

StatusOr<ModelGraph> BuildModel(const Model& model, const ModelSpec& spec, const VariableScope& variables) {
  const Scope& s = variables.scope();
  RETURN_IF_ERROR(CheckSuits(model, spec));
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
  const StatusOr<Output> built = model.build(seeded, spec, graph.inputs);
  if (!built.ok() && model.needs_images) {
    return errors::InvalidArgument(built.status().message(), "; models that take any numbers: ",
                                   ModelsThat([](const Model& m) { return !m.needs_images; }));
  }
  ASSIGN_OR_RETURN(const Output outputs, built);
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
