// SPDX-License-Identifier: Apache-2.0
// LocalSgdOptimizer and HierarchicalOptimizer with workers that are devices of one process and share a graph.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "millstream/train/collectives/hierarchical_optimizer.h"
#include "millstream/train/collectives/local_sgd_optimizer.h"
#include "millstream/train/input/coordinator.h"
#include "millstream/train/optimizers/gradient_descent.h"
#include "millstream/train/optimizers/momentum.h"
#include "millstream/train/testing/steps.h"
#include "millstream/train/variables/global_step.h"

namespace millstream {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::FloatNear;

std::unique_ptr<Session> SessionWithDevices(const Scope& scope, int count) {
  SessionOptions options;
  options.device_count = {{"CPU", count}};
  StatusOr<std::unique_ptr<Session>> made = NewSession(options);
  EXPECT_TRUE(made.ok()) << made.status();
  EXPECT_EQ((*made)->Extend(*scope.graph()), OkStatus());
  return *std::move(made);
}

GraphVariable StepOn(const Scope& s, const std::string& name) {
  VariableOptions options;
  options.dtype = DType::kInt64;
  options.initial_constant = Tensor::Scalar<int64_t>(0);
  options.trainable = false;
  return VariableScope(s).Get(name, Shape(), options);
}

// Worker i has a graph of its own with the loss -(i + 1) * w, so its variable grows by i + 1 a step; the graphs are
// joined in one by the names of the scopes.
TEST(LocalSgdTest, VariablesAndSlotsBecomeMeans) {
  for (const int count : {1, 2, 4}) {
    const Scope scope = Scope::Root();
    std::vector<GraphVariable> w, slots;
    std::vector<Node*> trains, averages;
    std::vector<std::unique_ptr<LocalSgdOptimizer>> optimizers;
    for (int i = 0; i < count; ++i) {
      // Only what this worker has made so far is in the collection that it averages: other workers' are not.
      const Scope s = scope.NameScope(absl::StrCat("worker", i)).WithDevice(absl::StrCat("/cpu:", i));
      w.push_back(VariableScope(s).Get(absl::StrCat("w", i), Shape(), {.initializer = ZerosInitializer()}));
      const GraphVariable step = StepOn(s, absl::StrCat("step", i));
      optimizers.push_back(std::make_unique<LocalSgdOptimizer>(std::make_shared<MomentumOptimizer>(1.0, 0.0),
                                                               std::make_shared<CollectiveGroup>(count), 3));
      ComputeGradientsOptions own;
      own.variables = {w[i]};
      const Output loss = s.Op("Mul", {w[i].value, s.Const(-static_cast<float>(i + 1))});
      trains.push_back(optimizers[i]->Minimize(s, loss, step, own));
      slots.push_back(optimizers[i]->Slot(w[i], "momentum"));
      averages.push_back(optimizers[i]->AverageOf(s, {w[i], slots[i], step}));
    }
    Node* const init = GlobalVariablesInitializer(scope);
    ASSERT_EQ(scope.status(), OkStatus());
    const auto session = SessionWithDevices(scope, count);
    RunStep(*session, {}, {init});
    for (int step = 0; step < 3; ++step) RunStep(*session, {}, {trains.begin(), trains.end()});
    for (int i = 0; i < count; ++i) EXPECT_EQ(FloatsOf(*session, w[i].value)[0], 3.0f * static_cast<float>(i + 1));
    RunStep(*session, {}, {averages.begin(), averages.end()});
    const float mean = (1 + static_cast<float>(count)) / 2;
    for (int i = 0; i < count; ++i) {
      EXPECT_NEAR(FloatsOf(*session, w[i].value)[0], 3 * mean, 1e-5);
      EXPECT_NEAR(FloatsOf(*session, slots[i].value)[0], -mean, 1e-5);
    }
  }
}

TEST(LocalSgdTest, TheHookAveragesEveryFewSteps) {
  const Scope s = Scope::Root();
  const GraphVariable w = VariableScope(s).Get("w", Shape(), {.initializer = ZerosInitializer()});
  LocalSgdOptimizer optimizer(std::make_shared<GradientDescentOptimizer>(1.0), std::make_shared<CollectiveGroup>(1), 2);
  Node* const train = optimizer.Minimize(s, s.Op("Neg", {w.value}), GetOrCreateGlobalStep(s));
  const std::unique_ptr<SessionRunHook> hook = optimizer.MakeSessionRunHook(true);
  ASSERT_EQ(hook->Begin(s), OkStatus());
  const auto session = SessionOf(s, GlobalVariablesInitializer(s));
  Coordinator coordinator;
  ASSERT_EQ(hook->AfterCreateSession(*session, coordinator), OkStatus());
  for (int i = 1; i <= 4; ++i) {
    RunStep(*session, {}, {train});
    const SessionRunArgs args;
    SessionRunContext context(args, *session);
    EXPECT_EQ(hook->AfterRun(context, {{}, args.options}), OkStatus());
    EXPECT_EQ(FloatsOf(*session, w.value)[0], static_cast<float>(i));
  }
}

TEST(LocalSgdTest, RefusesWhatMakesNoSense) {
  for (const bool with_step : {false, true}) {
    const Scope s = Scope::Root();
    const GraphVariable w = VariableScope(s).Get("w", Shape({2}));
    LocalSgdOptimizer optimizer(std::make_shared<GradientDescentOptimizer>(0.1), std::make_shared<CollectiveGroup>(2),
                                with_step ? 0 : 5);
    optimizer.Minimize(s, s.Op("L2Loss", {w.value}), with_step ? GetOrCreateGlobalStep(s) : GraphVariable());
    EXPECT_EQ(s.status().code(), absl::StatusCode::kInvalidArgument) << s.status();
  }
}

// Workers of several groups; the variables lie on /cpu:0, where a ps would be. Worker i's gradient is -(i + 1).
class Groups {
 public:
  explicit Groups(const std::vector<int>& sizes) {
    int count = 0;
    for (const int size : sizes) count += size;
    const Scope ps = scope.WithDevice("/cpu:0");
    w = VariableScope(ps).Get("w", Shape({2}), {.initializer = ZerosInitializer()});
    table = VariableScope(ps).Get("table", Shape({50, 2}), {.initializer = ZerosInitializer()});
    step = StepOn(ps, "global_step");
    for (int i = 0; i < count; ++i) {
      const Scope s = scope.NameScope(absl::StrCat("worker", i)).WithDevice(absl::StrCat("/cpu:", i));
      optimizers.push_back(std::make_unique<HierarchicalOptimizer>(
          std::make_shared<GradientDescentOptimizer>(1.0),
          HierarchicalOptimizer::Options{.group_sizes = sizes, .worker_index = i}));
      const Output row = s.Op("GatherV2", {table.handle, s.Constant({i}), s.Const<int32_t>(0)});
      const Output sum =
          s.Op("AddV2", {s.Op("Sum", {w.value, s.Constant({0})}), s.Op("Sum", {row, s.Constant({0, 1})})});
      const Output loss = s.Op("Mul", {sum, s.Const(-static_cast<float>(i + 1))});
      trains.push_back(optimizers[i]->Minimize(s, loss, step));
      agrees.push_back(optimizers[i]->agree_op());
    }
    Node *const init = GlobalVariablesInitializer(scope), *const local = LocalVariablesInitializer(scope);
    EXPECT_EQ(scope.status(), OkStatus());
    session = SessionWithDevices(scope, count);
    RunStep(*session, {}, {init});
    RunStep(*session, {}, {local});
  }
  void Run(const std::vector<Node*>& nodes) { RunStep(*session, {}, {nodes.begin(), nodes.end()}); }
  int64_t StepOf(int worker) { return ValueOf(*session, optimizers[worker]->step().value).scalar<int64_t>(); }

  Scope scope = Scope::Root();
  GraphVariable w, table, step;
  std::vector<std::unique_ptr<HierarchicalOptimizer>> optimizers;
  std::vector<Node*> trains, agrees;
  std::unique_ptr<Session> session;
};

TEST(HierarchicalTest, GroupsApplyTheMeansOfTheirWorkersWithoutEachOther) {
  Groups groups({2, 3, 1});
  EXPECT_TRUE(groups.optimizers[0]->is_leader() && groups.optimizers[2]->is_leader() &&
              groups.optimizers[5]->is_leader());
  EXPECT_FALSE(groups.optimizers[1]->is_leader() || groups.optimizers[4]->is_leader());
  groups.Run({groups.trains[0], groups.trains[1]});
  EXPECT_THAT(FloatsOf(*groups.session, groups.w.value), Each(FloatNear(1.5f, 1e-5f)));
  groups.Run({groups.trains[2], groups.trains[3], groups.trains[4]});
  EXPECT_THAT(FloatsOf(*groups.session, groups.w.value), Each(FloatNear(5.5f, 1e-5f)));
  groups.Run({groups.trains[5]});
  groups.Run({groups.trains[5]});
  EXPECT_THAT(FloatsOf(*groups.session, groups.w.value), Each(FloatNear(17.5f, 1e-4f)));
  EXPECT_EQ(ValueOf(*groups.session, groups.step.value).scalar<int64_t>(), 4);
  const std::vector<float> rows = FloatsOf(*groups.session, groups.table.value);  // each worker has its own row
  EXPECT_THAT(std::vector<float>({rows[0], rows[2], rows[4], rows[6], rows[8], rows[10]}),
              ::testing::Pointwise(FloatNear(1e-5f), {0.5f, 1.0f, 1.0f, 4.0f / 3, 5.0f / 3, 12.0f}));
  // What a group knows of the step is what its leader saw, whatever the others have done since.
  EXPECT_THAT(
      std::vector<int64_t>({groups.StepOf(0), groups.StepOf(1), groups.StepOf(2), groups.StepOf(4), groups.StepOf(5)}),
      ElementsAre(1, 1, 2, 2, 4));
  groups.Run({groups.agrees[0], groups.agrees[1]});
  EXPECT_THAT(std::vector<int64_t>({groups.StepOf(0), groups.StepOf(1), groups.StepOf(2)}), ElementsAre(4, 4, 2));
}

TEST(HierarchicalTest, TheHooksOfAGroupEndTogether) {
  Groups groups({2, 1});
  Coordinator coordinators[2];
  const std::unique_ptr<SessionRunHook> hooks[2] = {groups.optimizers[0]->MakeSessionRunHook(3),
                                                    groups.optimizers[1]->MakeSessionRunHook(3)};
  const auto both = [&](const std::function<void(int)>& what) {
    std::thread other([&] { what(1); });
    what(0);
    other.join();
  };
  both([&](int i) { EXPECT_EQ(hooks[i]->AfterCreateSession(*groups.session, coordinators[i]), OkStatus()); });
  for (const bool ends : {false, false, true}) {
    both([&](int i) { RunStep(*groups.session, {}, {groups.trains[i]}); });
    if (!ends) groups.Run({groups.trains[2]});  // another group moves the global step on before they look
    if (ends) break;
    for (int i = 0; i < 2; ++i) {
      const SessionRunArgs args;
      SessionRunContext context(args, *groups.session);
      EXPECT_EQ(hooks[i]->AfterRun(context, {{}, args.options}), OkStatus());
      EXPECT_EQ(context.stop_requested(), groups.StepOf(0) >= 3) << i;
    }
  }
  EXPECT_EQ(groups.StepOf(0), groups.StepOf(1));
  // A session of a job that has ended stops at once.
  both([&](int i) { EXPECT_EQ(hooks[i]->AfterCreateSession(*groups.session, coordinators[i]), OkStatus()); });
  EXPECT_TRUE(coordinators[0].ShouldStop() && coordinators[1].ShouldStop());
}

TEST(HierarchicalTest, GroupsOfEqualSizeAndOfHosts) {
  EXPECT_THAT(EqualGroups(5, 2), ElementsAre(2, 2, 1));
  EXPECT_THAT(EqualGroups(4, 4), ElementsAre(4));
  EXPECT_THAT(EqualGroups(4, 9), ElementsAre(4));
  EXPECT_THAT(GroupsOfHosts({"a", "a", "b", "c", "c", "c"}), ElementsAre(2, 1, 3));
  EXPECT_THAT(GroupsOfHosts({"a"}), ElementsAre(1));
}

TEST(HierarchicalTest, RefusesWhatMakesNoSense) {
  const auto error = [](const HierarchicalOptimizer::Options& options, bool with_step) {
    const Scope s = Scope::Root();
    const GraphVariable w = VariableScope(s).Get("w", Shape({2}));
    HierarchicalOptimizer optimizer(std::make_shared<GradientDescentOptimizer>(0.1), options);
    optimizer.Minimize(s, s.Op("L2Loss", {w.value}), with_step ? GetOrCreateGlobalStep(s) : GraphVariable());
    EXPECT_EQ(s.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(s.status().message());
  };
  EXPECT_THAT(error({}, false), ::testing::HasSubstr("Global step is required"));
  EXPECT_THAT(error({.group_sizes = {2, 0}}, true), ::testing::HasSubstr("must be positive: 0"));
  EXPECT_THAT(error({.group_sizes = {2, 2}, .worker_index = 4}, true), ::testing::HasSubstr("between 0 and 3: 4"));
  EXPECT_THAT(error({.group_sizes = {}}, true), ::testing::HasSubstr("worker_index"));
}

}  // namespace
}  // namespace millstream
