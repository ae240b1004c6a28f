// SPDX-License-Identifier: Apache-2.0
#include "millstream/millstream.h"
#include "millstream/train/collectives/distributed_optimizer.h"
#include "millstream/train/layers/embedding.h"
#include "millstream/train/operators/operators.h"
#include "tests/twins/program.h"

namespace millstream::twins {
namespace {

// A dense gradient, and that of a lookup of `rows` rows of a table of 10; -1: not known.
Output Model(const Scope& s, int rows) {
  const VariableScope variables(s);
  const GraphVariable w = variables.Get("w", Shape({3}));
  const GraphVariable table = variables.Get("table", Shape({10, 3}));
  const Output ids = Placeholder(s, "ids", PartialShape({rows}), DType::kInt64);
  return L2Loss(s, operators::Add(s, EmbeddingLookup(s, table, ids), w.value));
}

void Train(const Scope& root, int num_workers, int rows, bool is_root) {
  const Scope s = root.WithDevice("/job:worker/task:1");
  const GraphVariable step = CreateGlobalStep(VariableScope(s));
  const auto group = std::make_shared<CollectiveGroup>(num_workers);
  DistributedOptimizer optimizer(std::make_shared<MomentumOptimizer>(0.1, 0.9), group);
  optimizer.Minimize(s, Model(s, rows), step);
  if (!s.ok()) return;
  group->Broadcast(s, VariablesIn(s, graph_keys::kGlobalVariables), is_root);
}

}  // namespace

Programs AllReducePrograms() {
  Programs programs;
  for (const int workers : {1, 2, 3}) {
    for (const bool is_root : {false, true}) {
      const std::string who = absl::StrCat(".workers", workers, is_root ? ".root" : "");
      programs.push_back({"sparse" + who, [=](const Scope& s) { Train(s, workers, 2, is_root); }});
      programs.push_back({"made_dense" + who, [=](const Scope& s) { Train(s, workers, 8, is_root); }});
      programs.push_back({"unknown_rows" + who, [=](const Scope& s) { Train(s, workers, -1, is_root); }});
    }
  }
  return programs;
}

}  // namespace millstream::twins
