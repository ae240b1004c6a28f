// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/grpc/channel.h"

#include <algorithm>

#include "millstream/distributed/grpc/client_runtime.h"

namespace millstream {
namespace {

// A restarted task is found again at once.
constexpr std::chrono::milliseconds kFirstBackoff(100), kLongestBackoff(1000);
// So long one attempt may take: a host that was down and swallowed the first packets is tried again soon.
constexpr std::chrono::seconds kAttemptTime(5);
constexpr std::chrono::milliseconds kLookInterval(100);  // for a cancellation

}  // namespace

ClientRuntime& Client() {
  static ClientRuntime* const runtime = new ClientRuntime();
  return *runtime;
}

ChannelState::~ChannelState() {
  if (connection_ != nullptr) connection_->Release();
}

bool ChannelState::Begin() {
  if (connecting_) return true;
  if (Clock::now() < retry_at_) return false;
  connecting_ = true;
  if (connection_ != nullptr) connection_->Release();
  connection_ = nullptr;
  Client().connectors.Run(this, [self = shared_from_this()] { self->Connect(); });
  return true;
}

void ChannelState::Connect() {
  StatusOr<std::shared_ptr<ClientConnection>> connection = ClientConnection::Dial(target_, Clock::now() + kAttemptTime);
  std::vector<Waiting> waiting;
  Status failure;
  {
    MutexLock lock(mu_);
    connecting_ = false;
    ++attempts_;
    if (connection.ok()) {
      connection_ = *connection;
      failure_ = errors::Unavailable(*target_.address, ": the connection was lost");  // once it is no more
      backoff_ = std::chrono::milliseconds(0);
      retry_at_ = {};
      waiting.swap(waiting_);
    } else {
      failure = failure_ = WithContext(connection.status(), *target_.address);
      backoff_ = std::clamp(backoff_ * 8 / 5, kFirstBackoff, kLongestBackoff);
      retry_at_ = Clock::now() + backoff_;
      const auto stay = std::stable_partition(waiting_.begin(), waiting_.end(), [&](const Waiting& each) {
        return each.wait_for_ready && absl::IsUnavailable(failure);
      });
      waiting.assign(std::make_move_iterator(stay), std::make_move_iterator(waiting_.end()));
      waiting_.erase(stay, waiting_.end());
      if (!waiting_.empty()) Client().timers.Add(retry_at_, [self = shared_from_this()] { self->Retry(); });
    }
    changed_.NotifyAll();
  }
  for (Waiting& each : waiting) each.start(connection.ok() ? connection : failure);
}

void ChannelState::Retry() {
  MutexLock lock(mu_);
  if (!waiting_.empty() && !IsConnected()) Begin();
}

std::shared_ptr<ClientConnection> ChannelState::Try() {
  MutexLock lock(mu_);
  if (IsConnected()) return connection_;
  Begin();
  return nullptr;
}

StatusOr<std::shared_ptr<ClientConnection>> ChannelState::Get(const RpcCallOptions& options) {
  MutexLock lock(mu_);
  const uint64_t before = attempts_;
  while (!IsConnected()) {
    if (options.cancellation != nullptr && options.cancellation->IsCancelled()) return options.cancellation->status();
    const Clock::time_point now = Clock::now();
    if (now >= options.deadline) return errors::DeadlineExceeded(*target_.address, ": no server there in time");
    const bool again = options.wait_for_ready && absl::IsUnavailable(failure_);
    const bool connecting = (attempts_ == before || again) && Begin();
    // Waiting helps against an outage alone.
    const bool waits = options.wait_for_ready && (attempts_ == before || absl::IsUnavailable(failure_));
    if (!connecting && !waits) return failure_;
    Clock::time_point until = connecting ? Clock::time_point::max() : retry_at_;
    if (options.cancellation != nullptr) until = std::min(until, now + kLookInterval);
    changed_.WaitUntil(mu_, std::min({until, options.deadline, now + std::chrono::hours(1)}));
  }
  return connection_;
}

void ChannelState::GetAsync(bool wait_for_ready, Start start) {
  StatusOr<std::shared_ptr<ClientConnection>> outcome;
  {
    MutexLock lock(mu_);
    if (IsConnected()) {
      outcome = connection_;
    } else if (Begin() || wait_for_ready) {
      if (!connecting_) Client().timers.Add(retry_at_, [self = shared_from_this()] { self->Retry(); });
      waiting_.push_back({wait_for_ready, std::move(start)});
      return;
    } else {
      outcome = failure_;
    }
  }
  start(std::move(outcome));
}

void ChannelState::StartAsync(const std::shared_ptr<ClientCall>& call, const std::string& path, bool wait_for_ready,
                              Clock::time_point deadline) {
  GetAsync(wait_for_ready, [self = shared_from_this(), call, path, wait_for_ready, deadline](auto connection) {
    if (!connection.ok()) return call->Fail(connection.status());
    if (!call->Start(*connection, path, deadline).ok()) return self->StartAsync(call, path, wait_for_ready, deadline);
    (*connection)->LeaveToLoop();
  });
}

StatusOr<std::shared_ptr<RpcChannel>> RpcChannel::Connect(const std::string& address,
                                                          const RpcChannelOptions& options) {
  if (address.empty()) return errors::InvalidArgument("the address to connect to is empty");
  ClientTarget target;
  target.address = std::make_shared<const std::string>(address);
  target.options = options;
  if (options.tls.enabled()) {
    ASSIGN_OR_RETURN(target.tls, TlsContext::Load(options.tls, TlsContext::Side::kClient));
  }
  return std::shared_ptr<RpcChannel>(std::make_shared<GrpcChannel>(std::move(target)));
}

GrpcChannel::GrpcChannel(ClientTarget target) : state_(std::make_shared<ChannelState>(std::move(target))) {}

Status GrpcChannel::Call(const std::string& path, const google::protobuf::Message& request,
                         google::protobuf::Message* response, const RpcCallOptions& options) {
  ASSIGN_OR_RETURN(OutgoingMessage message, SerializeMessage(request));
  for (;;) {  // a connection that is being closed, so that the call was not looked at, is no reason to fail
    const auto call = std::make_shared<ClientCall>(state_->target().address, message, response);
    ASSIGN_OR_RETURN(const std::shared_ptr<ClientConnection> connection, state_->Get(options));
    if (!call->Start(connection, path, options.deadline).ok()) continue;
    call->Watch(options.cancellation);
    connection->Await(*call, options.deadline);
    const Status outcome = call->TakeOutcome();
    if (!call->was_refused()) return outcome;
  }
}

void GrpcChannel::CallAsync(const std::string& path, const google::protobuf::Message& request,
                            google::protobuf::Message* response, const RpcCallOptions& options,
                            std::function<void(Status)> done) {
  StatusOr<OutgoingMessage> message = SerializeMessage(request);
  if (!message.ok()) return done(message.status());
  const auto call = std::make_shared<ClientCall>(state_->target().address, *std::move(message), response);
  call->SetDone(std::move(done));
  call->Watch(options.cancellation);
  call->SetDeadline(options.deadline);
  const auto start = [state = state_, path, wait = options.wait_for_ready,
                      deadline = options.deadline](const std::shared_ptr<ClientCall>& started) {
    state->StartAsync(started, path, wait, deadline);
  };
  call->SetRetry([start, weak = std::weak_ptr<ClientCall>(call)] {
    if (const std::shared_ptr<ClientCall> again = weak.lock()) start(again);
  });
  start(call);
}

Status GrpcChannel::AwaitServer(const RpcCallOptions& options) {
  RpcCallOptions wait = options;
  wait.wait_for_ready = true;
  return state_->Get(wait).status();
}

}  // namespace millstream
