// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/grpc/server_call.h"

#include <array>
#include <limits>

#include "absl/strings/match.h"
#include "millstream/distributed/grpc/link_acceptor.h"
#include "millstream/distributed/grpc/server.h"
#include "millstream/distributed/grpc/server_connection.h"
#include "millstream/distributed/grpc/trust_service.h"

namespace millstream {
namespace {

constexpr HttpHeader kOkTrailers[] = {{"grpc-status", "0"}};

}  // namespace

ServerCall::ServerCall(GrpcServer* server, std::shared_ptr<ServerConnection> connection)
    : server_(server), connection_(std::move(connection)) {}

ServerCall::~ServerCall() = default;

std::string ServerCall::peer() { return connection_->peer(); }
uint64_t ServerCall::connection_number() { return connection_->number(); }
bool ServerCall::peer_is_loopback() { return connection_->is_loopback(); }

absl::string_view ServerCall::metadata(absl::string_view key) {
  const absl::string_view all = metadata_;
  size_t begin = 0;
  for (const Metadata& entry : entries_) {
    if (all.substr(begin, entry.name_end - begin) == key)
      return all.substr(entry.name_end, entry.value_end - entry.name_end);
    begin = entry.value_end;
  }
  return "";
}

void ServerCall::OnHeader(absl::string_view name, absl::string_view value) {
  if (has_headers_) return;  // trailers of a client say nothing to us
  metadata_.append(name.data(), name.size());
  const auto name_end = static_cast<uint32_t>(metadata_.size());
  metadata_.append(value.data(), value.size());
  entries_.push_back({name_end, static_cast<uint32_t>(metadata_.size())});
}

void ServerCall::OnHeadersComplete(bool too_large) {
  if (has_headers_) return;
  has_headers_ = true;
  connection_->HeadersAreComplete();
  if (too_large) return Refuse(errors::ResourceExhausted("the headers of the call are too large"));
  if (const Status status = Admit(); !status.ok() && !over_ && !refused_) Refuse(status);
}

// Others get an answer that they understand.
bool ServerCall::IsGrpc() {
  const bool post = metadata(":method") == "POST";
  if (post && absl::StartsWith(metadata("content-type"), kGrpcContentType)) return true;
  const HttpHeader headers[] = {{":status", post ? "415" : "405"}};
  refused_ = true;
  connection_->session().Respond(*this, headers, /*with_data=*/false);
  return false;
}

Status ServerCall::Admit() {
  if (!IsGrpc()) return OkStatus();
  path_ = std::string(metadata(":path"));
  const bool proves = IsTrustMethod(path_) && server_->asks_for_token();
  if (!proves) {
    ASSIGN_OR_RETURN(role_, connection_->role());
  }
  const absl::string_view encoding = metadata("grpc-encoding");
  if (!encoding.empty() && encoding != "identity")
    return errors::Unimplemented("compressed requests are not supported (grpc-encoding: ", Printable(encoding), ")");
  const bool links = server_->links() != nullptr && path_ == kGrpcLinkPath;
  method_ = links ? nullptr : server_->FindMethod(path_);
  if (method_ == nullptr && !links) return errors::Unimplemented("no such method");
  const Role needed = links ? Role::kTask : method_->method().role;
  if (!proves && !Includes(role_, needed)) {
    return errors::PermissionDenied("this is for the role '", RoleName(needed), "'; the caller has '", RoleName(role_),
                                    "'");
  }
  if (links) return AcceptLink(*server_, *connection_, *this);
  message_.emplace(proves ? kMaxTrustRequest : server_->max_message_bytes(), server_->quota());
  opened_ = !proves;  // strangers do not keep a connection that somebody else could use
  if (opened_) connection_->CallOpens();
  connection_->RequestBegins();
  StartDeadline();
  return OkStatus();
}

void ServerCall::StartDeadline() {
  const absl::string_view text = metadata("grpc-timeout");
  if (text.empty()) return;
  const std::optional<std::chrono::nanoseconds> timeout = ParseTimeout(text);
  constexpr std::chrono::nanoseconds kLongest = std::chrono::hours(24 * 365);
  if (!timeout.has_value() || *timeout > kLongest) return;
  std::weak_ptr<ServerCall> weak = weak_from_this();
  deadline_ = server_->timers().Add(
      std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(*timeout),
      [weak] {
        if (const std::shared_ptr<ServerCall> call = weak.lock()) {
          call->connection_->loop()->Post([call] {
            if (!call->finished_.load()) call->cancellation_.StartCancel(errors::DeadlineExceeded("Deadline Exceeded"));
          });
        }
      });
}

void ServerCall::OnData(const char* data, size_t size) {
  connection_->session().Consume(id(), size);
  if (refused_ || over_ || !message_.has_value()) return;
  connection_->RequestGoesOn();
  if (const Status status = message_->Append(data, size); !status.ok()) Refuse(status);
}

void ServerCall::OnEnd() {
  ended_ = true;
  if (refused_ || over_ || !message_.has_value()) return;
  connection_->RequestEnds();
  if (!message_->complete()) return Refuse(errors::Internal("the request has no whole message"));
  if (!server_->Enter()) return Refuse(errors::Unavailable("the server is shutting down"));
  entered_ = true;
  self_ = shared_from_this();
  connection_->DeferHandler([self = self_] { self->Run(); });
}

void ServerCall::Refuse(const Status& why) {
  if (refused_) return;
  if (message_.has_value() && !ended_) connection_->RequestEnds();
  refused_ = true;
  message_.reset();
  Answer(why, {});
}

bool ServerCall::HandOver(std::shared_ptr<Http2Stream> other) {
  if (over_ || refused_) return false;
  over_ = true;
  connection_->session().Replace(*this, std::move(other));
  return true;
}

void ServerCall::Run() {
  messages_ = method_->Take();
  if (Status status = Prepare(); !status.ok()) return Finish(std::move(status));
  method_->method().run(*this);
}

Status ServerCall::CheckWanted() {
  if (cancellation_.IsCancelled()) return cancellation_.status();
  return given_up_.load() ? errors::Cancelled("the client cancelled the call or disconnected") : OkStatus();
}

Status ServerCall::Prepare() {
  RETURN_IF_ERROR(CheckWanted());
  const RpcServerOptions& options = server_->options();
  if (options.authorize != nullptr) RETURN_IF_ERROR(options.authorize(*this));
  request_bytes_ = message_->size();
  const bool parsed = message_->Parse(messages_.request.get());
  message_->Release();  // the memory serves the next request
  return parsed ? OkStatus() : errors::Internal("Unable to parse request");
}

void ServerCall::RunElsewhere(CallWait wait, std::function<void()> work) {
  server_->threads(wait).Run(connection_.get(), [this, work = std::move(work)] {
    if (Status wanted = CheckWanted(); !wanted.ok()) return Finish(std::move(wanted));
    work();
  });
}

void ServerCall::Finish(Status status) {
  const std::shared_ptr<ServerCall> self = std::move(self_);
  finished_.store(true);
  // A call that was cancelled because its time was over says so, as clients expect.
  if (absl::IsCancelled(status) && absl::IsDeadlineExceeded(cancellation_.status())) status = cancellation_.status();
  OutgoingMessage message;
  if (status.ok()) {
    StatusOr<OutgoingMessage> serialized = SerializeMessage(*messages_.response);
    if (serialized.ok())
      message = *std::move(serialized);
    else
      status = serialized.status();
  }
  if (deadline_ != 0) server_->timers().Cancel(deadline_, /*wait=*/false);
  ServerMethod* const method = method_;
  ServerMethod::Messages messages = std::move(messages_);
  const size_t bytes = std::max(request_bytes_, message.size);
  connection_->With([&](Http2Session&) {
    if (!over_) Answer(status, std::move(message));
  });
  method->GiveBack(std::move(messages), bytes);
  server_->Leave();
}

void ServerCall::Answer(const Status& status, OutgoingMessage message) {
  Http2Session& session = connection_->session();
  if (status.ok()) {
    static constexpr HttpHeader kHeaders[] = {{":status", "200"}, {"content-type", kGrpcContentType}};
    answer_ = std::move(message);
    return session.Respond(*this, kHeaders, /*with_data=*/true);
  }
  const std::string code = absl::StrCat(static_cast<int>(status.code()));
  const std::string text = PercentEncode(status.message().substr(0, kMaxStatusMessage));
  const HttpHeader headers[] = {{":status", "200"},
                                {"content-type", kGrpcContentType},
                                {"grpc-status", code},
                                {"grpc-message", text, true},
                                {"grpc-accept-encoding", "identity"}};
  session.Respond(*this, std::span(headers, absl::IsUnimplemented(status) ? 5 : 4), /*with_data=*/false);
}

size_t ServerCall::Pending(size_t max, bool* last) {
  const size_t left = answer_.size - sent_;
  *last = left <= max;
  return std::min(left, max);
}

void ServerCall::TakePending(size_t bytes, OutQueue* out) {
  out->AppendHeld(answer_.bytes, answer_.bytes.get() + sent_, bytes);
  sent_ += bytes;
}

std::span<const HttpHeader> ServerCall::trailers() { return kOkTrailers; }

// Handlers are told without the connection's lock, so a moment later; those that have not begun must not do so
// meanwhile.
void ServerCall::CancelLater(const Status& why) {
  given_up_.store(true);
  connection_->Defer([self = shared_from_this(), why] { self->cancellation_.StartCancel(why); });
}

void ServerCall::OnClosed(uint32_t /*error*/) {
  over_ = true;
  if (opened_) connection_->CallEnds();
  if (message_.has_value() && !ended_ && !refused_) connection_->RequestEnds();
  if (entered_ && !finished_.load()) CancelLater(errors::Cancelled("the client cancelled the call or disconnected"));
  answer_ = {};
}

void ServerCall::OnLost(const Status& why) {
  over_ = true;
  if (opened_) connection_->CallEnds();
  if (entered_ && !finished_.load()) CancelLater(errors::Cancelled("the client disconnected: ", why.message()));
  answer_ = {};
}

void ServerCall::OnStop(const Status& why, bool /*at_once*/) {
  if (entered_ && !finished_.load()) CancelLater(why);
}

}  // namespace millstream
