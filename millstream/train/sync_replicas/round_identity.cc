// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/sync_replicas/round_identity.h"

#include "millstream/base/random.h"

namespace millstream {

RoundIdentity::RoundIdentity() : identity_{RandomNumber() | 1, 1} {}

void RoundIdentity::Begin(int64_t global_step) {
  MutexLock lock(mu_);
  if (global_step != global_step_) ++identity_.number;
  global_step_ = global_step;
}

StepIdentity RoundIdentity::Current() {
  MutexLock lock(mu_);
  return identity_;
}

void RoundIdentity::Answered() {
  MutexLock lock(mu_);
  ++identity_.number;
  ++global_step_;
}

}  // namespace millstream
