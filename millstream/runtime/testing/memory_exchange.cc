// SPDX-License-Identifier: Apache-2.0
#include "millstream/runtime/testing/memory_exchange.h"

namespace millstream {

Status MemoryExchange::Send(uint32_t edge, uint64_t tag, Tensor value, bool dead) {
  Status status;
  SendInLoop(edge, tag, std::move(value), dead, nullptr);
  MutexLock lock(mu_);
  return status_;
}

void MemoryExchange::SendInLoop(uint32_t edge, uint64_t tag, Tensor value, bool dead, Sent sent) {
  Status status;
  Received received;
  {
    MutexLock lock(mu_);
    status = status_;
    if (status.ok()) {
      Meeting& meeting = waiting_[{edge, tag}];
      if (meeting.sent) status = errors::Internal("Edge ", edge, " was sent twice with tag ", tag);
      received = std::move(meeting.received);
      if (received) {
        waiting_.erase({edge, tag});
        ++transfers_;
      } else if (status.ok()) {
        meeting = {true, value, dead, std::move(sent), nullptr};
        return;
      }
    }
  }
  if (received) received(OkStatus(), std::move(value), dead);
  if (sent) sent(std::move(status));
}

void MemoryExchange::Receive(uint32_t edge, uint64_t tag, Received received) {
  Status status;
  Meeting met;
  {
    MutexLock lock(mu_);
    status = status_;
    if (status.ok()) {
      Meeting& meeting = waiting_[{edge, tag}];
      if (!meeting.sent && !meeting.received) {
        meeting.received = std::move(received);
        return;
      }
      if (meeting.sent) {
        met = std::move(meeting);
        waiting_.erase({edge, tag});
        ++transfers_;
      } else {
        status = errors::Internal("Edge ", edge, " was received twice with tag ", tag);
      }
    }
  }
  received(std::move(status), std::move(met.value), met.dead);
  if (met.taken) met.taken(OkStatus());
}

void MemoryExchange::Abort(const Status& status) {
  absl::flat_hash_map<Key, Meeting> given_up;
  {
    MutexLock lock(mu_);
    if (!status_.ok()) return;
    status_ = status;
    given_up.swap(waiting_);
  }
  for (auto& [key, meeting] : given_up) {
    if (meeting.received) meeting.received(status, Tensor(), false);
    if (meeting.taken) meeting.taken(status);
  }
}

size_t MemoryExchange::num_waiting() const {
  MutexLock lock(mu_);
  return waiting_.size();
}

int MemoryExchange::num_transfers() const {
  MutexLock lock(mu_);
  return transfers_;
}

}  // namespace millstream
