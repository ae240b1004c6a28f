// SPDX-License-Identifier: Apache-2.0
#include "millstream/collective/transport/link_epoch.h"

#include <algorithm>
#include <cstring>

namespace millstream::collective {
namespace {

constexpr size_t kInBody = 4096;  // smaller messages are copied into their frame
constexpr size_t kHeldPermissions = 1 << 16;
constexpr size_t kMaxNote = 4096;
constexpr auto kGivenUpInterval = std::chrono::milliseconds(50);
// A peer that neither takes what it was sent nor sends the rest of what it began for this long is cut off when an epoch
// ends: the memory that its link uses belongs to the caller.
constexpr auto kQuietPatience = std::chrono::seconds(2);

bool AllKnown(const std::vector<Transport::RankState>& states) {
  return std::all_of(states.begin(), states.end(), [](const auto& state) { return state.answered || state.gone; });
}

}  // namespace

int FrameExchange::Epoch::RankOf(const std::string& task) const {
  for (size_t i = 0; i < tasks_.size(); ++i) {
    if (tasks_[i] == task) return static_cast<int>(i);
  }
  return -1;
}

std::shared_ptr<PeerLink> FrameExchange::Epoch::LinkTo(int rank) {
  MutexLock lock(links_mu_);
  return links_[static_cast<size_t>(rank)];
}

std::vector<std::shared_ptr<PeerLink>> FrameExchange::Epoch::Links() {
  MutexLock lock(links_mu_);
  return links_;
}

void FrameExchange::Epoch::SetLink(int rank, std::shared_ptr<PeerLink> link) {
  MutexLock lock(links_mu_);
  links_[static_cast<size_t>(rank)] = std::move(link);
  linked_.NotifyAll();
}

Status FrameExchange::Epoch::Connect(const JoinOptions& options) {
  for (int i = 0; i < rank_; ++i) {
    ASSIGN_OR_RETURN(std::shared_ptr<PeerLink> link, options.connect(tasks_[static_cast<size_t>(i)]));
    SetLink(i, std::move(link));
    SendControl(i, Control::kHello, 0, "");
  }
  RETURN_IF_ERROR(AwaitHellos(options));
  for (const std::shared_ptr<PeerLink>& link : Links()) {
    served_.push_back(std::dynamic_pointer_cast<ServableLink>(link));
    serves_ |= served_.back() != nullptr;
  }
  return OkStatus();
}

bool FrameExchange::Epoch::Serve(int first) {
  constexpr uint32_t kTurnsPerOther = 4;
  bool any = false;
  if (first >= 0 && served_[static_cast<size_t>(first)] != nullptr) any = served_[static_cast<size_t>(first)]->Serve();
  if (first >= 0 && ++serving_turn_ % kTurnsPerOther != 0) return any;
  for (size_t i = 0; i < served_.size(); ++i) {
    if (static_cast<int>(i) != first && served_[i] != nullptr) any |= served_[i]->Serve();
  }
  return any;
}

Waiting FrameExchange::Epoch::WaitingFor(int rank) {
  if (!serves_) return {};
  return {[this, rank] { return Serve(rank); }, [this] { StopServing(); }};
}

void FrameExchange::Epoch::StopServing() {
  for (const std::shared_ptr<ServableLink>& link : served_) {
    if (link != nullptr) link->StopServing();
  }
}

Status FrameExchange::Epoch::Await(int from, uint64_t tag, Deadline deadline) {
  return inbox_->Await(from, tag, deadline, WaitingFor(from));
}

Status FrameExchange::Epoch::AwaitHellos(const JoinOptions& options) {
  for (;;) {
    const Deadline now = std::chrono::steady_clock::now();
    std::string missing;
    {
      MutexLock lock(links_mu_);
      for (size_t i = 0; i < links_.size(); ++i) {
        if (links_[i] == nullptr && static_cast<int>(i) != rank_) missing = tasks_[i];
      }
      if (missing.empty()) return OkStatus();
      if (now < options.deadline) linked_.WaitUntil(links_mu_, std::min(options.deadline, now + kGivenUpInterval));
    }
    RETURN_IF_ERROR(inbox_->status());
    if (options.given_up != nullptr) RETURN_IF_ERROR(options.given_up());
    if (now >= options.deadline) return errors::DeadlineExceeded(missing, " has not joined the group");
  }
}

void FrameExchange::Epoch::SendFrame(int to, uint32_t kind, Control control, uint64_t tag, std::string body,
                                     Tensor payload) {
  const std::shared_ptr<PeerLink> link = LinkTo(to);
  if (link == nullptr) return;
  Frame frame;
  frame.kind = kind;
  frame.edge = static_cast<uint32_t>(control);
  frame.step = key_;
  frame.tag = tag;
  frame.body = std::move(body);
  frame.payload = std::move(payload);
  link->Send(std::move(frame));
}

void FrameExchange::Epoch::Send(int to, uint64_t tag, const void* data, size_t bytes) {
  if (bytes <= kInBody) {
    return SendFrame(to, kMessageKind, Control{}, tag, std::string(static_cast<const char*>(data), bytes), Tensor());
  }
  Tensor message = outbox_->Lend(to, data, bytes);
  if (bytes > kEagerBytes) {
    MutexLock lock(mu_);
    if (ended_) return;
    const auto [it, is_new] = held_.try_emplace({to, tag}, message);
    if (is_new) return;  // until the receiver says that it is ready
    held_.erase(it);     // it has said so
  }
  SendFrame(to, kMessageKind, Control{}, tag, "", std::move(message));
}

void FrameExchange::Epoch::MaySend(int to, uint64_t tag) {
  Tensor message;
  {
    MutexLock lock(mu_);
    if (ended_ || held_.size() > kHeldPermissions) return;
    const auto [it, is_new] = held_.try_emplace({to, tag});
    if (is_new) return;  // until the rank sends it
    message = std::move(it->second);
    held_.erase(it);
  }
  if (message.IsInitialized()) SendFrame(to, kMessageKind, Control{}, tag, "", std::move(message));
}

void FrameExchange::Epoch::Expect(int from, uint64_t tag, void* into, size_t bytes) {
  inbox_->Expect(from, tag, into, bytes);
  if (bytes > kEagerBytes) SendControl(from, Control::kReady, tag, "");
}

Status FrameExchange::Epoch::AwaitSent(Deadline deadline) {
  // Small steps: what has failed is not sent any more.
  const Waiting waiting = WaitingFor(-1);
  while (!outbox_->AwaitEmpty(std::min(deadline, std::chrono::steady_clock::now() + std::chrono::milliseconds(100)),
                              waiting)) {
    RETURN_IF_ERROR(inbox_->status());
    if (std::chrono::steady_clock::now() >= deadline) return outbox_->NotReceived();
  }
  return inbox_->status();
}

void FrameExchange::Epoch::TellAbort(const Status& why) {
  if (told_.exchange(true)) return;
  for (int i = 0; i < static_cast<int>(tasks_.size()); ++i) {
    if (i != rank_) SendControl(i, Control::kAbort, 0, std::string(why.message()));
  }
}

void FrameExchange::Epoch::Abort(const Status& why, bool tell) {
  inbox_->Fail(why);
  if (tell) TellAbort(why);
  std::map<std::pair<int, uint64_t>, Tensor> held;
  {
    MutexLock lock(mu_);
    ended_ = true;
    held.swap(held_);
  }
  held.clear();
  const Deadline patience = std::chrono::steady_clock::now() + kQuietPatience;
  if (inbox_->AwaitQuiet(patience) && outbox_->AwaitEmpty(patience)) return;
  for (const std::shared_ptr<PeerLink>& link : Links()) {
    if (link != nullptr) link->Close(errors::DeadlineExceeded("a collective was aborted in the middle of a message"));
  }
  inbox_->AwaitQuiet(Deadline::max());
  outbox_->AwaitEmpty(Deadline::max());
}

// The order matters: HasLeft() writes first_left_ before it reads entered_.
void FrameExchange::Epoch::Enter(uint64_t operation) {
  entered_.store(operation, std::memory_order_seq_cst);
  if (operation <= first_left_.load(std::memory_order_seq_cst)) return;
  std::string who;
  {
    MutexLock lock(mu_);
    for (const auto& [rank, last] : left_) {
      if (last < operation) who = tasks_[static_cast<size_t>(rank)];
    }
  }
  inbox_->Fail(errors::Unavailable(who, " has left the group"));
}

void FrameExchange::Epoch::HasLeft(int rank, uint64_t operation, std::string note) {
  {
    MutexLock lock(mu_);
    left_.emplace(rank, operation);
    states_[static_cast<size_t>(rank)] = {true, true, operation, std::move(note)};
    if (operation < first_left_.load(std::memory_order_seq_cst)) {
      first_left_.store(operation, std::memory_order_seq_cst);
    }
    cv_.NotifyAll();
  }
  if (entered_.load(std::memory_order_seq_cst) <= operation) return;
  inbox_->Fail(errors::Unavailable(tasks_[static_cast<size_t>(rank)], " has left the group"));
}

void FrameExchange::Epoch::Leave() {
  // Its last operation is complete, or the others are told why not.
  if (inbox_->failed()) TellAbort(inbox_->status());
  const uint64_t last = entered_.load(std::memory_order_acquire);
  std::string note;
  {
    MutexLock lock(mu_);
    note = note_;
  }
  for (int i = 0; i < static_cast<int>(tasks_.size()); ++i) {
    if (i != rank_) SendControl(i, Control::kLeft, last, note);
  }
}

void FrameExchange::Epoch::Publish(std::string note) {
  MutexLock lock(mu_);
  note_ = std::move(note);
}

std::vector<Transport::RankState> FrameExchange::Epoch::States(Deadline deadline) {
  uint64_t question;
  {
    MutexLock lock(mu_);
    question = ++question_;
    for (size_t i = 0; i < states_.size(); ++i) {
      if (!left_.contains(static_cast<int>(i))) states_[i].answered = false;  // those have said their last word
    }
    states_[static_cast<size_t>(rank_)] = {true, false, entered_.load(std::memory_order_acquire), note_};
  }
  for (int i = 0; i < static_cast<int>(tasks_.size()); ++i) {
    if (i != rank_) SendControl(i, Control::kAsk, question, "");
  }
  MutexLock lock(mu_);
  while (!AllKnown(states_)) {
    if (!cv_.WaitUntil(mu_, deadline) && std::chrono::steady_clock::now() >= deadline) break;
  }
  return states_;
}

void FrameExchange::Epoch::Answered(int rank, uint64_t question, const std::string& body) {
  if (body.size() < sizeof(uint64_t) || body.size() > kMaxNote) return;
  MutexLock lock(mu_);
  if (question != question_) return;
  Transport::RankState& state = states_[static_cast<size_t>(rank)];
  state.answered = true;
  std::memcpy(&state.entered, body.data(), sizeof(state.entered));
  state.note = body.substr(sizeof(uint64_t));
  cv_.NotifyAll();
}

StatusOr<Tensor> FrameExchange::Epoch::Allocate(const std::string& task, const Frame& frame, uint64_t bytes) {
  const int rank = RankOf(task);
  if (rank < 0 || frame.kind != kMessageKind)
    return errors::PermissionDenied(task, " sent a frame that it may not send");
  StatusOr<Tensor> memory = inbox_->Reserve(rank, frame.tag, bytes);
  if (!memory.ok()) inbox_->Fail(WithContext(memory.status(), task));
  return memory;
}

void FrameExchange::Epoch::Receive(PeerLink& link, Frame frame) {
  const int rank = RankOf(link.peer());
  if (rank < 0 || rank == rank_) return;
  if (frame.kind == kMessageKind) {
    if (!frame.payload.IsInitialized()) {
      frame.payload = Tensor(DType::kUint8, Shape({static_cast<int64_t>(frame.body.size())}));
      if (!frame.body.empty()) std::memcpy(frame.payload.raw(), frame.body.data(), frame.body.size());
    }
    return inbox_->Deliver(rank, frame.tag, std::move(frame.payload));
  }
  switch (static_cast<Control>(frame.edge)) {
    case Control::kReady:
      return MaySend(rank, frame.tag);
    case Control::kAbort:
      inbox_->Fail(errors::Aborted(frame.body));
      return;
    case Control::kAsk: {
      std::string body(sizeof(uint64_t), '\0');
      const uint64_t entered = entered_.load(std::memory_order_acquire);
      std::memcpy(body.data(), &entered, sizeof(entered));
      {
        MutexLock lock(mu_);
        body += note_;
      }
      return SendControl(rank, Control::kAnswer, frame.tag, std::move(body));
    }
    case Control::kAnswer:
      return Answered(rank, frame.tag, frame.body);
    case Control::kLeft:
      if (frame.body.size() <= kMaxNote) HasLeft(rank, frame.tag, std::move(frame.body));
      return;
    case Control::kHello:
      if (rank > rank_ && LinkTo(rank) == nullptr) SetLink(rank, link.shared_from_this());
      return;
  }
}

void FrameExchange::Epoch::Lost(PeerLink& link, const Status& why) {
  const std::string& task = link.peer();
  const int rank = RankOf(task);
  if (rank < 0 || rank == rank_ || LinkTo(rank).get() != &link) return;  // not one of this epoch
  {
    MutexLock lock(mu_);
    states_[static_cast<size_t>(rank)].gone = true;
    cv_.NotifyAll();
    if (left_.contains(rank)) return;  // as it said
  }
  inbox_->Fail(errors::Unavailable(task, " has left the group: ", why.message()));
}

}  // namespace millstream::collective
