// SPDX-License-Identifier: Apache-2.0
#include "millstream/status/link_table.h"

#include <algorithm>

namespace millstream {
namespace {

void AddCounters(const PeerLink& link, LinkTable::Row* row) {
  const PeerLink::Counters& counters = link.counters();
  row->frames_sent += counters.frames_sent.load(std::memory_order_relaxed);
  row->frames_received += counters.frames_received.load(std::memory_order_relaxed);
  row->bytes_sent += counters.bytes_sent.load(std::memory_order_relaxed);
  row->bytes_received += counters.bytes_received.load(std::memory_order_relaxed);
}

}  // namespace

void LinkTable::Opened(PeerLink& link) {
  const std::weak_ptr<PeerLink> weak = link.weak_from_this();
  MutexLock lock(mu_);
  open_[&link] = weak;
}

void LinkTable::Closed(PeerLink& link) {
  MutexLock lock(mu_);
  if (open_.erase(&link) == 0) return;
  const Key key(link.peer(), link.transport());
  if (ended_.size() >= kMaxRows && !ended_.contains(key)) return;
  Row& row = ended_[key];
  row.peer = key.first;
  row.transport = key.second;
  AddCounters(link, &row);
}

std::vector<LinkTable::Row> LinkTable::Rows() const {
  std::map<Key, Row> rows;
  std::vector<std::shared_ptr<PeerLink>> open;  // asked outside the lock: they have locks of their own
  {
    MutexLock lock(mu_);
    rows = ended_;
    for (const auto& [raw, weak] : open_) {
      if (std::shared_ptr<PeerLink> link = weak.lock()) open.push_back(std::move(link));
    }
  }
  for (const auto& link : open) {
    Row& row = rows[Key(link->peer(), link->transport())];
    row.peer = link->peer();
    row.transport = link->transport();
    ++row.open;
    AddCounters(*link, &row);
    row.queued_frames += link->queued_frames();
    row.last_heard_ns = std::max(row.last_heard_ns, link->last_heard_ns());
  }
  std::vector<Row> list;
  for (auto& [key, row] : rows) list.push_back(std::move(row));
  return list;
}

}  // namespace millstream
