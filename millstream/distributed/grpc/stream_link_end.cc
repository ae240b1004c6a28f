// SPDX-License-Identifier: Apache-2.0
// How a link over a gRPC stream ends: closed by either side, broken, or silent.
#include <utility>

#include "absl/strings/str_format.h"
#include "millstream/distributed/grpc/core.h"
#include "millstream/distributed/grpc/stream_link.h"
#include "millstream/distributed/link/io_loop.h"

namespace millstream {
namespace {

int64_t Nanos(std::chrono::milliseconds t) { return std::chrono::nanoseconds(t).count(); }

}  // namespace

void StreamLink::Close(Status why) {
  bool cut = false;
  FrameQueue dropped;
  {
    MutexLock lock(mu_);
    if (state_ == State::kEnded || (why.ok() && state_ == State::kClosing)) return;
    closing_since_ = NowNanos();
    state_ = why.ok() ? State::kClosing : State::kEnded;
    cut = !why.ok() && (sending_ || !opened_);  // perhaps amid a frame, where a goodbye cannot go
    if (!why.ok()) std::swap(dropped, queue_);
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
  grpc_call* call;
  {
    MutexLock lock(mu_);
    call = call_;
    if (call == nullptr) return;
    grpc_call_ref(call);
  }
  grpc_call_cancel(call, nullptr);
  grpc_call_unref(call);
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
    const bool all_sent = state_ == State::kClosing && queue_.empty() && !wants_bye_ && !sending_;
    overdue = closing && now - closing_since_ > Nanos(all_sent ? options_.keepalive_timeout : options_.linger);
  }
  if (overdue) return Cancel();
  if (closing || now < liveness_.next_check()) return;
  const Liveness::Verdict verdict = liveness_.Check(now, last_heard_ns(), progress);
  if (verdict == Liveness::Verdict::kPing) Request(&wants_ping_);
  if (verdict == Liveness::Verdict::kDead) {
    Fail(errors::Unavailable("no sign of life for ",
                             absl::StrFormat("%.1f", static_cast<double>(now - liveness_.last_sign()) / 1e9),
                             " s, though it was asked; it may be stopped, or its host unreachable"));
  }
}

void StreamLink::OnOver(void* self, bool) {
  auto* link = static_cast<StreamLink*>(self);
  Status why = errors::Unavailable("the connection is lost");
  if (link->dialed_ && link->code_ != GRPC_STATUS_OK && link->code_ != GRPC_STATUS_CANCELLED) {
    why = FromGrpcStatus(link->code_, ViewOf(link->details_));
  }
  {
    MutexLock lock(link->mu_);
    link->call_over_ = true;
    if (link->state_ == State::kOpen)
      link->why_ = WithContext(why, absl::StrCat(link->peer(), " at ", link->address_, " (grpc)"));
    if (link->state_ == State::kOpen) link->state_ = State::kEnded;
  }
  link->Settle(1);
}

void StreamLink::Settle(int batches) {
  std::shared_ptr<PeerLink> self;
  std::function<void(Status)> dial_done;
  std::function<void()> released;
  grpc_call* call = nullptr;
  bool finish = false, opened = false;
  Status why;
  FrameQueue dropped;
  {
    MutexLock lock(mu_);
    batches_ -= batches;
    if (call_over_ && !reading_ && !finished_) {
      finish = finished_ = true;
      opened = opened_;
      dial_done = std::exchange(dial_done_, nullptr);
      why = why_;
      std::swap(dropped, queue_);
      ++batches_;  // the call stays until the handler has been told
      self = self_;
    }
  }
  if (finish) {
    if (opened) handler_->Closed(*this, why);
    if (dial_done != nullptr) dial_done(why);
  }
  {
    MutexLock lock(mu_);
    if (finish) --batches_;
    if (!finished_ || sending_ || batches_ > 0 || call_ == nullptr) return;
    call = std::exchange(call_, nullptr);
    released = std::exchange(released_, nullptr);
    self = std::exchange(self_, nullptr);
  }
  grpc_call_unref(call);
  if (released != nullptr) released();
}

}  // namespace millstream
