// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/resources/row_indices.h"

#include "absl/strings/str_join.h"

namespace millstream {

Status RowIndices::Check(int64_t limit) const {
  const int64_t n = size();
  for (int64_t i = 0; i < n; ++i) {
    const int64_t row = (*this)[i];
    if (row >= 0 && row < limit) [[likely]]
      continue;
    std::vector<int64_t> at(shape_.rank());
    int64_t rest = i;
    for (int d = shape_.rank() - 1; d >= 0; --d) {
      at[d] = rest % shape_.dim(d);
      rest /= shape_.dim(d);
    }
    const std::string where = at.empty() ? "" : absl::StrCat("[", absl::StrJoin(at, ","), "]");
    return errors::InvalidArgument("indices", where, " = ", row, " is not in [0, ", limit, ")");
  }
  return OkStatus();
}

}  // namespace millstream
