// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/sessions/supervisor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "millstream/base/file.h"
#include "millstream/train/saving/checkpoint_management.h"
#include "millstream/train/testing/small_model.h"

namespace millstream {
namespace {

using testing::SmallModel;
using testing::TemporaryFolder;
using testing::Train;
using testing::Value;

TEST(SupervisorTest, SavesWhileItTrainsAndGoesOnFromThere) {
  TemporaryFolder folder;
  SupervisorOptions options;
  options.logdir = folder.path();
  options.save_model_secs = 0.01;
  options.save_summaries_secs = 0.01;
  SmallModel model;
  model.scope.AddToCollection("summaries", model.scope.Op("ScalarSummary", {model.scope.Const(Tensor::Scalar("loss")),
                                                                            model.scope.Const(0.5f)}));
  const auto supervisor = std::move(Supervisor::Make(model.scope, options)).value();
  std::atomic<int> calls = 0;
  const Status status = supervisor->ManagedSession({}, [&](Session& session) {
    supervisor->Loop(0.001, [&] {
      ++calls;
      return OkStatus();
    });
    while (!supervisor->ShouldStop() && (!CheckpointExists(folder / "model.ckpt-3") || calls < 2)) {
      if (Value(session, "global_step:0") >= 3) continue;
      EXPECT_EQ(Train(session), OkStatus());
    }
    return OkStatus();
  });
  EXPECT_EQ(status, OkStatus());
  EXPECT_TRUE(supervisor->ShouldStop());
  EXPECT_TRUE(FileExists(folder / "graph.pbtxt"));

  SmallModel again;
  const auto next = std::move(Supervisor::Make(again.scope, options)).value();
  const StatusOr<Session*> session = next->PrepareOrWaitForSession();
  ASSERT_EQ(session.status(), OkStatus());
  EXPECT_EQ(Value(**session, "global_step:0"), 3);
  EXPECT_EQ(Value(**session, "w:0"), 4);
  EXPECT_EQ(next->Stop(), OkStatus());
}

TEST(SupervisorTest, ErrorsOfThreadsStopIt) {
  SmallModel model;
  const auto supervisor = std::move(Supervisor::Make(model.scope, {})).value();
  const Status status = supervisor->ManagedSession({}, [&](Session& session) -> Status {
    supervisor->Loop(1, [] { return errors::DataLoss("broken"); });
    while (!supervisor->ShouldStop()) RETURN_IF_ERROR(Train(session));
    return OkStatus();
  });
  EXPECT_EQ(status, absl::DataLossError("broken"));
  EXPECT_EQ(supervisor->ManagedSession({}, [&](Session&) { return errors::OutOfRange("end of input"); }), OkStatus());
  EXPECT_EQ(supervisor->SummaryComputed("").code(), absl::StatusCode::kFailedPrecondition);
}

TEST(SupervisorTest, WorkersHaveNoServices) {
  SmallModel model;
  SupervisorOptions options;
  options.is_chief = false;
  const auto supervisor = std::move(Supervisor::Make(model.scope, options)).value();
  EXPECT_EQ(supervisor->StartStandardServices().code(), absl::StatusCode::kFailedPrecondition);
  Supervisor::PrepareOptions prepare;
  prepare.max_wait_secs = 0.01;
  EXPECT_EQ(supervisor->PrepareOrWaitForSession({}, prepare).status().code(), absl::StatusCode::kDeadlineExceeded);
}

}  // namespace
}  // namespace millstream
