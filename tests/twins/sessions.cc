// SPDX-License-Identifier: Apache-2.0
#include "millstream/millstream.h"
#include "millstream/train/operators/operators.h"
#include "millstream/train/saving/saver.h"
#include "millstream/train/sessions/scaffold.h"
#include "tests/twins/program.h"

namespace millstream::twins {
namespace {

struct Variables {
  GraphVariable w, r;
};

Variables MakeVariables(const VariableScope& variables) {
  CreateGlobalStep(variables);
  const GraphVariable w = variables.Get("w", Shape({4, 3}));
  return {w, variables.Get("r", Shape({2}), {.initializer = OnesInitializer(), .resource = true})};
}

SaverOptions Sharded() {
  SaverOptions options;
  options.sharded = true;
  return options;
}

SaverOptions Reshaping() {
  SaverOptions options;
  options.reshape = true;
  options.name = "keeper";
  options.restore_sequentially = true;
  return options;
}

void MakeSaver(const Scope& s, SaverOptions options) {
  if (const auto saver = Saver::Make(s, std::move(options)); !saver.ok()) s.Fail(saver.status());
}

Program Saved(const std::string& name, const SaverOptions& options) {
  return {name, [options](const Scope& s) {
            MakeVariables(VariableScope(s));
            MakeSaver(s, options);
          }};
}

void SavedOnPs(const Scope& s, int num_ps) {
  MakeVariables(WithReplicaDevices(s, {.ps_tasks = num_ps}));
  MakeSaver(s, Sharded());
}

void Finalize(const Scope& s, Scaffold scaffold) {
  if (const Status done = scaffold.Finalize(s); !done.ok()) s.Fail(done);
}

void Scaffolded(const Scope& root, int num_ps) {
  const VariableScope variables = WithReplicaDevices(root, {.ps_tasks = num_ps});
  const Scope& s = variables.scope();
  const Variables made = MakeVariables(variables);
  const Output loss = L2Loss(s, made.w.value);
  s.AddToCollection(graph_keys::kSummaries,
                    OpNamed(s, "loss", "ScalarSummary", {Tensor::Scalar(std::string("loss")), loss}));
  variables.Get("local", Shape({2}), {.trainable = false, .collections = {graph_keys::kLocalVariables}});
  Finalize(root, {});
}

void MonitoredAsync(const Scope& root, int num_ps) {
  const VariableScope variables = WithReplicaDevices(root, {.ps_tasks = num_ps});
  const Scope& s = variables.scope();
  const GraphVariable step = CreateGlobalStep(variables);
  AdamOptimizer().Minimize(s, L2Loss(s, variables.Get("w", Shape({4, 3})).value), step);
  Finalize(root, {});
}

void MonitoredSync(const Scope& root, int num_ps) {
  const VariableScope variables = WithReplicaDevices(root, {.ps_tasks = num_ps});
  const Scope& s = variables.scope();
  const GraphVariable step = CreateGlobalStep(variables);
  const Output loss = L2Loss(s, variables.Get("w", Shape({4, 3})).value);
  SyncReplicasOptimizer optimizer(std::make_shared<AdamOptimizer>(), {.replicas_to_aggregate = 2});
  optimizer.Minimize(s, loss, step);
  optimizer.InitTokensOp(s);
  Scaffold scaffold;
  scaffold.local_init_op = optimizer.chief_init_op();
  Finalize(root, scaffold);
}

void Averages(const Scope& s) {
  const Variables made = MakeVariables(VariableScope(s));
  ExponentialMovingAverage average(0.9);
  average.Apply(s, {made.w, made.r});
  if (!s.ok()) return;
  SaverOptions options;
  options.variables = {{"w_average", average.Average(made.w.handle).handle, ""}};
  MakeSaver(s, options);
}

void AveragesOfTensors(const Scope& s, bool zero_debias) {
  const Variables made = MakeVariables(VariableScope(s));
  const Output loss = L2Loss(s, made.w.value);
  ExponentialMovingAverage(0.9, {.zero_debias = zero_debias}).Apply(s, {made.w}, {loss});
}

void AveragesWithUpdates(const Scope& s) {
  const VariableScope variables(s);
  const GraphVariable step = CreateGlobalStep(variables);
  const GraphVariable w = variables.Get("w", Shape({4, 3}));
  ExponentialMovingAverage(0.9, {.num_updates = step.value}).Apply(s, {w});
}

void Initializers(const Scope& s) {
  const VariableScope variables(s);
  MakeVariables(variables);
  variables.Get("local", Shape({2}), {.trainable = false, .collections = {graph_keys::kLocalVariables}});
  const std::vector<std::pair<const char*, Initializer>> initializers = {
      {"zeros", ZerosInitializer()},
      {"ones", OnesInitializer()},
      {"constant", ConstantInitializer(0.5)},
      {"uniform", RandomUniformInitializer(-1, 1, 3)},
      {"normal", RandomNormalInitializer(0, 2, 4)},
      {"truncated", TruncatedNormalInitializer(0, 0.1, 5)},
      {"glorot", GlorotNormalInitializer(6)},
      {"orthogonal", OrthogonalInitializer(1, 7)},
      {"scaling", VarianceScalingInitializer({.scale = 2,
                                              .mode = VarianceScaling::Mode::kFanOut,
                                              .distribution = VarianceScaling::Distribution::kUniform,
                                              .seed = 8})},
  };
  for (const auto& [name, initializer] : initializers) {
    variables.Get(name, Shape({4, 3}), {.initializer = initializer});
  }
  variables.Get("wide", Shape({3, 4}), {.initializer = OrthogonalInitializer(0.5, 9)});
  GlobalVariablesInitializer(s);
  LocalVariablesInitializer(s);
  std::vector<Output> all = s.Collection(graph_keys::kGlobalVariables);
  const std::vector<Output>& local = s.Collection(graph_keys::kLocalVariables);
  all.insert(all.end(), local.begin(), local.end());
  ReportUninitializedVariables(s, all);
}

}  // namespace

Programs SessionPrograms() {
  Programs programs = {
      Saved("saver", {}),
      Saved("saver.sharded", Sharded()),
      Saved("saver.reshape", Reshaping()),
      {"saver.ps1", [](const Scope& s) { SavedOnPs(s, 1); }},
      {"saver.ps2", [](const Scope& s) { SavedOnPs(s, 2); }},
      {"saver.ps3", [](const Scope& s) { SavedOnPs(s, 3); }},
      {"averages", Averages},
      {"averages.tensors", [](const Scope& s) { AveragesOfTensors(s, false); }},
      {"averages.debiased", [](const Scope& s) { AveragesOfTensors(s, true); }},
      {"averages.with_updates", AveragesWithUpdates},
      {"initializers", Initializers},
  };
  for (int ps = 1; ps <= 3; ++ps) {
    programs.push_back({absl::StrCat("scaffold.ps", ps), [ps](const Scope& s) { Scaffolded(s, ps); }});
    programs.push_back({absl::StrCat("monitored_async.ps", ps), [ps](const Scope& s) { MonitoredAsync(s, ps); }});
    programs.push_back({absl::StrCat("monitored_sync.ps", ps), [ps](const Scope& s) { MonitoredSync(s, ps); }});
  }
  return programs;
}

}  // namespace millstream::twins
