// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/stale_synchronous/stale_synchronous_optimizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "millstream/train/input/coordinator.h"
#include "millstream/train/optimizers/gradient_descent.h"
#include "millstream/train/optimizers/momentum.h"
#include "millstream/train/testing/steps.h"
#include "millstream/train/variables/global_step.h"

namespace millstream {
namespace {

// Workers in one graph, each of which has a variable that counts its updates.
class Workers {
 public:
  Workers(int count, int staleness) {
    const GraphVariable step = GetOrCreateGlobalStep(scope);
    for (int i = 0; i < count; ++i) {
      const Scope s = scope.NameScope(absl::StrCat("worker", i));
      updates.push_back(VariableScope(scope).Get(absl::StrCat("v", i), Shape(), {.initializer = ZerosInitializer()}));
      optimizers.push_back(std::make_unique<StaleSynchronousOptimizer>(
          std::make_shared<GradientDescentOptimizer>(1.0),
          StaleSynchronousOptimizer::Options{.staleness = staleness, .num_workers = count, .worker_index = i}));
      ComputeGradientsOptions own;
      own.variables = {updates[i]};
      trains.push_back(optimizers[i]->Minimize(s, s.Op("Neg", {updates[i].value}), step, own));
    }
    Node* const init = GlobalVariablesInitializer(scope);
    EXPECT_EQ(scope.status(), OkStatus());
    session = SessionOf(scope, init);
  }
  float UpdatesOf(int worker) { return FloatsOf(*session, updates[worker].value)[0]; }
  void Train(int worker) { RunStep(*session, {}, {trains[worker]}); }

  Scope scope = Scope::Root();
  std::vector<GraphVariable> updates;
  std::vector<std::unique_ptr<StaleSynchronousOptimizer>> optimizers;
  std::vector<Node*> trains;
  std::unique_ptr<Session> session;
};

void WaitUntil(const std::function<bool()>& what) {
  while (!what()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

// The slow worker makes a step only when it is told to, so that how far the fast one gets is known exactly: with a
// bound of s it makes s + 1 updates, the last of which holds it back, and one more for each step of the slow one.
TEST(StaleSynchronousTest, AFastWorkerStaysWithinTheBound) {
  for (const int staleness : {0, 1, 4}) {
    constexpr int kSteps = 12;
    Workers workers(2, staleness);
    std::thread fast([&] {
      for (int i = 0; i < kSteps; ++i) workers.Train(0);
    });
    for (int slow = 0; slow < kSteps; ++slow) {
      const auto allowed = static_cast<float>(std::min(slow + staleness + 1, kSteps));
      WaitUntil([&] { return workers.UpdatesOf(0) >= allowed; });
      EXPECT_EQ(workers.UpdatesOf(0), allowed) << "staleness " << staleness << ", slow worker at " << slow;
      workers.Train(1);
    }
    fast.join();
    EXPECT_EQ(workers.UpdatesOf(1), kSteps);
  }
}

TEST(StaleSynchronousTest, TheHookJoinsAndLeaves) {
  Workers workers(2, 0);
  Coordinator coordinator;
  const std::unique_ptr<SessionRunHook> fast = workers.optimizers[0]->MakeSessionRunHook(),
                                        slow = workers.optimizers[1]->MakeSessionRunHook();
  ASSERT_EQ(fast->Begin(workers.scope), OkStatus());
  ASSERT_EQ(fast->AfterCreateSession(*workers.session, coordinator), OkStatus());
  ASSERT_EQ(slow->AfterCreateSession(*workers.session, coordinator), OkStatus());
  std::thread thread([&] {
    for (int i = 0; i < 5; ++i) workers.Train(0);
  });
  WaitUntil([&] { return workers.UpdatesOf(0) == 1; });
  ASSERT_EQ(slow->End(*workers.session), OkStatus());  // nobody waits for it any more
  thread.join();
  EXPECT_EQ(workers.UpdatesOf(0), 5);
  // It comes back at the clock of the other one, and they make their next step together.
  ASSERT_EQ(slow->AfterCreateSession(*workers.session, coordinator), OkStatus());
  std::thread other([&] { workers.Train(0); });
  workers.Train(1);
  other.join();
  EXPECT_EQ(workers.UpdatesOf(0), 6);
  EXPECT_EQ(workers.UpdatesOf(1), 1);
}

TEST(StaleSynchronousTest, UsesTheSlotsOfTheWrappedOptimizer) {
  const Scope s = Scope::Root();
  const GraphVariable w = VariableScope(s).Get("w", Shape({2}));
  StaleSynchronousOptimizer optimizer(std::make_shared<MomentumOptimizer>(0.1, 0.9), {});
  optimizer.Minimize(s, s.Op("L2Loss", {w.value}), GetOrCreateGlobalStep(s));
  ASSERT_TRUE(s.ok()) << s.status();
  EXPECT_EQ(optimizer.Slot(w, "momentum").handle.node->name(), "w/Momentum");
  EXPECT_THAT(optimizer.SlotNames(), ::testing::ElementsAre("momentum"));
}

TEST(StaleSynchronousTest, RefusesWhatMakesNoSense) {
  const auto error = [](const StaleSynchronousOptimizer::Options& options, bool with_step) {
    const Scope s = Scope::Root();
    const GraphVariable w = VariableScope(s).Get("w", Shape({2}));
    StaleSynchronousOptimizer optimizer(std::make_shared<GradientDescentOptimizer>(0.1), options);
    optimizer.Minimize(s, s.Op("L2Loss", {w.value}), with_step ? GetOrCreateGlobalStep(s) : GraphVariable());
    EXPECT_EQ(optimizer.MakeSessionRunHook()->Begin(s).code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(s.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(s.status().message());
  };
  EXPECT_THAT(error({}, false), ::testing::HasSubstr("Global step is required"));
  EXPECT_THAT(error({.staleness = -1}, true), ::testing::HasSubstr("staleness must not be negative: -1"));
  EXPECT_THAT(error({.num_workers = 0}, true), ::testing::HasSubstr("num_workers must be positive: 0"));
  EXPECT_THAT(error({.num_workers = 2, .worker_index = 2}, true), ::testing::HasSubstr("between 0 and 1: 2"));
}

}  // namespace
}  // namespace millstream
