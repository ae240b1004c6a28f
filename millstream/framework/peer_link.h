// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_FRAMEWORK_PEER_LINK_H_
#define MILLSTREAM_FRAMEWORK_PEER_LINK_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "millstream/base/status.h"
#include "millstream/tensor/tensor.h"

namespace millstream {

// What travels between two tasks: numbers, a few bytes, and at most one block of tensor memory. What they mean is the
// business of the two ends (distributed/wire/protocol.h, collective/); links only carry them.
struct Frame {
  uint32_t kind = 0;
  uint32_t edge = 0;
  uint64_t step = 0;
  uint64_t tag = 0;
  std::string body;  // at most kMaxBody bytes
  Tensor payload;    // its memory is sent as it is; empty, or of a type that is plain bytes
  // The peer may hold the payload's memory for as long as it likes. False for memory that the sender needs back.
  bool may_lend = false;

  static constexpr size_t kMaxBody = size_t{64} << 20;
};

class PeerLink;

// The receiving end of links. Called on a link's I/O thread, frames of one link in the order they were sent. Must not
// block and must not throw; one handler may serve many links at once.
class FrameHandler {
 public:
  virtual ~FrameHandler() = default;
  // A payload of `bytes` bytes is about to come with `frame`, whose other fields are there. Checks them and gives the
  // memory for it: a tensor of exactly that many bytes. After an error the payload is read and thrown away and the
  // frame is not delivered; the handler knows why. Not called by in-process links, which hand over the sender's tensor
  // itself.
  virtual StatusOr<Tensor> Allocate(PeerLink& link, const Frame& frame, uint64_t bytes) = 0;
  // The same where the payload lies in memory of the peer, which `memory` (of bytes) keeps and nobody here may write
  // to: gives a tensor over that memory, or one with a copy of it, as here.
  virtual StatusOr<Tensor> Borrow(PeerLink& link, const Frame& frame, const Tensor& memory);
  virtual void Receive(PeerLink& link, Frame frame) = 0;
  // The first call about a link, dialed or accepted, before anything is delivered.
  virtual void Opened(PeerLink& /*link*/) {}
  // The link has ended, and nothing more will be delivered; `why` names peer and cause. Called exactly once.
  virtual void Closed(PeerLink& link, const Status& why) = 0;
};

// `target`, filled with the bytes of `memory` if it is as large; Internal if it is not.
StatusOr<Tensor> CopyOfPayload(StatusOr<Tensor> target, const Tensor& memory);

// A connection between two tasks, in both directions. Frames keep their order. Thread-safe. Always held by a
// shared_ptr: who wants to keep a link that a handler was given takes shared_from_this().
class PeerLink : public std::enable_shared_from_this<PeerLink> {
 public:
  virtual ~PeerLink() = default;

  // Never blocks: what the transport does not take at once is queued (the tensor is shared, not copied). Dropped
  // without a word once the link has ended: Closed() told the handler.
  virtual void Send(Frame frame) = 0;
  // Ends the link on both sides, after what was queued before if `why` is OK, at once otherwise. The own handler's
  // Closed() is told `why`; the peer's is told it too, or Unavailable if it is OK.
  virtual void Close(Status why) = 0;
  // The same after what was queued before, whatever `why` is: the end of the link, which Closed() tells, comes once the
  // peer has read it all. How long that may take is the caller's business: Close() ends it. Links without a queue of
  // their own need no more than this.
  virtual void CloseAfterQueue(Status why) { Close(std::move(why)); }

  // "/job:ps/replica:0/task:0": who is at the other end, and which incarnation of it.
  const std::string& peer() const { return peer_; }
  uint64_t peer_incarnation() const { return peer_incarnation_; }
  virtual const char* transport() const = 0;  // "inproc", "shm", "tcp" or "grpc"
  // A second that the peer was last heard of, by the steady clock; for those who wait.
  virtual int64_t last_heard_ns() const = 0;

  struct Counters {
    std::atomic<uint64_t> frames_sent{0}, frames_received{0}, bytes_sent{0}, bytes_received{0};
    std::atomic<uint64_t> payloads_lent{0};  // of the frames sent: the peer reads the payload where it lies
  };
  const Counters& counters() const { return counters_; }
  // Frames that wait for the transport to take them.
  virtual size_t queued_frames() { return 0; }

 protected:
  PeerLink(std::string peer, uint64_t incarnation) : peer_(std::move(peer)), peer_incarnation_(incarnation) {}
  Counters counters_;

 private:
  const std::string peer_;
  const uint64_t peer_incarnation_;
};

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_PEER_LINK_H_
