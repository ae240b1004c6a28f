// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/grpc/client_call.h"

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <limits>

#include "absl/strings/match.h"
#include "millstream/distributed/grpc/client_connection.h"
#include "millstream/distributed/grpc/client_runtime.h"
#include "millstream/distributed/grpc/protocol.h"

namespace millstream {

using Clock = std::chrono::steady_clock;

ClientCall::ClientCall(std::shared_ptr<const std::string> address, OutgoingMessage request,
                       google::protobuf::Message* response)
    : address_(std::move(address)),
      response_(response),
      request_(std::move(request)),
      answer_(std::numeric_limits<int32_t>::max(), nullptr) {}

void ClientCall::Watch(Cancellation* cancellation) {
  if (cancellation == nullptr) return;
  // The callback holds the call, so it need not be waited for.
  const auto cancel = [self = shared_from_this(), cancellation] { self->GiveUp(cancellation->status()); };
  if (cancellation->Register(cancel, &token_))
    cancellation_ = cancellation;
  else
    GiveUp(cancellation->status());
}

void ClientCall::SetDeadline(Clock::time_point deadline) {
  if (deadline == Clock::time_point::max()) return;
  std::weak_ptr<ClientCall> weak = weak_from_this();
  deadline_ = Client().timers.Add(deadline, [weak] {
    if (const std::shared_ptr<ClientCall> call = weak.lock())
      call->GiveUp(errors::DeadlineExceeded("Deadline Exceeded"));
  });
}

Status ClientCall::Start(const std::shared_ptr<ClientConnection>& connection, const std::string& path,
                         Clock::time_point deadline) {
  {
    MutexLock lock(mu_);
    if (ending_) return OkStatus();
    connection_ = connection;
  }
  return connection->StartCall(shared_from_this(), path, deadline);
}

void ClientCall::GiveUp(const Status& why) {
  std::shared_ptr<ClientConnection> connection;
  {
    MutexLock lock(mu_);
    if (ending_) return;
    connection = connection_.lock();
  }
  const auto end = [&](Http2Session& session) {
    if (id() != 0 && !closed_ && !ended()) session.Reset(*this, NGHTTP2_CANCEL);
    End(why);
  };
  if (connection == nullptr || !connection->With(end)) return End(why);
  connection->WakeReader();
}

void ClientCall::OnHeader(absl::string_view name, absl::string_view value) {
  if (name == ":status") http_status_ = std::string(value);
  if (name == "grpc-status") code_ = std::string(value);
  if (name == "grpc-message") message_ = std::string(value);
}

void ClientCall::OnHeadersComplete(bool too_large) {
  if (too_large) broken_ = errors::ResourceExhausted("the headers of the answer are too large");
}

void ClientCall::OnData(const char* data, size_t size) {
  owner_->Consumed(id(), size);
  if (!broken_.ok() || ended() || http_status_ != "200") return;
  broken_ = answer_.Append(data, size);
}

void ClientCall::OnEnd() {
  End(Answered(errors::Internal("the answer has no status")));
  if (sent_ < request_.size) owner_->ResetStream(*this);
}

void ClientCall::OnClosed(uint32_t error) {
  closed_ = true;
  was_refused_ = error == NGHTTP2_REFUSED_STREAM && http_status_.empty() && !owner_->usable();
  if (was_refused_ && retry_ != nullptr && !ended()) {
    closed_ = false;
    sent_ = 0;
    return owner_->Defer([self = shared_from_this()] { self->retry_(); });
  }
  End(Answered(StatusFromHttp2Error(error)));
}

void ClientCall::OnLost(const Status& why) {
  closed_ = true;
  End(errors::Unavailable("the connection is lost: ", why.message()));
}

Status ClientCall::Answered(const Status& otherwise) const {
  if (!code_.empty()) {
    Status status = StatusFromText(code_, message_);
    if (!status.ok()) return status;
    if (!broken_.ok()) return broken_;
    return answer_.complete() ? OkStatus() : errors::Internal("the answer has no whole message");
  }
  if (!http_status_.empty() && http_status_ != "200") return StatusFromHttp(http_status_);
  return otherwise;
}

void ClientCall::End(Status status) {
  {
    MutexLock lock(mu_);
    if (std::exchange(ending_, true)) return;
  }
  outcome_ = std::move(status);
  // Before the flag: who waits for it may let go of everything.
  if (done_ != nullptr) {
    Client().loop.Post([self = shared_from_this()] {
      const std::function<void(Status)> done = std::move(self->done_);
      done(self->TakeOutcome());
    });
  }
  ended_.store(true, std::memory_order_release);
}

Status ClientCall::TakeOutcome() {
  if (cancellation_ != nullptr) cancellation_->TryDeregister(token_);
  if (deadline_ != 0) Client().timers.Cancel(deadline_, /*wait=*/false);
  if (outcome_.ok()) {
    if (answer_.Parse(response_)) return OkStatus();
    return errors::Internal("the answer of ", *address_, " is not a ", response_->GetTypeName());
  }
  if (absl::IsCancelled(outcome_) && cancellation_ != nullptr && cancellation_->IsCancelled())
    return cancellation_->status();
  if (!absl::IsUnavailable(outcome_) || absl::StartsWith(outcome_.message(), *address_)) return outcome_;
  return WithContext(outcome_, *address_);
}

size_t ClientCall::Pending(size_t max, bool* last) {
  const size_t left = request_.size - sent_;
  *last = left <= max;
  return std::min(left, max);
}

void ClientCall::TakePending(size_t bytes, OutQueue* out) {
  out->AppendHeld(request_.bytes, request_.bytes.get() + sent_, bytes);
  sent_ += bytes;
}

}  // namespace millstream
