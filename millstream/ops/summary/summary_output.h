// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_SUMMARY_SUMMARY_OUTPUT_H_
#define MILLSTREAM_OPS_SUMMARY_SUMMARY_OUTPUT_H_

#include "millstream/framework/kernel.h"

namespace millstream {

namespace proto {
class Summary;
}

// Sets output 0 to the serialized summary.
Status OutputSummary(KernelContext& ctx, const proto::Summary& summary);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_SUMMARY_SUMMARY_OUTPUT_H_
