// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_DATA_BATCH_H_
#define MILLSTREAM_OPS_DATA_BATCH_H_

#include "millstream/ops/data/dataset.h"

namespace millstream {

// The elements of the next batch: `size` of them, or what is left; *input is reset at its end. *end is set if there are
// none, or with `drop_remainder` too few.
Status TakeElements(const StepContext& step, int64_t size, bool drop_remainder, IteratorPtr* input,
                    std::vector<Element>* elements, bool* end);

// One component of several elements as the rows of one tensor. InvalidArgument if their shapes or types differ. Takes
// the strings of tensors that nobody else holds. REQUIRES: there is an element.
StatusOr<Tensor> StackComponent(std::vector<Element>& elements, size_t component);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_DATA_BATCH_H_
