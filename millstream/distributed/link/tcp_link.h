// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_LINK_TCP_LINK_H_
#define MILLSTREAM_DISTRIBUTED_LINK_TCP_LINK_H_

#include "millstream/distributed/link/wire_link.h"

namespace millstream {

// A link over a TCP connection. Tensors are written from and read into their own memory.
class TcpLink final : public WireLink {
 public:
  TcpLink(LinkParts parts, UniqueFd socket) : WireLink(std::move(parts), std::move(socket), /*polled=*/false) {}

  const char* transport() const override { return "tcp"; }
  bool OnEvents(uint32_t events) override;

 private:
  Status Write(OutgoingFrame& out, size_t* budget) override;
  void OnBacklog(bool any) override;
  uint64_t peer_progress() const override { return bytes_written_.load(std::memory_order_relaxed); }
  void ReleaseTransport(UniqueFd socket, bool told) override;
  bool ReadSome();
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_LINK_TCP_LINK_H_
