// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_MATH_RANDOM_RANDOM_H_
#define MILLSTREAM_MATH_RANDOM_RANDOM_H_

#include <cstdint>

#include "millstream/base/thread_pool.h"
#include "millstream/math/random/philox.h"

// Arrays of random numbers, equal to TensorFlow's CPU kernels for the same
// generator: uniform numbers and permutations bit for bit, normal ones up to
// rounding. The result does not depend on the number of threads; null `pool`
// means this thread alone. T is float, double or a 16-bit float.
//
//   PhiloxStream stream(seed, seed2);                      // one per op
//   FillUniform(stream.Reserve(ReservedBlocks(n)), out, n, pool);  // every run
namespace millstream::math {

// What TensorFlow reserves for `n` outputs of any of the Fill functions,
// although most of them use less.
inline int64_t ReservedBlocks(int64_t n) { return n * 256; }
// What it reserves for a permutation of n > 1 items; nothing for fewer.
inline int64_t ReservedShuffleBlocks(int64_t n) { return n > 1 ? (n - 1 + 3) / 4 : 0; }

// Uniform in [0, 1), with as many random bits as T has mantissa bits.
template <typename T>
void FillUniform(const Philox& philox, T* out, int64_t n, ThreadPool* pool);

// Integers in [low, high): low + random % (high - low). Int is int32_t or
// int64_t. REQUIRES: low < high.
template <typename Int>
void FillUniformInt(const Philox& philox, Int low, Int high, Int* out, int64_t n, ThreadPool* pool);

// Normal with mean 0 and deviation 1, by the method of Box and Muller.
template <typename T>
void FillNormal(const Philox& philox, T* out, int64_t n, ThreadPool* pool);

// The same without values of 2 deviations and more, which are drawn again.
template <typename T>
void FillTruncatedNormal(const Philox& philox, T* out, int64_t n, ThreadPool* pool);

// Writes the order of RandomShuffle: output row i is input row indices[i].
// REQUIRES: 0 <= n < 2^32. Int is int32_t or int64_t.
template <typename Int>
void FillPermutation(const Philox& philox, Int* indices, int64_t n);

}  // namespace millstream::math

#include "millstream/math/random/random_inl.h"

#endif  // MILLSTREAM_MATH_RANDOM_RANDOM_H_
