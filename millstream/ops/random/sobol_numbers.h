// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_RANDOM_SOBOL_NUMBERS_H_
#define MILLSTREAM_OPS_RANDOM_SOBOL_NUMBERS_H_

#include <cstdint>

namespace millstream {

// The numbers with which the dimensions of a Sobol sequence begin: dimension by dimension (the first has none), those
// of a dimension whose polynomial has degree s are m_1 ... m_s. Of each odd m_i < 2^i the bits above the lowest, from
// the lowest bit of the first word on.
inline constexpr int kSobolDimensions = 1111;
inline constexpr int kSobolWords = 1153;
extern const uint64_t kSobolBits[kSobolWords];

}  // namespace millstream

#endif  // MILLSTREAM_OPS_RANDOM_SOBOL_NUMBERS_H_
