// SPDX-License-Identifier: Apache-2.0
#include "millstream/runtime/sessions/mixed_precision_config.h"

#include "millstream/proto/config.pb.h"

namespace millstream {

MixedPrecision MixedPrecisionOf(const SessionOptions& options) {
  MixedPrecision types;
  if (options.config == nullptr) return types;
  const proto::RewriterConfig& rewrites = options.config->graph_options().rewrite_options();
  if (rewrites.disable_meta_optimizer()) return types;
  const auto on = [](proto::RewriterConfig::Toggle toggle) {
    return toggle == proto::RewriterConfig::ON || toggle == proto::RewriterConfig::AGGRESSIVE;
  };
  if (on(rewrites.auto_mixed_precision())) types.on_accelerators = DType::kHalf;
  if (on(rewrites.auto_mixed_precision_cpu())) types.on_cpu = DType::kHalf;
  if (on(rewrites.auto_mixed_precision_mkl()) || on(rewrites.auto_mixed_precision_onednn_bfloat16())) {
    types.on_cpu = DType::kBfloat16;
  }
  return types;
}

}  // namespace millstream
