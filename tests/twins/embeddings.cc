// SPDX-License-Identifier: Apache-2.0
#include "millstream/millstream.h"
#include "millstream/train/layers/embedding.h"
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

}  // namespace

Programs EmbeddingPrograms() {
  return {
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
}

}  // namespace millstream::twins
