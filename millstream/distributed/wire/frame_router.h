// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_WIRE_FRAME_ROUTER_H_
#define MILLSTREAM_DISTRIBUTED_WIRE_FRAME_ROUTER_H_

#include <array>
#include <atomic>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "millstream/distributed/observer/task_observer.h"
#include "millstream/distributed/wire/protocol.h"
#include "millstream/framework/peer_link.h"

namespace millstream {

// A part of a task that takes frames of some kinds: the worker, the caller of a remote task, and so on. None of them
// knows the others. Called on the I/O threads of links, as FrameHandler is: must not block, and one receiver may serve
// many links at once.
class FrameReceiver {
 public:
  virtual ~FrameReceiver() = default;
  // As FrameHandler::Allocate().
  virtual StatusOr<Tensor> Allocate(PeerLink& link, const Frame& frame, uint64_t bytes) = 0;
  // As FrameHandler::Borrow().
  virtual StatusOr<Tensor> Borrow(PeerLink& link, const Frame& frame, const Tensor& memory) {
    return CopyOfPayload(Allocate(link, frame, memory.ByteSize()), memory);
  }
  virtual void Receive(PeerLink& link, Frame frame) = 0;
  // The first call about a link, dialed or accepted.
  virtual void LinkOpened(PeerLink& /*link*/) {}
  // A link has ended, whether it brought frames for this receiver or not. `why` is Unavailable and names the peer.
  virtual void LinkLost(PeerLink& link, const Status& why) = 0;
};

// Hands each frame that the links of a task bring to the receiver of its kind: one look-up in an array. Frames of kinds
// that nobody takes, those of newer versions, are dropped.
//
// A server has one router, whose table says what its parts take; it serves the links that other tasks dialed. A link
// that this task dialed has a copy of that table, in which answers go to the caller of that remote task.
class FrameRouter final : public FrameHandler {
 public:
  // `observer` is told of links; null: nobody looks.
  explicit FrameRouter(TaskObserver* observer = nullptr) : observer_(observer) {}
  // The table of `other`, for a link that was dialed to `address`.
  FrameRouter(const FrameRouter& other, std::string address);

  // From now on `receiver` takes frames of these kinds. It is borrowed, and must outlive all links. Before the first
  // link is opened.
  void Route(absl::Span<const FrameKind> kinds, FrameReceiver* receiver);
  // How many links have ended, and were reported to every receiver.
  int links_ended() const { return links_ended_.load(std::memory_order_acquire); }

  StatusOr<Tensor> Allocate(PeerLink& link, const Frame& frame, uint64_t bytes) override;
  StatusOr<Tensor> Borrow(PeerLink& link, const Frame& frame, const Tensor& memory) override;
  void Receive(PeerLink& link, Frame frame) override;
  void Opened(PeerLink& link) override;
  void Closed(PeerLink& link, const Status& why) override;

 private:
  FrameReceiver* ReceiverOf(uint32_t kind) const { return kind < by_kind_.size() ? by_kind_[kind] : nullptr; }

  TaskObserver* const observer_;
  const std::string address_;                             // of the other end; "": not known
  std::array<FrameReceiver*, kNumFrameKinds> by_kind_{};  // null: nobody
  std::vector<FrameReceiver*> receivers_;                 // each once, the last that was added first
  std::atomic<int> links_ended_{0};
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_WIRE_FRAME_ROUTER_H_
