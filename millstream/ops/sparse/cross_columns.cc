// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/sparse/cross_columns.h"

#include <limits>

#include "absl/strings/str_join.h"
#include "millstream/ops/strings/fingerprint.h"

namespace millstream {

StatusOr<std::vector<int64_t>> CountCrosses(const std::vector<CrossColumn>& columns, int64_t rows, int64_t* total) {
  std::vector<int64_t> counts(static_cast<size_t>(rows), columns.empty() ? 0 : 1);
  *total = 0;
  for (int64_t r = 0; r < rows; ++r) {
    for (const CrossColumn& c : columns) {
      if (__builtin_mul_overflow(counts[r], c.Count(r), &counts[r])) return errors::InvalidArgument("Too many crosses");
    }
    if (__builtin_add_overflow(*total, counts[r], total)) return errors::InvalidArgument("Too many crosses");
  }
  return counts;
}

std::string JoinedCross(const std::vector<CrossColumn>& columns, const std::vector<int64_t>& places,
                        absl::string_view separator) {
  std::vector<std::string> parts;
  for (size_t c = 0; c < columns.size(); ++c) parts.push_back(columns[c].AsText(places[c]));
  return absl::StrJoin(parts, separator);
}

int64_t CrossBucket(uint64_t hash, int64_t buckets) {
  return static_cast<int64_t>(hash %
                              static_cast<uint64_t>(buckets > 0 ? buckets : std::numeric_limits<int64_t>::max()));
}

int64_t HashedCross(const std::vector<CrossColumn>& columns, const std::vector<int64_t>& places, uint64_t key,
                    int64_t buckets) {
  uint64_t hash = key;
  for (size_t c = 0; c < columns.size(); ++c) {
    const uint64_t one = columns[c].strings() ? Fingerprint64(columns[c].text(places[c]))
                                              : static_cast<uint64_t>(columns[c].number(places[c]));
    hash = FingerprintCat64(hash, one);
  }
  return CrossBucket(hash, buckets);
}

}  // namespace millstream
