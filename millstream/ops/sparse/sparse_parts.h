// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_SPARSE_SPARSE_PARTS_H_
#define MILLSTREAM_OPS_SPARSE_SPARSE_PARTS_H_

#include <vector>

#include "millstream/framework/kernel.h"

namespace millstream {

// A sparse tensor that owns its tensors.
struct SparseParts {
  Tensor indices, values, shape;
};

// The sparse tensor in inputs 0, 1, 2 cut along its first dimension.
Status SplitRows(const KernelContext& ctx, std::vector<SparseParts>* rows);

// Sparse tensors of one rank as outputs 0, 1, 2: stacked along new first dimensions `outer`, whose product is their
// number. Other sizes become the largest. TensorFlow's ops call different ranks an inconsistent `what`, and count
// `added` dimensions more.
Status JoinRows(KernelContext& ctx, const std::vector<SparseParts>& parts, const Shape& outer, const char* what,
                int added);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_SPARSE_SPARSE_PARTS_H_
