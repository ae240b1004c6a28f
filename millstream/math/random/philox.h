// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_MATH_RANDOM_PHILOX_H_
#define MILLSTREAM_MATH_RANDOM_PHILOX_H_

#include <array>
#include <cstdint>

#include "millstream/base/mutex.h"
#include "millstream/math/simd.h"

namespace millstream::math {

// Philox 4x32-10, the counter-based generator of Salmon et al., "Parallel
// Random Numbers: As Easy as 1, 2, 3" (2011): a 128-bit counter and a 64-bit
// key give a block of four 32-bit numbers. Seeded as by TensorFlow, whose
// random ops it reproduces. A value; not thread-safe.
class Philox {
 public:
  using Block = std::array<uint32_t, 4>;
  using Key = std::array<uint32_t, 2>;

  // The attributes `seed` and `seed2` of TensorFlow's ops: the key, and the
  // upper half of the counter.
  Philox(uint64_t seed, uint64_t seed2) : counter_{0, 0, Low(seed2), High(seed2)}, key_{Low(seed), High(seed)} {}
  Philox(const Block& counter, const Key& key) : counter_(counter), key_(key) {}

  const Block& counter() const { return counter_; }
  const Key& key() const { return key_; }

  // The block of the current counter, which then moves on by one.
  Block Next() {
    Block block = counter_;
    Key key = key_;
    for (int round = 0; round < kRounds; ++round, key = NextKey(key)) {
      block = Round(block, key);
    }
    Skip(1);
    return block;
  }

  void Skip(uint64_t blocks) {
    const uint64_t low = Join(counter_[0], counter_[1]);
    const uint64_t sum = low + blocks;
    const uint64_t high = Join(counter_[2], counter_[3]) + (sum < low ? 1 : 0);
    counter_ = {Low(sum), High(sum), Low(high), High(high)};
  }

  static constexpr int kRounds = 10;
  // One of the rounds that turn a counter into a block. Branch-free, for loops
  // of simd.h.
  MILLSTREAM_ALWAYS_INLINE static Block Round(const Block& c, const Key& k) {
    const uint64_t p0 = uint64_t{0xD2511F53u} * c[0];
    const uint64_t p1 = uint64_t{0xCD9E8D57u} * c[2];
    return {High(p1) ^ c[1] ^ k[0], Low(p1), High(p0) ^ c[3] ^ k[1], Low(p0)};
  }
  // The key of the round after that with key `k`.
  MILLSTREAM_ALWAYS_INLINE static Key NextKey(const Key& k) { return {k[0] + 0x9E3779B9u, k[1] + 0xBB67AE85u}; }

 private:
  MILLSTREAM_ALWAYS_INLINE static uint32_t Low(uint64_t x) { return static_cast<uint32_t>(x); }
  MILLSTREAM_ALWAYS_INLINE static uint32_t High(uint64_t x) { return static_cast<uint32_t>(x >> 32); }
  static uint64_t Join(uint32_t low, uint32_t high) { return uint64_t{high} << 32 | low; }

  Block counter_;
  Key key_;
};

// Hands out the numbers of a generator one by one, in order.
class PhiloxSampler {
 public:
  explicit PhiloxSampler(const Philox& philox) : philox_(philox) {}

  uint32_t Next() {
    if (used_ == 4) {
      block_ = philox_.Next();
      used_ = 0;
    }
    return block_[used_++];
  }

 private:
  Philox philox_;
  Philox::Block block_{};
  int used_ = 4;
};

// The state of a random op between its runs: every run reserves a part of the
// stream. Thread-safe.
class PhiloxStream {
 public:
  // Two zeros ask for seeds from the system's source of entropy.
  PhiloxStream(int64_t seed, int64_t seed2);

  // A generator for the next `blocks` blocks, which no other call will get.
  // See ReservedBlocks() in random.h.
  Philox Reserve(int64_t blocks);

 private:
  Mutex mu_;
  Philox philox_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millstream::math

#endif  // MILLSTREAM_MATH_RANDOM_PHILOX_H_
