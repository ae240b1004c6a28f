// SPDX-License-Identifier: Apache-2.0
#include "millstream/runtime/sessions/planned_session.h"

#include <gtest/gtest.h>

#include "millstream/graph/scope.h"

namespace millstream {
namespace {

using FakePlan = std::shared_ptr<const int>;

DeviceAttributes Cpu() {
  DeviceAttributes cpu;
  cpu.name = "/job:localhost/replica:0/task:0/device:CPU:0";
  cpu.type = "CPU";
  return cpu;
}

// Plans are numbers, in the order in which they were made; nothing runs.
class FakeSession final : public PlannedSession<FakePlan> {
 public:
  explicit FakeSession(const SessionOptions& options) : PlannedSession(options, {Cpu()}) {}
  ~FakeSession() override { plans_.Clear(); }

  Status Run(const RunOptions&, const Feeds&, const std::vector<std::string>&, const std::vector<std::string>&,
             std::vector<Tensor>*, proto::RunMetadata*) override {
    return errors::Unimplemented("not in this test");
  }
  Status RunCallable(CallableHandle, const std::vector<Tensor>&, std::vector<Tensor>*, const RunOptions&,
                     proto::RunMetadata*) override {
    return errors::Unimplemented("not in this test");
  }
  Status Close() override { return OkStatus(); }

  using PlannedSession::FindPlan;
  using PlannedSession::TimeoutMs;
  int made = 0, new_signatures = 0;
  Status making = OkStatus();

 private:
  StatusOr<FakePlan> MakePlan(PrunedGraph) override {
    RETURN_IF_ERROR(making);
    return std::make_shared<const int>(++made);
  }
  Status StartPartial(FakePlan, PartialStep*) override { return errors::Cancelled("closed"); }
  void OnNewSignature() override { ++new_signatures; }
};

class PlannedSessionTest : public ::testing::Test {
 protected:
  PlannedSessionTest() {
    const Scope s = Scope::Root();
    s.WithOpName("a").Const(1.f);
    s.WithOpName("b").Op("Placeholder", {}, {{"dtype", DType::kFloat}});
    EXPECT_TRUE(session_.Extend(*s.graph()).ok());
  }
  FakeSession session_{SessionOptions()};
};

TEST_F(PlannedSessionTest, PlansEachSignatureOnce) {
  const auto first = session_.FindPlan({}, {"a"}, {});
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(*session_.FindPlan({}, {"a"}, {}), *first);
  EXPECT_EQ(session_.made, 1);
  EXPECT_EQ(session_.new_signatures, 1);
  const auto with_target = session_.FindPlan({}, {"a"}, {"a"});
  ASSERT_TRUE(with_target.ok());
  EXPECT_EQ(**with_target, 2);
}

TEST_F(PlannedSessionTest, FailedPlansAreNotKept) {
  session_.making = errors::Unavailable("a task is down");
  EXPECT_TRUE(absl::IsUnavailable(session_.FindPlan({}, {"a"}, {}).status()));
  session_.making = OkStatus();
  EXPECT_TRUE(session_.FindPlan({}, {"a"}, {}).ok());
}

TEST_F(PlannedSessionTest, UnknownNamesAreNotFound) {
  EXPECT_TRUE(absl::IsNotFound(session_.FindPlan({}, {"c"}, {}).status()));
  EXPECT_TRUE(absl::IsNotFound(session_.MakeCallable({}, {"a"}, {"c"}).status()));
  EXPECT_EQ(session_.made, 0);
}

TEST_F(PlannedSessionTest, CallablesHavePlansOfTheirOwn) {
  const auto callable = session_.MakeCallable({"b"}, {"b"}, {});
  ASSERT_TRUE(callable.ok()) << callable.status();
  EXPECT_EQ(session_.made, 1);
  EXPECT_TRUE(session_.ReleaseCallable(*callable).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(session_.ReleaseCallable(*callable)));
}

TEST_F(PlannedSessionTest, PartialRunsThatCannotStartAreForgotten) {
  EXPECT_TRUE(absl::IsCancelled(session_.PartialRunSetup({"b"}, {"b"}, {}).status()));
  std::vector<Tensor> outputs;
  EXPECT_TRUE(absl::IsInvalidArgument(session_.PartialRun("0", {}, {"b"}, &outputs)));
}

TEST(PlannedSessionOptionsTest, AStepsTimeoutGoesBeforeTheSessions) {
  SessionOptions options;
  options.operation_timeout_ms = 50;
  const FakeSession session(options);
  EXPECT_EQ(session.TimeoutMs(RunOptions()), 50);
  RunOptions of_step;
  of_step.timeout_ms = 20;
  EXPECT_EQ(session.TimeoutMs(of_step), 20);
}

}  // namespace
}  // namespace millstream
