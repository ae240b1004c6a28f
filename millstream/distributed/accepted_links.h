// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_ACCEPTED_LINKS_H_
#define MILLSTREAM_DISTRIBUTED_ACCEPTED_LINKS_H_

#include <utility>

#include "millstream/distributed/worker.h"

namespace millstream {

// Serves the links that others dialed: what they bring is for the worker, which is borrowed.
class AcceptedLinks final : public FrameHandler {
 public:
  explicit AcceptedLinks(Worker* worker) : worker_(worker) {}
  StatusOr<Tensor> Allocate(PeerLink& link, const Frame& frame, uint64_t bytes) override {
    return worker_->AllocatePayload(link, frame, bytes);
  }
  void Receive(PeerLink& link, Frame frame) override { worker_->Receive(link, std::move(frame)); }
  void Closed(PeerLink& link, const Status& why) override {
    worker_->LinkClosed(link, errors::Unavailable(link.peer(), " was lost: ", why.message()));
  }

 private:
  Worker* const worker_;
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_ACCEPTED_LINKS_H_
