// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_LINK_PENDING_HANDSHAKE_H_
#define MILLSTREAM_DISTRIBUTED_LINK_PENDING_HANDSHAKE_H_

#include <memory>
#include <string>
#include <vector>

#include "millstream/distributed/link/acceptor.h"
#include "millstream/distributed/link/handshake.h"
#include "millstream/distributed/trust/token_proof.h"

namespace millstream {

// A connection that has not yet proven who it is: at most some 2 KB and one descriptor, until its deadline.
class PendingHandshake final : public IoLoop::Member, public std::enable_shared_from_this<PendingHandshake> {
 public:
  // `source` is whose connection it is, for the fair share of each: an address, or a user of this host.
  PendingHandshake(Acceptor* acceptor, UniqueFd socket, std::string source, int64_t deadline)
      : acceptor_(acceptor), socket_(std::move(socket)), source_(std::move(source)), deadline_(deadline) {}

  Status Start();
  bool OnEvents(uint32_t events) override;
  int64_t deadline_ns() override { return deadline_; }
  void OnTimer(int64_t now) override {
    if (now >= deadline_) Drop();
  }
  void OnStop() override { Drop(); }
  void Drop();
  const std::string& source() const { return source_; }

 private:
  // True once all of the message that is expected now is there.
  StatusOr<bool> Read();
  // Answers the hello with a challenge, and the proof with a link.
  Status Advance();
  Status Challenge();
  Status Open();
  void Refuse(const Status& why);
  void Leave();

  Acceptor* const acceptor_;
  UniqueFd socket_;
  const std::string source_;
  const int64_t deadline_;
  std::string bytes_;
  std::vector<UniqueFd> descriptors_;
  LinkHello hello_;
  std::unique_ptr<ServerProof> proof_;  // null: the hello is expected
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_LINK_PENDING_HANDSHAKE_H_
