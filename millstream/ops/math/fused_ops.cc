// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/math/fused_ops.h"

namespace millstream {

math::Activation FusedActivation(KernelInit& init) {
  const auto fused = init.Attr<std::vector<std::string>>("fused_ops");
  if (fused.empty() || fused.size() > 2 || fused[0] != "BiasAdd" || init.Attr<int64_t>("num_args") != 1) {
    init.Fail(errors::Unimplemented("Fusion is not implemented: expected BiasAdd first, with one argument"));
    return math::Activation::kNone;
  }
  if (fused.size() < 2) return math::Activation::kNone;
  if (fused[1] == "Relu") return math::Activation::kRelu;
  if (fused[1] == "Relu6") return math::Activation::kRelu6;
  init.Fail(errors::Unimplemented("Fusion is not implemented: [BiasAdd,", fused[1], "]"));
  return math::Activation::kNone;
}

}  // namespace millstream
