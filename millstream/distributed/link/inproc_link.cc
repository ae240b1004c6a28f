// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/link/inproc_link.h"

namespace millstream {
namespace {

constexpr int kFramesPerTurn = 32;

uint64_t BytesOf(const Frame& frame) {
  return kWireHeaderBytes + frame.body.size() + (frame.payload.IsInitialized() ? frame.payload.ByteSize() : 0);
}

}  // namespace

std::pair<std::shared_ptr<InprocLink>, std::shared_ptr<InprocLink>> InprocLink::MakePair(LinkParts a, LinkParts b) {
  auto to_a = std::make_shared<Pipe>(), to_b = std::make_shared<Pipe>();
  to_a->reader_loop = a.loop;
  to_b->reader_loop = b.loop;
  std::shared_ptr<InprocLink> first(new InprocLink(std::move(a), to_a, to_b));
  std::shared_ptr<InprocLink> second(new InprocLink(std::move(b), to_b, to_a));
  return {std::move(first), std::move(second)};
}

InprocLink::InprocLink(LinkParts parts, std::shared_ptr<Pipe> in, std::shared_ptr<Pipe> out)
    : PeerLink(std::move(parts.peer), parts.incarnation),
      loop_(std::move(parts.loop)),
      set_(std::move(parts.set)),
      handler_(parts.handler),
      options_(std::move(parts.options)),
      in_(std::move(in)),
      out_(std::move(out)) {}

void InprocLink::Start() {
  const auto self = std::static_pointer_cast<InprocLink>(shared_from_this());
  set_->Add(self);
  loop_->Add(self, -1, 0, /*polled=*/true).IgnoreError();  // without a descriptor nothing can fail
  handler_->Opened(*this);
}

void InprocLink::Send(Frame frame) {
  const int64_t delay_ns = std::chrono::nanoseconds(options_.test_delay).count();
  const uint64_t bytes = BytesOf(frame);
  bool broken = false;
  {
    MutexLock lock(out_->mu);
    if (out_->ended) return;
    broken = options_.test_break_after >= 0 && out_->frames >= options_.test_break_after;
    if (!broken) out_->queue.Push(std::move(frame), delay_ns == 0 ? 0 : NowNanos() + delay_ns);
    ++out_->frames;
    out_->any.store(true, std::memory_order_seq_cst);
  }
  if (broken)
    return Close(
        errors::Unavailable(peer(), " (inproc): broken by a test after ", options_.test_break_after, " frames"));
  counters_.frames_sent.fetch_add(1, std::memory_order_relaxed);
  counters_.bytes_sent.fetch_add(bytes, std::memory_order_relaxed);
  out_->reader_loop->Wake();
}

bool InprocLink::Next(Frame* frame, bool* ended, Status* why) {
  MutexLock lock(in_->mu);
  if (!in_->queue.empty()) {
    if (in_->queue.front().due_ns > 0 && in_->queue.front().due_ns > NowNanos()) return false;
    *frame = in_->queue.Pop();
    return true;
  }
  in_->any.store(in_->ended, std::memory_order_relaxed);
  *ended = in_->ended;
  *why = in_->why;
  return false;
}

bool InprocLink::Poll() {
  if (finished_ || !in_->any.load(std::memory_order_acquire)) return false;
  bool worked = false, ended = false;
  Status why;
  Frame frame;
  for (int i = 0; i < kFramesPerTurn && Next(&frame, &ended, &why); ++i) {
    worked = true;
    counters_.frames_received.fetch_add(1, std::memory_order_relaxed);
    counters_.bytes_received.fetch_add(BytesOf(frame), std::memory_order_relaxed);
    handler_->Receive(*this, std::move(frame));
  }
  if (!ended) return worked;
  Finish(WithContext(why.ok() ? errors::Unavailable("it closed the link") : WithContext(why, "it closed the link"),
                     absl::StrCat(peer(), " (inproc)")));
  return true;
}

bool InprocLink::PrepareToSleep() {
  return !finished_ && in_->any.load(std::memory_order_seq_cst) && deadline_ns() <= loop_->now();
}

int64_t InprocLink::deadline_ns() {
  if (!in_->any.load(std::memory_order_acquire)) return kNever;
  MutexLock lock(in_->mu);
  return in_->queue.empty() ? 0 : in_->queue.front().due_ns;
}

void InprocLink::EndOutput(const Status& why, bool drop_queue) {
  FrameQueue dropped;
  {
    MutexLock lock(out_->mu);
    if (out_->ended) return;
    out_->ended = true;
    out_->why = why;
    if (drop_queue) std::swap(dropped, out_->queue);
    out_->any.store(true, std::memory_order_seq_cst);
  }
  out_->reader_loop->Wake();
}

size_t InprocLink::queued_frames() {
  MutexLock lock(out_->mu);
  return out_->queue.size();
}

void InprocLink::Close(Status why) { CloseHere(why, /*drop_queue=*/!why.ok()); }

void InprocLink::CloseAfterQueue(Status why) { CloseHere(why, /*drop_queue=*/false); }

void InprocLink::CloseHere(const Status& why, bool drop_queue) {
  {
    MutexLock lock(out_->mu);
    if (out_->ended) return;
    out_->closed = true;
  }
  EndOutput(why, drop_queue);
  loop_->Post([self = std::static_pointer_cast<InprocLink>(shared_from_this()), why] { self->Finish(why); });
}

void InprocLink::OnStop() { Finish(errors::Cancelled("the links of this task are shut down")); }

void InprocLink::Finish(const Status& why) {
  if (finished_) return;
  finished_ = true;
  EndOutput(why, /*drop_queue=*/true);
  FrameQueue dropped;
  {
    MutexLock lock(in_->mu);
    in_->ended = true;  // what the peer sends from now on is dropped
    std::swap(dropped, in_->queue);
  }
  Status told = why;
  {
    MutexLock lock(out_->mu);
    if (out_->closed) told = out_->why;
  }
  loop_->Remove(this, -1);
  set_->Remove(this);
  handler_->Closed(*this, told);
}

}  // namespace millstream
