// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_FLOW_SUMMARY_H_
#define MILLSTREAM_OPS_FLOW_SUMMARY_H_

#include <string>

#include "millstream/tensor/tensor.h"

namespace millstream {

// The first `limit` elements (all if negative) as Assert and Print show them:
// "1 2 3...", "[1 2][3 4]", strings bare.
std::string SummarizeForPrint(const Tensor& tensor, int64_t limit);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_FLOW_SUMMARY_H_
