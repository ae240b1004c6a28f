// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/fusion/fuse_elements.h"
#include "millstream/graph/fusion/merge_products.h"
#include "millstream/graph/passes/rewrite_with_precision.h"

namespace millstream {

Status RewriteGraph(const RewriteOptions& options, PrunedGraph* part) { return RewriteGraph(options, {}, part); }

Status RewriteGraph(const RewriteOptions& options, const MixedPrecision& precision, PrunedGraph* part) {
  ReadReferencesLate(part);
  if (options.function_inlining) RETURN_IF_ERROR(InlineFunctions(part));
  if (precision.IsOn()) {
    RETURN_IF_ERROR(UseMixedPrecision(precision, part));
    RemoveUnused(part);  // twins without readers
  }
  if (options.arithmetic) RETURN_IF_ERROR(SimplifyArithmetic(part));
  if (options.constant_folding) RETURN_IF_ERROR(FoldConstants(part));
  if (options.common_subexpressions) RETURN_IF_ERROR(MergeCommonSubexpressions(part));
  if (options.fusion) {
    RETURN_IF_ERROR(FuseBias(part));
    RETURN_IF_ERROR(FuseBatchNorm(part));
    RETURN_IF_ERROR(GatherFromReferences(part));
    RemoveUnused(part);  // what follows looks at all readers of a value
    RETURN_IF_ERROR(MergeProducts(part));
    RemoveUnused(part);
    RETURN_IF_ERROR(FuseElements(part));
  }
  RemoveUnused(part);
  return UpdateAfterReductions(part);
}

}  // namespace millstream
