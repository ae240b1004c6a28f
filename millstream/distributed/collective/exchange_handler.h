// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_COLLECTIVE_EXCHANGE_HANDLER_H_
#define MILLSTREAM_DISTRIBUTED_COLLECTIVE_EXCHANGE_HANDLER_H_

#include <utility>

#include "millstream/collective/transport/frame_exchange.h"
#include "millstream/distributed/wire/frame_router.h"

namespace millstream {

static_assert(kCollectiveMessage == collective::kMessageKind && kCollectiveControl == collective::kControlKind);

// The frames of collectives, as the router of a task hands them over.
class ExchangeReceiver final : public FrameReceiver {
 public:
  explicit ExchangeReceiver(collective::FrameExchange* exchange) : exchange_(*exchange) {}
  StatusOr<Tensor> Allocate(PeerLink& link, const Frame& frame, uint64_t bytes) override {
    return exchange_.Allocate(link, frame, bytes);
  }
  void Receive(PeerLink& link, Frame frame) override { exchange_.Receive(link, std::move(frame)); }
  void LinkLost(PeerLink& link, const Status& why) override { exchange_.LinkLost(link, why); }

 private:
  collective::FrameExchange& exchange_;
};

// Links that carry nothing but collectives: for benchmarks and tests, which have no server.
class ExchangeHandler final : public FrameHandler {
 public:
  explicit ExchangeHandler(collective::FrameExchange* exchange) : exchange_(*exchange) {}
  StatusOr<Tensor> Allocate(PeerLink& link, const Frame& frame, uint64_t bytes) override {
    return exchange_.Allocate(link, frame, bytes);
  }
  void Receive(PeerLink& link, Frame frame) override { exchange_.Receive(link, std::move(frame)); }
  void Closed(PeerLink& link, const Status& why) override { exchange_.LinkLost(link, why); }

 private:
  collective::FrameExchange& exchange_;
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_COLLECTIVE_EXCHANGE_HANDLER_H_
