// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_GRPC_TRANSPORT_H_
#define MILLSTREAM_DISTRIBUTED_GRPC_TRANSPORT_H_

#include <sys/types.h>
#include <sys/uio.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "millstream/base/status.h"
#include "millstream/distributed/link/unique_fd.h"

namespace millstream {

// What carries the bytes of a connection: a socket, or TLS over one. Never waits. Not thread-safe.
class Transport {
 public:
  // Results of Read(), Write() and Handshake() besides the number of bytes.
  static constexpr ssize_t kAgain = -1;  // nothing now
  static constexpr ssize_t kEnd = -2;    // closed by the peer, or broken: see end()

  virtual ~Transport() = default;

  // 0: done.
  virtual ssize_t Handshake() { return 0; }
  virtual ssize_t Read(char* data, size_t size) = 0;
  virtual ssize_t Write(const iovec* parts, int count) = 0;
  // True: after a Read() that gave fewer bytes than there was room for, more may be there that no poll shows.
  virtual bool may_hold_more() const { return false; }
  // What kAgain waits for, if it is not the obvious one: TLS may have to write in order to read.
  virtual bool wants_write() const { return false; }
  virtual int fd() const = 0;
  // Makes both directions end; the descriptor stays open.
  virtual void Shutdown() = 0;
  // Why kEnd was returned.
  const Status& end() const { return end_; }
  // The subject alternative names of the peer's certificate, which has been verified; nothing without TLS, and where
  // the peer has shown none.
  virtual std::optional<std::vector<std::string>> peer_names() const { return std::nullopt; }

 protected:
  Status end_;
};

std::unique_ptr<Transport> MakePlainTransport(UniqueFd socket);

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_GRPC_TRANSPORT_H_
