// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_QUEUES_QUEUE_BATCH_H_
#define MILLSTREAM_OPS_QUEUES_QUEUE_BATCH_H_

#include "millstream/ops/queues/queue_store.h"

namespace millstream {

// The rows of a batch as elements with memory of their own, so that one that
// stays long does not keep its batch. REQUIRES: all components have at least
// one dimension and the same number of rows.
StatusOr<std::vector<QueueElement>> SplitBatch(const QueueElement& batch);

// Component `component` of all elements, stacked. `shape` is declared for it;
// with `pad` elements may differ, and are padded with zeros (or empty strings)
// at the end of each dimension. InvalidArgument if there are no elements and
// `shape` is partial.
StatusOr<Tensor> MakeBatch(const std::vector<QueueElement>& elements, int component, DType dtype,
                           const PartialShape& shape, bool pad);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_QUEUES_QUEUE_BATCH_H_
