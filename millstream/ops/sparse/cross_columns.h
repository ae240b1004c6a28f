// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_SPARSE_CROSS_COLUMNS_H_
#define MILLSTREAM_OPS_SPARSE_CROSS_COLUMNS_H_

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "millstream/tensor/tensor.h"

// Crosses of features: for each row, every way to take one value of each column, as one string or one hash.
namespace millstream {

// One input: its values, and where those of each row begin.
struct CrossColumn {
  const Tensor* values;  // int64 or strings
  bool dense;
  std::vector<int64_t> starts;  // one more than there are rows

  int64_t Count(int64_t row) const { return starts[row + 1] - starts[row]; }
  bool strings() const { return values->dtype() == DType::kString; }
  const std::string& text(int64_t at) const { return values->data<std::string>()[at]; }
  int64_t number(int64_t at) const { return values->data<int64_t>()[at]; }
  std::string AsText(int64_t at) const { return strings() ? text(at) : absl::StrCat(number(at)); }
};

// How many crosses each row has; InvalidArgument if they are too many to count.
StatusOr<std::vector<int64_t>> CountCrosses(const std::vector<CrossColumn>& columns, int64_t rows, int64_t* total);

// Calls visit(row, number of the cross in its row, places of its values) for all crosses, in order: the last column
// moves fastest.
template <typename Visit>
void VisitCrosses(const std::vector<CrossColumn>& columns, const std::vector<int64_t>& counts, Visit visit) {
  std::vector<int64_t> places(columns.size());
  for (int64_t r = 0; r < static_cast<int64_t>(counts.size()); ++r) {
    for (int64_t n = 0; n < counts[r]; ++n) {
      int64_t rest = n;
      for (size_t c = columns.size(); c-- > 0; rest /= columns[c].Count(r)) {
        places[c] = columns[c].starts[r] + rest % columns[c].Count(r);
      }
      visit(r, n, places);
    }
  }
}

// A cross as text.
std::string JoinedCross(const std::vector<CrossColumn>& columns, const std::vector<int64_t>& places,
                        absl::string_view separator);
// A cross as a hash in [0, buckets); any number that is not negative if buckets is 0.
int64_t HashedCross(const std::vector<CrossColumn>& columns, const std::vector<int64_t>& places, uint64_t key,
                    int64_t buckets);
int64_t CrossBucket(uint64_t hash, int64_t buckets);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_SPARSE_CROSS_COLUMNS_H_
