// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_GRPC_LINK_ACCEPTOR_H_
#define MILLSTREAM_DISTRIBUTED_GRPC_LINK_ACCEPTOR_H_

#include "millstream/distributed/wire/grpc_link.h"

namespace millstream {

class GrpcServer;
class ServerCall;
class ServerConnection;

// Makes a link of a stream whose headers have arrived, soon, or says why not. With the connection's lock held.
Status AcceptLink(GrpcServer& server, ServerConnection& connection, ServerCall& call);

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_GRPC_LINK_ACCEPTOR_H_
