// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_GRAPH_PASSES_REWRITE_WITH_PRECISION_H_
#define MILLSTREAM_GRAPH_PASSES_REWRITE_WITH_PRECISION_H_

#include "millstream/graph/passes/passes.h"
#include "millstream/graph/precision/mixed_precision.h"

namespace millstream {

// RewriteGraph(), with UseMixedPrecision() after functions are inlined and before everything else: casts are then
// folded, merged and fused like other nodes.
Status RewriteGraph(const RewriteOptions& options, const MixedPrecision& precision, PrunedGraph* part);

}  // namespace millstream

#endif  // MILLSTREAM_GRAPH_PASSES_REWRITE_WITH_PRECISION_H_
