// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_COLLECTIVE_TRANSPORT_THREAD_TRANSPORT_H_
#define MILLSTREAM_COLLECTIVE_TRANSPORT_THREAD_TRANSPORT_H_

#include <atomic>
#include <memory>
#include <vector>

#include "millstream/collective/transport/inbox.h"
#include "millstream/collective/transport/transport.h"

namespace millstream::collective {

// Ranks that are threads of one process: messages are copied once, from the sender's memory to the receiver's.
class ThreadNetwork : public std::enable_shared_from_this<ThreadNetwork> {
 public:
  static std::shared_ptr<ThreadNetwork> Make(int ranks);
  // The transport of one rank. Call it once per rank.
  std::unique_ptr<Transport> Join(int rank);
  // As if the process of this rank had died: its peers fail with Unavailable, itself too. `name` stands in the message.
  void Kill(int rank, const std::string& name);

 private:
  friend class ThreadTransport;
  struct Rank {
    std::shared_ptr<Inbox> inbox = std::make_shared<Inbox>();
    std::shared_ptr<Outbox> outbox = std::make_shared<Outbox>();
    std::atomic<uint64_t> entered{0};
    Mutex mu;
    std::string note ABSL_GUARDED_BY(mu);
    std::atomic<bool> dead{false};
  };
  explicit ThreadNetwork(int ranks) : ranks_(static_cast<size_t>(ranks)) {}
  std::vector<Rank> ranks_;
};

}  // namespace millstream::collective

#endif  // MILLSTREAM_COLLECTIVE_TRANSPORT_THREAD_TRANSPORT_H_
