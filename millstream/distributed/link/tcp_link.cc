// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/link/tcp_link.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace millstream {
namespace {

constexpr size_t kTurnBytes = size_t{1} << 20;    // read or written in one turn of the loop
constexpr size_t kCallBytes = size_t{512} << 10;  // in one system call
constexpr uint32_t kReadEvents = EPOLLIN | EPOLLRDHUP;

constexpr int64_t kDrainTime = 1'000'000'000;
// For how long after it was served last the I/O thread leaves the link alone: who calls one collective after the other
// does not have to take it back each time.
constexpr int64_t kServingGrace = 3'000'000;

bool WouldBlock(int error) { return error == EAGAIN || error == EWOULDBLOCK; }

// A socket whose link has ended after a goodbye. Closing it with bytes unread would reset the connection, and the peer
// might never see the goodbye: reads until the peer closes too, or for a second.
class SocketDrain final : public IoLoop::Member, public std::enable_shared_from_this<SocketDrain> {
 public:
  SocketDrain(std::shared_ptr<IoLoop> loop, UniqueFd socket)
      : loop_(std::move(loop)), socket_(std::move(socket)), deadline_(NowNanos() + kDrainTime) {}

  void Start() { loop_->Add(shared_from_this(), socket_.get(), EPOLLIN | EPOLLRDHUP, /*polled=*/false).IgnoreError(); }
  bool OnEvents(uint32_t /*events*/) override {
    for (int i = 0; i < 8; ++i) {
      const ssize_t n = ::recv(socket_.get(), loop_->scratch().data(), loop_->scratch().size(), MSG_DONTWAIT);
      if (n == 0 || (n < 0 && !WouldBlock(errno))) OnStop();
      if (n <= 0) break;
    }
    return false;
  }
  int64_t deadline_ns() override { return deadline_; }
  void OnTimer(int64_t now) override {
    if (now >= deadline_) OnStop();
  }
  void OnStop() override {
    loop_->Remove(this, socket_.get());
    socket_.Close();
  }

 private:
  const std::shared_ptr<IoLoop> loop_;
  UniqueFd socket_;
  const int64_t deadline_;
};

}  // namespace

Status TcpLink::Write(OutgoingFrame& out, size_t* budget) {
  while (out.remaining() > 0 && *budget > 0) {
    iovec parts[3];
    msghdr message = {};
    message.msg_iov = parts;
    message.msg_iovlen = static_cast<size_t>(out.Gather(parts, std::min(*budget, kCallBytes)));
    const ssize_t n = ::sendmsg(socket(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0) {
      if (errno == EINTR) continue;
      // Of a connection that has ended the reader knows more: the last thing in it may be the reason.
      if (WouldBlock(errno) || errno == EPIPE || errno == ECONNRESET) return OkStatus();
      return errors::Unavailable("the connection broke: ", std::strerror(errno));
    }
    out.Advance(static_cast<uint64_t>(n));
    *budget -= static_cast<size_t>(n);
  }
  return OkStatus();
}

void TcpLink::ReleaseTransport(UniqueFd socket, bool told) {
  if (!told) return;
  auto drain = std::make_shared<SocketDrain>(loop(), std::move(socket));
  loop()->Post([drain] { drain->Start(); });
}

void TcpLink::OnBacklog(bool any) {
  MutexLock lock(events_mu_);
  wants_to_write_ = any;
  SetEvents();
}

void TcpLink::SetEvents() {
  // Who serves the link writes too: two threads would only wake each other.
  const uint32_t events = served_ ? 0u : kReadEvents | (wants_to_write_ ? EPOLLOUT : 0u);
  if (events == events_) return;
  events_ = events;
  loop()->SetEvents(this, socket(), events);
}

bool TcpLink::OnEvents(uint32_t events) {
  if (!readable()) return false;
  if ((events & EPOLLOUT) != 0) DrainBacklog(kTurnBytes);
  if ((events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) == 0) return true;
  MutexLock lock(reading_mu_);
  if (ReadSome(loop()->scratch())) Heard(loop()->now());
  return true;
}

bool TcpLink::Serve() {
  if (backlog()) DrainBacklog(kTurnBytes);
  if (!reading_mu_.TryLock()) return false;  // somebody reads already
  bool any = false;
  if (readable()) {
    const int64_t now = NowNanos();
    // Before the loop is asked whether it sleeps.
    const bool begins = give_back_at_.exchange(now + kServingGrace, std::memory_order_seq_cst) == kNever;
    if (begins) SetServed(true);
    if (begins) loop()->Wake();
    any = ReadSome(serving_scratch_);
    if (any) Heard(now);
  }
  reading_mu_.Unlock();
  return any;
}

void TcpLink::StopServing() {
  if (give_back_at_.load(std::memory_order_relaxed) == kNever) return;
  MutexLock lock(reading_mu_);
  if (!readable()) return;
  give_back_at_.store(kNever, std::memory_order_seq_cst);
  SetServed(false);
}

void TcpLink::SetServed(bool served) {
  MutexLock lock(events_mu_);
  served_ = served;
  SetEvents();
}

void TcpLink::OnTransportTimer(int64_t now) {
  if (give_back_at_.load(std::memory_order_relaxed) <= now) StopServing();
}

bool TcpLink::ReadSome(std::span<char> scratch) {
  bool any = false;
  for (size_t budget = kTurnBytes; budget > 0 && readable();) {
    // The rest of a payload goes where it belongs; what follows it, and small frames, through `scratch`.
    const std::span<char> target = decoder_.PayloadTarget();
    const size_t direct = std::min({target.size(), budget, kCallBytes});
    iovec parts[2] = {{target.data(), direct}, {scratch.data(), direct < target.size() ? 0 : scratch.size()}};
    const ssize_t got = ::readv(socket(), parts, 2);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && WouldBlock(errno)) break;
    if (got <= 0) {
      Fail(errors::Unavailable("the connection ended", got < 0 ? ": " : "; its process has stopped",
                               got < 0 ? std::strerror(errno) : ""));
      break;
    }
    const size_t n = static_cast<size_t>(got), filled = std::min(n, direct);
    if (filled > 0) decoder_.PayloadFilled(filled);
    const Status status = decoder_.Consume(scratch.data(), n - filled);
    if (!status.ok()) Fail(status);
    any = true;
    budget -= std::min(budget, n);
    if (n < parts[0].iov_len + parts[1].iov_len) break;
  }
  return any;
}

}  // namespace millstream
