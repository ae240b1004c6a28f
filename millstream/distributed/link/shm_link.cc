// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/link/shm_link.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <string>

#include "millstream/base/logging.h"
#include "millstream/distributed/link/sockets.h"
#include "millstream/distributed/trust/peer_user.h"

namespace millstream {
namespace {

// Large payloads go through the ring in such pieces: the reader starts on one while the next is written, and both stay
// in the caches.
constexpr size_t kChunk = size_t{64} << 10;
constexpr size_t kTurnBytes = size_t{256} << 10;  // read or written in one turn of the loop
// The socket tells of every bell, read or not; they are read before there are so many that the peer could find it full.
constexpr int kBellsUnread = 32;

}  // namespace

ShmLink::ShmLink(LinkParts parts, UniqueFd socket, ShmSegment segment, bool maker)
    : WireLink(std::move(parts), std::move(socket), /*polled=*/true),
      segment_(std::make_shared<ShmSegment>(std::move(segment))),
      maker_(maker),
      writer_(segment_->writer(maker ? 0 : 1)),
      reader_(segment_->reader(maker ? 1 : 0)) {}

void ShmLink::OnStart() {
  SharedRegion* const region = options().lend ? SharedRegion::Get() : nullptr;
  // Another user may not read what else is in this process's tensors.
  if (region == nullptr || PeerUser(socket()) != geteuid()) return;
  const auto lender = std::make_shared<Lender>(region, segment_, maker_ ? 0 : 1);
  if (!lender->OfferRegion(socket()).ok()) return;  // out of descriptors: payloads are copied
  lender_ = lender;
  RequestRegion();
}

void ShmLink::OnControl(WireType type) {
  if (type == WireType::kMapped && lender_ != nullptr) lender_->StartLending();
  if (type != WireType::kRegion || borrower_ != nullptr) return;
  const Status mapped = MapRegion();
  if (mapped.ok()) return RequestMapped();
  LogInfo(absl::StrCat(peer(), ": its tensors are copied, not borrowed: ", mapped.message()));
}

// The descriptors were sent before the frame that tells of them.
Status ShmLink::MapRegion() {
  if (descriptors_.empty()) RETURN_IF_ERROR(ReadBells());
  std::vector<UniqueFd> descriptors = std::move(descriptors_);
  descriptors_.clear();
  if (descriptors.size() != 2) return errors::InvalidArgument("the memory did not come along");
  if (PeerUser(socket()) != geteuid()) return errors::PermissionDenied("it belongs to another user");
  ASSIGN_OR_RETURN(borrower_,
                   Borrower::Map(std::move(descriptors[0]), std::move(descriptors[1]), segment_, maker_ ? 1 : 0));
  return OkStatus();
}

std::optional<Loan> ShmLink::Lend(const Tensor& payload) {
  return lender_ != nullptr ? lender_->Lend(payload) : std::nullopt;
}

StatusOr<Tensor> ShmLink::BorrowPayload(const Frame& frame, uint64_t bytes, const Loan& loan) {
  if (borrower_ == nullptr) return FrameDecoder::Sink::BorrowPayload(frame, bytes, loan);
  ASSIGN_OR_RETURN(const Tensor memory, borrower_->Borrow(loan, bytes));
  return handler()->Borrow(*this, frame, memory);
}

void ShmLink::ReleaseTransport(UniqueFd /*socket*/, bool /*told*/) {
  if (lender_ != nullptr) Lender::Settle(lender_);
}

Status ShmLink::Write(OutgoingFrame& out, size_t* budget) {
  while (out.remaining() > 0 && *budget > 0) {
    std::span<char> room;
    RETURN_IF_ERROR(writer_.Room(&room));
    if (room.empty()) return OkStatus();
    const size_t n = out.CopyTo(room.data(), std::min({room.size(), *budget, kChunk}));
    *budget -= n;
    if (writer_.Publish(n)) Ring();
  }
  return OkStatus();
}

void ShmLink::OnBacklog(bool any) {
  if (any && !loop()->on_thread()) loop()->Wake();
}

void ShmLink::Ring() {
  const char bell = '!';
  // A full socket means that wake-ups are on their way already; a broken one shows on the I/O thread.
  [[maybe_unused]] const ssize_t sent = ::send(socket(), &bell, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

bool ShmLink::OnEvents(uint32_t events) {
  if ((events & (EPOLLHUP | EPOLLERR | EPOLLRDHUP)) != 0) {
    PeerGone();
  } else if (++bells_unread_ == kBellsUnread) {
    bells_unread_ = 0;
    if (!ReadBells().ok()) PeerGone();
  }
  return false;  // what the bell was for is in memory
}

Status ShmLink::ReadBells() {
  std::string bells;
  return ReceiveSome(socket(), 256, &bells, &descriptors_);
}

// What the peer wrote before it went still counts: one ring of bytes, should somebody go on writing.
void ShmLink::PeerGone() {
  ReadSome(segment_->ring_bytes());
  Fail(errors::Unavailable("the connection ended; its process has stopped or lost its network namespace"));
}

bool ShmLink::Poll() {
  if (!readable()) return false;
  // Before frames are handled: an update finds its variable free if whoever read it is done.
  if (lender_ != nullptr) lender_->Collect();
  bool worked = ReadSome(kTurnBytes);
  if (backlog()) worked |= DrainBacklog(kTurnBytes);
  return worked;
}

bool ShmLink::ReadSome(size_t budget) {
  bool any = false;
  while (budget > 0 && readable()) {
    std::span<const char> bytes;
    Status status = reader_.Peek(&bytes);
    if (status.ok() && bytes.empty()) break;
    const size_t n = std::min({bytes.size(), budget, kChunk});
    if (status.ok()) status = decoder_.Consume(bytes.data(), n);
    if (!status.ok()) {
      Fail(status);
      return true;
    }
    if (reader_.Release(n)) Ring();
    budget -= n;
    any = true;
  }
  if (any) Heard(loop()->now());
  return any;
}

bool ShmLink::PrepareToSleep() {
  if (!readable()) return false;
  bool ready = reader_.PrepareToSleep();
  if (backlog() && TryOwnWriting()) {
    ready |= writer_.PrepareToWait();
    DisownWriting(true);
  }
  return ready;
}

}  // namespace millstream
