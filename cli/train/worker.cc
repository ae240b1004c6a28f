// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "cli/train/models/model.h"
#include "cli/train/modes/mode.h"
#include "cli/train/task.h"
#include "cli/train/trainer.h"
#include "millstream/data/batches.h"
#include "millstream/distributed/link/sockets.h"
#include "millstream/framework/device_name.h"
#include "millstream/graph/node_kind.h"
#include "millstream/proto/config.pb.h"
#include "millstream/train/variables/device_setter.h"
#include "millstream/train/variables/global_step.h"

namespace millstream::cli {
namespace {

// Which part of the work is this task's.
struct Part {
  int index = 0, count = 1;  // among the chief and the workers
  int ps = 0;
  bool chief = false;
  std::string device;
  std::vector<std::string> hosts;  // of the chief and the workers
};

Part PartOf(const ServerOptions& server) {
  const auto tasks = [&](const char* job) {
    const StatusOr<const ClusterSpec::Tasks*> found = server.cluster.tasks(job);
    return found.ok() ? static_cast<int>((*found)->size()) : 0;
  };
  const int chiefs = tasks("chief");
  Part part;
  part.ps = tasks("ps");
  part.count = chiefs + tasks("worker");
  part.index = server.job_name == "chief" ? 0 : chiefs + server.task_index;
  part.chief = part.index == 0;
  part.device = absl::StrCat("/job:", server.job_name, "/task:", server.task_index);
  for (const char* job : {"chief", "worker"}) {
    const StatusOr<const ClusterSpec::Tasks*> found = server.cluster.tasks(job);
    if (!found.ok()) continue;
    for (const auto& [index, address] : **found) {
      const StatusOr<HostPort> parsed = ParseHostPort(address);
      part.hosts.push_back(parsed.ok() ? parsed->host : address);
    }
  }
  return part;
}

StatusOr<ModelSpec> SpecFor(const TrainOptions& options, const Model& model, const ExampleData& data) {
  ModelSpec spec;
  spec.dims = data.dims;
  spec.category_columns = data.category_columns;
  spec.buckets = data.buckets;
  spec.classes = data.classes;
  ASSIGN_OR_RETURN(spec.flags, OwnFlagValues::Read(model.flags, options.own));
  spec.seed = options.seed;
  return spec;
}

VariableScope VariablesOnPs(const Scope& scope, const Part& part) {
  ReplicaDeviceOptions devices;
  devices.ps_tasks = part.ps;
  devices.worker_device = part.device;
  devices.ps_strategy = BalanceByBytes(std::max(part.ps, 1));
  return WithReplicaDevices(scope, devices);
}

StatusOr<TrainingGraph> BuildGraph(const TrainOptions& options, const Part& part, const ExampleData& data) {
  ASSIGN_OR_RETURN(const Model* const model, Registry<Model>::Find(options.model));
  ASSIGN_OR_RETURN(const Mode* const mode, Registry<Mode>::Find(options.mode));
  ASSIGN_OR_RETURN(const ModelSpec spec, SpecFor(options, *model, data));
  ASSIGN_OR_RETURN(const OwnFlagValues mode_flags, OwnFlagValues::Read(mode->flags, options.own));
  if (mode->check != nullptr) RETURN_IF_ERROR(mode->check(mode_flags, part.count));
  if (mode->own_variables && part.ps > 0) {
    return errors::InvalidArgument("--mode ", options.mode, " has no parameter servers, but the cluster has ", part.ps);
  }
  TrainingGraph graph;
  graph.own_variables = mode->own_variables;
  const VariableScope variables = VariablesOnPs(graph.scope, part);
  const GraphVariable global_step = GetOrCreateGlobalStep(variables);
  ASSIGN_OR_RETURN(graph.model, BuildModel(*model, spec, variables));
  ASSIGN_OR_RETURN(graph.mode, mode->build({.scope = variables.scope(),
                                            .loss = graph.model.loss,
                                            .global_step = global_step,
                                            .optimizer = options.optimizer,
                                            .learning_rate = options.learning_rate,
                                            .flags = mode_flags,
                                            .num_workers = part.count,
                                            .worker_index = part.index,
                                            .worker_hosts = part.hosts,
                                            .is_chief = part.chief}));
  RETURN_IF_ERROR(graph.scope.status());
  const GraphVariable& counted = graph.mode.group_step ? graph.mode.group_step : global_step;
  graph.step_before = counted.value;
  // The step's own count, read where it is kept.
  graph.step_after = variables.scope()
                         .WithOpName("step_after_update")
                         .ColocateWith(counted.handle.node)
                         .WithControlDependencies({graph.mode.train_op})
                         .Op("Identity", {counted.handle});
  RETURN_IF_ERROR(graph.scope.status());
  return graph;
}

// As tf.estimator: what other workers do, and whether they are there, is nothing to this one.
StatusOr<SessionOptions> SessionOptionsFor(const Server& server, const Part& part) {
  proto::ConfigProto config;
  config.add_device_filters("/job:ps");
  config.add_device_filters(part.device);
  ASSIGN_OR_RETURN(SessionOptions options, SessionOptions::FromProto(config));
  return server.WithThisServer(std::move(options));
}

Status CheckData(const TrainOptions& options, const ExampleData& data, const EventLog& log) {
  TrainEvent event;
  event.kind = TrainEvent::Kind::kData;
  event.text = data.what;
  event.examples = data.train.size();
  event.label = data.label;
  event.categories = data.categories;
  log.Say(std::move(event));
  for (const std::string& note : data.notes) log.Note(note);
  ASSIGN_OR_RETURN(const Model* const model, Registry<Model>::Find(options.model));
  if (data.category_columns > 0 && !model->uses_categories) {
    log.Note(absl::StrCat(options.model, " learns from the numbers only; models that also use the ",
                          data.category_columns, " columns of categories: ", ModelsThatUseCategories()));
  }
  return OkStatus();
}

// The bytes of variables, slots of the optimizer among them, on each ps task.
void SayWhereVariablesAre(const Graph& graph, const EventLog& log) {
  TrainEvent event;
  event.kind = TrainEvent::Kind::kVariables;
  for (const auto& node : graph.nodes()) {
    if (node == nullptr || !IsA(*node, OpKind::kVariable)) continue;
    const StatusOr<DeviceName> device = DeviceName::Parse(node->device());
    if (!device.ok() || device->job != "ps") continue;
    event.bytes[absl::StrCat("ps:", device->task.value_or(0))] += static_cast<int64_t>(ByteSizeLoad(*node));
  }
  if (!event.bytes.empty()) log.Say(std::move(event));
}

}  // namespace

Status RunTrainingWorker(const TrainOptions& options, Server& server, const EventLog& log,
                         const std::atomic<bool>& stop) {
  const Part part = PartOf(server.options());
  ExampleOptions reading;
  reading.label = options.label_column;
  reading.missing_values = options.missing_values;
  reading.category_columns = options.category_columns;
  reading.test = part.chief;
  ASSIGN_OR_RETURN(const ExampleData data, ReadExamples(options.data_dir, reading));
  if (part.chief) RETURN_IF_ERROR(CheckData(options, data, log));
  ASSIGN_OR_RETURN(Batches batches, Batches::Make(data.train, options.batch_size, part.index, part.count,
                                                  static_cast<uint64_t>(options.seed)));
  ASSIGN_OR_RETURN(const TrainingGraph graph, BuildGraph(options, part, data));
  if (part.chief) SayWhereVariablesAre(*graph.scope.graph(), log);
  ASSIGN_OR_RETURN(const SessionOptions config, SessionOptionsFor(server, part));
  Trainer trainer(options, graph, data, part.chief, log, stop);
  return trainer.Run(config, batches);
}

}  // namespace millstream::cli
