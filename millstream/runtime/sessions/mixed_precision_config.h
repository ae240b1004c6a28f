// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_RUNTIME_SESSIONS_MIXED_PRECISION_CONFIG_H_
#define MILLSTREAM_RUNTIME_SESSIONS_MIXED_PRECISION_CONFIG_H_

#include "millstream/graph/precision/mixed_precision.h"
#include "millstream/runtime/session_options.h"

namespace millstream {

// What graph_options.rewrite_options of the ConfigProto asks for: auto_mixed_precision for accelerators,
// auto_mixed_precision_cpu (half) and auto_mixed_precision_onednn_bfloat16 for the CPU. Off unless asked for, and where
// the meta-optimizer is.
MixedPrecision MixedPrecisionOf(const SessionOptions& options);

}  // namespace millstream

#endif  // MILLSTREAM_RUNTIME_SESSIONS_MIXED_PRECISION_CONFIG_H_
