// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/cluster/session_cluster.h"

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "millstream/distributed/server.h"
#include "millstream/graph/scope.h"
#include "millstream/proto/config.pb.h"
#include "millstream/proto/step_stats.pb.h"

namespace millstream {
namespace {

using Tasks = std::vector<std::string>;

void AddJob(proto::ConfigProto* config, const std::string& name, const Tasks& addresses) {
  auto* job = config->mutable_cluster_def()->add_job();
  job->set_name(name);
  for (size_t i = 0; i < addresses.size(); ++i) (*job->mutable_tasks())[static_cast<int>(i)] = addresses[i];
}

proto::ConfigProto ConfigOf(const std::string& job, const Tasks& addresses) {
  proto::ConfigProto config;
  AddJob(&config, job, addresses);
  return config;
}

void ExpectError(const Status& status, absl::StatusCode code, absl::string_view text) {
  EXPECT_EQ(status.code(), code) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), text)) << status;
}

TEST(SessionClusterTest, FindsTheMasterByItsTarget) {
  EXPECT_FALSE(SessionCluster::OfMaster({}, "grpc://a:1").value().renames());
  const auto config = ConfigOf("worker", {"a:1", "b:2"});
  EXPECT_EQ(SessionCluster::OfMaster(config, "grpc://b:2").value().task, "/job:worker/replica:0/task:1");
  EXPECT_EQ(SessionCluster::OfMaster(config, "a:1").value().task, "/job:worker/replica:0/task:0");
  EXPECT_EQ(SessionCluster::OfMaster(ConfigOf("w", {"127.0.0.1:7"}), "grpc://localhost:7").value().task,
            "/job:w/replica:0/task:0");
}

TEST(SessionClusterTest, RefusesClustersThatMakeNoSense) {
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  const auto open = [](const proto::ConfigProto& config, const char* target) {
    return SessionCluster::OfMaster(config, target).status();
  };
  ExpectError(open(ConfigOf("worker", {"b:2"}), "grpc://a:1"), kInvalid,
              "target 'grpc://a:1' is none of its tasks: /job:worker/replica:0/task:0 at b:2");
  ExpectError(open(ConfigOf("worker", {"a:1", "nonsense"}), "grpc://a:1"), kInvalid, "nonsense");
  ExpectError(open(ConfigOf("worker", {"a:1", "a:1"}), "grpc://a:1"), kInvalid, "have the same address");
  ExpectError(open(ConfigOf("no name", {"a:1"}), "grpc://a:1"), kInvalid, "is not a job name");
  ExpectError(open(ConfigOf("w", {"127.0.0.1:1", "localhost:1"}), "grpc://localhost:1"), kInvalid, "both");
  auto twice = ConfigOf("worker", {"a:1"});
  AddJob(&twice, "worker", {"b:1"});
  ExpectError(open(twice, "grpc://a:1"), kInvalid, "Duplicate job");
  ExpectError(SessionCluster::Of(ConfigOf("worker", {"a:1"}), "/job:ps/replica:0/task:0").status(), kInvalid,
              "no task /job:ps/replica:0/task:0");
}

TEST(SessionClusterTest, IsolatesUnlessAskedToShare) {
  proto::ConfigProto config;
  EXPECT_FALSE(IsolatesState(config));
  AddJob(&config, "worker", {"a:1"});
  EXPECT_TRUE(IsolatesState(config));
  config.mutable_experimental()->set_share_session_state_in_clusterspec_propagation(true);
  EXPECT_FALSE(IsolatesState(config));
  config.set_isolate_session_state(true);
  EXPECT_TRUE(IsolatesState(config));
}

// Servers that know of nobody, and become tasks of a session's cluster.
class PropagationTest : public ::testing::Test {
 protected:
  static std::string AddressOf(const Server& server) {
    return std::string(absl::StripPrefix(server.target(), "grpc://"));
  }
  std::unique_ptr<Session> Open(const proto::ConfigProto& config, const Scope& scope) {
    EXPECT_TRUE(scope.ok()) << scope.status();
    StatusOr<std::unique_ptr<Session>> session = a_->NewSession(config);
    EXPECT_TRUE(session.ok()) << session.status();
    const Status extended = (*session)->Extend(*scope.graph());
    EXPECT_TRUE(extended.ok()) << extended;
    return *std::move(session);
  }

  const std::unique_ptr<Server> a_ = Server::StartLocal().value();
  const std::unique_ptr<Server> b_ = Server::StartLocal().value();
  const Scope root_ = Scope::Root();
};

TEST_F(PropagationTest, TasksAnswerToTheNamesOfTheSession) {
  const Scope first = root_.WithDevice("/job:w/task:0"), second = root_.WithDevice("/job:w/task:1");
  Output x = root_.WithOpName("x").Op("Placeholder", {}, {{"dtype", DType::kFloat}});
  Output y = second.WithOpName("y").Op("Square", {x});
  Output z = first.WithOpName("z").Op("Neg", {y});
  second.WithOpName("back").Op("Add", {z, y});
  auto session = Open(ConfigOf("w", {AddressOf(*a_), AddressOf(*b_)}), root_);
  std::vector<std::string> devices;
  for (const DeviceAttributes& device : session->ListDevices()) devices.push_back(device.name);
  EXPECT_EQ(devices, (Tasks{"/job:w/replica:0/task:0/device:CPU:0", "/job:w/replica:0/task:1/device:CPU:0"}));
  RunOptions options;
  options.full_trace = true;
  proto::RunMetadata metadata;
  std::vector<Tensor> out;
  const Status status = session->Run(options, {{"x:0", Tensor::Scalar(3.f)}}, {"back:0", "z:0"}, {}, &out, &metadata);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(out[0].scalar<float>(), 0.f);
  EXPECT_EQ(out[1].scalar<float>(), -9.f);
  bool seen = false;
  for (const auto& device : metadata.step_stats().dev_stats()) {
    EXPECT_TRUE(absl::StartsWith(device.device(), "/job:w/replica:0/task:")) << device.device();
    for (const auto& node : device.node_stats())
      seen = seen || (node.node_name() == "y" && device.device() == devices[1]);
  }
  EXPECT_TRUE(seen) << metadata.step_stats().DebugString();
  // Under its own names, the server goes on as before.
  auto plain = a_->NewSession({});
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_EQ((*plain)->ListDevices()[0].name, "/job:local/replica:0/task:0/device:CPU:0");
}

TEST_F(PropagationTest, SessionsShareVariablesOnlyIfAskedTo) {
  const Scope second = root_.WithDevice("/job:w/task:1");
  Output v = second.WithOpName("v").Op("VariableV2", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape(Shape())}});
  second.WithOpName("init").Op("Assign", {v, second.Const(1.f)});
  proto::ConfigProto config = ConfigOf("w", {AddressOf(*a_), AddressOf(*b_)});
  std::vector<Tensor> out;
  for (const bool share : {false, true}) {
    config.mutable_experimental()->set_share_session_state_in_clusterspec_propagation(share);
    auto one = Open(config, root_), other = Open(config, root_);
    const Status init = one->Run({}, {}, {"init"}, nullptr);
    ASSERT_TRUE(init.ok()) << init;
    ASSERT_TRUE(one->Run({}, {"v:0"}, {}, &out).ok());
    const Status read = other->Run({}, {"v:0"}, {}, &out);
    EXPECT_EQ(read.code(), share ? absl::StatusCode::kOk : absl::StatusCode::kFailedPrecondition) << read;
  }
}

TEST_F(PropagationTest, NamesWhoIsMissing) {
  const std::string gone = AddressOf(*Server::StartLocal().value());
  proto::ConfigProto config = ConfigOf("w", {AddressOf(*a_), gone});
  config.set_operation_timeout_in_ms(300);
  ExpectError(a_->NewSession(config).status(), absl::StatusCode::kDeadlineExceeded,
              absl::StrCat("/job:w/replica:0/task:1 at ", gone));
  // One that the session does not use may be missing.
  config.add_device_filters("/job:w/task:0");
  EXPECT_TRUE(a_->NewSession(config).ok());
}

TEST_F(PropagationTest, ALostTaskFailsTheSession) {
  root_.WithDevice("/job:w/task:1").WithOpName("c").Op("Identity", {root_.Const(1.f)});
  auto lost = Server::StartLocal().value();
  auto session = Open(ConfigOf("w", {AddressOf(*a_), AddressOf(*lost)}), root_);
  std::vector<Tensor> out;
  ASSERT_TRUE(session->Run({}, {"c:0"}, {}, &out).ok());
  lost.reset();
  const Status status = session->Run({}, {"c:0"}, {}, &out);
  ExpectError(status, absl::StatusCode::kUnavailable, "/job:w/replica:0/task:1");
}

}  // namespace
}  // namespace millstream
