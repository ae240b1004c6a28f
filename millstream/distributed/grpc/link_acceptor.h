// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_GRPC_LINK_ACCEPTOR_H_
#define MILLSTREAM_DISTRIBUTED_GRPC_LINK_ACCEPTOR_H_

#include <grpc/grpc.h>

#include "millstream/distributed/grpc/event_loop.h"
#include "millstream/distributed/wire/grpc_link.h"

namespace millstream {

class GrpcServer;

// Takes the link streams that arrive at a server, one after the other.
class LinkAcceptor {
 public:
  // Registers the method. REQUIRES: the server has not started yet.
  LinkAcceptor(GrpcServer* server, GrpcLinkService service);

  // Hands the slot to gRPC, for the next stream.
  void Request();

 private:
  static void OnArrived(void* self, bool ok);
  Status Take();

  GrpcServer* const server_;
  const GrpcLinkService service_;
  void* const registered_;
  GrpcTag arrived_ = {OnArrived, this};
  grpc_call* call_ = nullptr;
  gpr_timespec deadline_;
  grpc_metadata_array metadata_;
};

// Ends a call that has just arrived at the server with an error. Takes the call; the server has been entered for it.
void RefuseCall(GrpcServer* server, grpc_call* call, const Status& why);

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_GRPC_LINK_ACCEPTOR_H_
