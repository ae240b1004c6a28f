// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/worker/task_exchange.h"

#include "millstream/distributed/wire/protocol.h"
#include "millstream/distributed/wire/wire_tensor.h"

namespace millstream {
namespace {

StatusOr<Frame> ValueFrame(FrameKind kind, uint64_t step, uint32_t edge, uint64_t tag, const Tensor& value, bool dead) {
  Frame frame;
  frame.kind = kind;
  frame.may_lend = true;
  frame.step = step;
  frame.edge = edge;
  frame.tag = tag;
  RETURN_IF_ERROR(EncodeTensor(dead ? nullptr : &value, &frame.body, &frame.payload));
  return frame;
}

}  // namespace

StatusOr<PeerLink*> TaskExchange::LinkOf(uint32_t edge) const {
  if (links_ == nullptr || edge >= links_->size() || (*links_)[edge] == nullptr) {
    return errors::Internal("Edge ", edge, " is not sent by this partition");
  }
  return (*links_)[edge].get();
}

Status TaskExchange::Send(uint32_t edge, uint64_t tag, Tensor value, bool dead) {
  ASSIGN_OR_RETURN(PeerLink * link, LinkOf(edge));
  ASSIGN_OR_RETURN(Frame frame, ValueFrame(kValue, step_, edge, tag, value, dead));
  link->Send(std::move(frame));
  return OkStatus();
}

void TaskExchange::SendInLoop(uint32_t edge, uint64_t tag, Tensor value, bool dead, Sent sent) {
  StatusOr<PeerLink*> link = LinkOf(edge);
  if (!link.ok()) return sent(link.status());
  StatusOr<Frame> frame = ValueFrame(kLoopValue, step_, edge, tag, value, dead);
  if (!frame.ok()) return sent(frame.status());
  Status failed;
  {
    MutexLock lock(mu_);
    failed = failed_;
    if (failed.ok()) {
      const auto [it, is_first] = sending_.try_emplace(Key(edge, tag));
      if (is_first)
        it->second.swap(sent);
      else
        failed = errors::InvalidArgument("Two nodes send edge ", edge);
    }
  }
  if (!failed.ok()) return sent(std::move(failed));
  (*link)->Send(*std::move(frame));
}

void TaskExchange::Taken(uint32_t edge, uint64_t tag) {
  Sent sent;
  {
    MutexLock lock(mu_);
    auto it = sending_.find(Key(edge, tag));
    if (it == sending_.end()) return;
    sent = std::move(it->second);
    sending_.erase(it);
  }
  sent(OkStatus());
}

void TaskExchange::Acknowledge(const Key& key, PeerLink* to) const {
  if (to == nullptr) return;
  Frame frame;
  frame.kind = kTaken;
  frame.step = step_;
  frame.edge = key.first;
  frame.tag = key.second;
  to->Send(std::move(frame));
}

void TaskExchange::Receive(uint32_t edge, uint64_t tag, Received received) {
  const Key key(edge, tag);
  Status failed;
  Slot slot;
  {
    MutexLock lock(mu_);
    failed = failed_;
    if (failed.ok()) {
      const auto it = slots_.try_emplace(key).first;
      if (it->second.arrived) {
        slot = std::move(it->second);
        slots_.erase(it);
        if (!slot.dead) waiting_bytes_ -= slot.value.ByteSize();
      } else if (it->second.received == nullptr) {
        it->second.received = std::move(received);
        return;
      } else {
        failed = errors::InvalidArgument("Two nodes receive edge ", edge);
      }
    }
  }
  if (!failed.ok()) return received(std::move(failed), Tensor(), false);
  Acknowledge(key, slot.taken_to.get());
  received(OkStatus(), std::move(slot.value), slot.dead);
}

void TaskExchange::Deliver(uint32_t edge, uint64_t tag, Tensor value, bool dead, std::shared_ptr<PeerLink> taken_to) {
  const Key key(edge, tag);
  Received received;
  {
    MutexLock lock(mu_);
    if (!failed_.ok()) return;
    ++delivered_;
    auto [it, inserted] = slots_.try_emplace(key);
    Slot& slot = it->second;
    if (slot.arrived) return;
    if (!slot.received) {
      slot.arrived = true;
      slot.dead = dead;
      if (!dead) waiting_bytes_ += value.ByteSize();
      slot.value = std::move(value);
      slot.taken_to = std::move(taken_to);
      return;
    }
    received = std::move(slot.received);
    slots_.erase(it);
  }
  Acknowledge(key, taken_to.get());
  received(OkStatus(), std::move(value), dead);
}

void TaskExchange::Fail(const Status& why) {
  absl::flat_hash_map<Key, Slot> slots;
  absl::flat_hash_map<Key, Sent> sending;
  {
    MutexLock lock(mu_);
    if (!failed_.ok()) return;
    failed_ = why;
    slots.swap(slots_);
    sending.swap(sending_);
    waiting_bytes_ = 0;
  }
  for (auto& [key, slot] : slots) {
    if (slot.received) slot.received(why, Tensor(), false);
  }
  for (auto& [key, sent] : sending) sent(why);
}

size_t TaskExchange::waiting_bytes() const {
  MutexLock lock(mu_);
  return waiting_bytes_;
}

std::vector<uint32_t> TaskExchange::AwaitedEdges() const {
  std::vector<uint32_t> edges;
  MutexLock lock(mu_);
  for (const auto& [key, slot] : slots_) {
    if (slot.received) edges.push_back(key.first);
  }
  return edges;
}

uint64_t TaskExchange::num_delivered() const {
  MutexLock lock(mu_);
  return delivered_;
}

}  // namespace millstream
