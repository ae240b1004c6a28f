// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/grpc/link_acceptor.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "millstream/base/notification.h"
#include "millstream/distributed/grpc/channel.h"
#include "millstream/distributed/grpc/core.h"
#include "millstream/distributed/grpc/link_metadata.h"
#include "millstream/distributed/grpc/server.h"
#include "millstream/distributed/grpc/stream_link.h"
#include "millstream/distributed/link/handshake.h"

namespace millstream {
namespace {

struct Refusal {
  GrpcServer* server;
  grpc_call* call;
  int cancelled = 0;
  GrpcTag tag = {OnSent, this};

  static void OnSent(void* self, bool) {
    const std::unique_ptr<Refusal> refusal(static_cast<Refusal*>(self));
    grpc_call_unref(refusal->call);
    refusal->server->Leave();
  }
};

grpc_metadata Entry(const char* key, absl::string_view value) {
  grpc_metadata entry = {};
  entry.key = grpc_slice_from_static_string(key);
  entry.value = grpc_slice_from_copied_buffer(value.data(), value.size());
  return entry;
}

// Frees what Entry() made, once gRPC has taken its own references.
void Free(std::vector<grpc_metadata>& entries) {
  for (grpc_metadata& entry : entries) grpc_slice_unref(entry.value);
}

}  // namespace

void RefuseCall(GrpcServer* server, grpc_call* call, const Status& why) {
  auto* refusal = new Refusal{server, call};
  const absl::string_view text = why.message().substr(0, kMaxStatusMessage);
  grpc_slice details = grpc_slice_from_copied_buffer(text.data(), text.size());
  grpc_op ops[3] = {};
  ops[0].op = GRPC_OP_SEND_INITIAL_METADATA;
  ops[1].op = GRPC_OP_SEND_STATUS_FROM_SERVER;
  ops[1].data.send_status_from_server.status = ToGrpcCode(why.code());
  ops[1].data.send_status_from_server.status_details = &details;
  ops[2].op = GRPC_OP_RECV_CLOSE_ON_SERVER;
  ops[2].data.recv_close_on_server.cancelled = &refusal->cancelled;
  StartBatch(call, ops, &refusal->tag);
  grpc_slice_unref(details);
}

LinkAcceptor::LinkAcceptor(GrpcServer* server, GrpcLinkService service)
    : server_(server),
      service_(std::move(service)),
      registered_(grpc_server_register_method(server->server(), kGrpcLinkPath, nullptr, GRPC_SRM_PAYLOAD_NONE, 0)) {}

void LinkAcceptor::Request() {
  grpc_metadata_array_init(&metadata_);
  grpc_server_request_registered_call(server_->server(), registered_, &call_, &deadline_, &metadata_, nullptr,
                                      server_->queue(), server_->queue(), HandToGrpc(&arrived_));
}

void LinkAcceptor::OnArrived(void* self, bool ok) {
  auto* acceptor = static_cast<LinkAcceptor*>(self);
  if (!ok) return grpc_metadata_array_destroy(&acceptor->metadata_);  // the server shuts down
  acceptor->server_->Enter();
  grpc_call* const call = acceptor->call_;
  const Status status = acceptor->Take();
  grpc_metadata_array_destroy(&acceptor->metadata_);
  acceptor->Request();
  if (!status.ok()) RefuseCall(acceptor->server_, call, status);
}

// After an error the call is still to be ended.
Status LinkAcceptor::Take() {
  RETURN_IF_ERROR(server_->CheckToken(FindMetadata(metadata_, kRpcTokenKey)));
  if (!service_.ticket.empty() && !SameSecret(FindMetadata(metadata_, kTicketKey), service_.ticket)) {
    return errors::PermissionDenied("wrong ticket: this task has been restarted, or belongs to another job");
  }
  const std::string task(FindMetadata(metadata_, kTaskKey));
  uint64_t incarnation = 0;
  if (task.empty() || task.size() > kMaxTaskName ||
      !absl::SimpleAtoi(FindMetadata(metadata_, kIncarnationKey), &incarnation)) {
    return errors::InvalidArgument("who dials a link must say which task it is");
  }
  ASSIGN_OR_RETURN(FrameHandler* const handler, service_.accept(task, incarnation));
  GrpcServer* const server = server_;
  auto link = std::make_shared<StreamLink>(StreamLink::Parts{task, incarnation, PeerOf(call_), call_, server->loop(),
                                                             handler, service_.options, [server] { server->Leave(); }});
  std::vector<grpc_metadata> answer = {Entry(kIncarnationKey, absl::StrCat(service_.incarnation))};
  link->Accept(answer);
  Free(answer);
  return OkStatus();
}

StatusOr<std::shared_ptr<PeerLink>> DialGrpcLink(const std::shared_ptr<RpcChannel>& channel, const GrpcLinkHello& hello,
                                                 FrameHandler* handler, std::chrono::milliseconds deadline,
                                                 const LinkOptions& options) {
  struct Outcome {
    Notification known;
    Status status;
  };
  auto& dialed = static_cast<GrpcChannel&>(*channel);
  auto outcome = std::make_shared<Outcome>();
  auto link = std::make_shared<StreamLink>(StreamLink::Parts{
      hello.peer, hello.peer_incarnation, channel->address(), dialed.StartCall(kGrpcLinkPath, ClientLoop().queue(), {}),
      &ClientLoop(), handler, options, [channel] { ClientLoop().Unhold(); }});
  ClientLoop().Hold();
  std::vector<grpc_metadata> entries = {Entry(kTaskKey, hello.task),
                                        Entry(kIncarnationKey, absl::StrCat(hello.incarnation)),
                                        Entry(kTicketKey, hello.ticket)};
  std::vector<grpc_metadata> all = entries;
  if (dialed.num_metadata() > 0) all.push_back(*dialed.metadata());
  link->Dial(all, [outcome](Status status) {
    outcome->status = std::move(status);
    outcome->known.Notify();
  });
  Free(entries);
  if (!outcome->known.WaitUntil(std::chrono::steady_clock::now() + deadline)) {
    link->Close(errors::DeadlineExceeded(hello.peer, " at ", channel->address(), " (grpc): no answer within ",
                                         deadline.count(), " ms"));
    outcome->known.Wait();
  }
  RETURN_IF_ERROR(outcome->status);
  return link;
}

}  // namespace millstream
