// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_COLLECTIVE_TRANSPORT_LINK_EPOCH_H_
#define MILLSTREAM_COLLECTIVE_TRANSPORT_LINK_EPOCH_H_

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "millstream/collective/transport/frame_exchange.h"
#include "millstream/collective/transport/inbox.h"
#include "millstream/framework/servable_link.h"

namespace millstream::collective {

// One rank in one epoch of a group whose members are joined by links. Called by the rank's own thread and by the I/O
// threads of links.
class FrameExchange::Epoch {
 public:
  Epoch(uint64_t key, std::vector<std::string> tasks, int rank)
      : key_(key), tasks_(std::move(tasks)), rank_(rank), links_(tasks_.size()), states_(tasks_.size()) {}

  // Of the rank's thread.
  Status Connect(const JoinOptions& options);
  std::vector<std::shared_ptr<PeerLink>> Links();
  void Send(int to, uint64_t tag, const void* data, size_t bytes);
  void Expect(int from, uint64_t tag, void* into, size_t bytes);
  Status Await(int from, uint64_t tag, Deadline deadline);
  Status AwaitSent(Deadline deadline);
  // The rank will not wait for a while: its links are the I/O threads' again.
  void StopServing();
  void Abort(const Status& why, bool tell);
  void Enter(uint64_t operation);
  // Tells the peers which operation this rank has completed last: its absence is no failure up to there.
  void Leave();
  void Publish(std::string note);
  std::vector<Transport::RankState> States(Deadline deadline);
  Inbox& inbox() { return *inbox_; }

  // Of I/O threads.
  StatusOr<Tensor> Allocate(const std::string& task, const Frame& frame, uint64_t bytes);
  void Receive(PeerLink& link, Frame frame);
  void Lost(PeerLink& link, const Status& why);

 private:
  // Reads what has come on the links that the rank may serve; more often on that to `first` (-1: none). True if
  // anything has come.
  bool Serve(int first);
  // What the rank does while it waits for another (-1: for all).
  Waiting WaitingFor(int rank);
  int RankOf(const std::string& task) const;  // -1: not a member
  void SendFrame(int to, uint32_t kind, Control control, uint64_t tag, std::string body, Tensor payload);
  void SendControl(int to, Control control, uint64_t tag, std::string body) {
    SendFrame(to, kControlKind, control, tag, std::move(body), Tensor());
  }
  Status AwaitHellos(const JoinOptions& options);
  std::shared_ptr<PeerLink> LinkTo(int rank);
  void SetLink(int rank, std::shared_ptr<PeerLink> link);
  void TellAbort(const Status& why);
  void MaySend(int to, uint64_t tag);
  void Answered(int rank, uint64_t question, const std::string& body);
  void HasLeft(int rank, uint64_t operation, std::string note);

  const uint64_t key_;
  const std::vector<std::string> tasks_;
  const int rank_;
  Mutex links_mu_;
  CondVar linked_;
  std::vector<std::shared_ptr<PeerLink>> links_ ABSL_GUARDED_BY(links_mu_);  // null: of this rank, or not there yet
  std::vector<std::shared_ptr<ServableLink>> served_;  // of the rank's thread, rank by rank; null: not served
  bool serves_ = false;                                // of the rank's thread: any of them
  uint32_t serving_turn_ = 0;                          // of the rank's thread
  const std::shared_ptr<Inbox> inbox_ = std::make_shared<Inbox>();
  const std::shared_ptr<Outbox> outbox_ = std::make_shared<Outbox>();
  std::atomic<uint64_t> entered_{0};
  std::atomic<bool> told_{false};

  Mutex mu_;
  CondVar cv_;
  // Large messages and permissions to send them, whichever came first.
  std::map<std::pair<int, uint64_t>, Tensor> held_ ABSL_GUARDED_BY(mu_);
  bool ended_ ABSL_GUARDED_BY(mu_) = false;  // nothing more is held
  std::string note_ ABSL_GUARDED_BY(mu_);
  uint64_t question_ ABSL_GUARDED_BY(mu_) = 0;
  std::vector<Transport::RankState> states_ ABSL_GUARDED_BY(mu_);
  std::map<int, uint64_t> left_ ABSL_GUARDED_BY(mu_);  // ranks, with the last operation that they took part in
  std::atomic<uint64_t> first_left_{UINT64_MAX};       // the smallest of those operations
};

}  // namespace millstream::collective

#endif  // MILLSTREAM_COLLECTIVE_TRANSPORT_LINK_EPOCH_H_
