// SPDX-License-Identifier: Apache-2.0
// A training step over an embedding table on two ps tasks of this host: its time must not depend on the table's rows.
#include <random>

#include "cli/bench.h"
#include "cli/bench_tasks.h"
#include "millstream/millstream.h"
#include "millstream/train/layers/embedding.h"
#include "millstream/train/optimizers/adagrad.h"
#include "millstream/train/optimizers/gradient_descent.h"
#include "millstream/train/variables/variables.h"

namespace millstream::cli {
namespace {

constexpr int kPs = 2;
constexpr int64_t kWidth = 16;

struct Model {
  Scope scope = Scope::Root();
  Output ids;
  Node* init = nullptr;
  Node* train = nullptr;
};

// The sum of squares of the rows that a batch names. The table begins with equal values everywhere, so that every page
// of it is in memory before the first step.
StatusOr<Model> Build(int64_t rows, const std::string& optimizer) {
  Model m;
  std::vector<GraphVariable> tables;
  for (int i = 0; i < kPs; ++i) {
    const Scope there = m.scope.WithDevice(absl::StrCat("/job:ps/task:", i));
    VariableOptions options;
    options.initializer = ConstantInitializer(0.01);
    tables.push_back(
        MakeVariable(there, absl::StrCat("table_", i), Shape({(rows + kPs - 1 - i) / kPs, kWidth}), options));
  }
  const Scope worker = m.scope.WithDevice("/job:worker/task:0");
  m.ids = worker.WithOpName("ids").Op("Placeholder", {}, {{"dtype", DType::kInt64}, {"shape", PartialShape({-1})}});
  const Output found = EmbeddingLookup(worker, tables, m.ids);
  const Output loss = worker.Op("Sum", {worker.Op("Square", {found}), worker.Constant({0, 1})});
  if (optimizer == "adagrad")
    m.train = AdagradOptimizer(0.01).Minimize(worker, loss);
  else
    m.train = GradientDescentOptimizer(0.01).Minimize(worker, loss);
  m.init = GlobalVariablesInitializer(m.scope);
  RETURN_IF_ERROR(m.scope.status());
  return m;
}

// Batches of ids, uniform over the table; a quarter of each repeats the others.
std::vector<Tensor> Batches(int64_t rows, int64_t ids) {
  std::mt19937_64 random(1);
  std::vector<Tensor> batches;
  for (int b = 0; b < 16; ++b) {
    Tensor batch(DType::kInt64, Shape({ids}));
    int64_t* const all = batch.data<int64_t>();
    for (int64_t i = 0; i < ids; ++i) {
      all[i] = i % 4 == 3 ? all[random() % static_cast<uint64_t>(i)]
                          : static_cast<int64_t>(random() % static_cast<uint64_t>(rows));
    }
    batches.push_back(std::move(batch));
  }
  return batches;
}

Status Measure(const BenchOptions& options, int64_t rows, const std::string& optimizer, double* us) {
  BenchTasks cluster;
  RETURN_IF_ERROR(cluster.Start({{"ps", kPs}, {"worker", 1}}, "worker"));
  ASSIGN_OR_RETURN(const Model m, Build(rows, optimizer));
  ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, cluster.NewSession(*m.scope.graph()));
  std::vector<Tensor> none;
  RETURN_IF_ERROR(session->Run({}, {}, {m.init->name()}, &none));
  ASSIGN_OR_RETURN(const Session::CallableHandle train, session->MakeCallable({m.ids.name()}, {}, {m.train->name()}));
  const std::vector<Tensor> batches = Batches(rows, options.scale.ids);
  size_t next = 0;
  Status status;
  const double ns = MedianNanos(options.seconds, [&] {
    if (status.ok()) status = session->RunCallable(train, {batches[next++ % batches.size()]}, &none);
  });
  *us = ns / 1000;
  return status;
}

Status BenchEmbedding(const BenchOptions& options) {
  for (const std::string optimizer : {"sgd", "adagrad"}) {
    double first = 0;
    for (const uint64_t rows : options.scale.rows) {
      const std::string name = absl::StrCat("embedding/", optimizer, "/", rows, "_rows");
      if (name.find(options.filter) == std::string::npos) continue;
      double us = 0;
      RETURN_IF_ERROR(Measure(options, static_cast<int64_t>(rows), optimizer, &us));
      Report(name, us, "us");
      Report(name + "/per_id", us * 1000 / static_cast<double>(options.scale.ids), "ns");
      if (first > 0) Report(name + "/ratio", us / first, "");
      if (first == 0) first = us;
    }
  }
  return OkStatus();
}

const Registration<BenchSuite> kEmbeddingSuite({.name = "embedding",
                                                .help = "steps over tables of many rows on two ps tasks",
                                                .run = BenchEmbedding});

}  // namespace
}  // namespace millstream::cli
