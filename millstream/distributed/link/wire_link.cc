// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/link/wire_link.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <ctime>

#include "absl/strings/str_format.h"

namespace millstream {
namespace {

// What a thread that sends writes itself before it leaves the rest to the I/O thread.
constexpr size_t kDirectBytes = size_t{512} << 10;
// What a frame counts beyond its bytes: a sender does not stay for ever to send the small frames of others.
constexpr size_t kFrameCost = 4096;
// What a turn of the I/O thread writes to one link.
constexpr size_t kTurnBytes = size_t{256} << 10;

// "12:03:04 UTC", some time ago by the steady clock.
std::string TimeOfDay(int64_t ago_ns) {
  const std::time_t then = std::time(nullptr) - static_cast<std::time_t>(ago_ns / 1'000'000'000);
  std::tm parts = {};
  gmtime_r(&then, &parts);
  return absl::StrFormat("%02d:%02d:%02d UTC", parts.tm_hour, parts.tm_min, parts.tm_sec);
}

int64_t Nanos(std::chrono::milliseconds t) { return std::chrono::nanoseconds(t).count(); }
// Zero is never; a quarter keeps sums with it in range.
int64_t NanosOrNever(std::chrono::milliseconds t) { return t.count() > 0 ? Nanos(t) : kNever / 4; }

}  // namespace

WireLink::WireLink(LinkParts parts, UniqueFd socket, bool polled)
    : PeerLink(std::move(parts.peer), parts.incarnation),
      loop_(std::move(parts.loop)),
      set_(std::move(parts.set)),
      handler_(parts.handler),
      options_(std::move(parts.options)),
      polled_(polled),
      socket_(std::move(socket)),
      last_heard_(NowNanos()),
      liveness_(NanosOrNever(options_.keepalive_interval), NanosOrNever(options_.keepalive_timeout), last_heard_) {}

void WireLink::Start(const std::string& greeting) {
  set_->Add(self());
  // A polled link looks at its memory; its socket only needs to tell that something is new there.
  Status status = loop_->Add(self(), socket_.get(), EPOLLIN | EPOLLRDHUP | (polled_ ? EPOLLET : 0u), polled_);
  if (status.ok() && !greeting.empty() &&
      ::send(socket_.get(), greeting.data(), greeting.size(), MSG_DONTWAIT | MSG_NOSIGNAL) !=
          static_cast<ssize_t>(greeting.size())) {
    status = errors::Unavailable("the peer closed the connection during the handshake");
  }
  OnStart();
  handler_->Opened(*this);
  if (!status.ok()) Fail(status);
}

void WireLink::Send(Frame frame) {
  if (frame.body.size() > Frame::kMaxBody || (frame.payload.IsInitialized() && !IsPlainBytes(frame.payload.dtype()))) {
    return Close(errors::Internal("a frame of kind ", frame.kind, " with a body of ", frame.body.size(),
                                  " bytes or a payload that is not plain bytes cannot be sent"));
  }
  if (options_.test_break_after >= 0 && Breaks()) return;
  if (options_.test_delay.count() > 0) return SendLater(std::move(frame));
  {
    MutexLock lock(mu_);
    if (state_.load(std::memory_order_relaxed) != State::kOpen) return;
    counters_.frames_sent.fetch_add(1, std::memory_order_relaxed);
    if (writing_ || backlog_.load(std::memory_order_relaxed)) {
      queue_.Push(std::move(frame), 0);
      return;
    }
    writing_ = true;
  }
  StartFrame(std::move(frame));
  Drain(kDirectBytes);
}

// Makes `frame` the one that is being written. Of the writing side's owner.
void WireLink::StartFrame(Frame frame) {
  const std::optional<Loan> loan = frame.may_lend && frame.payload.IsInitialized() ? Lend(frame.payload) : std::nullopt;
  if (!loan.has_value()) return out_.Start(std::move(frame));
  counters_.payloads_lent.fetch_add(1, std::memory_order_relaxed);
  counters_.bytes_sent.fetch_add(frame.payload.ByteSize() - kLoanBytes, std::memory_order_relaxed);
  out_.Start(std::move(frame), *loan);
}

size_t WireLink::queued_frames() {
  MutexLock lock(mu_);
  return queue_.size() + (backlog_.load(std::memory_order_relaxed) ? 1 : 0);
}

void WireLink::SendLater(Frame frame) {
  {
    MutexLock lock(mu_);
    if (state_.load(std::memory_order_relaxed) != State::kOpen) return;
    counters_.frames_sent.fetch_add(1, std::memory_order_relaxed);
    queue_.Push(std::move(frame), NowNanos() + std::chrono::nanoseconds(options_.test_delay).count());
  }
  DrainBacklog(kDirectBytes);
}

bool WireLink::Breaks() {
  {
    MutexLock lock(mu_);
    if (frames_accepted_++ < options_.test_break_after) return false;
  }
  Fail(errors::Unavailable("broken by a test after ", options_.test_break_after, " frames"));
  return true;
}

void WireLink::Drain(size_t budget) {
  Status status;
  do {
    if (!out_.active()) continue;
    const uint64_t before = out_.remaining();
    status = Write(out_, &budget);
    const uint64_t written = before - out_.remaining();
    bytes_written_.store(bytes_written_.load(std::memory_order_relaxed) + written, std::memory_order_relaxed);
    counters_.bytes_sent.fetch_add(written, std::memory_order_relaxed);
    if (!status.ok() || out_.remaining() > 0) {
      DisownWriting(status.ok());
      if (!status.ok()) Fail(status);
      return;
    }
    out_.Reset();
    budget -= std::min(budget, kFrameCost);
  } while (TakeNext());
}

// Makes the next frame the one that is being written. False: there is none, and the writing side is no longer owned.
bool WireLink::TakeNext() {
  bool last;
  {
    MutexLock lock(mu_);
    const bool going = state_.load(std::memory_order_relaxed) <= State::kClosing;
    const bool due = !queue_.empty() && (queue_.front().due_ns == 0 || queue_.front().due_ns <= NowNanos());
    if (going && StartRequested()) return true;
    if (going && due) {
      StartFrame(queue_.Pop());
      return true;
    }
    if (going && wants_bye_ && queue_.empty()) {
      wants_bye_ = false;
      out_.StartControl(WireType::kBye, EncodeByeStatus(why_));
      return true;
    }
    last = Disown(false);
  }
  if (last) Release();
  return false;
}

// Makes a control frame that was requested the one that is being written; false if there is none.
bool WireLink::StartRequested() {
  const std::pair<bool*, WireType> wanted[] = {{&wants_pong_, WireType::kPong},
                                               {&wants_ping_, WireType::kPing},
                                               {&wants_region_, WireType::kRegion},
                                               {&wants_mapped_, WireType::kMapped}};
  for (const auto& [wants, type] : wanted) {
    if (!*wants) continue;
    *wants = false;
    out_.StartControl(type, "");
    return true;
  }
  return false;
}

bool WireLink::TryOwnWriting() {
  MutexLock lock(mu_);
  if (writing_ || state_.load(std::memory_order_relaxed) > State::kClosing) return false;
  writing_ = true;
  return true;
}

void WireLink::DisownWriting(bool any_left) {
  bool last;
  {
    MutexLock lock(mu_);
    last = Disown(any_left);
  }
  if (last) Release();
}

// True: the link has ended meanwhile, and the caller must Release().
bool WireLink::Disown(bool any_left) {
  writing_ = false;
  if (state_.load(std::memory_order_relaxed) == State::kFinished) return true;
  const int64_t due = queue_.empty() ? kNever : queue_.front().due_ns;
  delayed_until_.store(due == 0 ? kNever : due, std::memory_order_seq_cst);
  if (due != 0 && due != kNever && !loop_->on_thread()) loop_->Wake();
  SetBacklog(any_left || due == 0 || wants_ping_ || wants_pong_ || wants_region_ || wants_mapped_ ||
             (wants_bye_ && queue_.empty()));
  return false;
}

void WireLink::Release() {
  out_.Reset();
  ReleaseTransport(std::move(socket_), told_);
}

void WireLink::SetBacklog(bool any) {
  if (backlog_.load(std::memory_order_relaxed) == any && (!any || loop_->on_thread())) return;
  backlog_.store(any, std::memory_order_seq_cst);  // before the loop is asked whether it sleeps
  OnBacklog(any);
}

bool WireLink::DrainBacklog(size_t budget) {
  if (!TryOwnWriting()) return false;
  const uint64_t before = bytes_written_.load(std::memory_order_relaxed);
  Drain(budget);
  return bytes_written_.load(std::memory_order_relaxed) != before;
}

void WireLink::Request(bool* what) {
  {
    MutexLock lock(mu_);
    *what = true;
    if (writing_ || backlog_.load(std::memory_order_relaxed)) return;
  }
  DrainBacklog(kTurnBytes);
}

StatusOr<Tensor> WireLink::AllocatePayload(const Frame& frame, uint64_t bytes) {
  return handler_->Allocate(*this, frame, bytes);
}

void WireLink::Deliver(Frame frame) {
  if (!readable()) return;
  const uint64_t bytes =
      kWireHeaderBytes + frame.body.size() + (frame.payload.IsInitialized() ? frame.payload.ByteSize() : 0);
  counters_.frames_received.fetch_add(1, std::memory_order_relaxed);
  counters_.bytes_received.fetch_add(bytes, std::memory_order_relaxed);
  handler_->Receive(*this, std::move(frame));
}

void WireLink::Control(WireType type, const std::string& body) {
  if (type == WireType::kPing) return Request(&wants_pong_);
  if (type != WireType::kBye) return OnControl(type);
  const Status why = DecodeByeStatus(body);
  Fail(why.ok() ? errors::Unavailable("it closed the link") : WithContext(why, "it closed the link"));
}

Status WireLink::Named(const Status& why) const {
  return WithContext(why, absl::StrCat(peer(), " (", transport(), ")"));
}

int64_t WireLink::deadline_ns() {
  const int64_t check = closing_since_.load(std::memory_order_relaxed) == kNever
                            ? liveness_.next_check()
                            : liveness_.last_check() + Nanos(options_.linger) / 4;
  return std::min({check, delayed_until_.load(std::memory_order_relaxed), transport_deadline_ns()});
}

void WireLink::OnTimer(int64_t now) {
  if (delayed_until_.load(std::memory_order_relaxed) <= now) DrainBacklog(kTurnBytes);
  if (transport_deadline_ns() <= now) OnTransportTimer(now);
  if (now < deadline_ns()) return;
  const Liveness::Verdict verdict = liveness_.Check(now, last_heard_ns(), peer_progress());
  const int64_t silent = now - liveness_.last_sign();
  const int64_t closing = closing_since_.load(std::memory_order_relaxed);
  if (closing != kNever && std::min(silent, now - closing) > Nanos(options_.linger)) {
    Fail(errors::Unavailable("it does not take what was left to send"));
  } else if (verdict == Liveness::Verdict::kPing) {
    Request(&wants_ping_);
  } else if (verdict == Liveness::Verdict::kDead) {
    Fail(errors::Unavailable("no keepalive reply for ", absl::StrFormat("%.1f", static_cast<double>(silent) / 1e9),
                             " s, since ", TimeOfDay(silent), "; the peer may be stopped, or its host unreachable"));
  }
}

void WireLink::Close(Status why) {
  if (why.ok()) return CloseAfterQueue(std::move(why));
  {
    // First of all: the peer may hang up as soon as it has heard, and that is not the reason.
    MutexLock lock(mu_);
    if (state_.load(std::memory_order_relaxed) == State::kOpen) {
      state_.store(State::kClosing, std::memory_order_release);
      why_ = why;
    }
  }
  SayGoodbye(why);
  bool first = false;
  {
    MutexLock lock(mu_);
    if (state_.load(std::memory_order_relaxed) <= State::kClosing) {
      EndTransport();
      why_ = std::move(why);
      first = true;
    }
  }
  if (first) PostFinish();
}

// Tells the peer the reason, if that is possible without waiting.
void WireLink::SayGoodbye(const Status& why) {
  if (!TryOwnWriting()) return;
  if (!out_.active()) {
    out_.StartControl(WireType::kBye, EncodeByeStatus(why));
    size_t budget = kTurnBytes;
    told_ = Write(out_, &budget).ok() && out_.remaining() == 0;
    out_.Reset();
  }
  DisownWriting(false);
}

void WireLink::CloseAfterQueue(Status why) {
  {
    MutexLock lock(mu_);
    if (state_.load(std::memory_order_relaxed) != State::kOpen) return;
    state_.store(State::kClosing, std::memory_order_release);
    closing_since_.store(NowNanos(), std::memory_order_seq_cst);
    why_ = std::move(why);
  }
  Request(&wants_bye_);
  loop_->Wake();
}

void WireLink::Fail(const Status& why) {
  {
    MutexLock lock(mu_);
    const State state = state_.load(std::memory_order_relaxed);
    if (state > State::kClosing) return;
    // A link that is being closed ends for the reason that was given for it.
    if (state == State::kOpen) why_ = Named(why);
    EndTransport();
  }
  PostFinish();
}

void WireLink::EndTransport() {
  state_.store(State::kFailed, std::memory_order_release);
  ::shutdown(socket_.get(), SHUT_WR);  // still open: only Finish() lets go of it
}

void WireLink::PostFinish() {
  loop_->Post([self = self()] { self->Finish(); });
}

void WireLink::OnStop() {
  Close(errors::Cancelled("the links of this task are shut down"));
  Finish();
}

void WireLink::Finish() {
  if (state_.load(std::memory_order_relaxed) == State::kFinished) return;  // only set here, on one thread
  loop_->Remove(this, socket_.get());  // before the state is set: then a thread that writes may close the socket
  FrameQueue dropped;
  Status why;
  bool release;
  {
    MutexLock reading(reading_mu_);  // nobody reads any more
    decoder_.Drop();
    MutexLock lock(mu_);
    state_.store(State::kFinished, std::memory_order_release);
    std::swap(dropped, queue_);
    why = why_;
    release = !writing_;
  }
  if (release) Release();
  set_->Remove(this);
  handler_->Closed(*this, why);
}

}  // namespace millstream
