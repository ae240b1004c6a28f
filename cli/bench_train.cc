// SPDX-License-Identifier: Apache-2.0
#include "cli/bench.h"
#include "cli/train/models/model.h"
#include "cli/train/modes/mode.h"
#include "millstream/data/batches.h"
#include "millstream/data/mnist.h"
#include "millstream/runtime/session.h"
#include "millstream/train/variables/variables.h"

namespace millstream::cli {
namespace {

struct Case {
  const char* name;
  const char* model;
  std::vector<int64_t> hidden_units;
  const char* optimizer;
  double learning_rate;
  int64_t batch;
};

struct Trained {
  Scope scope = Scope::Root();
  ModelGraph model;
  Node* init = nullptr;
  Node* train = nullptr;
};

StatusOr<Trained> Build(const Case& c, const ExampleData& data) {
  Trained t;
  ASSIGN_OR_RETURN(const Model* const model, FindModel(c.model));
  ModelSpec spec;
  spec.dims = data.dims;
  spec.classes = data.classes;
  spec.hidden_units = c.hidden_units;
  ASSIGN_OR_RETURN(t.model, BuildModel(*model, spec, VariableScope(t.scope)));
  ASSIGN_OR_RETURN(const std::shared_ptr<Optimizer> optimizer, MakeOptimizer(c.optimizer, c.learning_rate));
  t.train = optimizer->Minimize(t.scope, t.model.loss);
  t.init = GlobalVariablesInitializer(t.scope);
  RETURN_IF_ERROR(t.scope.status());
  return t;
}

// Steps per second over batches that lie side by side in memory, as every peer gets them.
Status TrainOne(const Case& c, const ExampleData& data, const Batch& all, const BenchOptions& options) {
  const std::string metric = absl::StrCat("train/", c.name, "_b", c.batch);
  if (metric.find(options.filter) == std::string::npos) return OkStatus();
  ASSIGN_OR_RETURN(const Trained t, Build(c, data));
  SessionOptions session_options;
  session_options.intra_op_threads = options.threads;
  ASSIGN_OR_RETURN(std::unique_ptr<Session> session, NewSession(session_options));
  RETURN_IF_ERROR(session->Extend(*t.scope.graph()));
  std::vector<Tensor> out;
  RETURN_IF_ERROR(session->Run({}, {}, {t.init->name()}, &out));
  ASSIGN_OR_RETURN(
      const Session::CallableHandle train,
      session->MakeCallable({t.model.inputs.numbers.name(), t.model.inputs.labels.name()}, {}, {t.train->name()}));
  Status status;
  int64_t next = 0;
  std::vector<Tensor> args(2);
  const double ns = MedianNanos(options.seconds, [&] {
    if (next + c.batch > data.train.size()) next = 0;
    args[0] = all.numbers.SliceRows(next, next + c.batch);
    args[1] = all.labels.SliceRows(next, next + c.batch);
    next += c.batch;
    if (status.ok()) status = session->RunCallable(train, args, &out);
  });
  RETURN_IF_ERROR(status);
  Report(metric, 1e9 / ns, "steps/s");
  return OkStatus();
}

}  // namespace

Status BenchTrain(const BenchOptions& options) {
  std::string folder = options.data_dir;
  if (folder.empty()) {
    ASSIGN_OR_RETURN(folder, MnistFolder());
  }
  ExampleOptions reading;
  reading.test = false;
  ASSIGN_OR_RETURN(const ExampleData data, ReadExamples(folder, reading));
  const Batch all = TakeBatch(data.train, 0, data.train.size());
  const std::vector<Case> cases = {
      {"softmax", "softmax", {}, "sgd", 0.5, 100},
      {"mlp100", "mlp", {100}, "adam", 0.001, 100},
      {"mlp500", "mlp", {500, 500}, "adam", 0.001, 32},
      {"lenet", "lenet", {}, "sgd", 0.05, 64},
  };
  for (const Case& c : cases) RETURN_IF_ERROR(TrainOne(c, data, all, options));
  return OkStatus();
}

}  // namespace millstream::cli
