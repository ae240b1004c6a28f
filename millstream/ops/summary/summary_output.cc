// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/summary/summary_output.h"

#include "millstream/proto/summary.pb.h"

namespace millstream {

Status OutputSummary(KernelContext& ctx, const proto::Summary& summary) {
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, Shape()));
  if (!summary.SerializeToString(out->data<std::string>())) return errors::Internal("Could not serialize the summary");
  return OkStatus();
}

}  // namespace millstream
