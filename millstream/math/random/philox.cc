// SPDX-License-Identifier: Apache-2.0
#include "millstream/math/random/philox.h"

#include <random>

namespace millstream::math {
namespace {

Philox Seeded(int64_t seed, int64_t seed2) {
  if (seed == 0 && seed2 == 0) {
    std::random_device entropy;
    return Philox({0, 0, entropy(), entropy()}, {entropy(), entropy()});
  }
  return Philox(static_cast<uint64_t>(seed), static_cast<uint64_t>(seed2));
}

}  // namespace

PhiloxStream::PhiloxStream(int64_t seed, int64_t seed2) : philox_(Seeded(seed, seed2)) {}

Philox PhiloxStream::Reserve(int64_t blocks) {
  MutexLock lock(mu_);
  const Philox reserved = philox_;
  philox_.Skip(static_cast<uint64_t>(blocks));
  return reserved;
}

}  // namespace millstream::math
