// SPDX-License-Identifier: Apache-2.0
// Trains one hidden layer on MNIST with parameter servers and workers, asynchronously or synchronously. Each task is a
// process:
//
//   mnist_replica --job_name=ps --task_index=0
//   mnist_replica --job_name=worker --task_index=0      the chief: initializes the model, saves checkpoints
//   mnist_replica --job_name=worker --task_index=1
//
// A ps or a worker may be killed and started again at any time; with --checkpoint_dir training goes on from the latest
// checkpoint. All tasks end when the last step is done. After 10,000 steps the accuracy is about 97 %.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "millstream/data/mnist.h"
#include "millstream/millstream.h"
#include "millstream/status/start_server.h"
#include "millstream/train/optimizers/adam.h"
#include "millstream/train/sessions/basic_hooks.h"
#include "millstream/train/sessions/training_session.h"
#include "millstream/train/sync_replicas/sync_replicas_optimizer.h"
#include "millstream/train/variables/device_setter.h"
#include "millstream/train/variables/global_step.h"

namespace {

using namespace millstream;  // NOLINT(google-build-using-namespace)

constexpr int64_t kPixels = 28;
constexpr int64_t kValidation = 5000;  // of the training images

struct Flags {
  std::string data_dir;
  int64_t hidden_units = 100;
  int64_t train_steps = 10000;
  int64_t batch_size = 100;
  double learning_rate = 0.01;
  std::string ps_hosts = "localhost:2222";
  std::string worker_hosts = "localhost:2223,localhost:2224";
  std::string job_name;
  int task_index = 0;
  bool sync_replicas = false;
  int replicas_to_aggregate = 0;
  std::string checkpoint_dir;
  double save_checkpoint_secs = 600;
  bool is_chief() const { return task_index == 0; }
};

double Now() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

// The graph that every worker builds: variables on the parameter servers, the rest on the worker.
struct Model {
  Scope scope = Scope::Root();
  Output images, labels, cross_entropy, accuracy;
  GraphVariable global_step;
  Node* train_step = nullptr;
  std::shared_ptr<Optimizer> optimizer;  // its hook uses it
  SessionRunHooks hooks;
};

Output Layer(const VariableScope& variables, const char* name, Output x, int64_t inputs, int64_t outputs,
             double deviation) {
  VariableOptions weights, bias;
  weights.initializer = TruncatedNormalInitializer(0, deviation);
  bias.initializer = ZerosInitializer();
  const GraphVariable w = variables.Get(absl::StrCat(name, "_w"), Shape({inputs, outputs}), weights);
  const GraphVariable b = variables.Get(absl::StrCat(name, "_b"), Shape({outputs}), bias);
  return ops::BiasAdd(variables.scope(), ops::MatMul(variables.scope(), x, w.value), b.value);
}

// The sum over the batch, of probabilities kept away from 0.
Output CrossEntropy(const Scope& s, Output probabilities, Output labels) {
  const Output clipped = ops::Minimum(s, ops::Maximum(s, probabilities, s.Const(1e-10f)), s.Const(1.0f));
  return ops::Neg(s, ops::Sum(s, ops::Mul(s, labels, ops::Log(s, clipped)), s.Constant({0, 1})));
}

void AddTraining(const Flags& flags, const VariableScope& variables, int num_workers, Model* m) {
  const Scope& s = variables.scope();
  m->optimizer = std::make_shared<AdamOptimizer>(flags.learning_rate);
  if (!flags.sync_replicas) {
    m->train_step = m->optimizer->Minimize(s, m->cross_entropy, m->global_step);
    return;
  }
  SyncReplicasOptimizer::Options options;
  options.replicas_to_aggregate = flags.replicas_to_aggregate > 0 ? flags.replicas_to_aggregate : num_workers;
  options.total_num_replicas = num_workers;
  options.name = "mnist_sync_replicas";
  const auto sync = std::make_shared<SyncReplicasOptimizer>(m->optimizer, options);
  m->optimizer = sync;
  m->train_step = sync->Minimize(s, m->cross_entropy, m->global_step);
  m->hooks.push_back(sync->MakeSessionRunHook(flags.is_chief()));
}

StatusOr<Model> BuildModel(const Flags& flags, int num_ps, int num_workers) {
  Model m;
  ReplicaDeviceOptions devices;
  devices.ps_tasks = num_ps;
  devices.worker_device = absl::StrCat("/job:worker/task:", flags.task_index);
  const VariableScope variables = WithReplicaDevices(m.scope, devices);
  const Scope& s = variables.scope();
  m.global_step = CreateGlobalStep(variables);
  m.images = ops::Placeholder(s, DType::kFloat, {.shape = PartialShape({-1, kPixels * kPixels})});
  m.labels = ops::Placeholder(s, DType::kFloat, {.shape = PartialShape({-1, 10})});
  const Output hidden = ops::Relu(
      s, Layer(variables, "hid", m.images, kPixels * kPixels, flags.hidden_units, 1.0 / static_cast<double>(kPixels)));
  const Output logits =
      Layer(variables, "sm", hidden, flags.hidden_units, 10, 1.0 / std::sqrt(static_cast<double>(flags.hidden_units)));
  const Output probabilities = ops::Softmax(s, logits);
  m.cross_entropy = CrossEntropy(s, probabilities, m.labels);
  const Output axis = s.Const<int32_t>(1);
  const Output hits = ops::Equal(s, ops::ArgMax(s, probabilities, axis), ops::ArgMax(s, m.labels, axis));
  m.accuracy = ops::Mean(s, ops::Cast(s, hits, DType::kFloat), s.Constant({0}));
  AddTraining(flags, variables, num_workers, &m);
  RETURN_IF_ERROR(s.status());
  return m;
}

// What the model gives for images it was not trained with.
Status Validate(const Flags& flags, Session& session, const Model& m, const LabeledImages& images) {
  std::vector<Tensor> out;
  RETURN_IF_ERROR(session.Run({{m.images.name(), images.images()}, {m.labels.name(), images.one_hot_labels()}},
                              {m.cross_entropy.name(), m.accuracy.name()}, {}, &out));
  std::printf("After %lld training step(s), validation cross entropy = %g\n", static_cast<long long>(flags.train_steps),
              out[0].scalar<float>());
  std::printf("Validation accuracy = %.4f\n", out[1].scalar<float>());
  return OkStatus();
}

// Called with the session when training has ended well, while the parameter servers are still there.
class ValidationHook final : public SessionRunHook {
 public:
  explicit ValidationHook(std::function<Status(Session&)> validate) : validate_(std::move(validate)) {}
  Status End(Session& session) override { return validate_(session); }

 private:
  const std::function<Status(Session&)> validate_;
};

Status Train(const Flags& flags, MonitoredSession& session, const Model& m, LabeledImages& data) {
  const double begin = Now();
  std::printf("Traing begins @ %f\n", begin);
  Tensor images, labels;
  std::vector<Tensor> out;
  for (int local_step = 1; !session.ShouldStop(); ++local_step) {
    data.NextBatch(flags.batch_size, &images, &labels);
    RETURN_IF_ERROR(session.Run({{m.images.name(), images}, {m.labels.name(), labels}}, {m.global_step.handle.name()},
                                {m.train_step->name()}, &out));
    std::printf("%f: Worker %d: traing step %d dome (global step:%lld)\n", Now(), flags.task_index, local_step,
                static_cast<long long>(out[0].scalar<int64_t>()));
  }
  const double end = Now();
  std::printf("Training ends @ %f\n", end);
  std::printf("Training elapsed time:%f s\n", end - begin);
  return OkStatus();
}

Status RunWorker(const Flags& flags, const Server& server, int num_ps, int num_workers) {
  ASSIGN_OR_RETURN(Mnist mnist, ReadMnist(flags.data_dir, static_cast<uint32_t>(flags.task_index) + 1));
  if (mnist.train.size() <= kValidation) return errors::InvalidArgument("The training set is too small");
  const LabeledImages validation = mnist.train.TakeFirst(kValidation);
  if (flags.batch_size < 1 || flags.batch_size > mnist.train.size())
    return errors::InvalidArgument("--batch_size is out of range");
  ASSIGN_OR_RETURN(const Model m, BuildModel(flags, num_ps, num_workers));
  TrainingSessionOptions options;
  options.config = server.session_options();
  options.is_chief = flags.is_chief();
  options.checkpoint_dir = flags.checkpoint_dir;
  options.save_checkpoint_secs = flags.save_checkpoint_secs;
  options.hooks = m.hooks;
  options.hooks.push_back(StopAtStepHook::AtStep(flags.train_steps));
  options.hooks.push_back(
      std::make_shared<ValidationHook>([&](Session& session) { return Validate(flags, session, m, validation); }));
  std::printf(flags.is_chief() ? "Worker %d: Initailizing session...\n"
                               : "Worker %d: Waiting for session to be initaialized...\n",
              flags.task_index);
  ASSIGN_OR_RETURN(const std::unique_ptr<MonitoredSession> session, MonitoredTrainingSession(m.scope, options));
  std::printf("Worker %d: Session initialization  complete.\n", flags.task_index);
  return session->Close(Train(flags, *session, m, mnist.train));
}

Status Run(const Flags& flags) {
  std::printf("job_name : %s\ntask_index : %d\n", flags.job_name.c_str(), flags.task_index);
  ServerOptions options;
  ASSIGN_OR_RETURN(options.cluster, ClusterSpec::FromHosts({{"ps", flags.ps_hosts}, {"worker", flags.worker_hosts}}));
  options.job_name = flags.job_name;
  options.task_index = flags.task_index;
  RETURN_IF_ERROR(options.ReadEnvironment());
  ASSIGN_OR_RETURN(const std::unique_ptr<Server> server, StartServer(options));
  if (flags.job_name == "ps") {
    server->Join();
    return OkStatus();
  }
  ASSIGN_OR_RETURN(const ClusterSpec::Tasks* ps, options.cluster.tasks("ps"));
  ASSIGN_OR_RETURN(const ClusterSpec::Tasks* workers, options.cluster.tasks("worker"));
  return RunWorker(flags, *server, static_cast<int>(ps->size()), static_cast<int>(workers->size()));
}

}  // namespace

// NOLINTNEXTLINE(bugprone-exception-escape): of CLI11, if the flags are declared wrongly, and the end of memory.
int main(int argc, char** argv) {
  Flags flags;
  CLI::App app("Distributed training of one hidden layer on MNIST");
  app.add_option("--data_dir", flags.data_dir,
                 "Folder with the MNIST files; none: the copy that comes with Millstream");
  app.add_option("--hidden_units", flags.hidden_units, "Number of units in the hidden layer")
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--train_steps", flags.train_steps, "Global step to stop at");
  app.add_option("--batch_size", flags.batch_size, "Images of one step");
  app.add_option("--learning_rate", flags.learning_rate, "Learning rate");
  app.add_option("--ps_hosts", flags.ps_hosts, "Comma-separated list of hostname:port pairs");
  app.add_option("--worker_hosts", flags.worker_hosts, "Comma-separated list of hostname:port pairs");
  app.add_option("--job_name", flags.job_name, "ps or worker")->required()->check(CLI::IsMember({"ps", "worker"}));
  app.add_option("--task_index", flags.task_index, "Index of the task within the job")->required();
  app.add_flag("--sync_replicas", flags.sync_replicas, "Average the gradients of all workers");
  app.add_option("--replicas_to_aggregate", flags.replicas_to_aggregate,
                 "With --sync_replicas: how many; none: all workers");
  app.add_option("--checkpoint_dir", flags.checkpoint_dir, "Where the chief saves; none: nowhere");
  app.add_option("--save_checkpoint_secs", flags.save_checkpoint_secs, "How often");
  CLI11_PARSE(app, argc, argv);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const Status status = Run(flags);
  if (!status.ok()) std::fprintf(stderr, "mnist_replica: %s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
