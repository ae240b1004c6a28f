// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_STATUS_LINK_TABLE_H_
#define MILLSTREAM_STATUS_LINK_TABLE_H_

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "millstream/base/mutex.h"
#include "millstream/framework/peer_link.h"

namespace millstream {

// What has gone over the links of a task, by peer and transport: those that are open and, in the same sums, those that
// have ended, so that sums never fall. Links count by themselves; this only reads. Thread-safe.
class LinkTable {
 public:
  struct Row {
    std::string peer;
    std::string transport;
    int open = 0;
    uint64_t frames_sent = 0, frames_received = 0, bytes_sent = 0, bytes_received = 0;
    size_t queued_frames = 0;
    int64_t last_heard_ns = 0;  // by the steady clock; 0: no open link
  };

  // What FrameHandler::Opened() and Closed() are told.
  void Opened(PeerLink& link);
  void Closed(PeerLink& link);

  std::vector<Row> Rows() const;  // by peer

 private:
  using Key = std::pair<std::string, std::string>;
  // Peers are tasks of the cluster, but a stranger with a token may call itself what it likes.
  static constexpr size_t kMaxRows = 4096;

  mutable Mutex mu_;
  std::unordered_map<PeerLink*, std::weak_ptr<PeerLink>> open_ ABSL_GUARDED_BY(mu_);
  std::map<Key, Row> ended_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millstream

#endif  // MILLSTREAM_STATUS_LINK_TABLE_H_
