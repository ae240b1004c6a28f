// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/op.h"

namespace millstream {
namespace {

Status FactCpu(KernelContext& ctx) {
  ctx.set_output(0, Tensor::Scalar<std::string>("0! == 1"));
  return OkStatus();
}

OP("Fact").Output("fact: string").Shape(UnknownShape).Cpu(FactCpu).Doc("A fact about factorials.");

}  // namespace
}  // namespace millstream
