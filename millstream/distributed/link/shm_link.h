// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_LINK_SHM_LINK_H_
#define MILLSTREAM_DISTRIBUTED_LINK_SHM_LINK_H_

#include <memory>
#include <vector>

#include "millstream/distributed/link/loans.h"
#include "millstream/distributed/link/shm_ring.h"
#include "millstream/distributed/link/wire_link.h"

namespace millstream {

// A link to a task of the same host: two rings in shared memory, and large payloads that stay where they are (loans.h)
// where both tasks belong to one user. The Unix socket over which they were agreed stays: a byte on it wakes a blocked
// peer (unlike a shared eventfd, which a bad peer could make block), and its end is the peer's end.
class ShmLink final : public WireLink {
 public:
  // `maker`: this side has made the memory.
  ShmLink(LinkParts parts, UniqueFd socket, ShmSegment segment, bool maker);

  const char* transport() const override { return "shm"; }
  bool OnEvents(uint32_t events) override;
  bool Poll() override;
  bool PrepareToSleep() override;

 private:
  Status Write(OutgoingFrame& out, size_t* budget) override;
  void OnBacklog(bool any) override;
  uint64_t peer_progress() const override { return writer_.reader_position(); }
  void ReleaseTransport(UniqueFd socket, bool told) override;
  void OnStart() override;
  void OnControl(WireType type) override;
  std::optional<Loan> Lend(const Tensor& payload) override;
  StatusOr<Tensor> BorrowPayload(const Frame& frame, uint64_t bytes, const Loan& loan) override;
  Status ReadBells();
  Status MapRegion();
  bool ReadSome(size_t budget);
  void PeerGone();
  void Ring();

  const std::shared_ptr<const ShmSegment> segment_;
  const bool maker_;
  std::shared_ptr<Lender> lender_;      // null: this task lends nothing; constant after the start
  std::shared_ptr<Borrower> borrower_;  // of the I/O thread; null: the peer lends nothing
  std::vector<UniqueFd> descriptors_;   // of the I/O thread: they came with bells
  RingWriter writer_;                   // of the owner of the writing side
  RingReader reader_;                   // of the I/O thread
  int bells_unread_ = 0;
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_LINK_SHM_LINK_H_
