// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_COLLECTIVE_TRANSPORT_TRANSPORT_H_
#define MILLSTREAM_COLLECTIVE_TRANSPORT_TRANSPORT_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "millstream/base/status.h"

namespace millstream::collective {

using Deadline = std::chrono::steady_clock::time_point;

// Messages between the ranks of one epoch of a group. A message is found by its sender and tag, so the order in which
// receivers ask does not matter; a tag is used once per pair of ranks.
//
// Send() to AwaitSent() are called by one thread at a time, the one that runs the group's collective. The others may be
// called by any thread. After an error everything fails with that error: an epoch does not recover.
class Transport {
 public:
  virtual ~Transport() = default;

  // Begins to send. Never blocks; the memory is borrowed until AwaitSent() returns.
  virtual void Send(int to, uint64_t tag, const void* data, size_t bytes) = 0;
  // Says where a message of exactly so many bytes is to go, at best before it comes: then it is written there at once.
  // The memory is borrowed until Await() returns.
  virtual void Expect(int from, uint64_t tag, void* into, size_t bytes) = 0;
  // Waits for an expected message. DeadlineExceeded; Unavailable if the sender is gone; Aborted.
  virtual Status Await(int from, uint64_t tag, Deadline deadline) = 0;
  // Waits until everything that was sent has left the memory of the sender.
  virtual Status AwaitSent(Deadline deadline) = 0;

  // This rank will not wait for a while: threads that it did the work of meanwhile take it up again. By the thread that
  // runs the collectives.
  virtual void Rest() {}

  // Ends the epoch here and, with `tell`, at all peers: their calls fail with Aborted and the message of `why`. The
  // first reason counts. Nobody touches borrowed memory once it has returned.
  virtual void Abort(const Status& why, bool tell) = 0;
  // OK, or why the epoch has ended.
  virtual Status status() const = 0;
  // `call` runs once when the epoch ends, on any thread; at once if it has ended. Null: nobody. Returns when no call is
  // under way.
  virtual void OnAbort(std::function<void(const Status& why)> call) = 0;

  // What the others may know of this rank, at any time and also after the end of the epoch: the number of the operation
  // that it has entered last (from 1), and a few bytes more (Group::AgreeOnSurvivors()).
  virtual void Enter(uint64_t operation) = 0;
  virtual void Publish(std::string note) = 0;
  struct RankState {
    bool answered = false;  // in time, or when it left
    bool gone = false;      // it has left, or its process has ended
    uint64_t entered = 0;
    std::string note;
  };
  virtual std::vector<RankState> States(Deadline deadline) = 0;
};

}  // namespace millstream::collective

#endif  // MILLSTREAM_COLLECTIVE_TRANSPORT_TRANSPORT_H_
