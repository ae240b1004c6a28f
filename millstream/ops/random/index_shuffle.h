// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_RANDOM_INDEX_SHUFFLE_H_
#define MILLSTREAM_OPS_RANDOM_INDEX_SHUFFLE_H_

#include <array>
#include <cstdint>

namespace millstream {

// Where `index` goes in a permutation of [0, highest] that `key` chooses. REQUIRES: index <= highest; rounds is even,
// at least 4.
uint64_t ShuffledIndex(uint64_t index, const std::array<uint32_t, 3>& key, uint64_t highest, int rounds);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_RANDOM_INDEX_SHUFFLE_H_
