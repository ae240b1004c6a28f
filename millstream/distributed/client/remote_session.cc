// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/client/remote_session.h"

#include <algorithm>

#include "absl/strings/strip.h"
#include "millstream/base/logging.h"
#include "millstream/base/random.h"
#include "millstream/base/untrusted_log.h"
#include "millstream/distributed/cluster/cluster_spec.h"
#include "millstream/distributed/server_options.h"
#include "millstream/graph/import/nesting.h"
#include "millstream/proto/graph.pb.h"
#include "millstream/proto/master.pb.h"
#include "millstream/tensor/tensor_proto.h"

namespace millstream {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kSayInterval = std::chrono::seconds(30);
constexpr auto kCloseTimeout = std::chrono::seconds(10);
constexpr size_t kMaxKeptMessages = 8;
constexpr size_t kMaxKeptBytes = size_t{16} << 20;

StatusOr<std::shared_ptr<RpcChannel>> ConnectTo(const SessionOptions& options) {
  absl::string_view address = options.target;
  if (!absl::ConsumePrefix(&address, "grpc://"))
    return errors::InvalidArgument("session target '", options.target, "' does not begin with grpc://");
  StatusOr<HostPort> parsed = ParseHostPort(address);
  if (!parsed.ok()) return WithContext(parsed.status(), absl::StrCat("session target '", options.target, "'"));
  ASSIGN_OR_RETURN(const RpcChannelOptions channel, ChannelOptionsFromEnvironment());
  return RpcChannel::Connect(std::string(address), channel);
}

// The server keeps the same time and knows what it waited for: its answer should be here first.
constexpr auto kTimeToAnswer = std::chrono::milliseconds(1000);

Clock::time_point DeadlineAfter(int64_t timeout_ms) {
  return timeout_ms > 0 ? Clock::now() + std::chrono::milliseconds(timeout_ms) + kTimeToAnswer
                        : Clock::time_point::max();
}

template <typename Request>
void SetIdentity(StepIdentity identity, Request* request) {
  if (identity.client == 0) return;
  request->set_millstream_client(identity.client);
  request->set_millstream_step(identity.number);
}

[[maybe_unused]] const bool kRemoteSessionsRegistered = [] {
  RegisterSessionFactory("grpc", RemoteSession::Connect);
  return true;
}();

}  // namespace

struct RemoteSession::StepMessages {
  proto::RunStepRequest request;
  proto::RunStepResponse response;
};

// Registers a call, so that Close() can cancel and await it.
class RemoteSession::RunningCall {
 public:
  RunningCall(RemoteSession* session, Cancellation* cancellation)
      : session_(session), cancellation_(cancellation != nullptr ? cancellation : &own_) {
    MutexLock lock(session_->mu_);
    closed_ = session_->closed_;
    if (!closed_) session_->running_.push_back(cancellation_);
  }
  ~RunningCall() {
    if (closed_) return;
    MutexLock lock(session_->mu_);
    session_->running_.erase(std::find(session_->running_.begin(), session_->running_.end(), cancellation_));
    if (session_->closed_) session_->calls_ended_.NotifyAll();
  }
  Status status() const { return closed_ ? errors::Cancelled("Session has been closed.") : OkStatus(); }
  Cancellation* cancellation() { return cancellation_; }

 private:
  RemoteSession* const session_;
  Cancellation own_;
  Cancellation* const cancellation_;
  bool closed_ = false;
};

StatusOr<std::unique_ptr<Session>> RemoteSession::Connect(const SessionOptions& options) {
  ASSIGN_OR_RETURN(std::shared_ptr<RpcChannel> channel, ConnectTo(options));
  return std::unique_ptr<Session>(std::make_unique<RemoteSession>(options, std::move(channel)));
}

RemoteSession::RemoteSession(const SessionOptions& options, std::shared_ptr<RpcChannel> channel)
    : options_(options), channel_(std::move(channel)), next_request_(RandomNumber()) {}

RemoteSession::~RemoteSession() { Close().IgnoreError(); }

int64_t RemoteSession::NewRequestId() {
  const uint64_t id = next_request_.fetch_add(0x9e3779b97f4a7c15u, std::memory_order_relaxed) & 0x7fffffffffffffff;
  return id == 0 ? 1 : static_cast<int64_t>(id);
}

Status RemoteSession::AwaitServer(const RpcCallOptions& options) {
  const auto start = Clock::now();
  while (true) {
    RpcCallOptions slice = options;
    slice.deadline = std::min(options.deadline, Clock::now() + kSayInterval);
    Status status = channel_->AwaitServer(slice);
    if (!absl::IsDeadlineExceeded(status) || Clock::now() >= options.deadline) return status;
    const auto waited = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - start).count();
    LogWarning(absl::StrCat("still waiting for the server ", options_.target, " to be started (for ", waited, " s)"));
  }
}

Status RemoteSession::Invoke(const char* method, const google::protobuf::Message& request,
                             google::protobuf::Message* response, int64_t timeout_ms, Cancellation* cancellation) {
  RunningCall running(this, cancellation);
  RETURN_IF_ERROR(running.status());
  RpcCallOptions call;
  call.deadline = DeadlineAfter(timeout_ms > 0 ? timeout_ms : options_.operation_timeout_ms);
  call.cancellation = running.cancellation();
  if (!channel_->connected()) RETURN_IF_ERROR(AwaitServer(call));
  return channel_->Call(method, request, response, call);
}

Status RemoteSession::CreateLocked(const proto::GraphDef& graph) {
  proto::CreateSessionRequest request;
  proto::CreateSessionResponse response;
  *request.mutable_graph_def() = graph;
  options_.ToProto(request.mutable_config());
  request.set_target(options_.target);
  RETURN_IF_ERROR(Invoke("/tensorflow.MasterService/CreateSession", request, &response));
  handle_ = response.session_handle();
  graph_version_ = response.graph_version();
  sent_.Add(graph);
  return OkStatus();
}

Status RemoteSession::ExtendLocked(const proto::GraphDef& graph) {
  if (handle_.empty()) return CreateLocked(graph);
  proto::ExtendSessionRequest request;
  proto::ExtendSessionResponse response;
  request.set_session_handle(handle_);
  *request.mutable_graph_def() = graph;
  request.set_current_graph_version(graph_version_);
  RETURN_IF_ERROR(Invoke("/tensorflow.MasterService/ExtendSession", request, &response));
  graph_version_ = response.new_graph_version();
  sent_.Add(graph);
  return OkStatus();
}

Status RemoteSession::Create(const proto::GraphDef& graph) {
  RETURN_IF_ERROR(CheckNesting(graph));
  MutexLock lock(graph_mu_);
  if (!handle_.empty()) return errors::AlreadyExists("A Graph has already been created for this session.");
  return CreateLocked(graph);
}

Status RemoteSession::Extend(const proto::GraphDef& graph) {
  RETURN_IF_ERROR(CheckNesting(graph));
  MutexLock lock(graph_mu_);
  return ExtendLocked(graph);
}

Status RemoteSession::Extend(const Graph& graph) {
  MutexLock lock(graph_mu_);
  ASSIGN_OR_RETURN(const proto::GraphDef rest, sent_.Missing(graph));
  const bool any = rest.node_size() > 0 || rest.library().function_size() > 0;
  if (!any && !handle_.empty()) return OkStatus();
  return ExtendLocked(rest);
}

StatusOr<std::string> RemoteSession::Handle() {
  MutexLock lock(graph_mu_);
  if (handle_.empty()) RETURN_IF_ERROR(CreateLocked(proto::GraphDef()));
  return handle_;
}

std::unique_ptr<RemoteSession::StepMessages> RemoteSession::TakeMessages() {
  MutexLock lock(mu_);
  if (messages_.empty()) return std::make_unique<StepMessages>();
  std::unique_ptr<StepMessages> messages = std::move(messages_.back());
  messages_.pop_back();
  return messages;
}

void RemoteSession::GiveBackMessages(std::unique_ptr<StepMessages> messages) {
  if (messages->request.ByteSizeLong() + messages->response.ByteSizeLong() > kMaxKeptBytes) return;
  messages->request.Clear();
  messages->response.Clear();
  MutexLock lock(mu_);
  if (messages_.size() < kMaxKeptMessages) messages_.push_back(std::move(messages));
}

Status RemoteSession::Run(const RunOptions& options, const Feeds& feeds, const std::vector<std::string>& fetches,
                          const std::vector<std::string>& targets, std::vector<Tensor>* outputs,
                          proto::RunMetadata* metadata) {
  std::unique_ptr<StepMessages> step = TakeMessages();
  for (const std::string& name : targets) step->request.add_target(name);
  Status status = RunStep(*step, options, feeds, fetches, outputs, metadata);
  GiveBackMessages(std::move(step));
  return status;
}

Status RemoteSession::PartialRun(const std::string& handle, const Feeds& feeds, const std::vector<std::string>& fetches,
                                 std::vector<Tensor>* outputs) {
  std::unique_ptr<StepMessages> step = TakeMessages();
  step->request.set_partial_run_handle(handle);
  Status status = RunStep(*step, RunOptions(), feeds, fetches, outputs, nullptr);
  GiveBackMessages(std::move(step));
  return status;
}

Status RemoteSession::RunStep(StepMessages& step, const RunOptions& options, const Feeds& feeds,
                              const std::vector<std::string>& fetches, std::vector<Tensor>* outputs,
                              proto::RunMetadata* metadata) {
  proto::RunStepRequest& request = step.request;
  ASSIGN_OR_RETURN(*request.mutable_session_handle(), Handle());
  for (const auto& [name, tensor] : feeds) {
    proto::NamedTensorProto* feed = request.add_feed();
    feed->set_name(name);
    RETURN_IF_ERROR(TensorToProto(tensor, feed->mutable_tensor()));
  }
  for (const std::string& name : fetches) request.add_fetch(name);
  if (options.timeout_ms > 0) request.mutable_options()->set_timeout_in_ms(options.timeout_ms);
  if (options.full_trace) request.mutable_options()->set_trace_level(proto::RunOptions::FULL_TRACE);
  request.mutable_options()->set_output_partition_graphs(options.partition_graphs);
  SetIdentity(options.identity, &request);
  request.set_store_errors_in_response_body(true);
  request.set_request_id(NewRequestId());
  proto::RunStepResponse& response = step.response;
  RETURN_IF_ERROR(
      Invoke("/tensorflow.MasterService/RunStep", request, &response, options.timeout_ms, options.cancellation));
  if (metadata != nullptr) metadata->Swap(response.mutable_metadata());
  if (response.status_code() != 0) {
    return Status(static_cast<absl::StatusCode>(response.status_code()), response.status_error_message());
  }
  if (outputs == nullptr) return OkStatus();
  outputs->clear();
  for (const std::string& name : fetches) {
    const auto found = std::find_if(response.tensor().begin(), response.tensor().end(),
                                    [&](const auto& t) { return t.name() == name; });
    if (found == response.tensor().end()) return errors::Internal("the server's answer lacks the value of ", name);
    ASSIGN_OR_RETURN(Tensor value, TensorFromProto(found->tensor(), {.max_bytes = options_.max_tensor_bytes}));
    outputs->push_back(std::move(value));
  }
  return OkStatus();
}

StatusOr<std::string> RemoteSession::PartialRunSetup(const std::vector<std::string>& feeds,
                                                     const std::vector<std::string>& fetches,
                                                     const std::vector<std::string>& targets) {
  proto::PartialRunSetupRequest request;
  proto::PartialRunSetupResponse response;
  ASSIGN_OR_RETURN(*request.mutable_session_handle(), Handle());
  for (const std::string& name : feeds) request.add_feed(name);
  for (const std::string& name : fetches) request.add_fetch(name);
  for (const std::string& name : targets) request.add_target(name);
  request.set_request_id(NewRequestId());
  RETURN_IF_ERROR(Invoke("/tensorflow.MasterService/PartialRunSetup", request, &response));
  return response.partial_run_handle();
}

StatusOr<Session::CallableHandle> RemoteSession::MakeCallable(const std::vector<std::string>& feeds,
                                                              const std::vector<std::string>& fetches,
                                                              const std::vector<std::string>& targets) {
  proto::MakeCallableRequest request;
  proto::MakeCallableResponse response;
  ASSIGN_OR_RETURN(*request.mutable_session_handle(), Handle());
  for (const std::string& name : feeds) request.mutable_options()->add_feed(name);
  for (const std::string& name : fetches) request.mutable_options()->add_fetch(name);
  for (const std::string& name : targets) request.mutable_options()->add_target(name);
  request.set_request_id(NewRequestId());
  RETURN_IF_ERROR(Invoke("/tensorflow.MasterService/MakeCallable", request, &response));
  MutexLock lock(mu_);
  callables_[response.handle()] = std::make_shared<const Callable>(Callable{feeds, fetches, targets});
  return response.handle();
}

Status RemoteSession::RunCallable(CallableHandle handle, const std::vector<Tensor>& feeds, std::vector<Tensor>* outputs,
                                  const RunOptions& options, proto::RunMetadata* metadata) {
  std::shared_ptr<const Callable> callable;
  {
    MutexLock lock(mu_);
    auto it = callables_.find(handle);
    if (it == callables_.end()) return errors::InvalidArgument("No such callable handle: ", handle);
    callable = it->second;
  }
  // The message has no room for options: a step that needs some goes by names.
  if (options.full_trace || options.partition_graphs || options.timeout_ms > 0) {
    if (feeds.size() != callable->feeds.size()) {
      return errors::InvalidArgument("Expected ", callable->feeds.size(), " feed tensors, but got ", feeds.size());
    }
    Feeds named;
    for (size_t i = 0; i < feeds.size(); ++i) named.emplace_back(callable->feeds[i], feeds[i]);
    return Run(options, named, callable->fetches, callable->targets, outputs, metadata);
  }
  const size_t num_fetches = callable->fetches.size();
  proto::RunCallableRequest request;
  proto::RunCallableResponse response;
  ASSIGN_OR_RETURN(*request.mutable_session_handle(), Handle());
  request.set_handle(handle);
  for (const Tensor& tensor : feeds) RETURN_IF_ERROR(TensorToProto(tensor, request.add_feed()));
  SetIdentity(options.identity, &request);
  request.set_request_id(NewRequestId());
  RETURN_IF_ERROR(
      Invoke("/tensorflow.MasterService/RunCallable", request, &response, options.timeout_ms, options.cancellation));
  if (metadata != nullptr) metadata->Swap(response.mutable_metadata());
  if (static_cast<size_t>(response.fetch_size()) != num_fetches) {
    return errors::Internal("the server answered ", response.fetch_size(), " values where ", num_fetches,
                            " are fetched");
  }
  if (outputs == nullptr) return OkStatus();
  outputs->clear();
  for (const proto::TensorProto& tensor : response.fetch()) {
    ASSIGN_OR_RETURN(Tensor value, TensorFromProto(tensor, {.max_bytes = options_.max_tensor_bytes}));
    outputs->push_back(std::move(value));
  }
  return OkStatus();
}

Status RemoteSession::ReleaseCallable(CallableHandle handle) {
  {
    MutexLock lock(mu_);
    if (callables_.erase(handle) == 0) return errors::InvalidArgument("No such callable handle: ", handle);
  }
  proto::ReleaseCallableRequest request;
  proto::ReleaseCallableResponse response;
  ASSIGN_OR_RETURN(*request.mutable_session_handle(), Handle());
  request.set_handle(handle);
  return Invoke("/tensorflow.MasterService/ReleaseCallable", request, &response);
}

std::vector<DeviceAttributes> RemoteSession::ListDevices() {
  proto::ListDevicesRequest request;
  proto::ListDevicesResponse response;
  StatusOr<std::string> handle = Handle();
  Status status = handle.status();
  if (status.ok()) {
    request.set_session_handle(*handle);
    status = Invoke("/tensorflow.MasterService/ListDevices", request, &response);
  }
  if (!status.ok())
    LogWarning(absl::StrCat("cannot list the devices of ", options_.target, ": ", EscapeUntrusted(status.ToString())));
  std::vector<DeviceAttributes> all;
  for (const auto* devices : {&response.local_device(), &response.remote_device()}) {
    for (const proto::DeviceAttributes& device : *devices) {
      all.push_back({device.name(), device.device_type(), device.memory_limit(), device.incarnation(),
                     device.physical_device_desc()});
    }
  }
  return all;
}

Status RemoteSession::Close() {
  {
    MutexLock lock(mu_);
    if (std::exchange(closed_, true)) return OkStatus();
    for (Cancellation* call : running_) call->StartCancel(errors::Cancelled("Session was closed."));
    while (!running_.empty()) calls_ended_.Wait(mu_);
  }
  proto::CloseSessionRequest request;
  proto::CloseSessionResponse response;
  MutexLock lock(graph_mu_);
  if (handle_.empty()) return OkStatus();
  request.set_session_handle(handle_);
  RpcCallOptions call;
  call.deadline = Clock::now() + kCloseTimeout;
  return channel_->Call("/tensorflow.MasterService/CloseSession", request, &response, call);
}

Status ResetRemote(const SessionOptions& options, const std::vector<std::string>& containers) {
  ASSIGN_OR_RETURN(const std::shared_ptr<RpcChannel> channel, ConnectTo(options));
  proto::ResetRequest request;
  proto::ResetResponse response;
  for (const std::string& name : containers) request.add_container(name);
  if (options.config != nullptr) *request.mutable_device_filters() = options.config->device_filters();
  RpcCallOptions call;
  call.deadline = DeadlineAfter(options.operation_timeout_ms);
  call.wait_for_ready = true;
  return channel->Call("/tensorflow.MasterService/Reset", request, &response, call);
}

}  // namespace millstream
