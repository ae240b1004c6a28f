// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/grpc/link_acceptor.h"

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "millstream/distributed/grpc/link_headers.h"
#include "millstream/distributed/grpc/protocol.h"
#include "millstream/distributed/grpc/server.h"
#include "millstream/distributed/grpc/stream_link.h"
#include "millstream/distributed/link/handshake.h"

namespace millstream {
namespace {

struct Dialer {
  std::string task;
  uint64_t incarnation = 0;
};

StatusOr<Dialer> CheckDialer(const GrpcLinkService& service, ServerCall& call) {
  std::string ticket;
  if (!service.ticket.empty() &&
      (!absl::Base64Unescape(call.metadata(kTicketKey), &ticket) || !SameSecret(ticket, service.ticket))) {
    return errors::PermissionDenied("wrong ticket: this task has been restarted, or belongs to another job");
  }
  Dialer dialer;
  dialer.task = std::string(call.metadata(kTaskKey));
  if (dialer.task.empty() || dialer.task.size() > kMaxTaskName ||
      !absl::SimpleAtoi(call.metadata(kIncarnationKey), &dialer.incarnation)) {
    return errors::InvalidArgument("who dials a link must say which task it is");
  }
  if (call.server_connection().certificate().has_value())
    RETURN_IF_ERROR(CheckTaskName(*call.server_connection().certificate(), dialer.task));
  return dialer;
}

// Not with the connection's lock held: the handlers are asked.
void TakeLink(GrpcServer* server, const std::shared_ptr<ServerConnection>& connection,
              const std::shared_ptr<ServerCall>& call, const Dialer& dialer) {
  const GrpcLinkService& service = *server->links();
  const StatusOr<FrameHandler*> handler = service.accept(dialer.task, dialer.incarnation);
  if (!handler.ok()) {
    connection->With([&](Http2Session&) { call->Refuse(handler.status()); });
    connection->CallEnds();
    return server->Leave();
  }
  auto link = std::make_shared<StreamLink>(StreamLink::Parts{
      dialer.task, dialer.incarnation, connection->peer(), connection, *handler, service.options, [server, connection] {
        connection->CallEnds();
        server->Leave();
      }});
  server->ticker().Add(link);
  const std::string incarnation = absl::StrCat(service.incarnation);
  link->Accept([&](std::shared_ptr<Http2Stream> stream, Http2Session& session) {
    Http2Stream& attached = *stream;
    if (!call->HandOver(std::move(stream))) return false;
    const HttpHeader headers[] = {
        {":status", "200"}, {"content-type", kGrpcContentType}, {kIncarnationKey, incarnation, true}};
    session.Respond(attached, headers, /*with_data=*/true);
    return true;
  });
}

}  // namespace

Status AcceptLink(GrpcServer& server, ServerConnection& connection, ServerCall& call) {
  ASSIGN_OR_RETURN(Dialer dialer, CheckDialer(*server.links(), call));
  if (!server.Enter()) return errors::Unavailable("the server is shutting down");
  connection.CallOpens();
  connection.Defer([server = &server, call = call.shared_from_this(),
                    connection = std::static_pointer_cast<ServerConnection>(connection.shared_from_this()),
                    dialer = std::move(dialer)] { TakeLink(server, connection, call, dialer); });
  return OkStatus();
}

}  // namespace millstream
