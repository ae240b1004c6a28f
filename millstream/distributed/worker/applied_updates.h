// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_WORKER_APPLIED_UPDATES_H_
#define MILLSTREAM_DISTRIBUTED_WORKER_APPLIED_UPDATES_H_

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "millstream/base/mutex.h"
#include "millstream/base/status.h"
#include "millstream/distributed/worker/step_acts.h"
#include "millstream/runtime/session.h"

namespace millstream {

// Which updates of variables a task has applied for which step of which client, so that a step that is repeated after
// an outage does not apply them twice (docs/adr/0031-repeated-steps.md).

// When a variable was last overwritten as a whole: initialized, restored or assigned. What was added to it before is
// gone.
struct OverwriteMark {
  std::atomic<uint64_t> at{0};  // on the UpdateClock
  std::atomic<uint64_t> by{0};  // StepUpdates::id() of the step that did it; 0: a step that nobody repeats
};

// Counts overwrites. One per task.
struct UpdateClock {
  std::atomic<uint64_t> now{0};
};

// The updates of a part that can be passed over, with the variable of each, and whether it acts on queues or
// accumulators.
struct TrackedUpdates {
  bool acts = false;
  std::shared_ptr<UpdateClock> clock;
  std::vector<std::string> nodes;
  std::vector<std::shared_ptr<OverwriteMark>> marks;
};

// The updates of one step of one client, shared by all its attempts. Thread-safe.
class StepUpdates {
 public:
  StepUpdates(std::shared_ptr<const TrackedUpdates> tracked, StepIdentity identity);

  const TrackedUpdates& tracked() const { return *tracked_; }
  uint64_t number() const { return number_; }
  uint64_t id() const { return id_; }             // of client and number
  StepActs* acts() const { return acts_.get(); }  // null if its part has none
  // For another step of the same client. REQUIRES: nobody else uses it.
  void Reset(StepIdentity identity);
  // Takes over what an earlier attempt with other updates has applied. REQUIRES: nobody uses `other`.
  void TakeOver(const StepUpdates& other);
  // Lets go what was taken: the client runs another step, so this one was answered. REQUIRES: nobody else uses it.
  void ForgetActs();

  enum class Turn {
    kApply,    // Applied() must follow
    kPass,     // another attempt has applied it, and nobody has overwritten the variable since
    kApplying  // another attempt is at it
  };
  Turn Claim(size_t update);
  void Applied(size_t update, bool ok);

 private:
  static constexpr uint64_t kNotApplied = 0, kBeingApplied = 1, kFirstMoment = 2;  // then the clock

  const std::shared_ptr<const TrackedUpdates> tracked_;
  uint64_t number_;
  uint64_t id_;
  std::vector<std::atomic<uint64_t>> states_;
  std::shared_ptr<StepActs> acts_;
};

// The last steps of one client. Thread-safe.
class ClientSteps {
 public:
  explicit ClientSteps(uint64_t client) : client_(client) {}
  uint64_t client() const { return client_; }
  // Of this step: those of an earlier attempt, if there was one. Unavailable if that still runs and has other updates.
  StatusOr<std::shared_ptr<StepUpdates>> Begin(const std::shared_ptr<const TrackedUpdates>& tracked,
                                               StepIdentity identity);

  using Clock = std::chrono::steady_clock;
  std::atomic<Clock::time_point> last_used{Clock::time_point::min()};

 private:
  static constexpr size_t kRemembered = 8;  // steps; threads of a client that share its steps may be that many apart

  void LeaveStep(uint64_t number) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const uint64_t client_;
  Mutex mu_;
  uint64_t last_number_ ABSL_GUARDED_BY(mu_) = 0;
  std::array<std::shared_ptr<StepUpdates>, kRemembered> steps_ ABSL_GUARDED_BY(mu_);
  size_t next_ ABSL_GUARDED_BY(mu_) = 0;
};

// What a task remembers of all clients. Those that have gone are forgotten after ten minutes, or earlier if there are
// many. Thread-safe.
class AppliedUpdates {
 public:
  explicit AppliedUpdates(size_t max_clients = 1024) : max_clients_(max_clients) {}

  const std::shared_ptr<UpdateClock>& clock() const { return clock_; }
  std::shared_ptr<OverwriteMark> MarkOf(const std::string& variable);
  std::shared_ptr<ClientSteps> OfClient(uint64_t client, ClientSteps::Clock::time_point now);
  // Variables and queues of the task were dropped.
  void ForgetAll();
  size_t num_clients() const;

 private:
  void Forget(ClientSteps::Clock::time_point now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const size_t max_clients_;
  const std::shared_ptr<UpdateClock> clock_ = std::make_shared<UpdateClock>();
  mutable Mutex mu_;
  absl::flat_hash_map<uint64_t, std::shared_ptr<ClientSteps>> clients_ ABSL_GUARDED_BY(mu_);
  // Kept by the parts and steps that use them.
  absl::flat_hash_map<std::string, std::weak_ptr<OverwriteMark>> marks_ ABSL_GUARDED_BY(mu_);
  size_t sweep_at_ ABSL_GUARDED_BY(mu_) = 1024;
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_WORKER_APPLIED_UPDATES_H_
