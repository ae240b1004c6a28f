// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/sync_replicas/sync_replicas_optimizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "millstream/train/optimizers/gradient_descent.h"
#include "millstream/train/optimizers/momentum.h"
#include "millstream/train/sync_replicas/sync_end_rule.h"
#include "millstream/train/testing/steps.h"
#include "millstream/train/variables/global_step.h"

namespace millstream {
namespace {

using ::testing::FloatNear;
using ::testing::Pointwise;

// A job of several workers in one graph and session: variables, accumulators and queues are shared by their names, as
// they are between processes. Worker i computes the gradient i + 1 for each element of "w", and for row i of "e".
class SyncJob {
 public:
  SyncJob(int workers, SyncReplicasOptimizer::Options options, double rate = 0.5) {
    const VariableScope variables(scope_);
    w = variables.Get("w", Shape({2}), {.initializer = OnesInitializer()});
    e = variables.Get("e", Shape({4, 1}), {.initializer = OnesInitializer()});
    step = GetOrCreateGlobalStep(variables);
    average = std::make_shared<ExponentialMovingAverage>(0.5);
    if (options.variable_averages != nullptr) options = WithAverage(options);
    for (int i = 0; i < workers; ++i) {
      const Scope s = scope_.NameScope(absl::StrCat("worker", i));
      const Output sum = s.Op("Sum", {s.Op("Mul", {w.value, s.Const(static_cast<float>(i + 1))}), s.Constant({0})});
      const Output row = s.Op("GatherV2", {e.handle, s.Constant({i}), s.Const<int32_t>(0)});
      const Output loss = s.Op("AddV2", {sum, s.Op("Sum", {row, s.Constant({0, 1})})});
      optimizers.push_back(
          std::make_unique<SyncReplicasOptimizer>(std::make_shared<GradientDescentOptimizer>(rate), options));
      trains.push_back(optimizers.back()->Minimize(s, loss, step));
      hooks.push_back(optimizers.back()->MakeSessionRunHook(i == 0, 0));
      EXPECT_TRUE(hooks.back()->Begin(scope_).ok());
    }
    size_ = scope_.Op("QueueSizeV2", {scope_.Op("FIFOQueueV2", {},
                                                {{"component_types", std::vector<DType>{DType::kInt64}},
                                                 {"shapes", std::vector<PartialShape>{PartialShape(Shape())}},
                                                 {"shared_name", "sync_token_q"}})});
    init_ = Group(scope_, {GlobalVariablesInitializer(scope_), LocalVariablesInitializer(scope_)}, "init_all");
    session = SessionOf(scope_);
  }
  ~SyncJob() {
    coordinator.RequestStop();
    (void)session->Close();
    (void)coordinator.Join();
  }

  void Start() {
    RunStep(*session, {}, {init_});
    for (const auto& hook : hooks) {
      const Status started = hook->AfterCreateSession(*session, coordinator);
      ASSERT_TRUE(started.ok()) << started;
    }
  }
  // The workers make that many steps, each of them together: one that is ahead may take the token of another, as in
  // TensorFlow, and the gradient of that one then comes too late.
  void Train(int steps, const std::vector<int>& workers) {
    for (int i = 0; i < steps; ++i) {
      std::vector<std::thread> threads;
      for (const int worker : workers) {
        threads.emplace_back([this, worker] { RunStep(*session, {}, {trains[worker]}); });
      }
      for (std::thread& thread : threads) thread.join();
    }
  }
  int32_t TokensLeft() { return ValueOf(*session, size_).scalar<int32_t>(); }
  int64_t GlobalStep() { return ValueOf(*session, step.value).scalar<int64_t>(); }

  GraphVariable w, e, step;
  std::shared_ptr<ExponentialMovingAverage> average;
  std::vector<std::unique_ptr<SyncReplicasOptimizer>> optimizers;
  std::vector<Node*> trains;
  std::vector<std::unique_ptr<SessionRunHook>> hooks;
  std::unique_ptr<Session> session;
  Coordinator coordinator;

 private:
  SyncReplicasOptimizer::Options WithAverage(SyncReplicasOptimizer::Options options) {
    options.variable_averages = average;
    options.variables_to_average = {w};
    return options;
  }
  Scope scope_ = Scope::Root();
  Output size_;
  Node* init_ = nullptr;
};

// For what the chief's thread does in its own time.
bool Eventually(const std::function<bool()>& condition) {
  for (int i = 0; i < 2000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

TEST(SyncReplicasTest, AppliesMeansOfAllGradients) {
  SyncJob job(2, {.replicas_to_aggregate = 2});
  job.Start();
  job.Train(4, {0, 1});
  EXPECT_EQ(job.GlobalStep(), 4);
  // The mean of gradients 1 and 2, four times at the rate 0.5; each row has the mean of those gradients that have it.
  EXPECT_THAT(FloatsOf(*job.session, job.w.value), Pointwise(FloatNear(1e-6f), {-2.0f, -2.0f}));
  EXPECT_THAT(FloatsOf(*job.session, job.e.value), Pointwise(FloatNear(1e-6f), {-1.0f, -1.0f, 1.0f, 1.0f}));
}

TEST(SyncReplicasTest, DropsGradientsOfBackupWorkers) {
  SyncJob job(2, {.replicas_to_aggregate = 1, .total_num_replicas = 2});
  job.Start();
  // One worker alone makes progress: one gradient is enough. (Each step gives two tokens, so some of its gradients come
  // too late.)
  job.Train(5, {0});
  // The other still is at step 0: its gradient of 2 is stale and must change nothing, but it gets a token.
  job.Train(1, {1});
  EXPECT_GE(job.GlobalStep(), 2);
  // What the chief has taken may just be applied.
  const auto only_ones = [&job] {
    return FloatsOf(*job.session, job.w.value)[0] == 1 - 0.5f * static_cast<float>(job.GlobalStep());
  };
  EXPECT_TRUE(Eventually(only_ones)) << job.GlobalStep();
}

TEST(SyncReplicasTest, UpdatesAveragesAfterEachStep) {
  SyncJob job(1, {.replicas_to_aggregate = 1, .variable_averages = std::make_shared<ExponentialMovingAverage>(0.5)});
  job.Start();
  job.Train(3, {0});
  // The thread that hands out tokens updates the average after that.
  const Output average = job.average->Average(job.w.handle).value;
  EXPECT_TRUE(Eventually([&] { return FloatsOf(*job.session, average)[0] == -0.0625f; }));
}

TEST(SyncReplicasTest, AWorkerThatLeavesLetsOthersGo) {
  SyncJob job(2, {.replicas_to_aggregate = 2});
  job.Start();
  EXPECT_EQ(job.TokensLeft(), 0);
  EXPECT_TRUE(job.hooks[1]->End(*job.session).ok());
  EXPECT_EQ(job.TokensLeft(), 2);
}

// Its workers would wait for tokens for ever.
TEST(SyncReplicasTest, AChiefThatEndsEndsItsWorkers) {
  SyncJob job(2, {.replicas_to_aggregate = 2});
  job.Start();
  EXPECT_FALSE(job.coordinator.ShouldStop());
  EXPECT_TRUE(job.hooks[0]->End(*job.session).ok());
  EXPECT_TRUE(Eventually([&job] { return job.coordinator.ShouldStop() && job.TokensLeft() >= 4; }));
}

// A mark of an earlier chief says nothing about this one.
TEST(SyncReplicasTest, AChiefThatBeginsTakesTheMarkAway) {
  SyncJob job(2, {.replicas_to_aggregate = 2});
  job.Start();
  EXPECT_TRUE(job.hooks[0]->End(*job.session).ok());
  const Output marks = job.optimizers[0]->num_chief_ends();
  EXPECT_EQ(ValueOf(*job.session, marks).scalar<int32_t>(), 1);
  EXPECT_TRUE(Eventually([&job] { return job.coordinator.ShouldStop(); }));
  Coordinator next;
  EXPECT_TRUE(job.hooks[0]->AfterCreateSession(*job.session, next).ok());
  EXPECT_EQ(ValueOf(*job.session, marks).scalar<int32_t>(), 0);
  next.RequestStop();
  (void)job.session->Close();
}

TEST(SyncEndRuleTest, EndsWithTheChief) {
  SyncEndRule rule(std::chrono::seconds(10));
  const SyncEndRule::Time start;
  const auto at = [&start](int secs) { return start + std::chrono::seconds(secs); };
  EXPECT_FALSE(rule.MustEnd(0, at(0)));
  EXPECT_FALSE(rule.MustEnd(0, at(100)));
  EXPECT_TRUE(rule.MustEnd(1, at(101)));
  SyncEndRule late(std::chrono::seconds(10));
  EXPECT_FALSE(late.MustEnd(1, at(0)));
  EXPECT_TRUE(late.waits());
  EXPECT_FALSE(late.MustEnd(1, at(9)));
  EXPECT_TRUE(late.MustEnd(1, at(10)));
  SyncEndRule early(std::chrono::seconds(10));
  EXPECT_FALSE(early.MustEnd(1, at(0)));
  EXPECT_FALSE(early.MustEnd(0, at(5)));  // a new chief has begun
  EXPECT_FALSE(early.waits());
  EXPECT_FALSE(early.MustEnd(0, at(50)));
  EXPECT_TRUE(early.MustEnd(1, at(51)));
  SyncEndRule kept(std::nullopt);
  EXPECT_FALSE(kept.MustEnd(1, at(0)));
  EXPECT_FALSE(kept.MustEnd(1, at(1000)));
  EXPECT_TRUE(kept.MustEnd(2, at(1001)));
}

TEST(SyncReplicasTest, HookSaysWhatIsNotInitialized) {
  SyncJob job(1, {.replicas_to_aggregate = 1});
  const Status status = job.hooks[0]->AfterCreateSession(*job.session, job.coordinator);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("w, e, global_step"));
}

TEST(SyncReplicasTest, NamesAreTensorFlows) {
  Scope s = Scope::Root();
  const VariableScope variables(s);
  const GraphVariable w = variables.Get("w", Shape({2}));
  SyncReplicasOptimizer optimizer(std::make_shared<MomentumOptimizer>(0.1, 0.9), {.replicas_to_aggregate = 2});
  EXPECT_EQ(optimizer.chief_queue_runner().status().code(), absl::StatusCode::kFailedPrecondition);
  optimizer.Minimize(s, s.Op("L2Loss", {w.value}), GetOrCreateGlobalStep(variables));
  Node* tokens = optimizer.InitTokensOp(s);
  ASSERT_TRUE(s.ok()) << s.status();
  std::string shared;
  ASSERT_TRUE(s.graph()->Find("sync_replicas/conditional_accumulator")->GetAttr("shared_name", &shared).ok());
  EXPECT_EQ(shared, "w:0/grad_accum");
  for (const char* name : {"sync_rep_local_step", "sync_token_q", "dummy_queue", "Momentum", "w/Momentum"}) {
    EXPECT_NE(s.graph()->Find(name), nullptr) << name;
  }
  EXPECT_EQ(optimizer.Slot(w, "momentum").handle.node->name(), "w/Momentum");
  EXPECT_THAT(optimizer.SlotNames(), ::testing::ElementsAre("momentum"));
  EXPECT_EQ(s.Collection("local_variables").size(), 1u);
  EXPECT_TRUE(tokens->Is("QueueEnqueueManyV2"));
  EXPECT_TRUE(optimizer.InitTokensOp(s, 0)->Is("NoOp"));
}

TEST(SyncReplicasTest, RefusesWhatMakesNoSense) {
  const auto error = [](const SyncReplicasOptimizer::Options& options, bool with_step) {
    Scope s = Scope::Root();
    const GraphVariable w = VariableScope(s).Get("w", Shape({2}));
    SyncReplicasOptimizer optimizer(std::make_shared<GradientDescentOptimizer>(0.1), options);
    optimizer.Minimize(s, s.Op("L2Loss", {w.value}), with_step ? GetOrCreateGlobalStep(s) : GraphVariable());
    if (s.ok()) optimizer.InitTokensOp(s, 0);
    EXPECT_EQ(s.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(s.status().message());
  };
  EXPECT_THAT(error({}, false), ::testing::HasSubstr("Global step is required"));
  EXPECT_THAT(error({.replicas_to_aggregate = 0}, true), ::testing::HasSubstr("must be positive"));
  EXPECT_THAT(error({.replicas_to_aggregate = 3, .total_num_replicas = 2}, true),
              ::testing::HasSubstr("Too few tokens"));
  EXPECT_THAT(error({.variable_averages = std::make_shared<ExponentialMovingAverage>(0.9)}, true),
              ::testing::HasSubstr("variables_to_average"));
}

}  // namespace
}  // namespace millstream
