// SPDX-License-Identifier: Apache-2.0
#include "millstream/millstream.h"
#include "millstream/train/layers/embedding.h"
#include "millstream/train/layers/hash_embedding.h"
#include "millstream/train/saving/saver.h"
#include "tests/twins/program.h"

namespace millstream::twins {
namespace {

using Strategy = EmbeddingOptions::Strategy;

Output Ids(const Scope& s) { return Placeholder(s, "ids", PartialShape({-1}), DType::kInt64); }

void Lookup(const Scope& s, const EmbeddingOptions& options) {
  const GraphVariable table = VariableScope(s).Get("table", Shape({10, 3}));
  EmbeddingLookup(s, table, Ids(s), options);
}

void Tables(const Scope& s, Strategy strategy) {
  const VariableScope variables(s);
  const GraphVariable first = variables.Get("table_0", Shape({10, 3}));
  const std::vector<GraphVariable> tables = {first, variables.Get("table_1", Shape({10, 3}))};
  const Output rows = EmbeddingLookup(s, tables, Ids(s), {.partition_strategy = strategy});
  AdagradOptimizer(0.1).Minimize(s, L2Loss(s, rows));
}

void Partitioned(const Scope& root, Strategy strategy, int num_ps) {
  const VariableScope variables = WithReplicaDevices(root, {.ps_tasks = num_ps});
  const Scope& s = variables.scope();
  VariableOptions options;
  options.partitioner = FixedSizePartitioner(3);
  const PartitionedVariable table = variables.GetPartitioned("table", Shape({11, 3}), options);
  const Output loss = L2Loss(s, EmbeddingLookup(s, table, Ids(s), {.partition_strategy = strategy}));
  AdamOptimizer().Minimize(s, loss, CreateGlobalStep(variables));
  GlobalVariablesInitializer(s);
}

void Sparse(const Scope& s, Combiner combiner, bool weighted) {
  const GraphVariable table = VariableScope(s).Get("table", Shape({10, 3}));
  SparseOutput ids;
  ids.indices = Placeholder(s, "indices", PartialShape({-1, 2}), DType::kInt64);
  ids.values = Ids(s);
  ids.dense_shape = Placeholder(s, "shape", PartialShape({2}), DType::kInt64);
  const Output weights = weighted ? Placeholder(s, "weights", PartialShape({-1})) : Output();
  EmbeddingLookupSparse(s, {table}, ids, weights, combiner);
}

void Partitioners(const Scope& s) {
  const VariableScope variables(s);
  VariableOptions options;
  options.partitioner = VariableAxisSizePartitioner({.max_shard_bytes = 64});
  variables.GetPartitioned("a", Shape({16, 4}), options);
  variables.Enter("s")
      .WithPartitioner(MinMaxVariablePartitioner({.max_partitions = 3, .min_slice_size = 16}))
      .GetPartitioned("b", Shape({6, 2}), {.initializer = ZerosInitializer()});
}

void Hash(const Scope& root, DType key, const HashEmbeddingUpdate& update, int shards, int lookups) {
  const VariableScope variables = WithReplicaDevices(root, {.ps_tasks = 2});
  const Scope& s = variables.scope();
  HashEmbedding table(s, "words", {.width = 4, .key_dtype = key, .shards = shards, .min_count = 2});
  std::vector<Output> losses;
  for (int i = 0; i < lookups; ++i)
    losses.push_back(L2Loss(s, table.Lookup(s, Placeholder(s, "keys", PartialShape({-1, 2}), key))));
  table.Minimize(s, lookups == 1 ? losses[0] : s.Op("AddN", losses), update);
  table.Find(s, Placeholder(s, "known", PartialShape({5}), key));
  const Output before = Placeholder(s, "before", PartialShape(Shape()), DType::kInt64);
  table.Evict(s, before, Placeholder(s, "max_rows", PartialShape(Shape()), DType::kInt64));
  table.Size(s);
}

void AddHashPrograms(Programs* programs) {
  using Rule = HashEmbeddingUpdate::Rule;
  const HashEmbeddingUpdate sgd = {.rule = Rule::kGradientDescent, .learning_rate = 0.5f};
  const HashEmbeddingUpdate adagrad = {
      .rule = Rule::kAdagrad, .learning_rate = 0.5f, .initial_accumulator_value = 0.25f};
  const HashEmbeddingUpdate adam = {.rule = Rule::kAdam, .learning_rate = 0.5f};
  for (const auto& [name, update] : {std::pair("sgd", sgd), std::pair("adagrad", adagrad), std::pair("adam", adam)}) {
    for (const int shards : {1, 3}) {
      for (const DType key : {DType::kInt64, DType::kString}) {
        programs->push_back(
            {absl::StrCat("hash.", name, ".shards", shards, ".", key == DType::kInt64 ? "int64" : "string"),
             [=, update = update](const Scope& s) { Hash(s, key, update, shards, 1); }});
      }
    }
  }
  programs->push_back({"hash.two_lookups", [=](const Scope& s) { Hash(s, DType::kInt64, sgd, 2, 2); }});
}

}  // namespace

Programs EmbeddingPrograms() {
  Programs programs = {
      {"lookup", [](const Scope& s) { Lookup(s, {}); }},
      {"lookup.max_norm", [](const Scope& s) { Lookup(s, {.max_norm = 1.0}); }},
      {"tables.mod", [](const Scope& s) { Tables(s, Strategy::kMod); }},
      {"tables.div", [](const Scope& s) { Tables(s, Strategy::kDiv); }},
      {"partitioned.ps1", [](const Scope& s) { Partitioned(s, Strategy::kDiv, 1); }},
      {"partitioned.ps2", [](const Scope& s) { Partitioned(s, Strategy::kDiv, 2); }},
      {"partitioned.ps3", [](const Scope& s) { Partitioned(s, Strategy::kMod, 3); }},
      {"partitioners", Partitioners},
      {"sparse.mean", [](const Scope& s) { Sparse(s, Combiner::kMean, false); }},
      {"sparse.sqrtn", [](const Scope& s) { Sparse(s, Combiner::kSqrtN, false); }},
      {"sparse.sum", [](const Scope& s) { Sparse(s, Combiner::kSum, false); }},
      {"sparse.mean.weighted", [](const Scope& s) { Sparse(s, Combiner::kMean, true); }},
      {"sparse.sqrtn.weighted", [](const Scope& s) { Sparse(s, Combiner::kSqrtN, true); }},
  };
  AddHashPrograms(&programs);
  return programs;
}

}  // namespace millstream::twins
