// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_GRAPH_IMPORT_NESTING_H_
#define MILLSTREAM_GRAPH_IMPORT_NESTING_H_

#include "millstream/base/status.h"

namespace millstream {

namespace proto {
class GraphDef;
}  // namespace proto

// InvalidArgument if functions in attributes of functions, or tensors in variants, are nested so deeply that protobuf
// itself, which measures and copies messages by recursion, could run out of stack. Messages that were parsed from bytes
// never are; those that a program has built may be.
Status CheckNesting(const proto::GraphDef& graph);

}  // namespace millstream

#endif  // MILLSTREAM_GRAPH_IMPORT_NESTING_H_
