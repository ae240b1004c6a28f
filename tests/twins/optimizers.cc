// SPDX-License-Identifier: Apache-2.0
#include "millstream/millstream.h"
#include "millstream/train/layers/embedding.h"
#include "millstream/train/operators/operators.h"
#include "tests/twins/program.h"

namespace millstream::twins {

Output Placeholder(const Scope& s, const char* name, PartialShape shape, DType dtype) {
  return s.WithOpName(name).Op("Placeholder", {}, {{"dtype", dtype}, {"shape", std::move(shape)}});
}

Output SmallModel(const Scope& s, bool resource) {
  const VariableScope variables(s);
  const Output x = Placeholder(s, "x", PartialShape({-1, 4}));
  const Output ids = Placeholder(s, "ids", PartialShape({-1}), DType::kInt64);
  const GraphVariable w = variables.Get("w", Shape({4, 3}), {.resource = resource});
  const GraphVariable b = variables.Get("b", Shape({3}), {.initializer = ZerosInitializer(), .resource = resource});
  const GraphVariable table = variables.Get("table", Shape({10, 3}), {.resource = resource});
  const Output y = OpNamed(s, "", "BiasAdd", {OpNamed(s, "", "MatMul", {x, w}), b});
  return L2Loss(s, operators::Add(s, y, EmbeddingLookup(s, table, ids)));
}

namespace {

using MakeOptimizer = std::function<std::shared_ptr<Optimizer>(const GraphVariable& step)>;

std::vector<std::pair<std::string, MakeOptimizer>> Optimizers() {
  using Step = const GraphVariable&;
  return {
      {"sgd", [](Step) { return std::make_shared<GradientDescentOptimizer>(0.1); }},
      {"momentum", [](Step) { return std::make_shared<MomentumOptimizer>(0.1, 0.9); }},
      {"nesterov",
       [](Step) {
         return std::make_shared<MomentumOptimizer>(
             0.1, 0.9, MomentumOptimizer::Options{.use_nesterov = true, .use_locking = true});
       }},
      {"adagrad", [](Step) { return std::make_shared<AdagradOptimizer>(0.1); }},
      {"adagrad_da", [](Step step) { return std::make_shared<AdagradDAOptimizer>(0.1, step); }},
      {"adadelta", [](Step) { return std::make_shared<AdadeltaOptimizer>(0.1); }},
      {"adam", [](Step) { return std::make_shared<AdamOptimizer>(0.1); }},
      {"ftrl", [](Step) { return std::make_shared<FtrlOptimizer>(0.1); }},
      {"ftrl_shrinkage",
       [](Step) {
         return std::make_shared<FtrlOptimizer>(0.1,
                                                FtrlOptimizer::Options{.l2_shrinkage_regularization_strength = 0.5});
       }},
      {"proximal_sgd",
       [](Step) {
         return std::make_shared<ProximalGradientDescentOptimizer>(
             0.1, ProximalGradientDescentOptimizer::Options{.l1_regularization_strength = 0.5});
       }},
      {"proximal_adagrad",
       [](Step) {
         return std::make_shared<ProximalAdagradOptimizer>(
             0.1, ProximalAdagradOptimizer::Options{.l2_regularization_strength = 0.5});
       }},
      {"rmsprop", [](Step) { return std::make_shared<RMSPropOptimizer>(0.1); }},
      {"rmsprop_centered",
       [](Step) {
         return std::make_shared<RMSPropOptimizer>(0.1, RMSPropOptimizer::Options{.momentum = 0.5, .centered = true});
       }},
  };
}

Output DenseModel(const Scope& s) {
  const VariableScope variables(s);
  const Output x = Placeholder(s, "x", PartialShape({-1, 4}));
  const GraphVariable w = variables.Get("w", Shape({4, 3}));
  const GraphVariable b = variables.Get("b", Shape({3}), {.initializer = ZerosInitializer()});
  return L2Loss(s, s.Op("BiasAdd", {s.Op("MatMul", {x, w.value}), b.value}));
}

VariableScope OnPs(const Scope& root, int num_ps, const std::string& worker = "/job:worker") {
  return WithReplicaDevices(root, {.ps_tasks = num_ps, .worker_device = worker});
}

void Alone(const Scope& s, const MakeOptimizer& make, bool resource) {
  const GraphVariable step = CreateGlobalStep(VariableScope(s));
  const std::shared_ptr<Optimizer> optimizer = make(step);
  optimizer->Minimize(s, SmallModel(s, resource), step);
  GlobalVariablesInitializer(s);
}

void Async(const Scope& root, const MakeOptimizer& make, int num_ps) {
  const VariableScope variables = OnPs(root, num_ps, "/job:worker/task:1");
  const Scope& s = variables.scope();
  const GraphVariable step = CreateGlobalStep(variables);
  const std::shared_ptr<Optimizer> optimizer = make(step);
  optimizer->Minimize(s, SmallModel(s), step);
  GlobalVariablesInitializer(s);
}

void Sync(const Scope& root, const MakeOptimizer& make, int num_ps) {
  const VariableScope variables = OnPs(root, num_ps, "/job:worker/task:1");
  const Scope& s = variables.scope();
  const GraphVariable step = CreateGlobalStep(variables);
  SyncReplicasOptimizer optimizer(make(step), {.replicas_to_aggregate = 2, .total_num_replicas = 3});
  optimizer.Minimize(s, SmallModel(s), step);
  optimizer.InitTokensOp(s);
  GlobalVariablesInitializer(s);
}

void SyncAverages(const Scope& root) {
  const VariableScope variables = OnPs(root, 2);
  const Scope& s = variables.scope();
  const GraphVariable step = CreateGlobalStep(variables);
  const Output loss = DenseModel(s);
  SyncReplicasOptimizer optimizer(std::make_shared<AdamOptimizer>(0.1),
                                  {.replicas_to_aggregate = 2,
                                   .variable_averages = std::make_shared<ExponentialMovingAverage>(0.9),
                                   .variables_to_average = VariablesIn(s, graph_keys::kTrainableVariables)});
  optimizer.Minimize(s, loss, step);
  optimizer.InitTokensOp(s, 4);
}

void DelayCompensated(const Scope& root, int num_ps) {
  const VariableScope variables = OnPs(root, num_ps);
  const Scope& s = variables.scope();
  const GraphVariable step = CreateGlobalStep(variables);
  DelayCompensatedGradientDescentOptimizer optimizer(0.1, 0.04, {.num_workers = 2, .worker_index = 1});
  optimizer.Minimize(s, SmallModel(s), step);
  GlobalVariablesInitializer(s);
}

void StaleSynchronous(const Scope& root, int num_ps) {
  const VariableScope variables = OnPs(root, num_ps, "/job:worker/task:1");
  const Scope& s = variables.scope();
  const GraphVariable step = CreateGlobalStep(variables);
  StaleSynchronousOptimizer optimizer(std::make_shared<AdamOptimizer>(0.1),
                                      {.staleness = 4, .num_workers = 3, .worker_index = 1});
  optimizer.Minimize(s, SmallModel(s), step);
  GlobalVariablesInitializer(s);
}

void Distributed(const Scope& s, GradientCompression::Kind kind) {
  const GraphVariable step = CreateGlobalStep(VariableScope(s));
  const GraphVariable large = VariableScope(s).Get("large", Shape({40, 30}));
  GradientCompression compression;
  compression.kind = kind;
  DistributedOptimizer optimizer(std::make_shared<AdamOptimizer>(0.1), std::make_shared<CollectiveGroup>(2),
                                 compression);
  const Output loss = SmallModel(s);
  optimizer.Minimize(s, operators::Add(s, loss, L2Loss(s, large.value)), step);
}

void LocalSgd(const Scope& s, int num_workers, bool resource) {
  const GraphVariable step = CreateGlobalStep(VariableScope(s));
  const auto group = std::make_shared<CollectiveGroup>(num_workers);
  LocalSgdOptimizer optimizer(std::make_shared<AdamOptimizer>(0.1), group, 5);
  optimizer.Minimize(s, SmallModel(s, resource), step);
  group->Broadcast(s, VariablesIn(s, graph_keys::kGlobalVariables), num_workers == 3);
  optimizer.AverageOp(s);
}

void Hierarchical(const Scope& root, int num_ps, int worker) {
  const VariableScope variables = OnPs(root, num_ps, absl::StrCat("/job:worker/task:", worker));
  const Scope& s = variables.scope();
  const GraphVariable step = CreateGlobalStep(variables);
  HierarchicalOptimizer optimizer(std::make_shared<AdamOptimizer>(0.1),
                                  {.group_sizes = EqualGroups(5, 2), .worker_index = worker});
  optimizer.Minimize(s, SmallModel(s), step);
  GlobalVariablesInitializer(s);
}

void Gated(const Scope& s, GateGradients gate, const char* name) {
  GradientDescentOptimizer(0.1).Minimize(s, DenseModel(s), {}, {.gate = gate}, name);
}

void TwoTowers(const Scope& root) {
  const VariableScope variables(root);
  MomentumOptimizer optimizer(0.1, 0.9);
  const Output x = Placeholder(root, "x", PartialShape({-1, 4}));
  for (int i = 0; i < 2; ++i) {
    const VariableScope on_device = variables.WithDevice(absl::StrCat("/device:CPU:", i));
    const VariableScope tower = on_device.Enter("model", VariableScope::Reuse::kAuto);
    const GraphVariable w = tower.Get("w", Shape({4, 3}));
    const Output loss = L2Loss(tower.scope(), tower.scope().Op("MatMul", {x, w.value}));
    const Scope s = on_device.scope().NameScope("tower");
    optimizer.ApplyGradients(s, optimizer.ComputeGradients(s, loss));
  }
}

void Scaled(const Scope& s, const LossScale& scale, bool resource) {
  const GraphVariable step = CreateGlobalStep(VariableScope(s));
  LossScaleOptimizer optimizer(std::make_shared<AdamOptimizer>(0.1), scale);
  optimizer.Minimize(s, SmallModel(s, resource), step);
  GlobalVariablesInitializer(s);
}

void AfterUpdates(const Scope& root) {
  Node* update = root.WithOpName("update_op").Add("NoOp", {});
  const Scope s = root.WithControlDependencies({update});
  const Output loss = SmallModel(s);
  AdamOptimizer(0.1).Minimize(s, loss, CreateGlobalStep(VariableScope(s)));
}

}  // namespace

Programs OptimizerPrograms() {
  Programs programs = {
      {"sync_averages", SyncAverages},
      {"gate_none", [](const Scope& s) { Gated(s, GateGradients::kNone, "none"); }},
      {"gate_graph", [](const Scope& s) { Gated(s, GateGradients::kGraph, "graph"); }},
      {"colocated",
       [](const Scope& s) {
         AdagradOptimizer(0.1).Minimize(s, DenseModel(s), {}, {.colocate_gradients_with_ops = true});
       }},
      {"two_towers", TwoTowers},
      {"after_updates", AfterUpdates},
  };
  for (const auto& [name, make] : Optimizers()) {
    programs.push_back({name, [make = make](const Scope& s) { Alone(s, make, false); }});
    programs.push_back({name + ".resource", [make = make](const Scope& s) { Alone(s, make, true); }});
    for (int ps = 1; ps <= 3; ++ps) {
      programs.push_back(
          {absl::StrCat(name, ".async.ps", ps), [make = make, ps](const Scope& s) { Async(s, make, ps); }});
      programs.push_back(
          {absl::StrCat(name, ".sync.ps", ps), [make = make, ps](const Scope& s) { Sync(s, make, ps); }});
    }
  }
  for (int ps = 1; ps <= 3; ++ps) {
    programs.push_back({absl::StrCat("delay_compensated.ps", ps), [ps](const Scope& s) { DelayCompensated(s, ps); }});
    programs.push_back({absl::StrCat("stale_synchronous.ps", ps), [ps](const Scope& s) { StaleSynchronous(s, ps); }});
    for (int worker = 0; worker < 5; ++worker) {
      programs.push_back({absl::StrCat("hierarchical.worker", worker, ".ps", ps),
                          [ps, worker](const Scope& s) { Hierarchical(s, ps, worker); }});
    }
  }
  for (const bool resource : {false, true}) {
    const std::string end = resource ? ".resource" : "";
    programs.push_back(
        {"loss_scale.fixed" + end, [resource](const Scope& s) { Scaled(s, LossScale::Fixed(128), resource); }});
    programs.push_back({"loss_scale.dynamic" + end, [resource](const Scope& s) {
                          Scaled(s, {.value = 64, .increment_period = 10, .multiplier = 4}, resource);
                        }});
  }
  using Kind = GradientCompression::Kind;
  for (const auto& [name, kind] : std::vector<std::pair<std::string, Kind>>{
           {"none", Kind::kNone}, {"fp16", Kind::kHalf}, {"bf16", Kind::kBfloat16}, {"topk", Kind::kTopK}}) {
    programs.push_back({"distributed." + name, [kind = kind](const Scope& s) { Distributed(s, kind); }});
  }
  for (int workers = 1; workers <= 3; ++workers) {
    programs.push_back(
        {absl::StrCat("local_sgd.workers", workers), [workers](const Scope& s) { LocalSgd(s, workers, false); }});
    programs.push_back({absl::StrCat("local_sgd.workers", workers, ".resource"),
                        [workers](const Scope& s) { LocalSgd(s, workers, true); }});
  }
  return programs;
}

}  // namespace millstream::twins
