// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_MATH_RANDOM_RANDOM_INL_H_
#define MILLSTREAM_MATH_RANDOM_RANDOM_INL_H_

// Definitions of random.h; include that.
#include <algorithm>
#include <bit>
#include <numbers>
#include <type_traits>
#include <utility>

#include "millstream/math/random/random.h"
#include "millstream/math/simd.h"
#include "millstream/math/vector_math.h"

namespace millstream::math {

namespace random_internal {

// Blocks are made and turned into outputs this many at a time, always all of
// them: loops of constant length have no remainder, so an output is computed by
// the same instructions wherever the array is cut.
inline constexpr int kBatch = 64;

// words[k][b] is word k of block b.
using Words = uint32_t[4][kBatch];

// The blocks that lie `stride` apart from the counter on. With the rounds as
// the outer loop GCC vectorises better than with the blocks.
MILLSTREAM_ALWAYS_INLINE void MakeWords(const Philox& philox, uint32_t stride, Words& words) {
  const Philox::Block from = philox.counter();
  MILLSTREAM_INDEPENDENT_LOOP
  for (uint32_t b = 0; b < kBatch; ++b) {
    const uint32_t c0 = from[0] + b * stride;
    const uint32_t c1 = from[1] + (c0 < from[0] ? 1u : 0u);
    const uint32_t carry = c1 < from[1] ? 1u : 0u;
    const uint32_t c2 = from[2] + carry;
    words[0][b] = c0;
    words[1][b] = c1;
    words[2][b] = c2;
    words[3][b] = from[3] + (c2 < carry ? 1u : 0u);
  }
  Philox::Key key = philox.key();
  for (int round = 0; round < Philox::kRounds; ++round) {
    MILLSTREAM_INDEPENDENT_LOOP
    for (uint32_t b = 0; b < kBatch; ++b) {
      const Philox::Block c = Philox::Round({words[0][b], words[1][b], words[2][b], words[3][b]}, key);
      words[0][b] = c[0];
      words[1][b] = c[1];
      words[2][b] = c[2];
      words[3][b] = c[3];
    }
    key = Philox::NextKey(key);
  }
}

// [0, 1) from the low 23 bits.
MILLSTREAM_ALWAYS_INLINE float ToFloat(uint32_t x) {
  return std::bit_cast<float>((x & 0x7fffffu) | 0x3f800000u) - 1.0f;
}

// [0, 1) from the low 20 bits of `high` and all of `low`.
MILLSTREAM_ALWAYS_INLINE double ToDouble(uint32_t high, uint32_t low) {
  const uint64_t mantissa = uint64_t{high & 0xfffffu} << 32 | low;
  return std::bit_cast<double>(mantissa | uint64_t{1023} << 52) - 1.0;
}

// Two independent normal numbers from two uniform ones.
template <typename W>
struct Pair {
  W first, second;
};
template <typename W>
MILLSTREAM_ALWAYS_INLINE Pair<W> BoxMuller(W u, W angle) {
  constexpr W kSmallest = W(1.0e-7f);
  u = u < kSmallest ? kSmallest : u;
  const W radius = std::sqrt(W(-2) * Log(u));
  return {Sin(angle) * radius, Cos(angle) * radius};
}
MILLSTREAM_ALWAYS_INLINE Pair<float> NormalPair(uint32_t x0, uint32_t x1) {
  const double turn = 2.0 * std::numbers::pi * static_cast<double>(ToFloat(x1));
  return BoxMuller(ToFloat(x0), static_cast<float>(turn));
}
MILLSTREAM_ALWAYS_INLINE Pair<double> NormalPair(uint32_t x0, uint32_t x1, uint32_t x2, uint32_t x3) {
  return BoxMuller(ToDouble(x0, x1), 2.0 * std::numbers::pi * ToDouble(x2, x3));
}

// Calls convert(words, batch_counter, buffer) for every batch of kBatch blocks,
// which makes `kPerBlock` outputs of each block in `buffer`.
template <int kPerBlock, typename T, typename Convert>
void Fill(const Philox& philox, uint32_t stride, T* out, int64_t n, double cost, ThreadPool* pool, Convert convert) {
  constexpr int64_t kOutputs = int64_t{kBatch} * kPerBlock;
  const auto batches = [=](int64_t begin, int64_t end) {
    simd::Run<float>([=] {
      alignas(64) Words words;
      alignas(64) T buffer[kOutputs];
      for (int64_t batch = begin; batch < end; ++batch) {
        Philox at = philox;
        at.Skip(static_cast<uint64_t>(batch) * kBatch * stride);
        MakeWords(at, stride, words);
        convert(words, at, buffer);
        const int64_t first = batch * kOutputs;
        std::copy_n(buffer, std::min(kOutputs, n - first), out + first);
      }
    });
  };
  const int64_t count = (n + kOutputs - 1) / kOutputs;
  if (pool == nullptr) return batches(0, count);
  pool->ParallelFor(count, cost * kOutputs, batches);
}

template <typename T>
void FillNormalFromFloat(const Philox& philox, T* out, int64_t n, ThreadPool* pool) {
  Fill<4>(philox, 1, out, n, 2.0, pool, [](const Words& words, const Philox&, T* buffer) MILLSTREAM_INLINE_LAMBDA {
    for (int k = 0; k < 4; k += 2) {
      MILLSTREAM_INDEPENDENT_LOOP
      for (int b = 0; b < kBatch; ++b) {
        const auto pair = NormalPair(words[k][b], words[k + 1][b]);
        buffer[4 * b + k] = T(pair.first);
        buffer[4 * b + k + 1] = T(pair.second);
      }
    }
  });
}

inline constexpr double kTruncation = 2.0;

// Outputs `count` numbers within the truncation, drawing from `philox` as long
// as it takes.
template <typename W, typename T>
void DrawTruncated(const Philox& philox, T* out, int count) {
  PhiloxSampler sampler(philox);
  const auto next = [&sampler] {
    const uint32_t x0 = sampler.Next(), x1 = sampler.Next();
    if constexpr (std::is_same_v<W, float>) {
      return NormalPair(x0, x1);
    } else {
      const uint32_t x2 = sampler.Next(), x3 = sampler.Next();
      return NormalPair(x0, x1, x2, x3);
    }
  };
  for (int done = 0; done < count;) {
    const Pair<W> pair = next();
    if (std::fabs(pair.first) < kTruncation) out[done++] = T(pair.first);
    if (done == count) return;
    if (std::fabs(pair.second) < kTruncation) out[done++] = T(pair.second);
  }
}

}  // namespace random_internal

template <typename T>
void FillUniform(const Philox& philox, T* out, int64_t n, ThreadPool* pool) {
  using namespace random_internal;  // NOLINT(google-build-using-namespace)
  if constexpr (std::is_same_v<T, double>) {
    Fill<2>(philox, 1, out, n, 1.0, pool,
            [](const Words& words, const Philox&, double* buffer) MILLSTREAM_INLINE_LAMBDA {
              MILLSTREAM_INDEPENDENT_LOOP
              for (int b = 0; b < kBatch; ++b) {
                buffer[2 * b] = ToDouble(words[0][b], words[1][b]);
                buffer[2 * b + 1] = ToDouble(words[2][b], words[3][b]);
              }
            });
  } else {
    // float, or the 10 and 7 mantissa bits of half and bfloat16.
    const int bits = std::is_same_v<T, float> ? 23 : static_cast<float>(T(1.0f + 0x1p-10f)) > 1.0f ? 10 : 7;
    const uint32_t mask = (1u << bits) - 1;
    const float scale = 1.0f / static_cast<float>(1u << bits);
    Fill<4>(philox, 1, out, n, 0.5, pool, [=](const Words& words, const Philox&, T* buffer) MILLSTREAM_INLINE_LAMBDA {
      MILLSTREAM_INDEPENDENT_LOOP
      for (int b = 0; b < kBatch; ++b) {
        for (int k = 0; k < 4; ++k) {
          const auto x = static_cast<int32_t>(words[k][b] & mask);
          buffer[4 * b + k] = T(static_cast<float>(x) * scale);
        }
      }
    });
  }
}

template <typename Int>
void FillUniformInt(const Philox& philox, Int low, Int high, Int* out, int64_t n, ThreadPool* pool) {
  using namespace random_internal;  // NOLINT(google-build-using-namespace)
  using Unsigned = std::make_unsigned_t<Int>;
  const Unsigned range = Unsigned(high) - Unsigned(low);
  if constexpr (sizeof(Int) == 8) {
    Fill<2>(philox, 1, out, n, 5.0, pool, [=](const Words& words, const Philox&, Int* buffer) MILLSTREAM_INLINE_LAMBDA {
      for (int b = 0; b < kBatch; ++b) {
        for (int k = 0; k < 2; ++k) {
          const uint64_t x = uint64_t{words[2 * k + 1][b]} << 32 | words[2 * k][b];
          buffer[2 * b + k] = Int(Unsigned(low) + x % range);
        }
      }
    });
  } else {
    Fill<4>(philox, 1, out, n, 2.0, pool, [=](const Words& words, const Philox&, Int* buffer) MILLSTREAM_INLINE_LAMBDA {
      for (int b = 0; b < kBatch; ++b) {
        for (int k = 0; k < 4; ++k) {
          buffer[4 * b + k] = Int(Unsigned(low) + words[k][b] % range);
        }
      }
    });
  }
}

template <typename T>
void FillNormal(const Philox& philox, T* out, int64_t n, ThreadPool* pool) {
  using namespace random_internal;  // NOLINT(google-build-using-namespace)
  if constexpr (std::is_same_v<T, double>) {
    Fill<2>(philox, 1, out, n, 20.0, pool,
            [](const Words& words, const Philox&, double* buffer) MILLSTREAM_INLINE_LAMBDA {
              for (int b = 0; b < kBatch; ++b) {
                const auto pair = NormalPair(words[0][b], words[1][b], words[2][b], words[3][b]);
                buffer[2 * b] = pair.first;
                buffer[2 * b + 1] = pair.second;
              }
            });
  } else {
    FillNormalFromFloat(philox, out, n, pool);
  }
}

template <typename T>
void FillTruncatedNormal(const Philox& philox, T* out, int64_t n, ThreadPool* pool) {
  using namespace random_internal;  // NOLINT(google-build-using-namespace)
  // Each group of outputs has a part of the stream of its own, of 256 words an
  // output, so that it may draw as often as it needs to.
  if constexpr (std::is_same_v<T, double>) {
    Fill<2>(philox, 128, out, n, 25.0, pool,
            [](const Words&, const Philox& start, double* buffer) MILLSTREAM_INLINE_LAMBDA {
              Philox at = start;
              for (int b = 0; b < kBatch; ++b, at.Skip(128)) {
                DrawTruncated<double>(at, buffer + 2 * b, 2);
              }
            });
  } else {
    // Four of five groups need no more than their first block.
    Fill<4>(philox, 256, out, n, 4.0, pool,
            [](const Words& words, const Philox& start, T* buffer) MILLSTREAM_INLINE_LAMBDA {
              alignas(64) float first[4][kBatch];
              alignas(64) int32_t rejected[kBatch];
              MILLSTREAM_INDEPENDENT_LOOP
              for (int b = 0; b < kBatch; ++b) {
                const auto p = NormalPair(words[0][b], words[1][b]);
                const auto q = NormalPair(words[2][b], words[3][b]);
                first[0][b] = p.first;
                first[1][b] = p.second;
                first[2][b] = q.first;
                first[3][b] = q.second;
                const float m0 = std::fabs(p.first), m1 = std::fabs(p.second), m2 = std::fabs(q.first),
                            m3 = std::fabs(q.second);
                const float m01 = m0 > m1 ? m0 : m1;
                const float m23 = m2 > m3 ? m2 : m3;
                const float largest = m01 > m23 ? m01 : m23;
                rejected[b] = largest < static_cast<float>(kTruncation) ? 0 : 1;
              }
              for (int b = 0; b < kBatch; ++b) {
                for (int k = 0; k < 4; ++k) {
                  buffer[4 * b + k] = T(first[k][b]);
                }
                if (rejected[b] == 0) continue;
                Philox at = start;
                at.Skip(uint64_t{256} * b);
                DrawTruncated<float>(at, buffer + 4 * b, 4);
              }
            });
  }
}

template <typename Int>
void FillPermutation(const Philox& philox, Int* indices, int64_t n) {
  for (int64_t i = 0; i < n; ++i) indices[i] = static_cast<Int>(i);
  PhiloxSampler sampler(philox);
  for (int64_t i = 0; i + 1 < n; ++i) {
    const uint32_t left = static_cast<uint32_t>(n - i);
    std::swap(indices[i], indices[i + sampler.Next() % left]);
  }
}

#define MILLSTREAM_RANDOM_INSTANCES(extern_, T)                                  \
  extern_ template void FillUniform<T>(const Philox&, T*, int64_t, ThreadPool*); \
  extern_ template void FillNormal<T>(const Philox&, T*, int64_t, ThreadPool*);  \
  extern_ template void FillTruncatedNormal<T>(const Philox&, T*, int64_t, ThreadPool*)
#define MILLSTREAM_RANDOM_INT_INSTANCES(extern_, T) \
  extern_ template void FillUniformInt<T>(const Philox&, T, T, T*, int64_t, ThreadPool*)
MILLSTREAM_RANDOM_INSTANCES(extern, float);
MILLSTREAM_RANDOM_INSTANCES(extern, double);
MILLSTREAM_RANDOM_INT_INSTANCES(extern, int32_t);
MILLSTREAM_RANDOM_INT_INSTANCES(extern, int64_t);

}  // namespace millstream::math

#endif  // MILLSTREAM_MATH_RANDOM_RANDOM_INL_H_
