// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_DATA_SEED_SOURCE_H_
#define MILLSTREAM_OPS_DATA_SEED_SOURCE_H_

#include <memory>

#include "millstream/math/random/philox.h"
#include "millstream/ops/data/dataset.h"

namespace millstream {

struct Seeds {
  uint64_t seed = 0;
  uint64_t seed2 = 0;
};

// Gives every iterator its seeds: always the same, or the next of a sequence. Thread-safe.
class SeedSource {
 public:
  SeedSource(Seeds seeds, bool fixed) : seeds_(seeds), fixed_(fixed), sampler_(math::Philox(seeds.seed, seeds.seed2)) {}
  // What it began with.
  const Seeds& First() const { return seeds_; }
  Seeds Next() {
    if (fixed_) return seeds_;
    MutexLock lock(mu_);
    Seeds next;
    next.seed = sampler_.Next();
    next.seed2 = sampler_.Next();
    return next;
  }

 private:
  const Seeds seeds_;
  const bool fixed_;
  Mutex mu_;
  math::PhiloxSampler sampler_ ABSL_GUARDED_BY(mu_);
};

// A source of seeds that outlives datasets: its owner is the handle.
class SeedGenerator final : public Resource {
 public:
  explicit SeedGenerator(std::shared_ptr<SeedSource> source) : source(std::move(source)) {}
  std::string DebugString() const override { return "SeedGenerator"; }
  const std::shared_ptr<SeedSource> source;
};

// The seeds, or, if both are zero, seeds that nobody knows.
Seeds OrRandom(int64_t seed, int64_t seed2);

// The source behind input i, a seed generator; null if the handle has none.
std::shared_ptr<SeedSource> GivenSource(const KernelContext& ctx, int i);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_DATA_SEED_SOURCE_H_
