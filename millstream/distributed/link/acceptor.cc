// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/link/acceptor.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>

#include "millstream/base/logging.h"
#include "millstream/distributed/link/handshake.h"
#include "millstream/distributed/link/shm_link.h"
#include "millstream/distributed/link/sockets.h"
#include "millstream/distributed/link/tcp_link.h"

namespace millstream {
namespace {

constexpr size_t kMaxPending = 128;
constexpr int kAcceptsPerTurn = 16;
constexpr int64_t kOutOfDescriptorsPause = 100'000'000;

}  // namespace

// A connection that has not yet said who it is.
class PendingHandshake final : public IoLoop::Member, public std::enable_shared_from_this<PendingHandshake> {
 public:
  PendingHandshake(Acceptor* acceptor, UniqueFd socket, int64_t deadline)
      : acceptor_(acceptor), socket_(std::move(socket)), deadline_(deadline) {}

  Status Start() {
    return acceptor_->loop().Add(shared_from_this(), socket_.get(), EPOLLIN | EPOLLRDHUP, /*polled=*/false);
  }
  bool OnEvents(uint32_t events) override;
  int64_t deadline_ns() override { return deadline_; }
  void OnTimer(int64_t now) override {
    if (now >= deadline_) Drop();
  }
  void OnStop() override { Drop(); }
  void Drop();

 private:
  StatusOr<bool> ReadHello();
  Status Open();
  void Leave();

  Acceptor* const acceptor_;
  UniqueFd socket_;
  const int64_t deadline_;
  std::string bytes_;
  std::vector<UniqueFd> descriptors_;
};

// True once all of it is there.
StatusOr<bool> PendingHandshake::ReadHello() {
  for (;;) {
    ASSIGN_OR_RETURN(const size_t size, HelloSize(bytes_));
    if (bytes_.size() == size) return true;
    const size_t before = bytes_.size();
    RETURN_IF_ERROR(ReceiveSome(socket_.get(), size - before, &bytes_, &descriptors_));
    if (bytes_.size() == before) return false;
  }
}

bool PendingHandshake::OnEvents(uint32_t /*events*/) {
  const std::shared_ptr<PendingHandshake> keep = shared_from_this();
  const StatusOr<bool> complete = ReadHello();
  if (complete.ok() && !*complete) return false;
  const Status opened = complete.ok() ? Open() : complete.status();
  if (opened.ok()) return false;
  if (complete.ok()) {  // who can say hello is told why not
    const std::string answer = EncodeAnswer(opened, acceptor_->core_->endpoint.incarnation);
    [[maybe_unused]] const ssize_t n = ::send(socket_.get(), answer.data(), answer.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  }
  Drop();
  return false;
}

Status PendingHandshake::Open() {
  HubCore& core = *acceptor_->core_;
  ASSIGN_OR_RETURN(const Hello hello, DecodeHello(bytes_));
  if (!TicketsMatch(hello.ticket, core.endpoint.ticket)) {
    LogWarning(absl::StrCat("refused a link of a caller that names itself '", hello.task, "': wrong ticket"));
    return errors::PermissionDenied("wrong ticket");
  }
  ShmSegment segment;
  if (acceptor_->shm_) {
    if (descriptors_.size() != 1) return errors::InvalidArgument("no shared memory came along");
    ASSIGN_OR_RETURN(segment, ShmSegment::Attach(std::move(descriptors_[0]), hello.ring_bytes));
  }
  ASSIGN_OR_RETURN(FrameHandler * handler, core.accept(hello.task, hello.incarnation));
  LinkParts parts = core.Parts(hello.task, hello.incarnation, handler);
  const std::shared_ptr<IoLoop> loop = parts.loop;
  Leave();
  std::shared_ptr<WireLink> link;
  if (acceptor_->shm_) {
    link = std::make_shared<ShmLink>(std::move(parts), std::move(socket_), std::move(segment), /*maker=*/false);
  } else {
    SetTcpOptions(socket_.get());
    link = std::make_shared<TcpLink>(std::move(parts), std::move(socket_));
  }
  std::string answer = EncodeAnswer(OkStatus(), core.endpoint.incarnation);
  if (loop->on_thread()) {
    link->Start(answer);
  } else {
    loop->Post([link, answer = std::move(answer)] { link->Start(answer); });
  }
  return OkStatus();
}

void PendingHandshake::Leave() {
  acceptor_->loop().Remove(this, socket_.get());
  acceptor_->Forget(this);
}

void PendingHandshake::Drop() {
  Leave();
  socket_.Close();
}

Status Acceptor::Start() { return loop().Add(shared_from_this(), listener_.get(), EPOLLIN, /*polled=*/false); }

bool Acceptor::OnEvents(uint32_t /*events*/) {
  for (int i = 0; i < kAcceptsPerTurn; ++i) {
    UniqueFd socket(accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket) {
      if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        LogWarning("cannot accept a link: out of descriptors or memory");
        loop().SetEvents(this, listener_.get(), 0);
        resume_at_ = loop().now() + kOutOfDescriptorsPause;
      }
      break;
    }
    if (pending_.size() >= kMaxPending) pending_.front()->Drop();
    const int64_t timeout = std::chrono::nanoseconds(core_->options.handshake_timeout).count();
    auto pending = std::make_shared<PendingHandshake>(this, std::move(socket), NowNanos() + timeout);
    if (pending->Start().ok()) pending_.push_back(std::move(pending));
  }
  return false;
}

void Acceptor::OnTimer(int64_t now) {
  if (now < resume_at_) return;
  resume_at_ = kNever;
  loop().SetEvents(this, listener_.get(), EPOLLIN);
}

void Acceptor::Forget(PendingHandshake* pending) {
  pending_.remove_if([&](const auto& p) { return p.get() == pending; });
}

void Acceptor::OnStop() {
  while (!pending_.empty()) pending_.front()->Drop();
  loop().Remove(this, listener_.get());
  listener_.Close();
}

}  // namespace millstream
