// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_GRAPH_FUSION_MERGE_PRODUCTS_H_
#define MILLSTREAM_GRAPH_FUSION_MERGE_PRODUCTS_H_

#include "millstream/graph/prune.h"

namespace millstream {

// On devices other than the CPU: a sum of products of matrices becomes one product of their factors side by side, and a
// sum of bias gradients one bias gradient of what was summed up. That is what gradients of weights look like which an
// unrolled loop uses many times: the sum would go through memory as often as there are terms.
//
// Factors are copied for it, so that products must be large beside them. Results change by rounding. REQUIRES: nodes
// have devices.
Status MergeProducts(PrunedGraph* part);

}  // namespace millstream

#endif  // MILLSTREAM_GRAPH_FUSION_MERGE_PRODUCTS_H_
