// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_PARSING_FEATURE_VALUES_H_
#define MILLSTREAM_OPS_PARSING_FEATURE_VALUES_H_

#include "millstream/proto/feature.pb.h"
#include "millstream/tensor/tensor.h"

namespace millstream {

// The type of a feature's values; kInvalid if it has none.
DType TypeOf(const proto::Feature& feature);
int64_t CountOf(const proto::Feature& feature);
// REQUIRES: the types are the same; there is room.
void CopyValues(const proto::Feature& feature, Tensor* to, int64_t offset);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_PARSING_FEATURE_VALUES_H_
