// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_ELEMENTS_ND_INDEX_H_
#define MILLSTREAM_OPS_ELEMENTS_ND_INDEX_H_

#include "millstream/framework/kernel.h"
#include "millstream/ops/elements/axes.h"

namespace millstream {

// "[2,0,1]": the place of flat element i, for messages; "" in a scalar. REQUIRES: i is in range.
std::string PlaceOf(const Shape& shape, int64_t i);

// What an index that points outside of the tensor means.
enum class BadIndex { kError, kIgnore };

// Reads the attribute bad_indices_policy; kError unless it says IGNORE. InvalidArgument for unknown values.
Status ReadBadIndexPolicy(const AttrMap& attrs, BadIndex* policy);

// Rows of `indices` ([..., depth]) point at slices of a tensor of shape `shape`: their first depth dimensions are
// given. On success offsets[i] is the number of the slice that row i points at, -1 if it is outside and that is
// ignored.
// `into` names the shape in errors.
Status ResolveNdIndices(const Tensor& indices, const Shape& shape, BadIndex policy, std::span<int64_t> offsets,
                        absl::string_view into = "shape");

}  // namespace millstream

#endif  // MILLSTREAM_OPS_ELEMENTS_ND_INDEX_H_
