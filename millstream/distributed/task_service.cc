// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/task_service.h"

#include <algorithm>

#include "google/protobuf/wrappers.pb.h"
#include "millstream/base/version.h"
#include "millstream/distributed/job_roll.h"
#include "millstream/distributed/server_observer.h"
#include "millstream/distributed/wire/device_proto.h"
#include "millstream/distributed/wire/protocol.h"
#include "millstream/distributed/wire/run_elsewhere.h"
#include "millstream/distributed/wire/task_methods.h"
#include "millstream/proto/task.pb.h"

namespace millstream {
namespace {

Status Hello(const TaskServiceOptions& options, const proto::HelloRequest& request, Role caller,
             proto::HelloResponse* response) {
  const Worker& worker = *options.worker;
  if (request.protocol() != kProtocolVersion) {
    return errors::FailedPrecondition(worker.task(), " uses protocol version ", kProtocolVersion, ", the caller ",
                                      request.protocol(), ": run the same release on every task");
  }
  if (!request.job_id().empty() && !options.job_id.empty() && request.job_id() != options.job_id) {
    return errors::PermissionDenied(worker.task(), " belongs to job '", options.job_id, "', the caller to job '",
                                    request.job_id(), "'");
  }
  if (!request.task().empty() && request.task() != worker.task()) {
    return errors::FailedPrecondition("This is ", worker.task(), ", not ", request.task(),
                                      ": check that all tasks were given the same cluster");
  }
  const bool as_task = !request.from_task().empty() || request.want_endpoint();
  if (as_task && !Includes(caller, Role::kTask)) {
    return errors::PermissionDenied(worker.task(), " tells only tasks how to link to it");
  }
  response->set_protocol(kProtocolVersion);
  response->set_version(kVersion);
  response->set_job_id(options.job_id);
  response->set_task(worker.task());
  response->set_incarnation(worker.incarnation());
  bool done = options.job_done != nullptr && options.job_done();
  if (options.roll != nullptr) {
    ASSIGN_OR_RETURN(done, options.roll->CheckIn(request.from_task(), request.from_incarnation()));
    for (std::string& task : options.roll->left()) response->add_left(std::move(task));
  }
  response->set_job_done(done);
  response->set_serves_only(options.serves_only != nullptr && options.serves_only());
  for (const DeviceAttributes& device : worker.devices()) DeviceToProto(device, response->add_device());
  if (!request.want_endpoint() || options.hub == nullptr) return OkStatus();
  EndpointToProto(options.hub->endpoint(), response->mutable_endpoint());
  return OkStatus();
}

Status CreateSession(Worker* worker, const proto::CreateTaskSessionRequest& request) {
  if (request.incarnation() != 0 && request.incarnation() != worker->incarnation()) {
    return errors::Aborted(worker->task(), " was restarted since the session began");
  }
  ASSIGN_OR_RETURN(SessionOptions options, SessionOptions::FromProto(request.config()));
  ASSIGN_OR_RETURN(SessionCluster cluster, SessionCluster::Of(request.config(), request.task()));
  cluster.master = request.session_master();
  return worker->CreateSession(request.session(), options, std::move(cluster), request.isolate_state(), nullptr,
                               request.master_task(), request.master_incarnation());
}

// `role` is what callers must have at least.
template <typename Request, typename Response>
RpcMethod Method(Role role, absl::string_view name, std::function<Status(const Request&, Response*, Role caller)> run) {
  return {TaskMethod(name), &Request::default_instance(), &Response::default_instance(),
          [run = std::move(run)](RpcCall& call) {
            RunElsewhere(call, CallWait::kShort, [&run, &call] {
              call.Finish(run(call.request_as<Request>(), &call.response_as<Response>(), call.role()));
            });
          },
          role};
}

// Waits for a step that is worth a trace.
Status Trace(const TaskServiceOptions& options, RpcCall& call) {
  if (options.traces == nullptr) return errors::Unimplemented("No master here");
  constexpr int64_t kLongest = 3'600'000;
  const std::chrono::milliseconds timeout(
      std::clamp<int64_t>(call.request_as<proto::TraceRequest>().timeout_ms(), 1, kLongest));
  ASSIGN_OR_RETURN(*call.response_as<proto::TraceResponse>().mutable_step_stats(),
                   options.traces->Next(timeout, call.cancellation()));
  return OkStatus();
}

RpcMethod TraceMethod(const TaskServiceOptions& options) {
  return {TaskMethod("Trace"), &proto::TraceRequest::default_instance(), &proto::TraceResponse::default_instance(),
          [options](RpcCall& call) {
            RunElsewhere(call, CallWait::kLong, [&options, &call] { call.Finish(Trace(options, call)); });
          },
          Role::kClient};
}

Status LeaveJob(const TaskServiceOptions& options, const proto::LeaveJobRequest& request, Role caller) {
  if (request.task().empty() && options.client_left != nullptr) options.client_left();
  if (request.task().empty() || options.roll == nullptr) return OkStatus();
  if (!Includes(caller, Role::kTask)) return errors::PermissionDenied("only tasks may say that a task has left");
  options.roll->Leave(request.task(), request.incarnation());
  return OkStatus();
}

}  // namespace

std::vector<RpcMethod> TaskServiceMethods(const TaskServiceOptions& options) {
  Worker* worker = options.worker;
  return {
      Method<proto::HelloRequest, proto::HelloResponse>(Role::kClient, "Hello",
                                                        [options](const auto& request, auto* response, Role caller) {
                                                          return Hello(options, request, caller, response);
                                                        }),
      Method<proto::CreateTaskSessionRequest, proto::CreateTaskSessionResponse>(
          Role::kTask, "CreateSession",
          [worker](const auto& request, auto*, Role) { return CreateSession(worker, request); }),
      Method<proto::DeleteTaskSessionRequest, proto::DeleteTaskSessionResponse>(
          Role::kTask, "DeleteSession",
          [worker](const auto& request, auto*, Role) { return worker->DeleteSession(request.session()); }),
      Method<proto::RegisterPartRequest, proto::RegisterPartResponse>(
          Role::kTask, "RegisterPart",
          [worker](const auto& request, auto* response, Role) -> Status {
            ASSIGN_OR_RETURN(const uint32_t part, worker->Register(request));
            response->set_part(part);
            return OkStatus();
          }),
      Method<proto::DeregisterPartRequest, proto::DeregisterPartResponse>(
          Role::kTask, "DeregisterPart",
          [worker](const auto& request, auto*, Role) { return worker->Deregister(request.session(), request.part()); }),
      Method<proto::ResetTaskRequest, proto::ResetTaskResponse>(
          Role::kTask, "Reset",
          [worker](const auto& request, auto*, Role) {
            worker->Reset({request.container().begin(), request.container().end()});
            return OkStatus();
          }),
      TraceMethod(options),
      Method<google::protobuf::StringValue, google::protobuf::BytesValue>(
          Role::kClient, "Status",
          [options](const auto& request, auto* response, Role) -> Status {
            if (options.observer == nullptr) return errors::Unimplemented("This task does not report its status");
            ASSIGN_OR_RETURN(*response->mutable_value(), options.observer->Answer(request.value()));
            return OkStatus();
          }),
      Method<proto::LeaveJobRequest, proto::LeaveJobResponse>(
          Role::kClient, "LeaveJob",
          [options](const auto& request, auto*, Role caller) { return LeaveJob(options, request, caller); }),
      Method<proto::EndJobRequest, proto::EndJobResponse>(Role::kClient, "EndJob",
                                                          [options](const auto& request, auto*, Role) {
                                                            if (options.end_job != nullptr)
                                                              options.end_job(request.reason(), request.tell_late());
                                                            return OkStatus();
                                                          }),
  };
}

}  // namespace millstream
