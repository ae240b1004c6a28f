// SPDX-License-Identifier: Apache-2.0
#include "cli/bench.h"
#include "cli/models.h"
#include "millstream/data/mnist.h"
#include "millstream/runtime/session.h"

namespace millstream::cli {
namespace {

// Steps per second over batches that lie side by side in memory, as every peer gets them.
Status TrainOne(const std::string& name, int64_t batch, const LabeledImages& data, const BenchOptions& options) {
  const std::string metric = absl::StrCat("train/", name, "_b", batch);
  if (metric.find(options.filter) == std::string::npos) return OkStatus();
  ASSIGN_OR_RETURN(const Model model, BuildModel(name));
  SessionOptions session_options;
  session_options.intra_op_threads = options.threads;
  ASSIGN_OR_RETURN(std::unique_ptr<Session> session, NewSession(session_options));
  RETURN_IF_ERROR(session->Extend(*model.scope.graph()));
  std::vector<Tensor> out;
  RETURN_IF_ERROR(session->Run({}, {}, {model.init->name()}, &out));
  ASSIGN_OR_RETURN(const Session::CallableHandle train,
                   session->MakeCallable({model.images.name(), model.labels.name()}, {}, {model.train->name()}));
  Status status;
  int64_t next = 0;
  std::vector<Tensor> args(2);
  const double ns = MedianNanos(options.seconds, [&] {
    if (next + batch > data.size()) next = 0;
    args[0] = data.images().SliceRows(next, next + batch);
    args[1] = data.one_hot_labels().SliceRows(next, next + batch);
    next += batch;
    if (status.ok()) status = session->RunCallable(train, args, &out);
  });
  RETURN_IF_ERROR(status);
  Report(metric, 1e9 / ns, "steps/s");
  return OkStatus();
}

}  // namespace

Status BenchTrain(const BenchOptions& options) {
  ASSIGN_OR_RETURN(const Mnist mnist, ReadMnist(options.data_dir));
  RETURN_IF_ERROR(TrainOne("softmax", 100, mnist.train, options));
  RETURN_IF_ERROR(TrainOne("mlp100", 100, mnist.train, options));
  RETURN_IF_ERROR(TrainOne("mlp500", 32, mnist.train, options));
  return TrainOne("lenet", 64, mnist.train, options);
}

}  // namespace millstream::cli
