// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_SUMMARY_SUMMARY_OUTPUT_H_
#define MILLSTREAM_OPS_SUMMARY_SUMMARY_OUTPUT_H_

#include "millstream/framework/kernel.h"

namespace millstream {

namespace proto {
class Summary;
class Summary_Value;
}  // namespace proto

// Sets output 0 to the serialized summary.
Status OutputSummary(KernelContext& ctx, const proto::Summary& summary);

// Sets the tensor of a value, in the form that readers of summaries expect.
Status SetSummaryTensor(const Tensor& tensor, proto::Summary_Value* value);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_SUMMARY_SUMMARY_OUTPUT_H_
