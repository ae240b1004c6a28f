// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_LINK_TESTING_LINK_PEERS_H_
#define MILLSTREAM_DISTRIBUTED_LINK_TESTING_LINK_PEERS_H_

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "millstream/base/mutex.h"
#include "millstream/distributed/link/link_hub.h"

namespace millstream::testing {

// A function that a test sets while an I/O thread may call it. (The lock also orders the two for the thread sanitizer,
// which cannot see that a frame through shared memory does.)
template <typename F>
class Callback {
 public:
  Callback& operator=(F function) {
    MutexLock lock(mu_);
    function_ = std::make_shared<const F>(std::move(function));
    return *this;
  }
  // Null if none is set.
  std::shared_ptr<const F> get() {
    MutexLock lock(mu_);
    return function_;
  }

 private:
  Mutex mu_;
  std::shared_ptr<const F> function_ ABSL_GUARDED_BY(mu_);
};

// Keeps what a link delivers and lets a test wait for it.
class Recorder : public FrameHandler {
 public:
  StatusOr<Tensor> Allocate(PeerLink& link, const Frame& frame, uint64_t bytes) override;
  void Receive(PeerLink& link, Frame frame) override;
  void Opened(PeerLink& link) override;
  void Closed(PeerLink& link, const Status& why) override;

  // Called for each frame, on the I/O thread, instead of keeping it.
  Callback<std::function<void(PeerLink&, Frame)>> on_frame;
  // Called for each payload, instead of making a tensor for it.
  Callback<std::function<StatusOr<Tensor>(const Frame&, uint64_t)>> on_payload;

  // The frames so far, once there are `count`; fewer after 20 seconds.
  std::vector<Frame> WaitForFrames(size_t count);
  // The reason, once the link is closed; Unknown after `patience`.
  Status WaitForClose(std::chrono::milliseconds patience = std::chrono::seconds(20));
  // The link that was opened last; null after 20 seconds.
  std::shared_ptr<PeerLink> WaitForLink();
  int closes();

 private:
  Mutex mu_;
  CondVar cv_;
  std::vector<Frame> frames_ ABSL_GUARDED_BY(mu_);
  std::vector<Status> closed_ ABSL_GUARDED_BY(mu_);
  std::shared_ptr<PeerLink> link_ ABSL_GUARDED_BY(mu_);
};

// Options under which two hubs of this process meet through "inproc", "shm" or "tcp".
LinkOptions OptionsFor(const std::string& transport);

// A hub whose accepted links are served by `handler`.
std::unique_ptr<LinkHub> StartHub(const std::string& task, const LinkOptions& options, FrameHandler* handler);

Frame MakeFrame(uint64_t step, std::string body = "");
// Bytes that tell where they are.
Tensor Pattern(int64_t bytes);
bool IsPattern(const Tensor& tensor);

// Closes `near_link` while `far`, at its other end, makes room for a payload of it, so that the rest of that never
// comes, and expects that the memory is given back, though the test holds the link.
void ExpectMemoryBackAfterAnEndAmidAPayload(PeerLink& near_link, Recorder& far);

// How much the link has sent once it has stopped sending: a reader that does not read holds it back.
uint64_t BytesSentOnceStuck(PeerLink& link);

// Two hubs and a link between them; `near` dialed.
struct LinkedPair {
  explicit LinkedPair(const LinkOptions& options) : LinkedPair(options, options) {}
  LinkedPair(const LinkOptions& near_options, const LinkOptions& far_options);

  Recorder near, far;
  std::unique_ptr<LinkHub> near_hub, far_hub;
  std::shared_ptr<PeerLink> near_link, far_link;
};

// A process with a hub of its own that does `serve` until it is killed.
class ChildHub {
 public:
  // Forks: call it while no hub of this process runs. `echo`: sends every frame back.
  explicit ChildHub(const LinkOptions& options);
  ~ChildHub();

  const LinkEndpoint& endpoint() const { return endpoint_; }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  LinkEndpoint endpoint_;
};

}  // namespace millstream::testing

#endif  // MILLSTREAM_DISTRIBUTED_LINK_TESTING_LINK_PEERS_H_
