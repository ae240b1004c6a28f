// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_GRPC_LISTENER_H_
#define MILLSTREAM_DISTRIBUTED_GRPC_LISTENER_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "millstream/base/mutex.h"
#include "millstream/distributed/grpc/reader_loop.h"
#include "millstream/distributed/grpc/server_connection.h"
#include "millstream/distributed/link/unique_fd.h"

namespace millstream {

// Sockets that listen at every address of `host`, all on the same port; *port is it, or 0 for one that the system
// chooses and that is stored there. InvalidArgument for an address that makes no sense; Unknown, as TensorFlow has it,
// where it cannot be bound. The port is not shared with another server.
StatusOr<std::vector<UniqueFd>> ListenAtAll(const std::string& host, int* port);

// Accepts what arrives at one listening socket.
class Listener final : public ReaderLoop::Member {
 public:
  using Accepted = std::function<void(UniqueFd socket, PeerAddress peer)>;
  Listener(UniqueFd socket, Accepted accepted);

  int fd() const { return socket_.get(); }
  void OnReady(uint32_t events) override;
  // No more are accepted, and no call of `accepted` is running afterwards.
  void Close();

 private:
  bool AcceptOne() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void RefuseOne() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  Mutex mu_;
  UniqueFd socket_;
  UniqueFd reserve_ ABSL_GUARDED_BY(mu_);  // a descriptor to give up when there are no others
  const Accepted accepted_;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
  int64_t warned_at_ ABSL_GUARDED_BY(mu_) = 0;
};

// Raises the limit on descriptors of this process as far as it may. Returns the limit.
uint64_t RaiseDescriptorLimit();

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_GRPC_LISTENER_H_
