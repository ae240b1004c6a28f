// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_COLLECTIVE_TRANSPORT_FRAME_EXCHANGE_H_
#define MILLSTREAM_COLLECTIVE_TRANSPORT_FRAME_EXCHANGE_H_

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "millstream/base/mutex.h"
#include "millstream/collective/transport/transport.h"
#include "millstream/framework/peer_link.h"

namespace millstream::collective {

// Kinds of the frames of collectives, as distributed/wire/protocol.h has them. `step` is the key of the group's epoch.
inline constexpr uint32_t kMessageKind = 16;  // tag; body or payload: the message
inline constexpr uint32_t kControlKind = 17;  // edge: a Control; tag and body as that says
enum class Control : uint32_t {
  kReady = 1,   // tag: of a large message, which may be sent now
  kAbort = 2,   // body: why
  kAsk = 3,     // tag: number of the question
  kAnswer = 4,  // tag: of the question; body: operation entered u64, note
  kLeft = 5,    // tag: the last operation that the sender took part in; it sends nothing more; body: its note
  kHello = 6,   // the first frame of a link that the sender has dialed for this epoch; the receiver uses it, too
};

class LinkTransport;

// The collectives of one task over its links to other tasks (shared memory, TCP, TLS): hands frames to the epoch of the
// group that they belong to. Large messages are sent from and received into the memory of the ranks. Thread-safe.
class FrameExchange {
 public:
  // The link to a task. May block for as long as connecting takes.
  using Connect = std::function<StatusOr<std::shared_ptr<PeerLink>>(const std::string& task)>;

  // What equal names, epochs and members have in common.
  static uint64_t Key(const std::string& group, uint64_t epoch, const std::vector<std::string>& tasks);

  // The transport of rank `rank` of `tasks`; one per key. The exchange must outlive it. Each pair of ranks has one
  // link, so that what a rank says last comes before the end of its link: the later rank dials it. Blocks until all
  // links are there, the deadline, or `given_up` (optional, looked at often) is an error.
  struct JoinOptions {
    Connect connect;
    Deadline deadline = Deadline::max();
    std::function<Status()> given_up = nullptr;
  };
  StatusOr<std::unique_ptr<Transport>> Join(uint64_t key, const std::vector<std::string>& tasks, int rank,
                                            const JoinOptions& options);

  // What the links of the task bring; as FrameHandler.
  StatusOr<Tensor> Allocate(PeerLink& link, const Frame& frame, uint64_t bytes);
  void Receive(PeerLink& link, Frame frame);
  void LinkLost(PeerLink& link, const Status& why);

 private:
  friend class LinkTransport;
  class Epoch;
  // Frames of an epoch that this task has not joined yet.
  struct Early {
    std::vector<std::pair<std::shared_ptr<PeerLink>, Frame>> frames;  // with the links that brought them
    size_t bytes = 0;
    int64_t since_ns = 0;
  };
  std::shared_ptr<Epoch> Find(uint64_t key);
  void Leave(uint64_t key);
  bool KeepEarly(PeerLink& link, Frame* frame);
  bool HasEnded(const std::shared_ptr<PeerLink>& link);

  Mutex mu_;
  std::map<uint64_t, std::shared_ptr<Epoch>> epochs_ ABSL_GUARDED_BY(mu_);
  std::map<uint64_t, Early> early_ ABSL_GUARDED_BY(mu_);
  std::deque<std::weak_ptr<PeerLink>> ended_
      ABSL_GUARDED_BY(mu_);  // the last links, for those who are about to use one
};

}  // namespace millstream::collective

#endif  // MILLSTREAM_COLLECTIVE_TRANSPORT_FRAME_EXCHANGE_H_
