// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/sessions/monitored_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "millstream/train/sessions/basic_hooks.h"
#include "millstream/train/sessions/training_session.h"
#include "millstream/train/testing/small_model.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::SmallModel;
using testing::TemporaryFolder;
using testing::Train;
using testing::Value;

// Writes down what it is told.
class Recorder : public SessionRunHook {
 public:
  Status Begin(const Scope&) override { return Note("begin"); }
  Status AfterCreateSession(Session&, Coordinator&) override { return Note("created"); }
  Status BeforeRun(SessionRunContext& context, SessionRunArgs* args) override {
    targets = context.original_args().targets;
    args->fetches = {"w:0", "global_step:0"};
    return Note("before");
  }
  Status AfterRun(SessionRunContext& context, const SessionRunValues& values) override {
    fetched = values.results.size();
    if (!fail_next.ok()) return std::exchange(fail_next, OkStatus());
    if (stop) context.RequestStop();
    return Note("after");
  }
  Status End(Session&) override { return Note("end"); }
  Status Note(std::string what) {
    calls.push_back(std::move(what));
    return OkStatus();
  }

  std::vector<std::string> calls, targets;
  size_t fetched = 0;
  bool stop = false;
  Status fail_next;
};

std::unique_ptr<MonitoredSession> Start(SmallModel& model, SessionRunHooks hooks, const std::string& folder = "") {
  TrainingSessionOptions options;
  options.hooks = std::move(hooks);
  options.checkpoint_dir = folder;
  options.save_checkpoint_steps = 100;  // at the start and at the end
  StatusOr<std::unique_ptr<MonitoredSession>> session = MonitoredTrainingSession(model.scope, options);
  EXPECT_EQ(session.status(), OkStatus());
  return std::move(session).value();
}

TEST(MonitoredSessionTest, CallsHooksAroundSteps) {
  SmallModel model;
  const auto recorder = std::make_shared<Recorder>();
  const auto session = Start(model, {recorder});
  EXPECT_FALSE(session->ShouldStop());
  EXPECT_EQ(Train(*session), OkStatus());
  EXPECT_EQ(Value(*session, "w:0"), 2);
  EXPECT_EQ(recorder->fetched, 2u);
  recorder->stop = true;
  EXPECT_EQ(Train(*session), OkStatus());
  EXPECT_THAT(recorder->targets, ElementsAre("train"));
  EXPECT_TRUE(session->ShouldStop());
  EXPECT_EQ(Train(*session).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(session->Close(), OkStatus());
  EXPECT_EQ(session->Close().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Train(*session).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(recorder->calls,
              ElementsAre("begin", "created", "before", "after", "before", "after", "before", "after", "end"));
}

TEST(MonitoredSessionTest, ErrorsEndItWithoutTheHooksEnd) {
  SmallModel model;
  const auto recorder = std::make_shared<Recorder>();
  const auto session = Start(model, {recorder});
  recorder->fail_next = errors::Internal("mine");
  const Status status = Train(*session);
  EXPECT_EQ(status, absl::InternalError("mine"));
  EXPECT_EQ(session->Close(status), absl::InternalError("mine"));
  EXPECT_THAT(recorder->calls, ElementsAre("begin", "created", "before"));
}

TEST(MonitoredSessionTest, TheEndOfInputIsARegularEnd) {
  SmallModel model;
  const auto recorder = std::make_shared<Recorder>();
  const auto session = Start(model, {recorder});
  EXPECT_EQ(session->Close(errors::OutOfRange("no more")), OkStatus());
  EXPECT_THAT(recorder->calls, ElementsAre("begin", "created", "end"));
}

TEST(MonitoredSessionTest, ALostTaskMakesANewSessionWithRestoredState) {
  SmallModel model;
  TemporaryFolder folder;
  const auto recorder = std::make_shared<Recorder>();
  const auto session = Start(model, {recorder}, folder.path());
  for (int i = 0; i < 3; ++i) ASSERT_EQ(Train(*session), OkStatus());
  recorder->fail_next = errors::Unavailable("a ps was lost");
  EXPECT_EQ(Train(*session), OkStatus());  // once more, from the beginning
  EXPECT_EQ(Value(*session, "global_step:0"), 1);
  EXPECT_EQ(Value(*session, "w:0"), 2);
  EXPECT_EQ(std::count(recorder->calls.begin(), recorder->calls.end(), "created"), 2);
  EXPECT_EQ(session->Close(), OkStatus());

  SmallModel again;  // another process
  const auto next = Start(again, {}, folder.path());
  EXPECT_EQ(Value(*next, "global_step:0"), 1);
  EXPECT_EQ(Value(*next, again.r.value.name()), 6);
}

// Loses a task in a thread.
class ThreadHook : public SessionRunHook {
 public:
  explicit ThreadHook(Status error) : error_(std::move(error)) {}
  Status AfterCreateSession(Session&, Coordinator& coordinator) override {
    ++created;
    if (created == 1) coordinator.StartThread("fails", [this] { return error_; });
    return OkStatus();
  }
  int created = 0;

 private:
  const Status error_;
};

TEST(MonitoredSessionTest, ThreadsErrorsEndItOrMakeANewSession) {
  for (const Status& error : {errors::Aborted("lost"), errors::DataLoss("broken")}) {
    SmallModel model;
    const auto hook = std::make_shared<ThreadHook>(error);
    const auto session = Start(model, {hook});
    Status status;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (hook->created < 2 && status.ok() && !session->ShouldStop() && std::chrono::steady_clock::now() < deadline) {
      status = Train(*session);
    }
    if (absl::IsAborted(error)) {
      EXPECT_EQ(hook->created, 2);
      EXPECT_EQ(session->Close(status), OkStatus());
    } else {
      EXPECT_EQ(hook->created, 1);
      EXPECT_EQ(session->Close(status), error);
    }
  }
}

class FeedsTheSame : public SessionRunHook {
 public:
  Status BeforeRun(SessionRunContext&, SessionRunArgs* args) override {
    args->feeds = {{"x:0", Tensor::Scalar(1.0f)}};
    return OkStatus();
  }
};

TEST(MonitoredSessionTest, FeedsOfHooksAreJoined) {
  SmallModel model;
  model.scope.WithOpName("x").Op("Placeholder", {}, {{"dtype", DType::kFloat}});
  const auto session = Start(model, {std::make_shared<FeedFnHook>([] {
                               return StatusOr<Session::Feeds>(Session::Feeds{{"x:0", Tensor::Scalar(7.0f)}});
                             })});
  EXPECT_EQ(Value(*session, "x:0"), 7);
  SmallModel other;
  other.scope.WithOpName("x").Op("Placeholder", {}, {{"dtype", DType::kFloat}});
  const auto clash = Start(other, {std::make_shared<FeedsTheSame>(), std::make_shared<FeedsTheSame>()});
  EXPECT_THAT(Train(*clash).message(), HasSubstr("Same tensor is fed"));
}

TEST(MonitoredSessionTest, PlainSessionsCanBeHad) {
  SmallModel model;
  const auto recorder = std::make_shared<Recorder>();
  const auto session = std::move(SingularMonitoredSession::Make(model.scope, {recorder})).value();
  EXPECT_EQ(Train(session->raw_session()), OkStatus());
  EXPECT_EQ(session->RunStep([](Session& plain) { return Train(plain); }), OkStatus());
  EXPECT_THAT(recorder->calls, ElementsAre("begin", "created"));
  recorder->fail_next = errors::Unavailable("lost");
  EXPECT_EQ(Train(*session).code(), absl::StatusCode::kUnavailable);  // it does not recover
  EXPECT_EQ(session->Close(), OkStatus());
}

TEST(MonitoredSessionTest, AFinishedOneHasNothingToDo) {
  const auto session = MonitoredSession::MakeFinished();
  EXPECT_TRUE(session->ShouldStop());
  EXPECT_EQ(session->Close(), OkStatus());
}

TEST(MonitoredSessionTest, AGraphThatIsNotReadySaysWhy) {
  SmallModel model;
  const auto scaffold = std::make_shared<Scaffold>();
  scaffold->init_op = model.scope.WithOpName("nothing").Add("NoOp", {});
  const Status status =
      MonitoredSession::Make(model.scope,
                             std::make_unique<ChiefSessionCreator>(model.scope, scaffold, SessionOptions()), {})
          .status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("Variables not initialized: w, r, global_step"));
}

TEST(MonitoredSessionTest, AWorkerWaitsNoLongerThanItWasTold) {
  SmallModel model;
  const Status status =
      MonitoredSession::Make(model.scope,
                             std::make_unique<WorkerSessionCreator>(model.scope, nullptr, SessionOptions(), 0.05), {})
          .status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(status.message(), HasSubstr("Variables not initialized"));
}

}  // namespace
}  // namespace millstream
