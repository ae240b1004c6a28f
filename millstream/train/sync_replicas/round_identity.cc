// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/sync_replicas/round_identity.h"

#include "millstream/base/random.h"

namespace millstream {
namespace {

// FNV-1a: the same in every process.
uint64_t HashOf(const std::string& name) {
  uint64_t hash = 0xCBF29CE484222325u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return hash;
}

uint64_t Mix(uint64_t a, uint64_t b) {
  const uint64_t mixed = (a ^ (b * 0x9E3779B97F4A7C15u)) * 0xBF58476D1CE4E5B9u;
  return mixed ^ (mixed >> 31);
}

}  // namespace

RoundIdentity::RoundIdentity(const std::string& name) : seed_(HashOf(name)), identity_{RandomNumber() | 1, 0} {}

void RoundIdentity::Begin(uint64_t holder, int64_t global_step) {
  MutexLock lock(mu_);
  const auto number = static_cast<uint64_t>(global_step);
  if (holder != 0)
    identity_.client = Mix(seed_, holder) | 1;
  else if (number != identity_.number)  // the round was done, or a checkpoint was restored
    identity_.client = RandomNumber() | 1;
  identity_.number = number;
}

StepIdentity RoundIdentity::Current() {
  MutexLock lock(mu_);
  return identity_;
}

void RoundIdentity::Answered() {
  MutexLock lock(mu_);
  ++identity_.number;
}

}  // namespace millstream
