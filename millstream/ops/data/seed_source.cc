// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/data/seed_source.h"

#include <random>

namespace millstream {

Seeds OrRandom(int64_t seed, int64_t seed2) {
  if (seed != 0 || seed2 != 0) return {static_cast<uint64_t>(seed), static_cast<uint64_t>(seed2)};
  std::random_device entropy;
  auto draw = [&] { return uint64_t{entropy()} << 32 | entropy(); };
  return {draw(), draw()};
}

std::shared_ptr<SeedSource> GivenSource(const KernelContext& ctx, int i) {
  const auto* given = GivenResource<SeedGenerator>(ctx, i);
  return given == nullptr ? nullptr : given->source;
}

}  // namespace millstream
