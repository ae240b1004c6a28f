// SPDX-License-Identifier: Apache-2.0
#include "cli/bench.h"
#include "cli/train/models/model.h"
#include "cli/train/settings/optimizers.h"
#include "millstream/data/batches.h"
#include "millstream/data/mnist.h"
#include "millstream/runtime/session.h"
#include "millstream/train/variables/variables.h"

namespace millstream::cli {
namespace {

struct Trained {
  Scope scope = Scope::Root();
  ModelGraph model;
  Node* init = nullptr;
  Node* train = nullptr;
};

StatusOr<Trained> Build(const Model& model, const Model::Benchmark& c, const ExampleData& data) {
  Trained t;
  ModelSpec spec;
  spec.dims = data.dims;
  spec.classes = data.classes;
  ASSIGN_OR_RETURN(spec.flags, OwnFlagValues::Read(model.flags, c.flags));
  ASSIGN_OR_RETURN(t.model, BuildModel(model, spec, VariableScope(t.scope)));
  ASSIGN_OR_RETURN(const std::shared_ptr<Optimizer> optimizer, MakeOptimizer(c.optimizer, c.learning_rate));
  t.train = optimizer->Minimize(t.scope, t.model.loss);
  t.init = GlobalVariablesInitializer(t.scope);
  RETURN_IF_ERROR(t.scope.status());
  return t;
}

// Steps per second over batches that lie side by side in memory, as every peer gets them.
Status TrainOne(const Model& model, const Model::Benchmark& c, const ExampleData& data, const Batch& all,
                const BenchOptions& options) {
  const std::string metric = absl::StrCat("train/", c.name, "_b", c.batch_size);
  if (metric.find(options.filter) == std::string::npos) return OkStatus();
  ASSIGN_OR_RETURN(const Trained t, Build(model, c, data));
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
    if (next + c.batch_size > data.train.size()) next = 0;
    args[0] = all.numbers.SliceRows(next, next + c.batch_size);
    args[1] = all.labels.SliceRows(next, next + c.batch_size);
    next += c.batch_size;
    if (status.ok()) status = session->RunCallable(train, args, &out);
  });
  RETURN_IF_ERROR(status);
  Report(metric, 1e9 / ns, "steps/s");
  return OkStatus();
}

Status BenchTrain(const BenchOptions& options) {
  std::string folder = options.data_dir;
  if (folder.empty()) {
    ASSIGN_OR_RETURN(folder, MnistFolder());
  }
  ExampleOptions reading;
  reading.test = false;
  ASSIGN_OR_RETURN(const ExampleData data, ReadExamples(folder, reading));
  const Batch all = TakeBatch(data.train, 0, data.train.size());
  for (const Model* model : Registry<Model>::All()) {
    for (const Model::Benchmark& c : model->benchmarks) RETURN_IF_ERROR(TrainOne(*model, c, data, all, options));
  }
  return OkStatus();
}

const Registration<BenchSuite> kTrainSuite({.name = "train",
                                            .help = "training steps of the built-in models",
                                            .run = BenchTrain});

}  // namespace
}  // namespace millstream::cli
