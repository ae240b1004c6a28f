// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/link/acceptor.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "millstream/base/untrusted_log.h"
#include "millstream/distributed/link/pending_handshake.h"
#include "millstream/distributed/trust/peer_user.h"
#include "millstream/distributed/trust/tcp_endpoint.h"

namespace millstream {
namespace {

constexpr size_t kMaxPending = 64;
constexpr int kAcceptsPerTurn = 16;
constexpr int64_t kOutOfDescriptorsPause = 100'000'000;

// Whose connection it is: of each source the same number may wait.
std::string SourceOf(int socket, const std::optional<uid_t>& user) {
  if (user.has_value()) return absl::StrCat("uid ", *user);
  const std::optional<TcpEndpoint> peer = RemoteTcpEndpoint(socket);
  if (!peer.has_value()) return "nobody";
  const std::string text = peer->ToString();
  return text.substr(0, text.rfind(':'));
}

}  // namespace

Status Acceptor::Start() { return loop().Add(shared_from_this(), listener_.get(), EPOLLIN, /*polled=*/false); }

bool Acceptor::OnEvents(uint32_t /*events*/) {
  for (int i = 0; i < kAcceptsPerTurn; ++i) {
    UniqueFd socket(accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket) {
      if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        LogUntrusted(LogLevel::kWarning, "no descriptors", "cannot accept a link: out of descriptors or memory");
        loop().SetEvents(this, listener_.get(), 0);
        resume_at_ = loop().now() + kOutOfDescriptorsPause;
      }
      break;
    }
    Take(std::move(socket));
  }
  return false;
}

void Acceptor::Take(UniqueFd socket) {
  const AdmissionPolicy& policy = core_->options.admission;
  const std::optional<uid_t> user = PeerUser(socket.get());
  const std::string source = SourceOf(socket.get(), user);
  if (!policy.token && !policy.mutual_tls) {
    if (const StatusOr<Role> role = Admit(policy, {std::nullopt, user, std::nullopt}); !role.ok()) {
      LogUntrusted(LogLevel::kWarning, "refused link",
                   absl::StrCat("refused a link from ", source, ": ", role.status().message()));
      return;
    }
  }
  if (pending_.size() >= kMaxPending) MakeRoom();
  const int64_t timeout = std::chrono::nanoseconds(core_->options.handshake_timeout).count();
  auto pending = std::make_shared<PendingHandshake>(this, std::move(socket), source, NowNanos() + timeout);
  if (pending->Start().ok()) pending_.push_back(std::move(pending));
}

void Acceptor::MakeRoom() {
  absl::flat_hash_map<std::string, int> counts;
  int most = 0;
  for (const auto& pending : pending_) most = std::max(most, ++counts[pending->source()]);
  for (const auto& pending : pending_) {
    if (counts[pending->source()] != most) continue;
    const std::shared_ptr<PendingHandshake> oldest = pending;
    return oldest->Drop();
  }
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
