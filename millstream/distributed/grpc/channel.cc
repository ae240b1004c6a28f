// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/grpc/channel.h"

#include <grpc/grpc_security.h>
#include <grpc/support/time.h>

#include <mutex>

#include "absl/strings/match.h"
#include "millstream/distributed/grpc/core.h"
#include "millstream/distributed/link/known_host.h"

namespace millstream {
namespace {

// One call, from the batch that starts it to what came back.
class ClientCall {
 public:
  ClientCall(grpc_call* call, std::shared_ptr<const std::string> address, Cancellation* cancellation)
      : call_(call, grpc_call_unref), address_(std::move(address)), cancellation_(cancellation) {
    grpc_metadata_array_init(&initial_);
    grpc_metadata_array_init(&trailing_);
    details_ = grpc_empty_slice();
  }
  ~ClientCall() {
    grpc_metadata_array_destroy(&initial_);
    grpc_metadata_array_destroy(&trailing_);
    grpc_slice_unref(details_);
    grpc_byte_buffer_destroy(answer_);
  }
  ClientCall(const ClientCall&) = delete;
  ClientCall& operator=(const ClientCall&) = delete;

  // Takes `request`.
  void Start(grpc_byte_buffer* request, size_t num_metadata, grpc_metadata* metadata, bool wait_for_ready, void* tag) {
    grpc_op ops[6] = {};
    ops[0].op = GRPC_OP_SEND_INITIAL_METADATA;
    ops[0].data.send_initial_metadata.count = num_metadata;
    ops[0].data.send_initial_metadata.metadata = metadata;
    ops[0].flags =
        wait_for_ready ? GRPC_INITIAL_METADATA_WAIT_FOR_READY | GRPC_INITIAL_METADATA_WAIT_FOR_READY_EXPLICITLY_SET : 0;
    ops[1].op = GRPC_OP_SEND_MESSAGE;
    ops[1].data.send_message.send_message = request;
    ops[2].op = GRPC_OP_SEND_CLOSE_FROM_CLIENT;
    ops[3].op = GRPC_OP_RECV_INITIAL_METADATA;
    ops[3].data.recv_initial_metadata.recv_initial_metadata = &initial_;
    ops[4].op = GRPC_OP_RECV_MESSAGE;
    ops[4].data.recv_message.recv_message = &answer_;
    ops[5].op = GRPC_OP_RECV_STATUS_ON_CLIENT;
    ops[5].data.recv_status_on_client.trailing_metadata = &trailing_;
    ops[5].data.recv_status_on_client.status = &code_;
    ops[5].data.recv_status_on_client.status_details = &details_;
    if (cancellation_ != nullptr) {
      // The callback holds the call, so it need not be waited for.
      const auto cancel = [call = call_] { grpc_call_cancel(call.get(), nullptr); };
      if (!cancellation_->Register(cancel, &token_)) {
        cancel();
        cancellation_registered_ = false;
      }
    }
    StartBatch(call_.get(), ops, tag);
    grpc_byte_buffer_destroy(request);
  }

  // After the batch is done.
  Status End(google::protobuf::Message* response) {
    if (cancellation_ != nullptr && cancellation_registered_) cancellation_->TryDeregister(token_);
    if (code_ == GRPC_STATUS_OK) {
      if (ParseFromBuffer(answer_, response)) return OkStatus();
      return errors::Internal("the answer of ", *address_, " is not a ", response->GetTypeName());
    }
    if (code_ == GRPC_STATUS_CANCELLED && cancellation_ != nullptr && cancellation_->IsCancelled())
      return cancellation_->status();
    const Status status = FromGrpcStatus(code_, ViewOf(details_));
    if (!absl::IsUnavailable(status) || absl::StartsWith(status.message(), *address_)) return status;
    return WithContext(status, *address_);
  }

 private:
  const std::shared_ptr<grpc_call> call_;
  const std::shared_ptr<const std::string> address_;
  Cancellation* const cancellation_;
  Cancellation::Token token_ = 0;
  bool cancellation_registered_ = true;
  grpc_metadata_array initial_, trailing_;
  grpc_byte_buffer* answer_ = nullptr;
  grpc_status_code code_ = GRPC_STATUS_UNKNOWN;
  grpc_slice details_;
};

struct AsyncCall {
  ClientCall call;
  google::protobuf::Message* response;
  std::function<void(Status)> done;
  GrpcTag tag = {OnDone, this};

  static void OnDone(void* self, bool) {
    const std::unique_ptr<AsyncCall> call(static_cast<AsyncCall*>(self));
    ClientLoop().Unhold();
    call->done(call->call.End(call->response));
  }
};

// What gRPC can resolve.
std::string TargetOf(const std::string& address) {
  const size_t colon = address.rfind(':');
  return colon == std::string::npos ? address : KnownHost(address.substr(0, colon)) + address.substr(colon);
}

}  // namespace

EventLoop& ClientLoop() {
  static EventLoop* const loop = new EventLoop(std::chrono::microseconds(0), /*held=*/true);
  return *loop;
}

StatusOr<std::shared_ptr<RpcChannel>> RpcChannel::Connect(const std::string& address,
                                                          const RpcChannelOptions& options) {
  InitGrpc();
  if (address.empty()) return errors::InvalidArgument("the address to connect to is empty");
  ASSIGN_OR_RETURN(grpc_channel_credentials* const credentials, MakeChannelCredentials(options.tls));
  auto channel = std::make_shared<GrpcChannel>(address, options, credentials);
  grpc_channel_credentials_release(credentials);
  return channel;
}

GrpcChannel::GrpcChannel(const std::string& address, const RpcChannelOptions& options,
                         grpc_channel_credentials* credentials)
    : address_(std::make_shared<const std::string>(address)), token_(options.token) {
  GrpcArgs args;
  args.Add(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, -1);
  args.Add(GRPC_ARG_MAX_SEND_MESSAGE_LENGTH, -1);
  args.Add(GRPC_ARG_ENABLE_HTTP_PROXY, 0);  // tasks of a cluster reach each other directly
  args.Add(GRPC_ARG_ENABLE_RETRIES, 0);
  args.Add(GRPC_ARG_ENABLE_CHANNELZ, 0);
  // A restarted task is found again at once.
  args.Add(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  args.Add(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  // So long one attempt may take: a host that was down and swallowed the first packets is tried again soon.
  args.Add(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 5000);
  // A peer whose host is gone is noticed even while a call waits.
  args.Add(GRPC_ARG_KEEPALIVE_TIME_MS, 20000);
  args.Add(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20000);
  args.Add(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  if (!options.tls.server_name.empty()) args.Add(GRPC_SSL_TARGET_NAME_OVERRIDE_ARG, options.tls.server_name);
  channel_ = grpc_channel_create(TargetOf(address).c_str(), credentials, args.get());
  token_metadata_.key = grpc_slice_from_static_string(kRpcTokenKey);
  token_metadata_.value = grpc_slice_from_copied_buffer(token_.data(), token_.size());  // calls may outlive the channel
}

GrpcChannel::~GrpcChannel() {
  grpc_slice_unref(token_metadata_.value);
  grpc_channel_destroy(channel_);
  MutexLock lock(mu_);
  for (grpc_completion_queue* queue : queues_) {
    grpc_completion_queue_shutdown(queue);
    grpc_completion_queue_destroy(queue);
  }
}

void* GrpcChannel::RegisteredCall(const std::string& path) {
  {
    std::shared_lock lock(paths_mu_);
    auto it = paths_.find(path);
    if (it != paths_.end()) return it->second;
  }
  std::unique_lock lock(paths_mu_);
  void*& handle = paths_[path];
  if (handle == nullptr) handle = grpc_channel_register_call(channel_, path.c_str(), nullptr, nullptr);
  return handle;
}

grpc_call* GrpcChannel::StartCall(const std::string& path, grpc_completion_queue* queue,
                                  const RpcCallOptions& options) {
  return grpc_channel_create_registered_call(channel_, nullptr, 0, queue, RegisteredCall(path),
                                             ToGprTime(options.deadline), nullptr);
}

Status GrpcChannel::Call(const std::string& path, const google::protobuf::Message& request,
                         google::protobuf::Message* response, const RpcCallOptions& options) {
  ASSIGN_OR_RETURN(grpc_byte_buffer* const message, SerializeToBuffer(request));
  grpc_completion_queue* const queue = TakeQueue();
  Status status;
  {
    ClientCall call(StartCall(path, queue, options), address_, options.cancellation);
    call.Start(message, num_metadata(), metadata(), options.wait_for_ready, &call);
    grpc_completion_queue_pluck(queue, &call, gpr_inf_future(GPR_CLOCK_MONOTONIC), nullptr);
    status = call.End(response);
  }
  GiveBackQueue(queue);
  return status;
}

void GrpcChannel::CallAsync(const std::string& path, const google::protobuf::Message& request,
                            google::protobuf::Message* response, const RpcCallOptions& options,
                            std::function<void(Status)> done) {
  StatusOr<grpc_byte_buffer*> message = SerializeToBuffer(request);
  if (!message.ok()) return done(message.status());
  auto* call = new AsyncCall{
      {StartCall(path, ClientLoop().queue(), options), address_, options.cancellation}, response, std::move(done)};
  ClientLoop().Hold();
  call->call.Start(*message, num_metadata(), metadata(), options.wait_for_ready, &call->tag);
}

bool GrpcChannel::connected() {
  return grpc_channel_check_connectivity_state(channel_, /*try_to_connect=*/1) == GRPC_CHANNEL_READY;
}

Status GrpcChannel::AwaitServer(const RpcCallOptions& options) {
  using Clock = std::chrono::steady_clock;
  constexpr auto kLookInterval = std::chrono::milliseconds(100);  // for a cancellation
  grpc_completion_queue* const queue = TakeQueue();
  Status status;
  while (true) {
    const grpc_connectivity_state state = grpc_channel_check_connectivity_state(channel_, /*try_to_connect=*/1);
    if (state == GRPC_CHANNEL_READY) break;
    if (options.cancellation != nullptr && options.cancellation->IsCancelled())
      status = options.cancellation->status();
    else if (Clock::now() >= options.deadline)
      status = errors::DeadlineExceeded(*address_, ": no server there in time");
    if (!status.ok()) break;
    const gpr_timespec until = ToGprTime(std::min(options.deadline, Clock::now() + kLookInterval));
    grpc_channel_watch_connectivity_state(channel_, state, until, queue, &status);
    grpc_completion_queue_pluck(queue, &status, gpr_inf_future(GPR_CLOCK_MONOTONIC), nullptr);
  }
  GiveBackQueue(queue);
  return status;
}

grpc_completion_queue* GrpcChannel::TakeQueue() {
  {
    MutexLock lock(mu_);
    if (!queues_.empty()) {
      grpc_completion_queue* queue = queues_.back();
      queues_.pop_back();
      return queue;
    }
  }
  return grpc_completion_queue_create_for_pluck(nullptr);
}

void GrpcChannel::GiveBackQueue(grpc_completion_queue* queue) {
  MutexLock lock(mu_);
  queues_.push_back(queue);
}

}  // namespace millstream
