// SPDX-License-Identifier: Apache-2.0
#include "millstream/collective/transport/thread_transport.h"

namespace millstream::collective {

class ThreadTransport final : public Transport {
 public:
  ThreadTransport(std::shared_ptr<ThreadNetwork> network, int rank)
      : network_(std::move(network)), rank_(rank), own_(network_->ranks_[static_cast<size_t>(rank)]) {}
  ~ThreadTransport() override {
    Abort(errors::Unavailable("Rank ", rank_, " has left the group"), /*tell=*/false);
    own_.inbox->OnFail(nullptr);
  }

  void Send(int to, uint64_t tag, const void* data, size_t bytes) override {
    network_->ranks_[static_cast<size_t>(to)].inbox->Deliver(rank_, tag, own_.outbox->Lend(to, data, bytes));
  }
  void Expect(int from, uint64_t tag, void* into, size_t bytes) override { own_.inbox->Expect(from, tag, into, bytes); }
  Status Await(int from, uint64_t tag, Deadline deadline) override { return own_.inbox->Await(from, tag, deadline); }
  Status AwaitSent(Deadline deadline) override {
    // A receiver that fails drops what it was sent.
    if (!own_.outbox->AwaitEmpty(deadline)) return own_.outbox->NotReceived();
    return own_.inbox->status();
  }
  void Abort(const Status& why, bool tell) override {
    if (!own_.inbox->Fail(why) || !tell) return DropSent();
    for (ThreadNetwork::Rank& peer : network_->ranks_) {
      if (&peer != &own_) peer.inbox->Fail(errors::Aborted(why.message()));
    }
    DropSent();
  }
  Status status() const override { return own_.inbox->status(); }
  void OnAbort(std::function<void(const Status&)> call) override { own_.inbox->OnFail(std::move(call)); }
  void Enter(uint64_t operation) override { own_.entered.store(operation, std::memory_order_release); }
  void Publish(std::string note) override {
    MutexLock lock(own_.mu);
    own_.note = std::move(note);
  }
  std::vector<RankState> States(Deadline) override {
    std::vector<RankState> states;
    for (ThreadNetwork::Rank& rank : network_->ranks_) {
      MutexLock lock(rank.mu);
      const bool dead = rank.dead.load(std::memory_order_acquire);
      states.push_back({!dead, dead, rank.entered.load(std::memory_order_acquire), rank.note});
    }
    return states;
  }

 private:
  // Takes back what no receiver has copied yet.
  void DropSent() {
    if (own_.outbox->empty()) return;
    for (ThreadNetwork::Rank& peer : network_->ranks_) peer.inbox->DropEarly(rank_);
    own_.outbox->AwaitEmpty(Deadline::max());
  }

  const std::shared_ptr<ThreadNetwork> network_;
  const int rank_;
  ThreadNetwork::Rank& own_;
};

std::shared_ptr<ThreadNetwork> ThreadNetwork::Make(int ranks) {
  return std::shared_ptr<ThreadNetwork>(new ThreadNetwork(ranks));
}

std::unique_ptr<Transport> ThreadNetwork::Join(int rank) {
  return std::make_unique<ThreadTransport>(shared_from_this(), rank);
}

void ThreadNetwork::Kill(int rank, const std::string& name) {
  Rank& dead = ranks_[static_cast<size_t>(rank)];
  dead.dead.store(true, std::memory_order_release);
  const Status why = errors::Unavailable(name, " has stopped");
  for (Rank& peer : ranks_) peer.inbox->Fail(why);
}

}  // namespace millstream::collective
