// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_MATH_MATRIX_BATCH_H_
#define MILLSTREAM_OPS_MATH_MATRIX_BATCH_H_

#include "millstream/ops/elements/broadcast.h"
#include "millstream/tensor/tensor.h"

namespace millstream {

// The dimensions of a product of batches of matrices, on every device: the last two are those of the matrices, the
// others are the batch.

inline Shape BatchShape(const Shape& s) { return Shape(s.dims().first(s.rank() - 2)); }

// The batch of the product. InvalidArgument unless the batches are equal or, if `broadcasts`, can be broadcast.
inline StatusOr<Shape> JointBatch(const Tensor& x, const Tensor& y, bool broadcasts) {
  for (int i = 0; i < 2; ++i) {
    const int rank = i == 0 ? x.rank() : y.rank();
    if (rank < 2) return errors::InvalidArgument("In[", i, "] ndims must be >= 2: ", rank);
  }
  const Shape a = BatchShape(x.shape()), b = BatchShape(y.shape());
  if (a == b) return a;
  if (!broadcasts) {
    return errors::InvalidArgument("In[0] and In[1] must have the same batch dimensions: ", x.shape().ToString(),
                                   " vs. ", y.shape().ToString());
  }
  StatusOr<Shape> joint = BroadcastShapes(a, b);
  if (joint.ok()) return joint;
  return errors::InvalidArgument("In[0] and In[1] must have compatible batch dimensions: ", x.shape().ToString(),
                                 " vs. ", y.shape().ToString());
}

}  // namespace millstream

#endif  // MILLSTREAM_OPS_MATH_MATRIX_BATCH_H_
