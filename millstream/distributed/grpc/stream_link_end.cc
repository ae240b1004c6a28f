// SPDX-License-Identifier: Apache-2.0
// How a link over a gRPC stream ends: closed by either side, broken, or silent.
#include <nghttp2/nghttp2.h>

#include <utility>

#include "absl/strings/str_format.h"
#include "millstream/distributed/grpc/stream_link.h"

namespace millstream {
namespace {

int64_t Nanos(std::chrono::milliseconds t) { return std::chrono::nanoseconds(t).count(); }

}  // namespace

void StreamLink::CloseAfterQueue(Status why) {
  {
    MutexLock lock(mu_);
    if (state_ != State::kOpen) return;
    closing_since_ = NowNanos();
    state_ = State::kClosing;
    why_ = std::move(why);
  }
  Request(&wants_bye_);
}

void StreamLink::Close(Status why) {
  if (why.ok()) return CloseAfterQueue(std::move(why));
  bool cut = false;
  FrameQueue dropped;
  {
    MutexLock lock(mu_);
    if (state_ == State::kEnded) return;
    // Amid a frame, where a goodbye cannot go, and where nobody has taken what was sent before a first one.
    cut = mid_frame_ || !opened_ || state_ == State::kClosing;
    closing_since_ = NowNanos();
    state_ = State::kEnded;
    std::swap(dropped, queue_);
    why_ = std::move(why);
  }
  if (cut)
    Cancel();
  else
    Request(&wants_bye_);
}

void StreamLink::Fail(const Status& why) {
  FrameQueue dropped;
  {
    MutexLock lock(mu_);
    // A link that is being closed ends for the reason that was given for it.
    if (state_ == State::kOpen) why_ = WithContext(why, absl::StrCat(peer(), " at ", address_, " (grpc)"));
    state_ = State::kEnded;
    std::swap(dropped, queue_);
  }
  Cancel();
}

void StreamLink::Cancel() {
  connection_->With([&](Http2Session& session) {
    if (!over_) session.Reset(*this, NGHTTP2_CANCEL);
  });
}

void StreamLink::Tick() {
  const int64_t now = NowNanos();
  const uint64_t progress = messages_sent_.load(std::memory_order_relaxed);
  bool closing = false, overdue = false;
  {
    MutexLock lock(mu_);
    if (finished_) return;
    closing = closing_since_ != 0;
    if (progress != progress_seen_) closing_since_ = closing ? now : 0;
    progress_seen_ = progress;
    // Once all is sent, the peer may still have much of it to read.
    const bool all_sent = state_ == State::kClosing && queue_.empty() && !wants_bye_ && !active_;
    overdue = closing && now - closing_since_ > Nanos(all_sent ? options_.keepalive_timeout : options_.linger);
  }
  if (overdue) return Cancel();
  if (closing || now < liveness_.next_check()) return;
  const Liveness::Verdict verdict = liveness_.Check(now, last_heard_ns(), progress);
  if (verdict == Liveness::Verdict::kPing) Request(&wants_ping_);
  if (verdict == Liveness::Verdict::kDead) {
    Fail(errors::Unavailable("no keepalive reply for ",
                             absl::StrFormat("%.1f", static_cast<double>(now - liveness_.last_sign()) / 1e9),
                             " s; the peer may be stopped, or its host unreachable"));
  }
}

void StreamLink::OnEnd() {
  // Neither end finishes a stream but by ending it in both directions.
  if (!over_ && !(dialed_ && !answer_.incarnation().has_value()))
    connection_->Defer([self = self()] { self->Fail(errors::Unavailable("the connection is lost")); });
}

void StreamLink::OnClosed(uint32_t /*error*/) {
  Over(dialed_ ? answer_.refusal() : errors::Unavailable("the connection is lost"));
}

void StreamLink::OnLost(const Status& why) { Over(why); }

void StreamLink::OnStop(const Status& why, bool at_once) {
  connection_->Defer([self = self(), why, at_once] { at_once ? self->Fail(why) : self->CloseAfterQueue(why); });
}

void StreamLink::Over(const Status& why) {
  if (over_) return;
  over_ = true;
  FrameQueue dropped;
  {
    MutexLock lock(mu_);
    if (state_ == State::kOpen) {
      const Status cause = absl::IsCancelled(why) ? errors::Unavailable("the connection is lost") : why;
      why_ = WithContext(cause, absl::StrCat(peer(), " at ", address_, " (grpc)"));
      state_ = State::kEnded;
    }
    std::swap(dropped, queue_);
  }
  staged_.Clear();
  out_.Reset();
  out_payload_ = nullptr;
  // Whoever delivers ends the link afterwards.
  if (inbox_ == Inbox::kIdle) connection_->Defer([self = self()] { self->Finish(); });
}

void StreamLink::Finish() {
  std::function<void(Status)> dial_done;
  std::function<void()> released;
  bool opened;
  Status why;
  {
    MutexLock lock(mu_);
    if (std::exchange(finished_, true)) return;
    opened = opened_;
    why = why_;
    dial_done = std::exchange(dial_done_, nullptr);
    released = std::exchange(released_, nullptr);
  }
  decoder_.Drop();  // nobody delivers any more
  if (opened) handler_->Closed(*this, why);
  if (dial_done != nullptr) dial_done(why);
  if (released != nullptr) released();
}

}  // namespace millstream
