// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/sessions/stop_during_creation.h"

#include <gtest/gtest.h>

#include "millstream/graph/scope.h"
#include "millstream/train/testing/steps.h"

namespace millstream {
namespace {

class Job final : public JobMember {
 public:
  bool has_ps() const override { return false; }
  bool AnyPsAnswers() const override { return false; }
  bool JobIsDone() const override { return false; }
  void TrainingBegins() override {}
  void TrainingEnded() override {}
  Cancellation& stop() override { return stop_; }

 private:
  Cancellation stop_;
};

// A session with a step that waits for ever, as a collective does whose other members are gone.
class StopDuringCreationTest : public ::testing::Test {
 protected:
  StopDuringCreationTest() {
    const std::vector<DType> types{DType::kFloat};
    const Output queue = scope_.Op("FIFOQueueV2", {}, {{"component_types", types}});
    wait_ = scope_.Add("QueueDequeueV2", {queue}, {{"component_types", types}});
    quick_ = scope_.Add("NoOp", {});
    session_ = SessionOf(scope_);
  }
  Status Run(const Node* node) { return session_->Run({}, {}, {node->name()}, nullptr); }

  const Scope scope_ = Scope::Root();
  Node *wait_ = nullptr, *quick_ = nullptr;
  std::unique_ptr<Session> session_;
  Job job_;
};

TEST_F(StopDuringCreationTest, EndsAStepThatBeginsAfterTheStop) {
  StopDuringCreation stop(&job_, *session_);
  job_.stop().StartCancel(errors::Cancelled("told to"));
  EXPECT_TRUE(absl::IsCancelled(Run(wait_)));
  EXPECT_TRUE(stop.End());
  EXPECT_TRUE(absl::IsCancelled(Run(quick_)));
}

TEST_F(StopDuringCreationTest, EndsAStepOfATaskThatWasToldBefore) {
  job_.stop().StartCancel(errors::Cancelled("told to"));
  StopDuringCreation stop(&job_, *session_);
  EXPECT_TRUE(absl::IsCancelled(Run(wait_)));
  EXPECT_TRUE(stop.End());
}

TEST_F(StopDuringCreationTest, LeavesASessionThatIsReady) {
  {
    StopDuringCreation nobody(nullptr, *session_), stop(&job_, *session_);
    EXPECT_EQ(Run(quick_), OkStatus());
    EXPECT_FALSE(stop.End());
    job_.stop().StartCancel(errors::Cancelled("told to"));
  }
  EXPECT_EQ(Run(quick_), OkStatus());
}

}  // namespace
}  // namespace millstream
