// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/op.h"
#include "millstream/ops/strings/fingerprint.h"

namespace millstream::sdca {
namespace {

constexpr int64_t kWords = 2;

Status SdcaFprintCpu(KernelContext& ctx) {
  const Tensor& in = ctx.input(0);
  if (in.rank() != 1) return errors::InvalidArgument("Input must be a vector, got shape ", in.shape().ToString());
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, Shape({in.num_elements(), kWords})));
  const std::string* ids = in.data<std::string>();
  int64_t* words = out->data<int64_t>();
  for (int64_t i = 0; i < in.num_elements(); ++i) {
    Fingerprint128Value value = Fingerprint128(ids[i]);
    if (value.low < 2) value.low -= 2;  // 0 and 1 are left to hash tables, as marks
    words[kWords * i] = static_cast<int64_t>(value.low);
    words[kWords * i + 1] = static_cast<int64_t>(value.high);
  }
  return OkStatus();
}

Status SdcaFprintShape(ShapeContext& c) {
  PartialShape in;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 1, &in));
  c.set_output(0, PartialShape({in.dim(0), kWords}));
  return OkStatus();
}

OP("SdcaFprint")
    .Input("input: string")
    .Output("output: int64")
    .Shape(SdcaFprintShape)
    .NotDifferentiable()
    .Cpu(SdcaFprintCpu)
    .Doc("The 128-bit fingerprint of each example's name, as two numbers.");

}  // namespace
}  // namespace millstream::sdca
