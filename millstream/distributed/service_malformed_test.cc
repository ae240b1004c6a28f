// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "google/protobuf/text_format.h"
#include "millstream/distributed/master/master.h"
#include "millstream/distributed/master/master_service.h"
#include "millstream/distributed/task_service.h"
#include "millstream/distributed/testing/direct_call.h"
#include "millstream/distributed/wire/task_methods.h"
#include "millstream/proto/master.pb.h"

namespace millstream {
namespace {

using absl::StatusCode;

// A server without its network, with one session "<S>" whose graph has a placeholder p and c = Neg(p).
class ServiceTest : public ::testing::Test {
 protected:
  ServiceTest() {
    TaskServiceOptions options;
    options.worker = &worker_;
    for (RpcMethod& method : TaskServiceMethods(options)) methods_.push_back(std::move(method));
    proto::CreateSessionResponse created;
    EXPECT_EQ(Call("/tensorflow.MasterService/CreateSession", kGraph, &created), StatusCode::kOk);
    session_ = created.session_handle();
  }
  static WorkerOptions MakeOptions() {
    WorkerOptions options;
    options.task = "/job:local/replica:0/task:0";
    options.incarnation = 7;
    return options;
  }

  StatusCode Call(const std::string& path, std::string text, google::protobuf::Message* response = nullptr) {
    for (size_t at; (at = text.find("<S>")) != std::string::npos;) text.replace(at, 3, session_);
    for (const RpcMethod& method : methods_) {
      if (method.path != path) continue;
      testing::DirectCall call(method);
      EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &call.request())) << path << ": " << text;
      const Status status = call.Run(method);
      if (response != nullptr) response->CopyFrom(call.response());
      return status.code();
    }
    ADD_FAILURE() << path;
    return StatusCode::kUnimplemented;
  }

  static constexpr char kGraph[] = R"(graph_def { versions { producer: 2474 }
    node { name: "p" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
    node { name: "c" op: "Neg" input: "p" attr { key: "T" value { type: DT_FLOAT } } } })";
  Worker worker_{MakeOptions(),
                 [](const std::string& task, const std::string&, uint64_t) -> StatusOr<std::shared_ptr<PeerLink>> {
                   return errors::Unavailable("no task ", task);
                 }};
  Peers peers_{PeersOptions(), nullptr};
  Master master_{&worker_, &peers_};
  std::vector<RpcMethod> methods_ = MasterServiceMethods(&master_);
  std::string session_;
};

struct Case {
  const char* method;
  const char* request;
  StatusCode code;
};

TEST_F(ServiceTest, EveryBadRequestGetsItsError) {
  const Case cases[] = {
      {"CreateSession", "graph_def { node { name: 'x' op: 'NoSuchOp' } }", StatusCode::kNotFound},
      {"CreateSession", "graph_def { node { name: 'x' op: 'Neg' input: 'y' } }", StatusCode::kInvalidArgument},
      {"CreateSession", "graph_def { node { name: 'x' op: 'NoOp' device: '/job:ps/task:0' } }",
       StatusCode::kInvalidArgument},
      {"CreateSession", "graph_def { node { name: 'x' op: 'NoOp' device: 'nonsense' } }", StatusCode::kInvalidArgument},
      {"CreateSession", "config { device_filters: '///' }", StatusCode::kOk},  // nobody to filter
      {"CreateSession", "config { intra_op_parallelism_threads: -2 }", StatusCode::kInvalidArgument},
      {"CreateSession",
       "target: 'grpc://a:1' config { cluster_def { job { name: 'w' tasks { key: 0 value: 'a:1' } } } }",
       StatusCode::kOk},
      {"CreateSession",
       "target: 'grpc://a:1' config { cluster_def { job { name: 'w' tasks { key: 0 value: 'b:1' } } } }",
       StatusCode::kInvalidArgument},
      {"CreateSession", "target: 'x' config { cluster_def { job { name: 'w' tasks { key: -1 value: 'x' } } } }",
       StatusCode::kInvalidArgument},
      {"ExtendSession", "session_handle: 'unknown'", StatusCode::kAborted},
      {"ExtendSession", "session_handle: '<S>' current_graph_version: 99", StatusCode::kAborted},
      {"RunStep", "session_handle: 'unknown' fetch: 'c:0'", StatusCode::kAborted},
      {"RunStep", "session_handle: '<S>' fetch: 'nowhere:0'", StatusCode::kNotFound},
      {"RunStep", "session_handle: '<S>' fetch: 'c:1'", StatusCode::kNotFound},
      {"RunStep", "session_handle: '<S>' target: 'nowhere'", StatusCode::kNotFound},
      {"RunStep", "session_handle: '<S>' fetch: 'c:0'", StatusCode::kInvalidArgument},
      {"RunStep", "session_handle: '<S>' fetch: 'c:0' feed { name: 'nowhere:0' tensor { dtype: DT_FLOAT } }",
       StatusCode::kNotFound},
      {"RunStep", "session_handle: '<S>' fetch: 'c:0' feed { name: 'p:0' tensor { dtype: DT_INT32 } }",
       StatusCode::kInvalidArgument},
      {"RunStep",
       "session_handle: '<S>' fetch: 'c:0' feed { name: 'p:0' tensor { dtype: DT_FLOAT tensor_content: 'abc' } }",
       StatusCode::kInvalidArgument},
      {"RunStep",
       "session_handle: '<S>' fetch: 'c:0' feed { name: 'p:0' tensor { dtype: DT_FLOAT tensor_shape { dim { size: -1 } "
       "} } }",
       StatusCode::kInvalidArgument},
      {"RunStep",
       "session_handle: '<S>' fetch: 'c:0' feed { name: 'p:0' tensor { dtype: DT_FLOAT float_val: 1 tensor_shape { dim "
       "{ size: "
       "1099511627776 } } } }",
       StatusCode::kResourceExhausted},
      {"RunStep", "session_handle: '<S>' fetch: 'c:0' partial_run_handle: 'unknown'", StatusCode::kInvalidArgument},
      {"PartialRunSetup", "session_handle: 'unknown'", StatusCode::kAborted},
      {"PartialRunSetup", "session_handle: '<S>' feed: 'p:0'", StatusCode::kInvalidArgument},
      {"RunStep", "session_handle: '<S>'", StatusCode::kInvalidArgument},
      {"PartialRunSetup", "session_handle: '<S>' fetch: 'nowhere'", StatusCode::kNotFound},
      {"CloseSession", "session_handle: 'unknown'", StatusCode::kAborted},
      {"ListDevices", "session_handle: 'unknown'", StatusCode::kAborted},
      {"MakeCallable", "session_handle: 'unknown'", StatusCode::kAborted},
      {"MakeCallable", "session_handle: '<S>' options { fetch: 'nowhere:0' }", StatusCode::kNotFound},
      {"RunCallable", "session_handle: '<S>' handle: 99", StatusCode::kInvalidArgument},
      {"RunCallable", "session_handle: 'unknown'", StatusCode::kAborted},
      {"ReleaseCallable", "session_handle: '<S>' handle: 99", StatusCode::kInvalidArgument},
  };
  for (const Case& c : cases)
    EXPECT_EQ(Call(MasterMethod(c.method), c.request), c.code) << c.method << " " << c.request;
  const Case tasks[] = {
      {"Hello", "protocol: 99", StatusCode::kFailedPrecondition},
      {"Hello", "protocol: 1 task: '/job:ps/replica:0/task:0'", StatusCode::kFailedPrecondition},
      {"CreateSession", "session: 'a' incarnation: 8", StatusCode::kAborted},
      {"CreateSession", "session: '<S>' config { intra_op_parallelism_threads: -2 }", StatusCode::kInvalidArgument},
      {"DeleteSession", "session: 'unknown'", StatusCode::kAborted},
      {"RegisterPart", "session: 'unknown'", StatusCode::kAborted},
      {"DeregisterPart", "session: 'unknown' part: 7", StatusCode::kAborted},
  };
  for (const Case& c : tasks) EXPECT_EQ(Call(TaskMethod(c.method), c.request), c.code) << c.method << " " << c.request;
}

TEST_F(ServiceTest, ErrorsOfStepsGoIntoTheBodyWhereAsked) {
  proto::RunStepResponse response;
  EXPECT_EQ(Call(MasterMethod("RunStep"), "session_handle: 'unknown' fetch: 'c:0' store_errors_in_response_body: true",
                 &response),
            StatusCode::kOk);
  EXPECT_EQ(response.status_code(), proto::error::ABORTED);
  EXPECT_NE(response.status_error_message().find("unknown"), std::string::npos);
}

TEST_F(ServiceTest, PartsAreNotTrusted) {
  EXPECT_EQ(Call(TaskMethod("CreateSession"), "session: 'a' incarnation: 7"), StatusCode::kOk);
  EXPECT_EQ(Call(TaskMethod("CreateSession"), "session: 'a' incarnation: 7"), StatusCode::kAlreadyExists);
  const Case cases[] = {
      {"RegisterPart", "session: 'a' ret: 'nowhere:0'", StatusCode::kNotFound},
      {"RegisterPart", "session: 'a' target: 'nowhere'", StatusCode::kNotFound},
      {"RegisterPart", "session: 'a' arg { name: 'nowhere' }", StatusCode::kNotFound},
      {"RegisterPart", "session: 'a' send { id: 4294967295 to_task: '/job:ps/replica:0/task:0' }",
       StatusCode::kInvalidArgument},
      {"RegisterPart", "session: 'a' send { id: 1 to_task: '/job:ps/replica:0/task:0' }", StatusCode::kUnavailable},
      {"RegisterPart",
       "session: 'a' graph { node { name: 'r' op: '_Recv' attr { key: 'tensor_type' value { type: DT_FLOAT } } } } "
       "target: 'r'",
       StatusCode::kInvalidArgument},
      {"RegisterPart",
       "session: 'a' graph { node { name: 'n' op: 'NoOp' device: '/job:ps/replica:0/task:0/device:CPU:0' } } target: "
       "'n'",
       StatusCode::kInvalidArgument},
  };
  for (const Case& c : cases) EXPECT_EQ(Call(TaskMethod(c.method), c.request), c.code) << c.method << " " << c.request;
}

}  // namespace
}  // namespace millstream
