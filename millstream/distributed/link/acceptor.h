// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_LINK_ACCEPTOR_H_
#define MILLSTREAM_DISTRIBUTED_LINK_ACCEPTOR_H_

#include <list>
#include <memory>

#include "millstream/distributed/link/hub_core.h"
#include "millstream/distributed/link/unique_fd.h"

namespace millstream {

class PendingHandshake;

// A listening socket of a hub. Lives on the hub's first loop. Callers that do not prove in time who they are are
// dropped; of too many, the oldest of the source that has most.
class Acceptor final : public IoLoop::Member, public std::enable_shared_from_this<Acceptor> {
 public:
  Acceptor(std::shared_ptr<HubCore> core, UniqueFd listener, bool shm)
      : core_(std::move(core)), listener_(std::move(listener)), shm_(shm) {}

  // On the loop's thread.
  Status Start();
  bool OnEvents(uint32_t events) override;
  int64_t deadline_ns() override { return resume_at_; }
  void OnTimer(int64_t now) override;
  void OnStop() override;

 private:
  friend class PendingHandshake;
  void Take(UniqueFd socket);
  void MakeRoom();
  void Forget(PendingHandshake* pending);
  IoLoop& loop() const { return *core_->loops[0]; }

  const std::shared_ptr<HubCore> core_;
  UniqueFd listener_;
  const bool shm_;
  std::list<std::shared_ptr<PendingHandshake>> pending_;  // oldest first
  int64_t resume_at_ = kNever;                            // out of descriptors until then
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_LINK_ACCEPTOR_H_
