// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_DATA_RECORDED_WRITE_GRAPH_H_
#define MILLSTREAM_OPS_DATA_RECORDED_WRITE_GRAPH_H_

#include "millstream/graph/functions/function_library.h"
#include "millstream/ops/data/dataset.h"

namespace millstream {

namespace proto {
class GraphDef;
}  // namespace proto

// The pipeline that ends in `dataset` as a program: a node for each dataset, constants for what else it was made from,
// the functions that it calls (of `library`, which may be null), and a _Retval named "dataset". Sources of seeds and
// caches are replaced by new ones. FailedPrecondition if it holds other resources, or a dataset that no node made.
Status WriteDatasetGraph(const Dataset& dataset, const FunctionLibrary* library, proto::GraphDef* def);

// FailedPrecondition, naming the op, if some function of the pipeline depends on more than its arguments: random
// numbers, tables, code of the client.
Status CheckNoExternalState(const proto::GraphDef& def);

// A number that pipelines share which make the same elements of the same inputs, in every process. Names do not count,
// nor do resources. Errors of WriteDatasetGraph().
StatusOr<uint64_t> FingerprintOf(const Dataset& dataset, const FunctionLibrary* library);

// The functions that kernels of the step call; null if they cannot be seen.
const FunctionLibrary* LibraryOf(const StepContext& step);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_DATA_RECORDED_WRITE_GRAPH_H_
