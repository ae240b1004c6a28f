// SPDX-License-Identifier: Apache-2.0
#include "tests/chaos/threads/program.h"

#include "absl/strings/str_cat.h"
#include "millstream/base/logging.h"
#include "millstream/distributed/cluster/cluster_spec.h"
#include "millstream/graph/variables/variable_scope.h"
#include "millstream/train/collectives/distributed_optimizer.h"
#include "millstream/train/optimizers/gradient_descent.h"
#include "millstream/train/sync_replicas/sync_replicas_optimizer.h"
#include "millstream/train/variables/global_step.h"

namespace millstream::chaos {
namespace {

// Larger than what collectives fuse, so that the gradient of the small variable beside it is reduced by itself and may
// be applied when this one is lost.
constexpr int64_t kLarge = 66'000;

GraphVariable ZerosOn(const Scope& scope, const std::string& name, const Shape& shape, DType dtype, bool trainable) {
  VariableOptions options;
  options.dtype = dtype;
  options.trainable = trainable;
  options.initializer = ConstantInitializer(0);
  return VariableScope(scope).Get(name, shape, options);
}

Output First(const Scope& scope, Output values) {
  const Output first = scope.Op("GatherV2", {values, scope.Const<int32_t>(0), scope.Const<int32_t>(0)});
  return scope.Op("Cast", {first}, {{"DstT", DType::kInt64}});
}

// The negative sum of all: its gradient is -1 everywhere, so that a step of gradient descent at rate 1 adds 1.
Output Loss(const Scope& scope, const std::vector<GraphVariable>& variables) {
  std::vector<Output> sums;
  for (const GraphVariable& variable : variables)
    sums.push_back(scope.Op("Sum", {variable.value, scope.Const(Tensor::Vector<int32_t>({0}))}));
  return scope.Op("Neg", {scope.Op("AddN", sums)});
}

void BuildAsync(int worker, int num_workers, int num_ps, Program* program) {
  std::vector<Node*> added;
  for (int ps = 0; ps < num_ps; ++ps) {
    const Scope at = program->scope.WithDevice(TaskName("ps", ps));
    for (int i = 0; i < num_workers; ++i) {
      const GraphVariable count = ZerosOn(at, absl::StrCat("count_", ps, "_", i), Shape(), DType::kInt64, false);
      if (i != worker) continue;
      program->reads.push_back(count.value.name());
      const Output sum = at.Op("AssignAdd", {count.handle, at.Const<int64_t>(1)}, {{"use_locking", true}});
      program->step.push_back(at.Op("Identity", {sum}).name());
      added.push_back(sum.node);
    }
  }
  const Scope first = program->scope.WithDevice(TaskName("ps", 0));
  const GraphVariable global_step = CreateGlobalStep(VariableScope(first));
  program->reads.push_back(global_step.value.name());
  const Scope after = first.WithControlDependencies(added);
  program->step.push_back(
      after.Op("AssignAdd", {global_step.handle, after.Const<int64_t>(1)}, {{"use_locking", true}}).name());
}

void BuildSync(int worker, int num_workers, int num_ps, Program* program) {
  const Scope first = program->scope.WithDevice(TaskName("ps", 0));
  const GraphVariable global_step = CreateGlobalStep(VariableScope(first));
  // Read before the values, which are never behind it.
  const Output step_read = first.Op("Add", {global_step.handle, first.Const<int64_t>(0)});
  std::vector<GraphVariable> weights;
  for (int ps = 0; ps < num_ps; ++ps) {
    const Scope at = program->scope.WithDevice(TaskName("ps", ps));
    weights.push_back(ZerosOn(at, absl::StrCat("weights_", ps), Shape({1}), DType::kFloat, true));
    const Scope after = at.WithControlDependencies({step_read.node});
    program->reads.push_back(First(after, weights.back().handle).name());
  }
  program->reads.push_back(step_read.name());
  const Scope own = program->scope.WithDevice(TaskName("worker", worker));
  SyncReplicasOptimizer::Options options;
  options.replicas_to_aggregate = options.total_num_replicas = num_workers;
  const auto optimizer =
      std::make_shared<SyncReplicasOptimizer>(std::make_shared<GradientDescentOptimizer>(1.0), options);
  const Node* train = optimizer->Minimize(own, Loss(own, weights), global_step);
  MS_CHECK(train != nullptr);
  program->train = train->name();
  program->hooks.push_back(optimizer->MakeSessionRunHook(worker == 0));
  program->optimizer = optimizer;
}

void BuildAllReduce(int worker, int num_workers, Program* program) {
  const Scope own = program->scope.WithDevice(TaskName("worker", worker));
  const std::vector<GraphVariable> weights = {ZerosOn(own, "small", Shape({1}), DType::kFloat, true),
                                              ZerosOn(own, "large", Shape({kLarge}), DType::kFloat, true)};
  const GraphVariable global_step = CreateGlobalStep(VariableScope(own));
  const auto group = std::make_shared<CollectiveGroup>(num_workers);
  program->optimizer = std::make_shared<DistributedOptimizer>(std::make_shared<GradientDescentOptimizer>(1.0), group);
  Node* train = program->optimizer->Minimize(own, Loss(own, weights), global_step);
  MS_CHECK(train != nullptr);
  const Scope after = own.WithControlDependencies({train});
  for (const GraphVariable& variable : weights) {
    program->reads.push_back(First(own, variable.value).name());
    program->step.push_back(First(after, variable.handle).name());
  }
  program->reads.push_back(global_step.value.name());
  program->step.push_back(after.Op("Identity", {global_step.handle}).name());
  program->hooks.push_back(MakeBroadcastVariablesHook(group, worker == 0));
}

}  // namespace

const char* NameOf(Mode mode) { return mode == Mode::kAsync ? "async" : mode == Mode::kSync ? "sync" : "allreduce"; }

std::optional<Mode> ModeNamed(const std::string& name) {
  for (const Mode mode : {Mode::kAsync, Mode::kSync, Mode::kAllReduce}) {
    if (name == NameOf(mode)) return mode;
  }
  return std::nullopt;
}

Program MakeProgram(Mode mode, int worker, int num_workers, int num_ps) {
  Program program;
  switch (mode) {
    case Mode::kAsync:
      BuildAsync(worker, num_workers, num_ps, &program);
      break;
    case Mode::kSync:
      BuildSync(worker, num_workers, num_ps, &program);
      break;
    case Mode::kAllReduce:
      BuildAllReduce(worker, num_workers, &program);
      break;
  }
  if (!program.scope.status().ok()) LogError(program.scope.status().message());
  MS_CHECK(program.scope.status().ok());
  return program;
}

}  // namespace millstream::chaos
