// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_LINK_LINK_HUB_H_
#define MILLSTREAM_DISTRIBUTED_LINK_LINK_HUB_H_

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "millstream/distributed/trust/admission.h"
#include "millstream/framework/peer_link.h"

namespace millstream {

// How others reach a hub. Travels in the handshake, so it is checked when it is used.
struct LinkEndpoint {
  std::string task;  // "/job:ps/replica:0/task:0"
  uint64_t incarnation = 0;
  std::string host;         // boot id and network namespace: equal for tasks that can share memory
  int64_t process = 0;      // with `host`: equal for tasks of one process
  uint64_t hub = 0;         // which hub of that process
  std::string shm_address;  // abstract Unix socket; "": none
  std::string tcp_address;  // "10.0.0.2:43211"; "": none
  std::string ticket;       // 16 random bytes that a dialer must know
};

class HubRegistry;

struct LinkOptions {
  bool shm = true;
  bool tcp = true;
  // Both ends of a link must know the other's ticket and this (never sent); "": the job has none.
  std::string token;
  // Who may connect at all: without token and certificates, processes of the same user.
  AdmissionPolicy admission;
  std::string bind_address = "127.0.0.1";   // of the TCP listener
  std::string advertised_address;           // host that peers dial; "": bind_address
  size_t shm_ring_bytes = size_t{2} << 20;  // each way, per link; a power of two from 64 KB to 1 GB
  // Large tensors are lent to tasks of the same user that are linked through shared memory, not copied (loans.h).
  bool lend = true;
  // Hubs of one process that share a registry (hub_registry.h) hand frames over directly; null: this one does not.
  std::shared_ptr<HubRegistry> neighbours;
  int io_threads = 1;
  std::chrono::microseconds spin{50};  // the longest that an I/O thread looks for work before it blocks
  std::chrono::milliseconds handshake_timeout{10'000};
  // A link that has been silent for the interval is pinged; one that sends no keepalive reply within the timeout while
  // a ping is out ends with Unavailable. A peer that reads what it is sent is alive. 0: never.
  std::chrono::milliseconds keepalive_interval{10'000}, keepalive_timeout{30'000};
  // How long a link that was closed waits for the peer to take what was queued, counted from its last sign of life.
  std::chrono::milliseconds linger{2'000};

  // For tests: every frame is sent this much later; the link breaks instead of sending frame number N (from 0; -1:
  // never).
  std::chrono::microseconds test_delay{0};
  int64_t test_break_after = -1;
};

// The links of one task: its listeners, its I/O threads, and the links that it dialed or accepted. Thread-safe.
class LinkHub {
 public:
  // Who serves an accepted link; `task` and `incarnation` are what the dialer says of itself.
  using Accept = std::function<StatusOr<FrameHandler*>(const std::string& task, uint64_t incarnation)>;

  // Opens the listeners. `accept` may be called from then on, on an I/O thread.
  static StatusOr<std::unique_ptr<LinkHub>> Start(std::string task, uint64_t incarnation, const LinkOptions& options,
                                                  Accept accept);
  // Closes every link (their handlers are told) and ends the threads. Not on an I/O thread.
  virtual ~LinkHub() = default;

  virtual const LinkEndpoint& endpoint() const = 0;

  // Connects to another hub: in the same process directly, on the same host through shared memory, else by TCP; a
  // transport that is turned off on either side is passed over. Unavailable if none is left or nobody answers,
  // DeadlineExceeded, PermissionDenied (wrong ticket); errors name the task and the address. `handler` must outlive the
  // link (until its Closed()) and may be called before this returns. Blocks, so not for I/O threads.
  virtual StatusOr<std::shared_ptr<PeerLink>> Dial(const LinkEndpoint& peer, FrameHandler* handler,
                                                   std::chrono::milliseconds deadline) = 0;
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_LINK_LINK_HUB_H_
