// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_WIRE_GRPC_LINK_H_
#define MILLSTREAM_DISTRIBUTED_WIRE_GRPC_LINK_H_

#include <chrono>
#include <memory>
#include <string>

#include "millstream/distributed/link/link_hub.h"
#include "millstream/distributed/wire/rpc.h"

namespace millstream {

// Links over a gRPC stream of bytes: for tasks that reach each other through the gRPC port alone, and for TLS. They
// carry the same frames as the links of a LinkHub, under the same contract (framework/peer_link.h).

// Path of the stream. The dialer says who it is in its metadata and shows the ticket; the answer's metadata says who
// answers.
inline constexpr char kGrpcLinkPath[] = "/millstream.Worker/Link";

// What makes a server accept links (RpcServerOptions::links).
struct GrpcLinkService {
  uint64_t incarnation = 0;  // of this task
  std::string ticket;        // that dialers must show; "": any
  LinkHub::Accept accept;    // on a thread of the server; must not block
  LinkOptions options;       // keep-alive
};

// Who dials, and whom.
struct GrpcLinkHello {
  std::string task;               // of this side
  uint64_t incarnation = 0;       // of this side
  std::string peer;               // "/job:ps/replica:0/task:0"
  uint64_t peer_incarnation = 0;  // expected; Aborted if another one answers. 0: any
  std::string ticket;
};

// Blocks until the other side has accepted. Unavailable, DeadlineExceeded, PermissionDenied (wrong ticket), Aborted;
// errors name peer and address. `handler` must outlive the link (until its Closed()) and may be called before this
// returns.
StatusOr<std::shared_ptr<PeerLink>> DialGrpcLink(const std::shared_ptr<RpcChannel>& channel, const GrpcLinkHello& hello,
                                                 FrameHandler* handler, std::chrono::milliseconds deadline,
                                                 const LinkOptions& options = {});

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_WIRE_GRPC_LINK_H_
