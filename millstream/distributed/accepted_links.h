// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_ACCEPTED_LINKS_H_
#define MILLSTREAM_DISTRIBUTED_ACCEPTED_LINKS_H_

#include <utility>

#include "millstream/distributed/observer/task_observer.h"
#include "millstream/distributed/worker/worker.h"

namespace millstream {

// Serves the links that others dialed: what they bring is for the worker, which is borrowed, as is `observer` (null:
// nobody looks).
class AcceptedLinks final : public FrameHandler {
 public:
  explicit AcceptedLinks(Worker* worker, TaskObserver* observer = nullptr) : worker_(worker), observer_(observer) {}
  StatusOr<Tensor> Allocate(PeerLink& link, const Frame& frame, uint64_t bytes) override {
    return worker_->AllocatePayload(link, frame, bytes);
  }
  void Receive(PeerLink& link, Frame frame) override { worker_->Receive(link, std::move(frame)); }
  void Opened(PeerLink& link) override {
    if (observer_ != nullptr) observer_->LinkOpened(link);
  }
  void Closed(PeerLink& link, const Status& why) override {
    if (observer_ != nullptr) observer_->LinkClosed(link, why);
    worker_->LinkClosed(link, errors::Unavailable(link.peer(), " was lost: ", why.message()));
  }

 private:
  Worker* const worker_;
  TaskObserver* const observer_;
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_ACCEPTED_LINKS_H_
