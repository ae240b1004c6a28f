// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_ELEMENTS_DISTINCT_H_
#define MILLSTREAM_OPS_ELEMENTS_DISTINCT_H_

#include <functional>
#include <vector>

#include "millstream/tensor/dtype.h"

namespace millstream {

template <typename T>
uint64_t HashOf(const T& value) {
  uint64_t h = 0;
  if constexpr (std::is_integral_v<T>)
    h = static_cast<uint64_t>(value);
  else if constexpr (kIsFloat16<T>)
    h = std::hash<float>()(static_cast<float>(value));
  else
    h = std::hash<T>()(value);
  h *= 0x9e3779b97f4a7c15u;
  return h ^ (h >> 32);
}

// Numbers of the distinct items among 0 ... n - 1: each item gets the number of its first equal, in order of first
// occurrence. hash(i) and equal(i, k) look at items; an item that does not equal itself is always new.
class Distinct {
 public:
  template <typename Hash, typename Equal>
  Distinct(int64_t n, Hash hash, Equal equal) : ids_(static_cast<size_t>(n)) {
    uint64_t capacity = 16;
    while (capacity < 2 * static_cast<uint64_t>(n)) capacity *= 2;
    std::vector<int64_t> table(capacity, -1);
    for (int64_t i = 0; i < n; ++i) {
      // NaNs would all meet in one slot, and none finds its equal.
      uint64_t slot = (equal(i, i) ? hash(i) : HashOf(i)) & (capacity - 1);
      while (table[slot] >= 0 && !equal(firsts_[table[slot]], i)) slot = (slot + 1) & (capacity - 1);
      if (table[slot] < 0) {
        table[slot] = static_cast<int64_t>(firsts_.size());
        firsts_.push_back(i);
      }
      ids_[i] = table[slot];
    }
  }
  const std::vector<int64_t>& ids() const { return ids_; }        // the number of each item
  const std::vector<int64_t>& firsts() const { return firsts_; }  // where each number occurs first

 private:
  std::vector<int64_t> ids_, firsts_;
};

}  // namespace millstream

#endif  // MILLSTREAM_OPS_ELEMENTS_DISTINCT_H_
