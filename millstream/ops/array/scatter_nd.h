// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_ARRAY_SCATTER_ND_H_
#define MILLSTREAM_OPS_ARRAY_SCATTER_ND_H_

#include "millstream/framework/shape_context.h"
#include "millstream/ops/elements/nd_index.h"

namespace millstream {

enum class NdUpdate { kAssign, kAdd, kSub, kMin, kMax };

// InvalidArgument unless updates is indices.shape[:-1] + shape[depth:].
Status CheckNdUpdate(const Tensor& indices, const Tensor& updates, const Shape& shape);

// Combines the slices in `updates` into those of *to that `indices` points at, in their order. Checks all shapes and
// indices first. Every plain type can be assigned and added (bools are or-ed, strings appended); only numbers that have
// an order have a minimum and a maximum. REQUIRES: nobody else sees the buffer of *to.
Status ScatterNdInto(KernelContext& ctx, NdUpdate update, const Tensor& indices, const Tensor& updates, BadIndex policy,
                     Tensor* to);

// For shape functions: inputs 1 and 2 are indices and updates of something of shape `shape`.
Status CheckNdUpdateShapes(const ShapeContext& c, const PartialShape& shape);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_ARRAY_SCATTER_ND_H_
