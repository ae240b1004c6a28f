// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_LINK_TCP_LINK_H_
#define MILLSTREAM_DISTRIBUTED_LINK_TCP_LINK_H_

#include <array>
#include <atomic>
#include <span>

#include "millstream/distributed/link/wire_link.h"
#include "millstream/framework/servable_link.h"

namespace millstream {

// A link over a TCP connection. Tensors are written from and read into their own memory. A thread that waits for frames
// may serve it (ServableLink): meanwhile epoll does not wake the I/O thread for it.
class TcpLink final : public WireLink, public ServableLink {
 public:
  TcpLink(LinkParts parts, UniqueFd socket) : WireLink(std::move(parts), std::move(socket), /*polled=*/false) {}

  const char* transport() const override { return "tcp"; }
  bool OnEvents(uint32_t events) override;
  bool Serve() override;
  void StopServing() override;

 private:
  Status Write(OutgoingFrame& out, size_t* budget) override;
  void OnBacklog(bool any) override;
  uint64_t peer_progress() const override { return bytes_written_.load(std::memory_order_relaxed); }
  void ReleaseTransport(UniqueFd socket, bool told) override;
  int64_t transport_deadline_ns() override { return give_back_at_.load(std::memory_order_seq_cst); }
  void OnTransportTimer(int64_t now) override;
  void SetServed(bool served);
  void SetEvents() ABSL_EXCLUSIVE_LOCKS_REQUIRED(events_mu_);
  // True if anything came. `scratch` takes what does not belong into a payload.
  bool ReadSome(std::span<char> scratch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(reading_mu_);

  // Enough for small frames. What belongs to a larger payload is read into it, not copied.
  std::array<char, 8192> serving_scratch_ ABSL_GUARDED_BY(reading_mu_);
  std::atomic<int64_t> give_back_at_{kNever};  // when the I/O thread takes the link back; kNever: it has it
  Mutex events_mu_;
  bool served_ ABSL_GUARDED_BY(events_mu_) = false;
  bool wants_to_write_ ABSL_GUARDED_BY(events_mu_) = false;
  uint32_t events_ ABSL_GUARDED_BY(events_mu_) = ~0u;  // that the loop was told last
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_LINK_TCP_LINK_H_
