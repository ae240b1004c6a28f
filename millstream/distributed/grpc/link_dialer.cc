// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/escaping.h"
#include "millstream/base/notification.h"
#include "millstream/distributed/grpc/channel.h"
#include "millstream/distributed/grpc/client_runtime.h"
#include "millstream/distributed/grpc/link_headers.h"
#include "millstream/distributed/grpc/stream_link.h"
#include "millstream/distributed/wire/grpc_link.h"

namespace millstream {

// A link has a connection of its own: its large frames do not hold up calls, and the client's loop alone reads it.
StatusOr<std::shared_ptr<PeerLink>> DialGrpcLink(const std::shared_ptr<RpcChannel>& channel, const GrpcLinkHello& hello,
                                                 FrameHandler* handler, std::chrono::milliseconds deadline,
                                                 const LinkOptions& options) {
  struct Outcome {
    Notification known;
    Status status;
  };
  const auto until = std::chrono::steady_clock::now() + deadline;
  const ClientTarget& target = static_cast<GrpcChannel&>(*channel).target();
  StatusOr<std::shared_ptr<ClientConnection>> connection = ClientConnection::Dial(target, until);
  if (!connection.ok())
    return WithContext(connection.status(), absl::StrCat(hello.peer, " at ", channel->address(), " (grpc)"));
  auto outcome = std::make_shared<Outcome>();
  auto link = std::make_shared<StreamLink>(
      StreamLink::Parts{hello.peer, hello.peer_incarnation, channel->address(), *connection, handler, options,
                        [connection = *connection] { connection->Close(errors::Unavailable("the link is over")); }});
  Client().ticker.Add(link);
  const std::string incarnation = absl::StrCat(hello.incarnation), ticket = absl::Base64Escape(hello.ticket);
  std::vector<HttpHeader> headers = (*connection)->HeadersFor(kGrpcLinkPath);
  headers.push_back({kTaskKey, hello.task});
  headers.push_back({kIncarnationKey, incarnation});
  headers.push_back({kTicketKey, ticket});
  link->Dial(headers, [outcome](Status status) {
    outcome->status = std::move(status);
    outcome->known.Notify();
  });
  if (!outcome->known.WaitUntil(until)) {
    link->Close(errors::DeadlineExceeded(hello.peer, " at ", channel->address(), " (grpc): no answer within ",
                                         deadline.count(), " ms"));
    outcome->known.Wait();
  }
  RETURN_IF_ERROR(outcome->status);
  return link;
}

}  // namespace millstream
