// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/grpc/connection.h"

#include <sys/epoll.h>

#include <span>
#include <vector>

#include "absl/strings/str_format.h"

namespace millstream {
namespace {

constexpr size_t kReadBytes = size_t{128} << 10;
constexpr int kReadsPerTurn = 8;
// Written together; above, the session waits until the socket has taken some.
constexpr size_t kEnoughToWrite = size_t{512} << 10;
constexpr int kPartsPerWrite = 64;

int64_t Nanos(std::chrono::milliseconds t) { return std::chrono::nanoseconds(t).count(); }

// Memory to read into, until the bytes have been dealt with.
std::span<char> ReadBuffer() {
  thread_local std::vector<char> buffer(kReadBytes);
  return buffer;
}

}  // namespace

Connection::Connection(ReaderLoop* loop, std::unique_ptr<Transport> transport, Http2Session::Side side,
                       const ConnectionLimits& limits, std::string peer)
    : loop_(loop),
      peer_(std::move(peer)),
      transport_(std::move(transport)),
      session_(side, limits, this),
      last_heard_(NowNanos()),
      liveness_(Nanos(limits.keepalive_interval), Nanos(limits.keepalive_timeout), last_heard_) {}

void Connection::Start() {
  MutexLock lock(mu_);
  id_ = loop_->Add(shared_from_this(), transport_->fd(), EPOLLIN | EPOLLRDHUP);
  Flush();
}

void Connection::OnReady(uint32_t /*events*/) {
  for (int i = 0; i < kReadsPerTurn; ++i) {
    bool more;
    WorkList work, handlers;
    {
      MutexLock lock(mu_);
      more = ReadSome();
      Flush();
      AfterRead();
      work.swap(deferred_);
      handlers.swap(handlers_);
    }
    for (Work& each : work) each();
    RunHandlers(std::move(handlers));
    if (!more) return;
  }
  // What TLS has decrypted already no descriptor shows.
  loop_->Post([self = shared_from_this()] { self->OnReady(EPOLLIN); });
}

// The last one right here; the others, if there are any, on the loop, so that none waits behind one that takes long.
void Connection::RunHandlers(WorkList handlers) {
  if (handlers.empty()) return;
  for (size_t i = 0; i + 1 < handlers.size(); ++i) {
    loop_->Post([each = std::make_shared<Work>(std::move(handlers[i]))] { (*each)(); });
  }
  handlers.back()();
}

bool Connection::ReadSome() {
  if (closed_) return false;
  if (handshaking_) {
    const ssize_t result = transport_->Handshake();
    if (result == Transport::kEnd) CloseLocked(transport_->end());
    if (result != 0) {
      if (!closed_) SetInterest(transport_->wants_write());
      return false;
    }
    handshaking_ = false;
    OnHandshakeDone();
  }
  const std::span<char> buffer = ReadBuffer();
  const ssize_t got = transport_->Read(buffer.data(), buffer.size());
  if (got == Transport::kAgain) return false;
  if (got == Transport::kEnd) {
    CloseLocked(transport_->end());
    return false;
  }
  last_heard_ = NowNanos();
  const Status status = session_.Receive(buffer.data(), static_cast<size_t>(got));
  if (!status.ok()) {
    Flush();
    CloseLocked(status);
    return false;
  }
  return static_cast<size_t>(got) == buffer.size() || transport_->may_hold_more();
}

void Connection::Flush() {
  if (closed_ || handshaking_ || broken_) return;
  Status status;
  while (status.ok()) {
    if (out_.size() < kEnoughToWrite) status = session_.Collect(&out_, kEnoughToWrite);
    if (out_.empty()) break;
    iovec parts[kPartsPerWrite];
    const ssize_t sent = transport_->Write(parts, out_.Gather(parts, kPartsPerWrite));
    if (sent == Transport::kAgain) break;
    if (sent == Transport::kEnd) {
      broken_ = true;
      out_.Clear();
      transport_->Shutdown();
      break;
    }
    written_ += static_cast<uint64_t>(sent);
    out_.Consume(static_cast<size_t>(sent));
  }
  if (!status.ok() || (out_.empty() && session_.finished()))
    return CloseLocked(status.ok() ? errors::Unavailable("the connection was closed") : status);
  const bool wants_write = !out_.empty();
  if (wants_write != wants_write_) SetInterest(wants_write);
}

void Connection::SetInterest(bool write) {
  wants_write_ = write;
  if (id_ != 0) loop_->SetEvents(id_, transport_->fd(), EPOLLIN | EPOLLRDHUP | (write ? EPOLLOUT : 0u));
}

void Connection::PostDeferred() {
  if (deferred_.empty()) return;
  auto work = std::make_shared<WorkList>();
  work->swap(deferred_);
  loop_->Post([work] {
    for (Work& each : *work) each();
  });
}

void Connection::Close(const Status& why) {
  MutexLock lock(mu_);
  if (closed_) return;
  CloseLocked(why);
  PostDeferred();
}

void Connection::CloseLocked(const Status& why) {
  if (closed_) return;
  closed_ = true;
  OnClosing(why);
  session_.Lose(why);
  out_.Clear();
  if (id_ != 0) {
    // The loop may hold the last reference.
    deferred_.push_back([self = shared_from_this()] {});
    loop_->Remove(id_, transport_->fd());
  }
  transport_->Shutdown();
}

bool Connection::closed() {
  MutexLock lock(mu_);
  return closed_;
}

bool Connection::flushed() {
  MutexLock lock(mu_);
  return closed_ || out_.empty();
}

void Connection::Tick() {
  const int64_t now = NowNanos();
  MutexLock lock(mu_);
  if (closed_) return;
  CheckTimes(now);
  if (!closed_ && !handshaking_ && needs_keepalive() && now >= liveness_.next_check()) {
    const Liveness::Verdict verdict = liveness_.Check(now, last_heard_, written_);
    if (verdict == Liveness::Verdict::kPing) session_.Ping();
    if (verdict == Liveness::Verdict::kDead) {
      const double silent = static_cast<double>(now - liveness_.last_sign()) / 1e9;
      CloseLocked(errors::Unavailable("no keepalive reply for ", absl::StrFormat("%.1f", silent),
                                      " s; the peer may be stopped, or its host unreachable"));
    }
    Flush();
  }
  PostDeferred();
}

}  // namespace millstream
