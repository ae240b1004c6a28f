// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/wire/frame_router.h"

#include <algorithm>

namespace millstream {
namespace {

Status NobodyTakes(const Frame& frame) {
  return errors::Unimplemented("No frames of kind ", frame.kind, " are received here");
}

}  // namespace

FrameRouter::FrameRouter(const FrameRouter& other, std::string address)
    : observer_(other.observer_),
      address_(std::move(address)),
      by_kind_(other.by_kind_),
      receivers_(other.receivers_) {}

void FrameRouter::Route(absl::Span<const FrameKind> kinds, FrameReceiver* receiver) {
  for (const FrameKind kind : kinds) by_kind_[kind] = receiver;
  if (std::find(receivers_.begin(), receivers_.end(), receiver) == receivers_.end())
    receivers_.insert(receivers_.begin(), receiver);
}

StatusOr<Tensor> FrameRouter::Allocate(PeerLink& link, const Frame& frame, uint64_t bytes) {
  FrameReceiver* const receiver = ReceiverOf(frame.kind);
  return receiver != nullptr ? receiver->Allocate(link, frame, bytes) : NobodyTakes(frame);
}

StatusOr<Tensor> FrameRouter::Borrow(PeerLink& link, const Frame& frame, const Tensor& memory) {
  FrameReceiver* const receiver = ReceiverOf(frame.kind);
  return receiver != nullptr ? receiver->Borrow(link, frame, memory) : NobodyTakes(frame);
}

void FrameRouter::Receive(PeerLink& link, Frame frame) {
  FrameReceiver* const receiver = ReceiverOf(frame.kind);
  if (receiver != nullptr) [[likely]]
    receiver->Receive(link, std::move(frame));
}

void FrameRouter::Opened(PeerLink& link) {
  if (observer_ != nullptr) observer_->LinkOpened(link);
  for (FrameReceiver* receiver : receivers_) receiver->LinkOpened(link);
}

void FrameRouter::Closed(PeerLink& link, const Status& why) {
  if (observer_ != nullptr) observer_->LinkClosed(link, why);
  const Status lost = errors::Unavailable(link.peer(), address_.empty() ? "" : absl::StrCat(" at ", address_),
                                          " was lost: ", why.message());
  for (FrameReceiver* receiver : receivers_) receiver->LinkLost(link, lost);
  links_ended_.fetch_add(1, std::memory_order_release);  // the owner may go now
}

}  // namespace millstream
