// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/client/remote_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <future>
#include <thread>

#include "millstream/base/mutex.h"
#include "millstream/distributed/link/sockets.h"
#include "millstream/graph/import/export.h"
#include "millstream/graph/scope.h"
#include "millstream/proto/master.pb.h"
#include "millstream/tensor/tensor_proto.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;

// A master that answers with a local session, and keeps what it was asked.
class StandInMaster {
 public:
  explicit StandInMaster(int port = 0) {
    RpcServerOptions options;
    options.port = port;
    server_ =
        RpcServer::Start(
            options,
            {Method<proto::CreateSessionRequest, proto::CreateSessionResponse>("CreateSession", &StandInMaster::Create),
             Method<proto::ExtendSessionRequest, proto::ExtendSessionResponse>("ExtendSession", &StandInMaster::Extend),
             Method<proto::RunStepRequest, proto::RunStepResponse>("RunStep", &StandInMaster::RunStep),
             Method<proto::PartialRunSetupRequest, proto::PartialRunSetupResponse>("PartialRunSetup",
                                                                                   &StandInMaster::Setup),
             Method<proto::MakeCallableRequest, proto::MakeCallableResponse>("MakeCallable", &StandInMaster::Make),
             Method<proto::RunCallableRequest, proto::RunCallableResponse>("RunCallable", &StandInMaster::RunCallable),
             Method<proto::ReleaseCallableRequest, proto::ReleaseCallableResponse>("ReleaseCallable",
                                                                                   &StandInMaster::Release),
             Method<proto::ListDevicesRequest, proto::ListDevicesResponse>("ListDevices", &StandInMaster::ListDevices),
             Method<proto::ResetRequest, proto::ResetResponse>("Reset", &StandInMaster::Reset),
             Method<proto::CloseSessionRequest, proto::CloseSessionResponse>("CloseSession", &StandInMaster::Close)})
            .value();
  }
  int port() const { return server_->port(); }
  std::string target() const { return absl::StrCat("grpc://127.0.0.1:", port()); }

  // What it was asked last.
  proto::CreateSessionRequest created() { return Locked(&StandInMaster::created_); }
  proto::ExtendSessionRequest extended() { return Locked(&StandInMaster::extended_); }
  proto::RunStepRequest ran() { return Locked(&StandInMaster::ran_); }
  proto::ResetRequest reset() { return Locked(&StandInMaster::reset_); }
  int closes() { return Locked(&StandInMaster::closes_); }

 private:
  template <typename T>
  T Locked(T StandInMaster::*member) {
    MutexLock lock(mu_);
    return this->*member;
  }
  template <typename T>
  void Keep(const T& value, T* kept) {
    MutexLock lock(mu_);
    *kept = value;
  }
  template <typename Request, typename Response>
  RpcMethod Method(const std::string& name, Status (StandInMaster::*run)(const Request&, Response*)) {
    return {"/tensorflow.MasterService/" + name, &Request::default_instance(), &Response::default_instance(),
            [this, run](RpcCall& call) {
              call.Finish((this->*run)(call.request_as<Request>(), &call.response_as<Response>()));
            }};
  }
  Status Create(const proto::CreateSessionRequest& request, proto::CreateSessionResponse* response) {
    Keep(request, &created_);
    session_ = NewSession().value();
    response->set_session_handle("s1");
    return session_->Create(request.graph_def());
  }
  Status Extend(const proto::ExtendSessionRequest& request, proto::ExtendSessionResponse* response) {
    Keep(request, &extended_);
    response->set_new_graph_version(request.current_graph_version() + 1);
    return session_->Extend(request.graph_def());
  }
  Status RunStep(const proto::RunStepRequest& request, proto::RunStepResponse* response) {
    Keep(request, &ran_);
    if (session_ == nullptr) return errors::Aborted("Session ", request.session_handle(), " is not found.");
    Session::Feeds feeds;
    for (const auto& feed : request.feed()) feeds.emplace_back(feed.name(), TensorFromProto(feed.tensor()).value());
    const std::vector<std::string> fetches(request.fetch().begin(), request.fetch().end());
    const std::vector<std::string> targets(request.target().begin(), request.target().end());
    std::vector<Tensor> values;
    const Status status = request.partial_run_handle().empty()
                              ? session_->Run(feeds, fetches, targets, &values)
                              : session_->PartialRun(request.partial_run_handle(), feeds, fetches, &values);
    response->set_status_code(static_cast<proto::error::Code>(status.code()));
    response->set_status_error_message(std::string(status.message()));
    for (size_t i = values.size(); i-- > 0;) {  // in an order of its own
      auto* tensor = response->add_tensor();
      tensor->set_name(fetches[i]);
      EXPECT_EQ(TensorToProto(values[i], tensor->mutable_tensor()), OkStatus());
    }
    return OkStatus();
  }
  static std::vector<std::string> List(const google::protobuf::RepeatedPtrField<std::string>& names) {
    return {names.begin(), names.end()};
  }
  Status Setup(const proto::PartialRunSetupRequest& request, proto::PartialRunSetupResponse* response) {
    ASSIGN_OR_RETURN(*response->mutable_partial_run_handle(),
                     session_->PartialRunSetup(List(request.feed()), List(request.fetch()), List(request.target())));
    return OkStatus();
  }
  Status Make(const proto::MakeCallableRequest& request, proto::MakeCallableResponse* response) {
    const proto::CallableOptions& options = request.options();
    ASSIGN_OR_RETURN(const auto handle,
                     session_->MakeCallable(List(options.feed()), List(options.fetch()), List(options.target())));
    response->set_handle(handle);
    return OkStatus();
  }
  Status RunCallable(const proto::RunCallableRequest& request, proto::RunCallableResponse* response) {
    std::vector<Tensor> feeds, values;
    for (const auto& feed : request.feed()) feeds.push_back(TensorFromProto(feed).value());
    RETURN_IF_ERROR(session_->RunCallable(request.handle(), feeds, &values));
    for (const Tensor& value : values) RETURN_IF_ERROR(TensorToProto(value, response->add_fetch()));
    return OkStatus();
  }
  Status Release(const proto::ReleaseCallableRequest& request, proto::ReleaseCallableResponse*) {
    return session_->ReleaseCallable(request.handle());
  }
  Status ListDevices(const proto::ListDevicesRequest&, proto::ListDevicesResponse* response) {
    for (const DeviceAttributes& device : session_->ListDevices()) {
      response->add_local_device()->set_name(device.name);
      response->mutable_local_device(0)->set_device_type(device.type);
    }
    return OkStatus();
  }
  Status Reset(const proto::ResetRequest& request, proto::ResetResponse*) {
    Keep(request, &reset_);
    return OkStatus();
  }
  Status Close(const proto::CloseSessionRequest&, proto::CloseSessionResponse*) {
    MutexLock lock(mu_);
    ++closes_;
    return OkStatus();
  }

  std::unique_ptr<Session> session_;
  Mutex mu_;
  proto::CreateSessionRequest created_ ABSL_GUARDED_BY(mu_);
  proto::ExtendSessionRequest extended_ ABSL_GUARDED_BY(mu_);
  proto::RunStepRequest ran_ ABSL_GUARDED_BY(mu_);
  proto::ResetRequest reset_ ABSL_GUARDED_BY(mu_);
  int closes_ ABSL_GUARDED_BY(mu_) = 0;
  std::unique_ptr<RpcServer> server_;
};

std::unique_ptr<Session> Connect(const StandInMaster& master, int64_t timeout_ms = 0) {
  SessionOptions options;
  options.target = master.target();
  options.operation_timeout_ms = timeout_ms;
  return NewSession(options).value();
}

Tensor F(float value) { return Tensor::Scalar<float>(value); }

// p is a placeholder; neg = -p; twice = neg + neg.
struct SmallGraph {
  SmallGraph()
      : p(s.WithOpName("p").Op("Placeholder", {}, {{"dtype", DType::kFloat}})),
        neg(s.WithOpName("neg").Op("Neg", {p})),
        twice(s.WithOpName("twice").Op("Add", {neg, neg})) {}
  Scope s = Scope::Root();
  Output p, neg, twice;
};

TEST(RemoteSessionTest, RunsSteps) {
  StandInMaster master;
  SmallGraph g;
  {
    std::unique_ptr<Session> session = Connect(master);
    ASSERT_EQ(session->Extend(*g.s.graph()), OkStatus());
    std::vector<Tensor> values;
    for (int i = 1; i < 5; ++i) {
      ASSERT_EQ(session->Run({{"p:0", F(i)}}, {"neg:0", "twice", "neg:0"}, {}, &values), OkStatus());
      ASSERT_EQ(values.size(), 3u);
      EXPECT_EQ(*values[0].data<float>(), -i);
      EXPECT_EQ(*values[1].data<float>(), -2 * i);
      EXPECT_EQ(*values[2].data<float>(), -i);
    }
    EXPECT_TRUE(master.ran().store_errors_in_response_body());
    EXPECT_EQ(session->Run({}, {"neg:0"}, {}, &values).code(), absl::StatusCode::kInvalidArgument);
    EXPECT_TRUE(absl::IsNotFound(session->Run({}, {"nope:0"}, {}, &values)));
  }
  EXPECT_EQ(master.closes(), 1);
}

TEST(RemoteSessionTest, SendsOnlyWhatIsNew) {
  StandInMaster master;
  SmallGraph g;
  std::unique_ptr<Session> session = Connect(master);
  ASSERT_EQ(session->Extend(*g.s.graph()), OkStatus());
  EXPECT_EQ(master.created().graph_def().node_size(), 3);
  EXPECT_GT(master.created().graph_def().versions().producer(), 0);
  g.s.WithOpName("back").Op("Neg", {g.twice});
  ASSERT_EQ(session->Extend(*g.s.graph()), OkStatus());
  ASSERT_EQ(master.extended().graph_def().node_size(), 1);
  EXPECT_EQ(master.extended().graph_def().node(0).name(), "back");
  ASSERT_EQ(session->Extend(*g.s.graph()), OkStatus());
  EXPECT_EQ(master.extended().current_graph_version(), 0);
  std::vector<Tensor> values;
  ASSERT_EQ(session->Run({{"p:0", F(3)}}, {"back:0"}, {}, &values), OkStatus());
  EXPECT_EQ(*values[0].data<float>(), 6);
  proto::GraphDef def;
  EXPECT_TRUE(absl::IsAlreadyExists(session->Create(def)));
}

// Copying or measuring such a message would take more stack than there is.
TEST(RemoteSessionTest, NestedAttributesAreRefusedBeforeTheyAreCopied) {
  StandInMaster master;
  const std::unique_ptr<Session> session = Connect(master);
  auto& def = *new proto::GraphDef;  // nor can it be freed
  proto::AttrValue* value = &(*def.add_node()->mutable_attr())["_f"];
  for (int i = 0; i < 200'000; ++i) value = &(*value->mutable_func()->mutable_attr())["a"];
  EXPECT_TRUE(absl::IsInvalidArgument(session->Create(def)));
  EXPECT_TRUE(absl::IsInvalidArgument(session->Extend(def)));
}

TEST(RemoteSessionTest, CallablesAndPartialRuns) {
  StandInMaster master;
  SmallGraph g;
  std::unique_ptr<Session> session = Connect(master);
  ASSERT_EQ(session->Extend(*g.s.graph()), OkStatus());
  const auto callable = session->MakeCallable({"p:0"}, {"twice:0"}, {});
  ASSERT_TRUE(callable.ok()) << callable.status();
  std::vector<Tensor> values;
  ASSERT_EQ(session->RunCallable(*callable, {F(4)}, &values), OkStatus());
  EXPECT_EQ(*values[0].data<float>(), -8);
  EXPECT_EQ(session->ReleaseCallable(*callable), OkStatus());
  EXPECT_TRUE(absl::IsInvalidArgument(session->RunCallable(*callable, {F(4)}, &values)));
  const auto handle = session->PartialRunSetup({"p:0"}, {"neg:0", "twice:0"}, {});
  ASSERT_TRUE(handle.ok()) << handle.status();
  ASSERT_EQ(session->PartialRun(*handle, {{"p:0", F(1)}}, {"neg:0"}, &values), OkStatus());
  ASSERT_EQ(session->PartialRun(*handle, {}, {"twice:0"}, &values), OkStatus());
  EXPECT_EQ(*values[0].data<float>(), -2);
}

TEST(RemoteSessionTest, ListDevicesComesFirst) {
  StandInMaster master;
  std::unique_ptr<Session> session = Connect(master);
  const std::vector<DeviceAttributes> devices = session->ListDevices();
  ASSERT_EQ(devices.size(), 1u);
  EXPECT_EQ(devices[0].type, "CPU");
}

TEST(RemoteSessionTest, LostAndRestartedServer) {
  auto master = std::make_unique<StandInMaster>();
  SmallGraph g;
  std::unique_ptr<Session> session = Connect(*master, /*timeout_ms=*/20000);
  ASSERT_EQ(session->Extend(*g.s.graph()), OkStatus());
  const int port = master->port();
  master.reset();
  std::vector<Tensor> values;
  auto step = std::async(std::launch::async, [&] { return session->Run({{"p:0", F(1)}}, {"neg:0"}, {}, &values); });
  master = std::make_unique<StandInMaster>(port);
  const Status status = step.get();
  EXPECT_TRUE(absl::IsAborted(status) || absl::IsUnavailable(status)) << status;
}

TEST(RemoteSessionTest, WaitEndsAtTimeoutAndAtClose) {
  auto master = std::make_unique<StandInMaster>();
  std::unique_ptr<Session> brief = Connect(*master, /*timeout_ms=*/100);
  std::unique_ptr<Session> patient = Connect(*master);
  const std::string address = master->target().substr(7);
  int port = master->port();
  master.reset();
  const Status late = brief->Run({}, {}, {"x"}, nullptr);
  EXPECT_TRUE(absl::IsDeadlineExceeded(late)) << late;
  EXPECT_THAT(std::string(late.message()), HasSubstr(address));
  brief.reset();
  // Somebody else is at the address and says nothing: whoever connects is the step that waits for the master.
  const StatusOr<UniqueFd> silent = ListenTcp("127.0.0.1", &port);
  ASSERT_TRUE(silent.ok()) << silent.status();
  auto step = std::async(std::launch::async, [&] { return patient->Run({}, {}, {"x"}, nullptr); });
  pollfd knock = {silent->get(), POLLIN, 0};
  ASSERT_EQ(poll(&knock, 1, 30'000), 1);
  EXPECT_EQ(patient->Close(), OkStatus());
  EXPECT_TRUE(absl::IsCancelled(step.get()));
  EXPECT_TRUE(absl::IsCancelled(patient->Run({}, {}, {"x"}, nullptr)));
}

TEST(RemoteSessionTest, ResetNamesContainers) {
  StandInMaster master;
  SessionOptions options;
  options.target = master.target();
  EXPECT_EQ(ResetRemote(options, {"a", "b"}), OkStatus());
  EXPECT_EQ(master.reset().container_size(), 2);
}

TEST(RemoteSessionTest, BadTargets) {
  SessionOptions options;
  options.target = "grpc://nowhere";
  EXPECT_TRUE(absl::IsInvalidArgument(NewSession(options).status()));
  options.target = "carrier://pigeon";
  EXPECT_TRUE(absl::IsNotFound(NewSession(options).status()));
}

}  // namespace
}  // namespace millstream
