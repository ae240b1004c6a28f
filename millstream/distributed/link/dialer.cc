// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/link/dialer.h"

#include <unistd.h>

#include "millstream/base/notification.h"
#include "millstream/distributed/link/handshake.h"
#include "millstream/distributed/link/hub_registry.h"
#include "millstream/distributed/link/inproc_link.h"
#include "millstream/distributed/link/shm_link.h"
#include "millstream/distributed/link/tcp_link.h"
#include "millstream/distributed/trust/hmac.h"
#include "millstream/distributed/trust/token_proof.h"

namespace millstream {
namespace {

// Starts the dialing end of a link on its loop and waits for that, so that the caller can use it at once.
Status StartOn(const std::shared_ptr<IoLoop>& loop, const std::function<void()>& start) {
  Notification done;
  if (!loop->Post([&] {
        start();
        done.Notify();
      })) {
    return errors::Unavailable("this hub is shut down");
  }
  done.Wait();
  return OkStatus();
}

// The text of an answer that is OK, from the incarnation that is expected.
StatusOr<std::string> ReceiveAnswer(const LinkEndpoint& peer, int socket, Deadline deadline) {
  ASSIGN_OR_RETURN(const std::string head, ReceiveExactly(socket, kAnswerBytes, deadline));
  ASSIGN_OR_RETURN(const Answer answer, DecodeAnswer(head));
  ASSIGN_OR_RETURN(std::string text, ReceiveExactly(socket, answer.text_bytes, deadline));
  if (answer.code != absl::StatusCode::kOk) return Status(answer.code, text);
  if (answer.incarnation != peer.incarnation) return errors::Aborted("another incarnation of the task answers");
  return text;
}

// Proves to the peer that this task knows the link's secret, and that the peer does. The memory goes to a peer that has
// proven it.
Status Introduce(const HubCore& core, const LinkEndpoint& peer, int socket, uint64_t ring_bytes, int memory,
                 Deadline deadline) {
  ASSIGN_OR_RETURN(const Credential credential,
                   MakeCredential(LinkSecret(core.options.token, peer.ticket), Role::kTask));
  ClientProof proof(credential, core.endpoint.task, {peer.task, ""},
                    LinkPurpose(core.endpoint.incarnation, ring_bytes));
  ASSIGN_OR_RETURN(const std::string proof_hello, proof.Hello());
  const LinkHello hello = {core.endpoint.incarnation, ring_bytes, proof_hello};
  RETURN_IF_ERROR(SendAll(socket, EncodeHello(hello), -1, deadline));
  ASSIGN_OR_RETURN(const std::string challenge, ReceiveAnswer(peer, socket, deadline));
  const StatusOr<std::string> answer = proof.AnswerChallenge(challenge);
  if (!answer.ok()) return errors::PermissionDenied("wrong ticket: ", answer.status().message());
  RETURN_IF_ERROR(SendAll(socket, *answer, memory, deadline));
  return ReceiveAnswer(peer, socket, deadline).status();
}

StatusOr<std::shared_ptr<PeerLink>> DialShm(HubCore& core, const LinkEndpoint& peer, FrameHandler* handler,
                                            Deadline deadline) {
  ASSIGN_OR_RETURN(UniqueFd socket, ConnectUnix(peer.shm_address, deadline));
  const size_t ring_bytes = ShmSegment::RingBytes(core.options.shm_ring_bytes);
  UniqueFd memory;
  ASSIGN_OR_RETURN(ShmSegment segment, ShmSegment::Create(ring_bytes, &memory));
  RETURN_IF_ERROR(Introduce(core, peer, socket.get(), ring_bytes, memory.get(), deadline));
  LinkParts parts = core.Parts(peer.task, peer.incarnation, handler);
  const std::shared_ptr<IoLoop> loop = parts.loop;
  auto link = std::make_shared<ShmLink>(std::move(parts), std::move(socket), std::move(segment), /*maker=*/true);
  RETURN_IF_ERROR(StartOn(loop, [&] { link->Start(""); }));
  return std::shared_ptr<PeerLink>(link);
}

StatusOr<std::shared_ptr<PeerLink>> DialTcp(HubCore& core, const LinkEndpoint& peer, FrameHandler* handler,
                                            Deadline deadline) {
  ASSIGN_OR_RETURN(UniqueFd socket, ConnectTcp(peer.tcp_address, deadline));
  RETURN_IF_ERROR(Introduce(core, peer, socket.get(), 0, -1, deadline));
  LinkParts parts = core.Parts(peer.task, peer.incarnation, handler);
  const std::shared_ptr<IoLoop> loop = parts.loop;
  auto link = std::make_shared<TcpLink>(std::move(parts), std::move(socket));
  RETURN_IF_ERROR(StartOn(loop, [&] { link->Start(""); }));
  return std::shared_ptr<PeerLink>(link);
}

// What the dialing thread and the other hub's I/O thread share.
struct InprocDial {
  Mutex mu;
  bool abandoned ABSL_GUARDED_BY(mu) = false;
  Notification done;
  Status status;
  std::shared_ptr<InprocLink> near;
};

// On the loop of the far end.
void AcceptInproc(HubCore& core, HubCore& other, LinkParts near, LinkParts far, InprocDial& dial) {
  StatusOr<FrameHandler*> handler = other.accept(core.endpoint.task, core.endpoint.incarnation);
  MutexLock lock(dial.mu);
  if (handler.ok() && !dial.abandoned) {
    far.handler = *handler;
    auto [near_end, far_end] = InprocLink::MakePair(std::move(near), std::move(far));
    far_end->Start();
    dial.near = std::move(near_end);
  }
  dial.status = handler.status();
  dial.done.Notify();
}

StatusOr<std::shared_ptr<PeerLink>> DialInproc(const std::shared_ptr<HubCore>& core,
                                               const std::shared_ptr<HubCore>& other, const LinkEndpoint& peer,
                                               FrameHandler* handler, Deadline deadline) {
  if (!EqualInConstantTime(peer.ticket, other->endpoint.ticket)) return errors::PermissionDenied("wrong ticket");
  if (peer.incarnation != other->endpoint.incarnation)
    return errors::Aborted("another incarnation of the task answers");
  LinkParts near = core->Parts(peer.task, peer.incarnation, handler);
  LinkParts far = other->Parts(core->endpoint.task, core->endpoint.incarnation, nullptr);
  const std::shared_ptr<IoLoop> near_loop = near.loop, far_loop = far.loop;
  auto dial = std::make_shared<InprocDial>();
  if (!far_loop->Post([=] { AcceptInproc(*core, *other, near, far, *dial); }))
    return errors::Unavailable("its hub is shut down");
  if (!dial->done.WaitUntil(deadline)) {
    MutexLock lock(dial->mu);
    dial->abandoned = true;
    if (dial->near == nullptr) return errors::DeadlineExceeded("no answer in time");
  }
  RETURN_IF_ERROR(dial->status);
  const Status started = StartOn(near_loop, [&] { dial->near->Start(); });
  if (!started.ok()) {
    dial->near->Close(started);
    return started;
  }
  return std::shared_ptr<PeerLink>(dial->near);
}

}  // namespace

StatusOr<std::shared_ptr<PeerLink>> DialPeer(const std::shared_ptr<HubCore>& core, const LinkEndpoint& peer,
                                             FrameHandler* handler, Deadline deadline) {
  const LinkEndpoint& self = core->endpoint;
  const auto named = [&](const Status& status, absl::string_view how) {
    return WithContext(status, absl::StrCat("cannot link to ", peer.task, " (", how, ")"));
  };
  if (peer.ticket.size() != kTicketBytes)
    return named(errors::InvalidArgument("a ticket of ", peer.ticket.size(), " bytes"), "");
  const bool same_host = peer.host == self.host;
  if (core->options.neighbours != nullptr && same_host && peer.process == getpid()) {
    if (const std::shared_ptr<HubCore> other = core->options.neighbours->Find(peer.hub)) {
      StatusOr<std::shared_ptr<PeerLink>> link = DialInproc(core, other, peer, handler, deadline);
      if (!link.ok()) return named(link.status(), "in this process");
      return link;
    }
  }
  Status shm_status;
  if (core->options.shm && same_host && !peer.shm_address.empty()) {
    StatusOr<std::shared_ptr<PeerLink>> link = DialShm(*core, peer, handler, deadline);
    if (link.ok()) return link;
    shm_status = named(link.status(), absl::StrCat("shared memory at ", peer.shm_address));
    // Whoever answered has decided; only where nobody could answer is another way worth trying.
    if (!absl::IsUnavailable(shm_status)) return shm_status;
  }
  if (core->options.tcp && !peer.tcp_address.empty()) {
    StatusOr<std::shared_ptr<PeerLink>> link = DialTcp(*core, peer, handler, deadline);
    if (link.ok()) return link;
    return named(link.status(), absl::StrCat("tcp at ", peer.tcp_address));
  }
  if (!shm_status.ok()) return shm_status;
  return named(errors::Unavailable("no transport in common"), "");
}

}  // namespace millstream
