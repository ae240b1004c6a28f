// SPDX-License-Identifier: Apache-2.0
// Sessions wait for the tasks that their graph uses, and for no others.
#include <gtest/gtest.h>

#include "millstream/distributed/link/sockets.h"
#include "millstream/distributed/master/named_tasks.h"
#include "millstream/distributed/server.h"
#include "millstream/graph/scope.h"
#include "millstream/runtime/local_server.h"

namespace millstream {
namespace {

TEST(NamedTasks, AreThoseOfDevices) {
  const std::vector<std::string> tasks = {"/job:worker/replica:0/task:0", "/job:worker/replica:0/task:1",
                                          "/job:eval/replica:0/task:0"};
  EXPECT_TRUE(TasksNamedBy({"", "/device:CPU:0", "/job:ps/task:0", "/task:1", "nonsense"}, tasks).empty());
  EXPECT_EQ(TasksNamedBy({"/job:worker/task:1/device:GPU:7"}, tasks), std::vector<std::string>{tasks[1]});
  EXPECT_EQ(TasksNamedBy({"/job:worker"}, tasks), (std::vector<std::string>{tasks[0], tasks[1]}));
}

class NeededTasksTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    std::vector<UniqueFd> held;  // so that the ports differ
    const auto address = [&] {
      int port = 0;
      held.push_back(std::move(ListenTcp("127.0.0.1", &port)).value());
      return absl::StrCat("127.0.0.1:", port);
    };
    spec_ = *ClusterSpec::Make({{"ps", {{0, address()}}}, {"worker", {{0, address()}, {1, address()}}}});
    held.clear();
    ps_ = Start("ps", 0);
    worker_ = Start("worker", 0);
    const Output x = root_.WithOpName("x").Op("Placeholder", {}, {{"dtype", DType::kFloat}});
    const Output y = root_.WithDevice("/job:ps").WithOpName("y").Op("Square", {x});
    root_.WithDevice("/job:worker/task:0").WithOpName("z").Op("Neg", {y});
  }
  std::unique_ptr<Server> Start(const std::string& job, int task) {
    ServerOptions options;
    options.cluster = spec_;
    options.job_name = job;
    options.task_index = task;
    return Server::Start(options).value();
  }
  // In the worker's process, or as a client of it.
  std::unique_ptr<Session> New(int64_t timeout_ms) {
    SessionOptions options = worker_->session_options();
    if (GetParam()) options.server = nullptr;
    options.operation_timeout_ms = timeout_ms;
    return NewSession(options).value();
  }
  static Status Run(Session& session, const std::string& fetch) {
    return session.Run({{"x:0", Tensor::Scalar(3.f)}}, {fetch}, {}, nullptr);
  }

  ClusterSpec spec_;
  std::unique_ptr<Server> ps_, worker_;
  Scope root_ = Scope::Root();
};

TEST_P(NeededTasksTest, AWorkerThatNeverComesIsNotWaitedFor) {
  auto session = New(20'000);
  ASSERT_EQ(session->Extend(*root_.graph()), OkStatus());
  EXPECT_EQ(Run(*session, "z:0"), OkStatus());
  EXPECT_EQ(session->ListDevices().size(), 2u);
}

TEST_P(NeededTasksTest, OneThatTheGraphUsesIs) {
  auto session = New(3000);
  ASSERT_EQ(session->Extend(*root_.graph()), OkStatus());
  root_.WithDevice("/job:worker/task:1").WithOpName("far").Op("Neg", {Output(root_.graph()->Find("y"), 0)});
  const Status missing = session->Extend(*root_.graph());
  EXPECT_TRUE(absl::IsDeadlineExceeded(missing)) << missing;
  EXPECT_NE(missing.message().find("/job:worker/replica:0/task:1"), absl::string_view::npos) << missing;
  EXPECT_EQ(Run(*session, "z:0"), OkStatus());
  const std::unique_ptr<Server> late = Start("worker", 1);
  auto patient = New(20'000);
  ASSERT_EQ(patient->Extend(*root_.graph()), OkStatus());
  EXPECT_EQ(Run(*patient, "far:0"), OkStatus());
  EXPECT_EQ(patient->ListDevices().size(), 3u);
  EXPECT_EQ(session->Extend(*root_.graph()), OkStatus());
  EXPECT_EQ(Run(*session, "far:0"), OkStatus());
}

INSTANTIATE_TEST_SUITE_P(Clients, NeededTasksTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Remote" : "InProcess"; });

}  // namespace
}  // namespace millstream
