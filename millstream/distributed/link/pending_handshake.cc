// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/link/pending_handshake.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include "millstream/base/untrusted_log.h"
#include "millstream/distributed/link/shm_link.h"
#include "millstream/distributed/link/sockets.h"
#include "millstream/distributed/link/tcp_link.h"
#include "millstream/distributed/trust/hmac.h"

namespace millstream {

Status PendingHandshake::Start() {
  return acceptor_->loop().Add(shared_from_this(), socket_.get(), EPOLLIN | EPOLLRDHUP, /*polled=*/false);
}

StatusOr<bool> PendingHandshake::Read() {
  for (;;) {
    size_t size = kHmacBytes;
    if (proof_ == nullptr) {
      ASSIGN_OR_RETURN(size, HelloSize(bytes_));
    }
    if (bytes_.size() == size) return true;
    const size_t before = bytes_.size();
    RETURN_IF_ERROR(ReceiveSome(socket_.get(), size - before, &bytes_, &descriptors_));
    if (proof_ == nullptr && !descriptors_.empty()) return errors::InvalidArgument("memory came before the proof");
    if (bytes_.size() == before) return false;
  }
}

bool PendingHandshake::OnEvents(uint32_t /*events*/) {
  const std::shared_ptr<PendingHandshake> keep = shared_from_this();
  const StatusOr<bool> complete = Read();
  if (complete.ok() && !*complete) return false;
  if (!complete.ok()) {  // who does not know the protocol is owed no answer
    Drop();
    return false;
  }
  if (const Status advanced = Advance(); !advanced.ok()) Refuse(advanced);
  return false;
}

Status PendingHandshake::Advance() {
  if (proof_ == nullptr) return Challenge();
  RETURN_IF_ERROR(proof_->CheckProof(bytes_));
  return Open();
}

Status PendingHandshake::Challenge() {
  const HubCore& core = *acceptor_->core_;
  ASSIGN_OR_RETURN(hello_, DecodeHello(bytes_));
  bytes_.clear();
  proof_ = std::make_unique<ServerProof>(LinkSecret(core.options.token, core.endpoint.ticket),
                                         ServerIdentity{core.endpoint.task, {}, ""},
                                         LinkPurpose(hello_.incarnation, hello_.ring_bytes));
  ASSIGN_OR_RETURN(const std::string challenge, proof_->AnswerHello(hello_.proof_hello));
  const std::string answer = EncodeAnswer(OkStatus(), core.endpoint.incarnation, challenge);
  // The socket is new: what fits no more into its buffer never will.
  const ssize_t sent = ::send(socket_.get(), answer.data(), answer.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  return sent == static_cast<ssize_t>(answer.size()) ? OkStatus() : errors::Unavailable("cannot send the challenge");
}

void PendingHandshake::Refuse(const Status& why) {
  const std::string name = proof_ == nullptr ? "" : absl::StrCat(" ('", proof_->client_name(), "')");
  LogUntrusted(LogLevel::kWarning, "refused link",
               absl::StrCat("refused a link from ", source_, name, ": ", why.message()));
  const Status told = absl::IsUnauthenticated(why) ? errors::PermissionDenied("wrong ticket") : why;
  const std::string answer = EncodeAnswer(told, acceptor_->core_->endpoint.incarnation);
  [[maybe_unused]] const ssize_t n = ::send(socket_.get(), answer.data(), answer.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  Drop();
}

Status PendingHandshake::Open() {
  HubCore& core = *acceptor_->core_;
  ShmSegment segment;
  if (acceptor_->shm_) {
    if (descriptors_.size() != 1) return errors::InvalidArgument("no shared memory came along");
    ASSIGN_OR_RETURN(segment, ShmSegment::Attach(std::move(descriptors_[0]), hello_.ring_bytes));
  }
  const std::string& task = proof_->client_name();
  ASSIGN_OR_RETURN(FrameHandler * handler, core.accept(task, hello_.incarnation));
  LinkParts parts = core.Parts(task, hello_.incarnation, handler);
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

}  // namespace millstream
