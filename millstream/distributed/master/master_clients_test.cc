// SPDX-License-Identifier: Apache-2.0
// What is left of clients that come and go.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>

#include "absl/strings/match.h"
#include "millstream/distributed/master/master_service.h"
#include "millstream/distributed/testing/direct_call.h"
#include "millstream/graph/scope.h"
#include "millstream/proto/master.pb.h"

namespace millstream {
namespace {

using testing::DirectCall;
using Connection = std::shared_ptr<const DirectCall::Connection>;
using Clock = std::chrono::steady_clock;

class MasterClientsTest : public ::testing::Test {
 protected:
  MasterClientsTest() {
    limits_.sessions = 1200;
    limits_.sessions_per_connection = 20;
    limits_.lease = std::chrono::hours(1);
    const Output x = root_.WithOpName("x").Op("Placeholder", {}, {{"dtype", DType::kFloat}});
    root_.WithOpName("y").Op("Square", {x});
    const Output queue = root_.WithOpName("q").Op(
        "FIFOQueueV2", {},
        {{"component_types", std::vector<DType>{DType::kFloat}}, {"shared_name", std::string("shared")}});
    root_.WithOpName("put").Op("QueueEnqueueV2", {queue, x}, {{"Tcomponents", std::vector<DType>{DType::kFloat}}});
    root_.WithOpName("size").Op("QueueSizeV2", {queue});
    Node* taken = root_.WithOpName("taken").Add("QueueDequeueV2", {queue},
                                                {{"component_types", std::vector<DType>{DType::kFloat}}});
    root_.WithOpName("sum").Op("Add", {x, Output(taken, 0)});
  }

  static Connection NewConnection() {
    static uint64_t number = 0;
    return std::make_shared<DirectCall::Connection>(DirectCall::Connection{++number});
  }
  template <typename Request, typename Response>
  Status Call(const char* method, const Connection& from, const Request& request, Response* response) {
    for (const RpcMethod& known : methods_) {
      if (known.path != MasterMethod(method)) continue;
      DirectCall call(known, from);
      call.request().CopyFrom(request);
      const Status status = call.Run(known);
      response->CopyFrom(call.response());
      return status;
    }
    return errors::Unimplemented(method);
  }
  StatusOr<std::string> Create(const Connection& from) {
    proto::CreateSessionResponse response;
    RETURN_IF_ERROR(Call("CreateSession", from, proto::CreateSessionRequest(), &response));
    ASSIGN_OR_RETURN(const std::shared_ptr<MasterSession> session, master().Find(response.session_handle()));
    RETURN_IF_ERROR(session->Extend(*root_.graph()));
    return response.session_handle();
  }
  Status Run(const Connection& from, const std::string& handle, const std::string& fetch) {
    proto::RunStepRequest request;
    proto::RunStepResponse response;
    request.set_session_handle(handle);
    request.add_fetch(fetch);
    auto* feed = request.add_feed();
    feed->set_name("x:0");
    feed->mutable_tensor()->set_dtype(proto::DT_FLOAT);
    feed->mutable_tensor()->mutable_tensor_shape();
    feed->mutable_tensor()->add_float_val(3.f);
    return Call("RunStep", from, request, &response);
  }
  Status Close(const Connection& from, const std::string& handle) {
    proto::CloseSessionRequest request;
    proto::CloseSessionResponse response;
    request.set_session_handle(handle);
    return Call("CloseSession", from, request, &response);
  }
  Master& master() { return *master_; }
  void LookLater(std::chrono::milliseconds later) {
    master().LookAfterClients(Clock::now());
    master().LookAfterClients(Clock::now() + later);
  }

  MasterLimits limits_;
  Scope root_ = Scope::Root();
  Worker worker_{[] {
                   WorkerOptions options;
                   options.task = "/job:worker/replica:0/task:0";
                   options.incarnation = 7;
                   options.session.intra_op_threads = 2;
                   return options;
                 }(),
                 [](const std::string&, const std::string&, uint64_t) -> StatusOr<std::shared_ptr<PeerLink>> {
                   return errors::Unavailable("nobody");
                 }};
  Peers peers_{PeersOptions{}, nullptr};
  std::unique_ptr<Master> master_;
  std::vector<RpcMethod> methods_;

  void SetUp() override {
    master_ = std::make_unique<Master>(&worker_, &peers_, nullptr, limits_);
    methods_ = MasterServiceMethods(master_.get());
  }
};

TEST_F(MasterClientsTest, AThousandSessionsThatComeAndGoLeaveNothing) {
  for (int i = 0; i < 1000; ++i) {
    const Connection client = NewConnection();
    const StatusOr<std::string> handle = Create(client);
    ASSERT_EQ(handle.status(), OkStatus());
    if (i % 50 == 0) {
      ASSERT_EQ(Run(client, *handle, "y:0"), OkStatus());
    }
    if (i % 2 == 0) {
      ASSERT_EQ(Close(client, *handle), OkStatus());
    }
  }
  EXPECT_EQ(master().num_sessions(), 500u);
  LookLater(std::chrono::minutes(59));  // they may come back
  EXPECT_EQ(master().num_sessions(), 500u);
  LookLater(std::chrono::minutes(61));
  EXPECT_EQ(master().num_sessions(), 0u);
  EXPECT_EQ(worker_.num_sessions(), 0u);
}

TEST_F(MasterClientsTest, AClientThatIdlesOrComesBackKeepsItsSession) {
  Connection idle = NewConnection(), back = NewConnection();
  const std::string first = Create(idle).value(), second = Create(back).value();
  back.reset();
  master().LookAfterClients(Clock::now());
  back = NewConnection();
  ASSERT_EQ(Run(back, second, "y:0"), OkStatus());
  LookLater(std::chrono::hours(100));
  EXPECT_EQ(Run(idle, first, "y:0"), OkStatus());
  EXPECT_EQ(Run(back, second, "y:0"), OkStatus());
  // A transport that knows nothing of connections.
  const std::string third = Create(nullptr).value();
  LookLater(std::chrono::hours(100));
  EXPECT_EQ(Run(nullptr, third, "y:0"), OkStatus());
}

TEST_F(MasterClientsTest, APartialRunEndsWithItsClient) {
  Connection ghost = NewConnection(), other = NewConnection();
  proto::PartialRunSetupRequest request;
  proto::PartialRunSetupResponse response;
  request.set_session_handle(Create(ghost).value());
  request.add_feed("x:0");
  request.add_fetch("sum:0");
  ASSERT_EQ(Call("PartialRunSetup", ghost, request, &response), OkStatus());
  ghost.reset();
  master().LookAfterClients(Clock::now());
  while (worker_.num_running() > 0) std::this_thread::yield();
  const std::string handle = Create(other).value();
  const std::shared_ptr<MasterSession> session = master().Find(handle).value();
  ASSERT_EQ(session->Run({{"x:0", Tensor::Scalar(1.f)}}, {}, {"put"}, nullptr), OkStatus());
  std::vector<Tensor> out;
  ASSERT_EQ(session->Run({}, {"size:0"}, {}, &out), OkStatus());
  EXPECT_EQ(out[0].scalar<int32_t>(), 1);
}

// A partial run whose call waits for an element of an empty queue and, beyond that, for a feed that never comes.
class WaitingPartialRun {
 public:
  WaitingPartialRun(const RpcMethod& run, const std::string& session, const std::string& handle, const Connection& from)
      : call_(run, from) {
    auto& request = call_.request_as<proto::RunStepRequest>();
    request.set_session_handle(session);
    request.set_partial_run_handle(handle);
    request.add_fetch("taken:0");
    thread_ = std::thread([this, &run] {
      status_ = call_.Run(run);
      answered_ = true;
    });
  }
  bool answered() const { return answered_; }
  Cancellation* cancellation() { return call_.cancellation(); }
  // Waits for the answer.
  Status answer() {
    thread_.join();
    return status_;
  }

 private:
  DirectCall call_;
  Status status_;
  std::atomic<bool> answered_{false};
  std::thread thread_;
};

class PartialRunCallTest : public MasterClientsTest {
 protected:
  void SetUp() override {
    MasterClientsTest::SetUp();
    client_ = NewConnection();
    session_ = Create(client_).value();
    proto::PartialRunSetupRequest request;
    proto::PartialRunSetupResponse response;
    request.set_session_handle(session_);
    request.add_feed("x:0");
    request.add_fetch("taken:0");
    request.add_fetch("y:0");
    ASSERT_EQ(Call("PartialRunSetup", client_, request, &response), OkStatus());
    handle_ = response.partial_run_handle();
    for (const RpcMethod& method : methods_) {
      if (method.path == MasterMethod("RunStep")) run_ = &method;
    }
    while (!StartCall()) call_->answer().IgnoreError();
  }
  // True once the call waits: another call of the same run is refused then. False if it met that one, and was refused.
  bool StartCall() {
    call_ = std::make_unique<WaitingPartialRun>(*run_, session_, handle_, client_);
    while (!call_->answered()) {
      if (absl::StrContains(Feed().message(), "in progress")) return true;
    }
    return false;
  }
  // A call that feeds what the run does not have.
  Status Feed() {
    proto::RunStepRequest request;
    proto::RunStepResponse response;
    request.set_session_handle(session_);
    request.set_partial_run_handle(handle_);
    request.add_feed()->set_name("nothing:0");
    request.mutable_feed(0)->mutable_tensor()->set_dtype(proto::DT_FLOAT);
    request.mutable_feed(0)->mutable_tensor()->mutable_tensor_shape();
    return Call("RunStep", client_, request, &response);
  }
  void ExpectEnded() {
    EXPECT_TRUE(absl::IsCancelled(call_->answer()));
    while (worker_.num_running() > 0) std::this_thread::yield();
  }

  Connection client_;
  std::string session_, handle_;
  const RpcMethod* run_ = nullptr;
  std::unique_ptr<WaitingPartialRun> call_;
};

TEST_F(PartialRunCallTest, EndsWithTheConnection) {
  client_.reset();
  master().LookAfterClients(Clock::now());
  ExpectEnded();
}

TEST_F(PartialRunCallTest, EndsWhenTheCallIsCancelled) {
  call_->cancellation()->StartCancel(errors::Cancelled("the deadline of the call has passed"));
  ExpectEnded();
}

TEST_F(PartialRunCallTest, EndsWithTheSession) {
  EXPECT_EQ(Close(client_, session_), OkStatus());
  ExpectEnded();
}

TEST_F(MasterClientsTest, SessionsAreCounted) {
  const Connection greedy = NewConnection();
  for (int i = 0; i < 20; ++i) ASSERT_EQ(Create(greedy).status(), OkStatus());
  EXPECT_TRUE(absl::IsResourceExhausted(Create(greedy).status()));
  const Connection other = NewConnection();
  EXPECT_EQ(Create(other).status(), OkStatus());
}

TEST_F(MasterClientsTest, SessionsOfClientsThatHaveGoneMakeRoom) {
  std::vector<Connection> clients;
  while (master().num_sessions() < limits_.sessions) {
    clients.push_back(NewConnection());
    ASSERT_EQ(Create(clients.back()).status(), OkStatus());
  }
  const Connection late = NewConnection();
  EXPECT_TRUE(absl::IsResourceExhausted(Create(late).status()));
  clients.pop_back();
  EXPECT_EQ(Create(late).status(), OkStatus());
}

}  // namespace
}  // namespace millstream
