// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/grpc/server_call.h"

#include <grpc/support/alloc.h>
#include <grpc/support/time.h>

#include "absl/strings/match.h"
#include "millstream/distributed/grpc/core.h"
#include "millstream/distributed/grpc/server.h"

namespace millstream {
namespace {

std::string PeerUri(grpc_call* call) {
  char* text = grpc_call_get_peer(call);
  std::string uri = text != nullptr ? text : "";
  gpr_free(text);
  return uri;
}

}  // namespace

std::string PeerOf(grpc_call* call) { return PeerText(PeerUri(call)); }

std::string PeerText(absl::string_view uri) {
  std::string text(uri.substr(uri.find(':') + 1));
  for (size_t at; (at = text.find("%5B")) != std::string::npos;) text.replace(at, 3, "[");
  for (size_t at; (at = text.find("%5D")) != std::string::npos;) text.replace(at, 3, "]");
  return text;
}

bool IsLoopbackPeer(absl::string_view uri) {
  const std::string address = PeerText(uri);
  return absl::StartsWith(uri, "unix:") || (absl::StartsWith(uri, "ipv4:") && absl::StartsWith(address, "127.")) ||
         (absl::StartsWith(uri, "ipv6:") &&
          (absl::StartsWith(address, "[::1]:") || absl::StartsWith(address, "[::ffff:127.")));
}

ServerMethod::Messages ServerMethod::Take() {
  {
    MutexLock lock(mu_);
    if (!kept_.empty()) {
      Messages messages = std::move(kept_.back());
      kept_.pop_back();
      return messages;
    }
  }
  return {std::unique_ptr<google::protobuf::Message>(method_.request->New()),
          std::unique_ptr<google::protobuf::Message>(method_.response->New())};
}

void ServerMethod::GiveBack(Messages messages, size_t bytes) {
  if (bytes > kMaxKeptBytes) return;
  messages.request->Clear();
  messages.response->Clear();
  MutexLock lock(mu_);
  if (kept_.size() < kMaxKept) kept_.push_back(std::move(messages));
}

ServerCall* ServerMethod::TakeFree() {
  MutexLock lock(mu_);
  if (free_.empty()) return nullptr;
  ServerCall* call = free_.back();
  free_.pop_back();
  return call;
}

void ServerMethod::PutFree(ServerCall* call) {
  MutexLock lock(mu_);
  free_.push_back(call);
}

thread_local ServerCall::Frame* ServerCall::frame_ = nullptr;

ServerCall::ServerCall(GrpcServer* server, ServerMethod* method)
    : server_(server),
      method_(method),
      arrived_{OnArrived, this},
      answered_{OnAnswered, this},
      closed_{OnClosed, this},
      answered_and_closed_{OnAnsweredAndClosed, this} {}

void ServerCall::Request() {
  grpc_metadata_array_init(&metadata_);
  method_->waiting.fetch_add(1, std::memory_order_relaxed);
  // Fails only when the server is ending; the slot then stays unused.
  grpc_server_request_registered_call(server_->server(), method_->registered(), &call_, &deadline_, &metadata_,
                                      &payload_, server_->queue(), server_->queue(), HandToGrpc(&arrived_));
}

void ServerCall::OnArrived(void* self, bool ok) {
  auto* call = static_cast<ServerCall*>(self);
  const int waiting = call->method_->waiting.fetch_sub(1, std::memory_order_relaxed) - 1;
  if (!ok) {  // the server shuts down
    grpc_metadata_array_destroy(&call->metadata_);
    return;
  }
  call->server_->Enter();
  // The handler may take its time: calls behind it find another slot.
  if (waiting < kServerSlots - 1) call->server_->AddSlot(call->method_);
  call->Run();
}

void ServerCall::Run() {
  ends_left_.store(2, std::memory_order_relaxed);
  messages_ = method_->Take();
  cancellation_.emplace();
  Frame frame = {this, false};
  frame_ = &frame;
  if (Status status = Prepare(); status.ok()) {
    method_->method().run(*this);
  } else {
    Finish(status);
  }
  frame_ = nullptr;
  // Answered right here, the slot may be in use again. Answered elsewhere, it waits for its second end.
  if (!frame.answered) AwaitClose();
}

Status ServerCall::Prepare() {
  const RpcServerOptions& options = server_->options();
  if (!options.token.empty()) RETURN_IF_ERROR(server_->CheckToken(metadata(kRpcTokenKey)));
  if (options.authorize != nullptr) RETURN_IF_ERROR(options.authorize(*this));
  bytes_ = payload_ == nullptr ? 0 : grpc_byte_buffer_length(payload_);
  if (!ParseFromBuffer(payload_, messages_.request.get())) return errors::Internal("Unable to parse request");
  grpc_byte_buffer_destroy(payload_);  // the memory serves the next request
  payload_ = nullptr;
  return OkStatus();
}

std::string ServerCall::peer() { return PeerText(PeerUri(call_)); }

bool ServerCall::peer_is_loopback() { return IsLoopbackPeer(PeerUri(call_)); }

absl::string_view ServerCall::metadata(absl::string_view key) {
  for (size_t i = 0; i < metadata_.count; ++i) {
    if (ViewOf(metadata_.metadata[i].key) == key) return ViewOf(metadata_.metadata[i].value);
  }
  return "";
}

void ServerCall::Finish(Status status) {
  grpc_byte_buffer* message = nullptr;
  if (status.ok()) {
    StatusOr<grpc_byte_buffer*> serialized = SerializeToBuffer(*messages_.response);
    if (serialized.ok())
      message = *serialized;
    else
      status = serialized.status();
  }
  const size_t bytes = std::max(bytes_, message == nullptr ? 0 : grpc_byte_buffer_length(message));
  const bool in_handler = frame_ != nullptr && frame_->call == this;
  if (in_handler) frame_->answered = true;
  ServerMethod::Messages messages = std::move(messages_);
  ServerMethod* const method = method_;
  SendAnswer(status, message, in_handler);
  method->GiveBack(std::move(messages), bytes);
}

void ServerCall::SendAnswer(const Status& status, grpc_byte_buffer* message, bool await_close) {
  grpc_op ops[4] = {};
  size_t count = 0;
  ops[count++].op = GRPC_OP_SEND_INITIAL_METADATA;
  if (message != nullptr) {
    ops[count].op = GRPC_OP_SEND_MESSAGE;
    ops[count++].data.send_message.send_message = message;
  }
  const absl::string_view text = status.message().substr(0, kMaxStatusMessage);
  grpc_slice details = grpc_slice_from_copied_buffer(text.data(), text.size());
  ops[count].op = GRPC_OP_SEND_STATUS_FROM_SERVER;
  ops[count].data.send_status_from_server.status = ToGrpcCode(status.code());
  ops[count++].data.send_status_from_server.status_details = status.ok() ? nullptr : &details;
  if (await_close) {
    ops[count].op = GRPC_OP_RECV_CLOSE_ON_SERVER;
    ops[count++].data.recv_close_on_server.cancelled = &was_cancelled_;
  }
  const GrpcTag& tag = await_close ? answered_and_closed_ : answered_;
  StartBatch(call_, std::span(ops).first(count), &tag);
  grpc_slice_unref(details);
  grpc_byte_buffer_destroy(message);
}

void ServerCall::AwaitClose() {
  grpc_op op = {};
  op.op = GRPC_OP_RECV_CLOSE_ON_SERVER;
  op.data.recv_close_on_server.cancelled = &was_cancelled_;
  StartBatch(call_, std::span(&op, 1), &closed_);
}

void ServerCall::OnAnswered(void* self, bool) { static_cast<ServerCall*>(self)->Done(1); }

void ServerCall::OnClosed(void* self, bool) {
  auto* call = static_cast<ServerCall*>(self);
  if (call->was_cancelled_ != 0) call->cancellation_->StartCancel(errors::Cancelled("the client has gone or given up"));
  call->Done(1);
}

void ServerCall::OnAnsweredAndClosed(void* self, bool) { static_cast<ServerCall*>(self)->Done(2); }

void ServerCall::Done(int ends) {
  if (ends_left_.fetch_sub(ends, std::memory_order_acq_rel) != ends) return;
  grpc_call* const call = std::exchange(call_, nullptr);
  grpc_byte_buffer_destroy(std::exchange(payload_, nullptr));
  grpc_metadata_array_destroy(&metadata_);
  GrpcServer* const server = server_;
  if (method_->waiting.load(std::memory_order_relaxed) < kServerSlots)
    Request();
  else
    method_->PutFree(this);
  grpc_call_unref(call);
  server->Leave();
}

}  // namespace millstream
