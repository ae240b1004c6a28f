// SPDX-License-Identifier: Apache-2.0
#include "millstream/collective/transport/frame_exchange.h"

#include <algorithm>

#include "millstream/base/thread_policy.h"
#include "millstream/collective/transport/link_epoch.h"

namespace millstream::collective {
namespace {

// What is kept of epochs that this task has not joined: peers may be ahead, by eager messages alone.
constexpr size_t kEarlyEpochs = 64, kEarlyFrames = 4096, kEarlyFrameBytes = size_t{16} << 20;

constexpr size_t kEndedLinks = 1024;

uint64_t Fnv(const std::string& bytes, uint64_t hash) {
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return (hash ^ 0xff) * 0x100000001b3u;  // so that "a", "b" differs from "ab", ""
}

}  // namespace

class LinkTransport final : public Transport {
 public:
  LinkTransport(FrameExchange* exchange, uint64_t key, std::shared_ptr<FrameExchange::Epoch> epoch)
      : exchange_(exchange), key_(key), epoch_(std::move(epoch)) {}
  ~LinkTransport() override {
    epoch_->Leave();
    exchange_->Leave(key_);
    epoch_->inbox().OnFail(nullptr);
    epoch_->Abort(errors::Unavailable("This rank has left the group"), /*tell=*/false);
  }

  void Send(int to, uint64_t tag, const void* data, size_t bytes) override { epoch_->Send(to, tag, data, bytes); }
  void Expect(int from, uint64_t tag, void* into, size_t bytes) override { epoch_->Expect(from, tag, into, bytes); }
  Status Await(int from, uint64_t tag, Deadline deadline) override { return epoch_->Await(from, tag, deadline); }
  Status AwaitSent(Deadline deadline) override { return epoch_->AwaitSent(deadline); }
  void Rest() override { epoch_->StopServing(); }
  void Abort(const Status& why, bool tell) override { epoch_->Abort(why, tell); }
  Status status() const override { return epoch_->inbox().status(); }
  void OnAbort(std::function<void(const Status&)> call) override { epoch_->inbox().OnFail(std::move(call)); }
  void Enter(uint64_t operation) override { epoch_->Enter(operation); }
  void Publish(std::string note) override { epoch_->Publish(std::move(note)); }
  std::vector<RankState> States(Deadline deadline) override { return epoch_->States(deadline); }

 private:
  FrameExchange* const exchange_;
  const uint64_t key_;
  const std::shared_ptr<FrameExchange::Epoch> epoch_;
};

uint64_t FrameExchange::Key(const std::string& group, uint64_t epoch, const std::vector<std::string>& tasks) {
  uint64_t key = Fnv(absl::StrCat(group, "/", epoch), 0xcbf29ce484222325u);
  for (const std::string& task : tasks) key = Fnv(task, key);
  return key;
}

StatusOr<std::unique_ptr<Transport>> FrameExchange::Join(uint64_t key, const std::vector<std::string>& tasks, int rank,
                                                         const JoinOptions& options) {
  const auto epoch = std::make_shared<Epoch>(key, tasks, rank);
  Early early;
  {
    MutexLock lock(mu_);
    if (!epochs_.try_emplace(key, epoch).second) return errors::AlreadyExists("This task is in the group already");
    const auto it = early_.find(key);
    if (it != early_.end()) {
      early = std::move(it->second);
      early_.erase(it);
    }
  }
  auto transport = std::make_unique<LinkTransport>(this, key, epoch);
  for (auto& [link, frame] : early.frames) epoch->Receive(*link, std::move(frame));
  RETURN_IF_ERROR(epoch->Connect(options));
  for (const std::shared_ptr<PeerLink>& link : epoch->Links()) {
    if (link != nullptr && HasEnded(link)) epoch->Lost(*link, errors::Unavailable("its link has ended"));
  }
  return transport;
}

void FrameExchange::Leave(uint64_t key) {
  MutexLock lock(mu_);
  epochs_.erase(key);
}

std::shared_ptr<FrameExchange::Epoch> FrameExchange::Find(uint64_t key) {
  MutexLock lock(mu_);
  const auto it = epochs_.find(key);
  return it == epochs_.end() ? nullptr : it->second;
}

bool FrameExchange::KeepEarly(PeerLink& link, Frame* frame) {
  MutexLock lock(mu_);
  if (epochs_.contains(frame->step)) return false;
  const auto [it, is_new] = early_.try_emplace(frame->step);
  Early& early = it->second;
  if (is_new) {
    early.since_ns = NowNanos();
    if (early_.size() > kEarlyEpochs) {
      early_.erase(std::min_element(early_.begin(), early_.end(), [](const auto& a, const auto& b) {
        return a.second.since_ns < b.second.since_ns;
      }));
    }
  }
  const size_t bytes = frame->body.size() + frame->payload.ByteSize();
  if (early.frames.size() >= kEarlyFrames || early.bytes + bytes > kEarlyFrameBytes) return true;  // dropped
  early.bytes += bytes;
  early.frames.emplace_back(link.shared_from_this(), std::move(*frame));
  return true;
}

StatusOr<Tensor> FrameExchange::Allocate(PeerLink& link, const Frame& frame, uint64_t bytes) {
  if (const std::shared_ptr<Epoch> epoch = Find(frame.step)) return epoch->Allocate(link.peer(), frame, bytes);
  if (frame.kind != kMessageKind || bytes > kEagerBytes) {
    return errors::ResourceExhausted(link.peer(), " sent ", bytes, " bytes for a group that this task is not in");
  }
  return Tensor::Make(DType::kUint8, Shape({static_cast<int64_t>(bytes)}));
}

void FrameExchange::Receive(PeerLink& link, Frame frame) {
  std::shared_ptr<Epoch> epoch = Find(frame.step);
  if (epoch == nullptr && KeepEarly(link, &frame)) return;
  if (epoch == nullptr) epoch = Find(frame.step);
  if (epoch != nullptr) epoch->Receive(link, std::move(frame));
}

bool FrameExchange::HasEnded(const std::shared_ptr<PeerLink>& link) {
  MutexLock lock(mu_);
  return std::any_of(ended_.begin(), ended_.end(), [&](const auto& one) { return one.lock() == link; });
}

void FrameExchange::LinkLost(PeerLink& link, const Status& why) {
  std::vector<std::shared_ptr<Epoch>> epochs;
  {
    MutexLock lock(mu_);
    ended_.push_back(link.weak_from_this());
    if (ended_.size() > kEndedLinks) ended_.pop_front();
    for (const auto& [key, epoch] : epochs_) epochs.push_back(epoch);
  }
  for (const std::shared_ptr<Epoch>& epoch : epochs) epoch->Lost(link, why);
}

}  // namespace millstream::collective
