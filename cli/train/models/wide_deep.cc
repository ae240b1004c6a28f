// SPDX-License-Identifier: Apache-2.0
#include "cli/train/models/model.h"
#include "millstream/millstream.h"
#include "millstream/train/layers/layers.h"

namespace millstream::cli {
namespace {

constexpr int32_t kEmbedding = 8;
constexpr int64_t kCrossBuckets = 10000;
constexpr int64_t kMaxCrossedColumns = 10;

// Ids of all columns in one table: column c has those from c * buckets on.
Output TableIds(const Scope& s, const ModelSpec& spec, Output categories) {
  std::vector<int32_t> offsets;
  for (int64_t c = 0; c < spec.category_columns; ++c) offsets.push_back(static_cast<int32_t>(c * spec.buckets));
  return ops::Add(s, categories, s.Const(Tensor::Vector<int32_t>(offsets)));
}

// One id for each pair of columns, hashed into a table of its own that begins at `offset`.
Output CrossedIds(const Scope& s, const ModelSpec& spec, Output categories, int64_t offset, int64_t* pairs) {
  std::vector<int32_t> left, right, offsets;
  for (int32_t i = 0; i < spec.category_columns; ++i) {
    for (int32_t j = i + 1; j < spec.category_columns; ++j) {
      left.push_back(i);
      right.push_back(j);
      offsets.push_back(static_cast<int32_t>(offset + static_cast<int64_t>(offsets.size()) * kCrossBuckets));
    }
  }
  *pairs = static_cast<int64_t>(left.size());
  const Output axis = s.Const<int32_t>(1);
  const Output a = ops::GatherV2(s, categories, s.Const(Tensor::Vector<int32_t>(left)), axis);
  const Output b = ops::GatherV2(s, categories, s.Const(Tensor::Vector<int32_t>(right)), axis);
  const Output mixed = ops::Add(s, ops::Mul(s, a, s.Const<int32_t>(7919)), b);
  return ops::Add(s, ops::FloorMod(s, mixed, s.Const(static_cast<int32_t>(kCrossBuckets))),
                  s.Const(Tensor::Vector<int32_t>(offsets)));
}

// Rows of a table that may lie on a ps: only the rows travel.
Output Lookup(const Scope& s, const GraphVariable& table, Output ids) {
  return ops::GatherV2(s.ColocateWith(table.handle.node), table.value, ids, s.Const<int32_t>(0));
}

// A weight for each number, category and pair of categories.
Output Wide(const VariableScope& variables, const ModelSpec& spec, const ModelInputs& inputs) {
  const VariableScope wide = variables.Enter("wide");
  const Scope& s = wide.scope();
  Output y = layers::Dense(wide, inputs.numbers, spec.outputs(), {.name = "numbers"});
  if (spec.category_columns == 0) return y;
  int64_t rows = spec.category_columns * spec.buckets, pairs = 0;
  Output ids = TableIds(s, spec, inputs.categories);
  if (spec.category_columns > 1 && spec.category_columns <= kMaxCrossedColumns) {
    const Output crossed = CrossedIds(s, spec, inputs.categories, rows, &pairs);
    ids = ops::ConcatV2(s, {ids, crossed}, s.Const<int32_t>(1));
    rows += pairs * kCrossBuckets;
  }
  const GraphVariable table =
      wide.Get("categories", Shape({rows, spec.outputs()}), {.initializer = ConstantInitializer(0)});
  if (!s.ok()) return {};
  return ops::Add(s, y, ops::Sum(s, Lookup(s, table, ids), s.Constant({1})));
}

// Embeddings of the categories beside the numbers, then hidden layers.
Output Deep(const VariableScope& variables, const ModelSpec& spec, const ModelInputs& inputs) {
  const VariableScope deep = variables.Enter("deep");
  const Scope& s = deep.scope();
  Output x = inputs.numbers;
  if (spec.category_columns > 0) {
    const GraphVariable table = deep.Get("embeddings", Shape({spec.category_columns * spec.buckets, kEmbedding}));
    if (!s.ok()) return {};
    const auto flat = static_cast<int32_t>(spec.category_columns) * kEmbedding;
    const Output embedded =
        ops::Reshape(s, Lookup(s, table, TableIds(s, spec, inputs.categories)), s.Constant({-1, flat}));
    x = spec.width() == 0 ? embedded : ops::ConcatV2(s, {x, embedded}, s.Const<int32_t>(1));
  }
  const std::vector<int64_t> hidden = spec.flags.Integers("hidden_units");
  for (size_t i = 0; i < hidden.size(); ++i) {
    x = layers::Dense(deep, x, hidden[i], {.name = absl::StrCat("hidden", i + 1), .activation = layers::Relu});
  }
  return layers::Dense(deep, x, spec.outputs(), {.name = "output"});
}

StatusOr<Output> BuildWideDeep(const VariableScope& variables, const ModelSpec& spec, const ModelInputs& inputs) {
  const Output wide = Wide(variables, spec, inputs);
  const Output deep = Deep(variables, spec, inputs);
  return ops::Add(variables.scope(), wide, deep);
}

const Registration<Model> kWideDeepModel({
    .name = "wide-deep",
    .help = "weights of numbers, categories and pairs of categories, beside embeddings with hidden layers",
    .mnist_accuracy = "97 %",
    .example = "--model wide-deep --data_dir people.csv --label_column income",
    .optimizer = "adagrad",
    .learning_rate = 0.05,
    .sgd_learning_rate = 0.1,
    .batch_size = 100,
    .train_steps = 3000,
    .flags = {{.name = "hidden_units",
               .type = OwnFlag::Type::kPositiveIntegers,
               .default_value = "100,50",
               .help = "sizes of the hidden layers of the deep part"}},
    .uses_categories = true,
    .build = BuildWideDeep,
});

}  // namespace
}  // namespace millstream::cli
