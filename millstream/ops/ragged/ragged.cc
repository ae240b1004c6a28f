// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/ragged/ragged.h"

#include <limits>

#include "millstream/ops/elements/segment.h"

namespace millstream {

std::vector<Splits> ReadSplits(const KernelContext& ctx, int begin, int n) {
  std::vector<Splits> all;
  for (int i = begin; i < begin + n; ++i) all.push_back(ReadIds(ctx.input(i)));
  return all;
}

StatusOr<Tensor> IntsTensor(DType dtype, const std::vector<int64_t>& values) {
  ASSIGN_OR_RETURN(Tensor t, Tensor::Make(dtype, Shape({static_cast<int64_t>(values.size())})));
  for (size_t i = 0; i < values.size(); ++i) {
    if (dtype == DType::kInt64) {
      t.data<int64_t>()[i] = values[i];
    } else if (values[i] > std::numeric_limits<int32_t>::max()) {
      return errors::InvalidArgument("The ragged tensor is too large for splits of type int32: ", values[i]);
    } else {
      t.data<int32_t>()[i] = static_cast<int32_t>(values[i]);
    }
  }
  return t;
}

Status OutputInts(KernelContext& ctx, int i, const std::vector<int64_t>& values) {
  ASSIGN_OR_RETURN(Tensor t, IntsTensor(ctx.output_dtype(i), values));
  ctx.set_output(i, std::move(t));
  return OkStatus();
}

Status CheckSplits(const Splits& splits, int64_t values) {
  if (splits.empty()) {
    return errors::InvalidArgument("Invalid ragged splits: ragged splits must have at least one splits, but is empty");
  }
  if (splits[0] != 0) {
    return errors::InvalidArgument("Invalid ragged splits: first element of ragged splits must be 0 but is ",
                                   splits[0]);
  }
  for (size_t i = 1; i < splits.size(); ++i) {
    if (splits[i] < splits[i - 1]) {
      return errors::InvalidArgument(
          "Invalid ragged splits: ragged splits must be monotonically increasing, but ragged_splits[", i,
          "]=", splits[i], " is smaller than row_splits[", i - 1, "]=", splits[i - 1]);
    }
  }
  if (values >= 0 && splits.back() != values) {
    return errors::InvalidArgument(
        "Invalid ragged splits: last element of ragged splits must be the number of ragged values(", values,
        ") but is ", splits.back());
  }
  return OkStatus();
}

}  // namespace millstream
