// SPDX-License-Identifier: Apache-2.0
#include "cli/train/modes/mode.h"
#include "millstream/millstream.h"
#include "millstream/train/variables/device_setter.h"
#include "tests/twins/program.h"

namespace millstream::twins {
namespace {

// One of two workers, on a model as RunTrainingWorker() places it (cli/train/worker.cc).
void TrainMode(const Scope& root, const std::string& name, const cli::GivenFlags& given, int num_ps, bool is_chief) {
  const StatusOr<const cli::Mode*> mode = cli::Registry<cli::Mode>::Find(name);
  if (!mode.ok()) return root.Fail(mode.status());
  const StatusOr<cli::OwnFlagValues> flags = cli::OwnFlagValues::Read((*mode)->flags, given);
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

struct ModeProgram {
  std::string name, mode;
  cli::GivenFlags flags;
};

}  // namespace

Programs TrainModePrograms() {
  const std::vector<ModeProgram> with_ps = {{"async", "async", {}},
                                            {"sync", "sync", {}},
                                            {"dc-asgd", "dc-asgd", {}},
                                            {"ssp", "ssp", {}},
                                            {"hierarchical.groups_of_2", "hierarchical", {{"group_size", "2"}}},
                                            {"hierarchical.groups_of_1", "hierarchical", {{"group_size", "1"}}}};
  std::vector<ModeProgram> without_ps = {{"allreduce", "allreduce", {}}, {"local-sgd", "local-sgd", {}}};
  for (const char* const kind : {"fp16", "bf16", "topk"}) {
    without_ps.push_back(
        {absl::StrCat("allreduce.", kind), "allreduce", {{"compression", kind}, {"topk_ratio", "0.1"}}});
  }
  Programs programs;
  const auto add = [&](const std::string& name, const ModeProgram& program, int ps) {
    for (const bool is_chief : {false, true}) {
      programs.push_back({absl::StrCat(name, is_chief ? ".chief" : ""),
                          [=](const Scope& s) { TrainMode(s, program.mode, program.flags, ps, is_chief); }});
    }
  };
  for (const ModeProgram& program : with_ps) {
    for (int ps = 1; ps <= 3; ++ps) add(absl::StrCat(program.name, ".ps", ps), program, ps);
  }
  for (const ModeProgram& program : without_ps) add(program.name, program, 0);
  return programs;
}

}  // namespace millstream::twins
