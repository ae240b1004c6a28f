// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_RAGGED_RAGGED_H_
#define MILLSTREAM_OPS_RAGGED_RAGGED_H_

#include <string>
#include <vector>

#include "millstream/framework/kernel.h"
#include "millstream/ops/variants/variant_math.h"

namespace millstream {

using Splits = std::vector<int64_t>;

// Inputs [begin, begin + n), int32 or int64, of any shape.
std::vector<Splits> ReadSplits(const KernelContext& ctx, int begin, int n);
// Output i, a vector of its type. InvalidArgument for values that int32 cannot hold, where that is the type.
Status OutputInts(KernelContext& ctx, int i, const std::vector<int64_t>& values);
// The same as a tensor of `dtype`, int32 or int64.
StatusOr<Tensor> IntsTensor(DType dtype, const std::vector<int64_t>& values);

// InvalidArgument unless `splits` begins with 0, never falls, and ends with `values` (-1: anything).
Status CheckSplits(const Splits& splits, int64_t values);

// A ragged tensor as one variant: the splits of its dimensions, from the outside in, and then its values.
class RaggedVariant final : public TensorsVariant {
 public:
  std::string type_name() const override { return "RaggedTensorVariant"; }
  Ref<TensorsVariant> EmptyLike() const override { return MakeRef<RaggedVariant>(); }
  size_t first_value() const override { return tensors.empty() ? 0 : tensors.size() - 1; }
  int ragged_rank() const { return static_cast<int>(tensors.size()) - 1; }
  const Tensor& values() const { return tensors.back(); }
};

}  // namespace millstream

#endif  // MILLSTREAM_OPS_RAGGED_RAGGED_H_
