// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/master/master_service.h"

#include "millstream/distributed/wire/device_proto.h"
#include "millstream/distributed/wire/run_elsewhere.h"
#include "millstream/proto/master.pb.h"
#include "millstream/tensor/tensor_proto.h"

namespace millstream {
namespace {

using Names = std::vector<std::string>;

template <typename Field>
Names NamesOf(const Field& field) {
  return Names(field.begin(), field.end());
}

RunOptions OptionsOf(const proto::RunOptions& message, RpcCall& call) {
  RunOptions options;
  options.timeout_ms = message.timeout_in_ms();
  options.full_trace = message.trace_level() > proto::RunOptions::NO_TRACE;
  options.partition_graphs = message.output_partition_graphs();
  options.cancellation = call.cancellation();
  return options;
}

// The session of a call, whose client lives.
StatusOr<std::shared_ptr<MasterSession>> FindSession(Master* master, RpcCall& call, const std::string& handle) {
  ASSIGN_OR_RETURN(std::shared_ptr<MasterSession> session, master->Find(handle));
  session->client().Called(call);
  return session;
}

// A feed may be as large as a message can be.
constexpr TensorDecodeOptions kFeedLimits{.max_bytes = int64_t{64} << 30, .budget = nullptr};

Status CreateSession(Master* master, RpcCall& call) {
  const auto& request = call.request_as<proto::CreateSessionRequest>();
  auto& response = call.response_as<proto::CreateSessionResponse>();
  RETURN_IF_ERROR(master->CheckQuota(call));
  ASSIGN_OR_RETURN(std::shared_ptr<MasterSession> session,
                   master->Open(request.config(), request.target(), call.cancellation()));
  session->client().Called(call);
  Status status = session->AwaitTasksOf(request.graph_def(), call.cancellation());
  if (status.ok()) status = session->Create(request.graph_def());
  // The answer must reach somebody who will close the session.
  if (status.ok() && call.cancellation()->IsCancelled()) status = call.cancellation()->status();
  if (!status.ok()) {
    master->Close(session->handle()).IgnoreError();
    return status;
  }
  response.set_session_handle(session->handle());
  response.set_graph_version(session->graph().version());
  return OkStatus();
}

Status ExtendSession(Master* master, RpcCall& call) {
  const auto& request = call.request_as<proto::ExtendSessionRequest>();
  ASSIGN_OR_RETURN(std::shared_ptr<MasterSession> session, FindSession(master, call, request.session_handle()));
  RETURN_IF_ERROR(session->AwaitTasksOf(request.graph_def(), call.cancellation()));
  int64_t version = request.current_graph_version();
  RETURN_IF_ERROR(session->graph().ExtendVersion(request.graph_def(), &version));
  call.response_as<proto::ExtendSessionResponse>().set_new_graph_version(version);
  return OkStatus();
}

Status PartialRunSetup(Master* master, RpcCall& call) {
  const auto& request = call.request_as<proto::PartialRunSetupRequest>();
  ASSIGN_OR_RETURN(std::shared_ptr<MasterSession> session, FindSession(master, call, request.session_handle()));
  ASSIGN_OR_RETURN(std::string handle, session->PartialRunSetup(NamesOf(request.feed()), NamesOf(request.fetch()),
                                                                NamesOf(request.target())));
  call.response_as<proto::PartialRunSetupResponse>().set_partial_run_handle(std::move(handle));
  return OkStatus();
}

Status CloseSession(Master* master, RpcCall& call) {
  return master->Close(call.request_as<proto::CloseSessionRequest>().session_handle());
}

Status ListDevices(Master* master, RpcCall& call) {
  const auto& request = call.request_as<proto::ListDevicesRequest>();
  auto& response = call.response_as<proto::ListDevicesResponse>();
  std::vector<DeviceAttributes> devices;
  std::string here = master->task();
  if (request.session_handle().empty()) {
    ASSIGN_OR_RETURN(devices, master->ListDevices({}, call.cancellation()));
  } else {
    ASSIGN_OR_RETURN(std::shared_ptr<MasterSession> session, FindSession(master, call, request.session_handle()));
    session->LookForAbsentTasks(call.cancellation());
    devices = session->ListDevices();
    here = session->local_task();
  }
  here += '/';
  for (const DeviceAttributes& device : devices) {
    const bool local = device.name.compare(0, here.size(), here) == 0;
    DeviceToProto(device, local ? response.add_local_device() : response.add_remote_device());
  }
  return OkStatus();
}

Status Reset(Master* master, RpcCall& call) {
  const auto& request = call.request_as<proto::ResetRequest>();
  return master->Reset(NamesOf(request.container()), NamesOf(request.device_filters()), call.cancellation());
}

Status MakeCallable(Master* master, RpcCall& call) {
  const auto& request = call.request_as<proto::MakeCallableRequest>();
  ASSIGN_OR_RETURN(std::shared_ptr<MasterSession> session, FindSession(master, call, request.session_handle()));
  const proto::CallableOptions& options = request.options();
  if (options.tensor_connection_size() > 0) return errors::Unimplemented("CallableOptions.tensor_connection");
  ASSIGN_OR_RETURN(const Session::CallableHandle handle,
                   session->MakeCallable(NamesOf(options.feed()), NamesOf(options.fetch()), NamesOf(options.target())));
  call.response_as<proto::MakeCallableResponse>().set_handle(handle);
  return OkStatus();
}

Status ReleaseCallable(Master* master, RpcCall& call) {
  const auto& request = call.request_as<proto::ReleaseCallableRequest>();
  ASSIGN_OR_RETURN(std::shared_ptr<MasterSession> session, FindSession(master, call, request.session_handle()));
  return session->ReleaseCallable(request.handle());
}

void RunCallable(Master* master, RpcCall& call) {
  const auto& request = call.request_as<proto::RunCallableRequest>();
  StatusOr<std::shared_ptr<MasterSession>> session = FindSession(master, call, request.session_handle());
  if (!session.ok()) return call.Finish(session.status());
  std::vector<Tensor> feeds;
  for (const proto::TensorProto& feed : request.feed()) {
    StatusOr<Tensor> tensor = TensorFromProto(feed, kFeedLimits);
    if (!tensor.ok()) return call.Finish(tensor.status());
    feeds.push_back(*std::move(tensor));
  }
  RunOptions options;
  options.cancellation = call.cancellation();
  options.identity = {request.millstream_client(), request.millstream_step()};
  (*session)->RunCallableAsync(request.handle(), std::move(feeds), options, nullptr,
                               [&call, keep = *session](Status status, std::vector<Tensor> outputs) {
                                 auto& response = call.response_as<proto::RunCallableResponse>();
                                 for (size_t i = 0; status.ok() && i < outputs.size(); ++i) {
                                   status = TensorToProto(outputs[i], response.add_fetch());
                                 }
                                 call.Finish(std::move(status));
                               });
}

// RunStep.

// Most clients want the error of a step in the body: the call itself went well.
void FinishStep(RpcCall& call, Status status) {
  auto& response = call.response_as<proto::RunStepResponse>();
  if (status.ok() || !call.request_as<proto::RunStepRequest>().store_errors_in_response_body())
    return call.Finish(std::move(status));
  response.clear_tensor();
  response.set_status_code(static_cast<proto::error::Code>(status.code()));
  response.set_status_error_message(std::string(status.message()));
  call.Finish(OkStatus());
}

void AnswerStep(RpcCall& call, Status status, const std::vector<Tensor>& outputs) {
  const auto& request = call.request_as<proto::RunStepRequest>();
  auto& response = call.response_as<proto::RunStepResponse>();
  for (size_t i = 0; status.ok() && i < outputs.size(); ++i) {
    proto::NamedTensorProto* named = response.add_tensor();
    named->set_name(request.fetch(static_cast<int>(i)));
    status = TensorToProto(outputs[i], named->mutable_tensor());
  }
  FinishStep(call, std::move(status));
}

Status FeedsOf(const proto::RunStepRequest& request, Session::Feeds* feeds) {
  feeds->reserve(static_cast<size_t>(request.feed_size()));
  for (const proto::NamedTensorProto& feed : request.feed()) {
    StatusOr<Tensor> tensor = TensorFromProto(feed.tensor(), kFeedLimits);
    if (!tensor.ok()) return WithContext(tensor.status(), absl::StrCat("Feed ", feed.name()));
    feeds->emplace_back(feed.name(), *std::move(tensor));
  }
  return OkStatus();
}

void RunStep(Master* master, RpcCall& call) {
  const auto& request = call.request_as<proto::RunStepRequest>();
  StatusOr<std::shared_ptr<MasterSession>> session = FindSession(master, call, request.session_handle());
  if (!session.ok()) return FinishStep(call, session.status());
  Session::Feeds feeds;
  if (Status status = FeedsOf(request, &feeds); !status.ok()) return FinishStep(call, std::move(status));
  if (!request.partial_run_handle().empty()) {
    return RunElsewhere(call, CallWait::kLong, [&call, session = *session, feeds = std::move(feeds)] {
      const auto& request = call.request_as<proto::RunStepRequest>();
      std::vector<Tensor> outputs;
      Status status = session->PartialRun(request.partial_run_handle(), feeds, NamesOf(request.fetch()), &outputs,
                                          call.cancellation());
      AnswerStep(call, std::move(status), outputs);
    });
  }
  RunOptions options = OptionsOf(request.options(), call);
  options.identity = {request.millstream_client(), request.millstream_step()};
  // Made where there may be something to say: a message on the heap is not free.
  const bool wanted = options.full_trace || options.partition_graphs || (*session)->builds_cost_model();
  proto::RunMetadata* metadata = wanted ? call.response_as<proto::RunStepResponse>().mutable_metadata() : nullptr;
  (*session)->RunAsync(options, feeds, NamesOf(request.fetch()), NamesOf(request.target()), metadata,
                       [&call, keep = *session](Status status, std::vector<Tensor> outputs) {
                         AnswerStep(call, std::move(status), outputs);
                       });
}

template <typename Request, typename Response>
RpcMethod Answered(absl::string_view name, Master* master, Status (*run)(Master*, RpcCall&),
                   CallWait wait = CallWait::kShort) {
  return {MasterMethod(name), &Request::default_instance(), &Response::default_instance(),
          [master, run, wait](RpcCall& call) {
            RunElsewhere(call, wait, [master, run, &call] { call.Finish(run(master, call)); });
          },
          Role::kClient};
}

template <typename Request, typename Response>
RpcMethod AnsweredLater(absl::string_view name, Master* master, void (*run)(Master*, RpcCall&)) {
  return {MasterMethod(name), &Request::default_instance(), &Response::default_instance(),
          [master, run](RpcCall& call) { run(master, call); }, Role::kClient};
}

}  // namespace

std::string MasterMethod(absl::string_view method) { return absl::StrCat("/tensorflow.MasterService/", method); }

std::vector<RpcMethod> MasterServiceMethods(Master* master) {
  return {
      Answered<proto::CreateSessionRequest, proto::CreateSessionResponse>("CreateSession", master, &CreateSession,
                                                                          CallWait::kLong),
      Answered<proto::ExtendSessionRequest, proto::ExtendSessionResponse>("ExtendSession", master, &ExtendSession),
      Answered<proto::PartialRunSetupRequest, proto::PartialRunSetupResponse>("PartialRunSetup", master,
                                                                              &PartialRunSetup),
      AnsweredLater<proto::RunStepRequest, proto::RunStepResponse>("RunStep", master, &RunStep),
      Answered<proto::CloseSessionRequest, proto::CloseSessionResponse>("CloseSession", master, &CloseSession),
      Answered<proto::ListDevicesRequest, proto::ListDevicesResponse>("ListDevices", master, &ListDevices,
                                                                      CallWait::kLong),
      Answered<proto::ResetRequest, proto::ResetResponse>("Reset", master, &Reset, CallWait::kLong),
      Answered<proto::MakeCallableRequest, proto::MakeCallableResponse>("MakeCallable", master, &MakeCallable),
      AnsweredLater<proto::RunCallableRequest, proto::RunCallableResponse>("RunCallable", master, &RunCallable),
      Answered<proto::ReleaseCallableRequest, proto::ReleaseCallableResponse>("ReleaseCallable", master,
                                                                              &ReleaseCallable),
  };
}

}  // namespace millstream
