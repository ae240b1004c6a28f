// SPDX-License-Identifier: Apache-2.0
#include "cli/train/modes/mode.h"
#include "millstream/millstream.h"
#include "millstream/train/variables/device_setter.h"
#include "tests/twins/program.h"

namespace millstream::twins {
namespace {

// One of two workers, on a model as RunTrainingWorker() places it (cli/train/worker.cc).
void TrainMode(const Scope& root, const std::string& name, int num_ps, bool is_chief) {
  const StatusOr<const cli::Mode*> mode = cli::Registry<cli::Mode>::Find(name);
  if (!mode.ok()) return root.Fail(mode.status());
  const StatusOr<cli::OwnFlagValues> flags = cli::OwnFlagValues::Read((*mode)->flags, {});
  if (!flags.ok()) return root.Fail(flags.status());
  ReplicaDeviceOptions devices;
  devices.ps_tasks = num_ps;
  devices.worker_device = absl::StrCat("/job:worker/task:", is_chief ? 0 : 1);
  devices.ps_strategy = BalanceByBytes(std::max(num_ps, 1));
  const VariableScope variables = WithReplicaDevices(root, devices);
  const GraphVariable step = GetOrCreateGlobalStep(variables);
  const Output loss = SmallModel(variables.scope());
  const StatusOr<cli::ModeGraph> graph = (*mode)->build({.scope = variables.scope(),
                                                         .loss = loss,
                                                         .global_step = step,
                                                         .optimizer = "sgd",
                                                         .learning_rate = 0.1,
                                                         .flags = *flags,
                                                         .num_workers = 2,
                                                         .worker_index = is_chief ? 0 : 1,
                                                         .is_chief = is_chief});
  if (!graph.ok()) return root.Fail(graph.status());
  for (const auto& hook : graph->hooks) {
    if (const Status begun = hook->Begin(variables.scope()); !begun.ok()) return root.Fail(begun);
  }
}

}  // namespace

Programs TrainModePrograms() {
  Programs programs;
  for (const bool is_chief : {false, true}) {
    const std::string who = is_chief ? ".chief" : "";
    for (const char* const name : {"async", "sync", "dc-asgd"}) {
      for (int ps = 1; ps <= 3; ++ps) {
        programs.push_back(
            {absl::StrCat(name, ".ps", ps, who), [=](const Scope& s) { TrainMode(s, name, ps, is_chief); }});
      }
    }
    programs.push_back({"allreduce" + who, [=](const Scope& s) { TrainMode(s, "allreduce", 0, is_chief); }});
  }
  return programs;
}

}  // namespace millstream::twins
