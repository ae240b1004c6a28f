// SPDX-License-Identifier: Apache-2.0
#include <chrono>

#include "millstream/framework/op.h"

namespace millstream {
namespace {

Status TimestampCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, Shape()));
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  out->scalar<double>() = std::chrono::duration<double>(now).count();
  return OkStatus();
}

OP("Timestamp")
    .Output("ts: double")
    .Stateful()
    .Shape(ScalarShape)
    .NotDifferentiable()
    .Cpu(TimestampCpu)
    .Doc("Seconds since the epoch, when the op runs.");

}  // namespace
}  // namespace millstream
