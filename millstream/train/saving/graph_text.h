// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_SAVING_GRAPH_TEXT_H_
#define MILLSTREAM_TRAIN_SAVING_GRAPH_TEXT_H_

#include <string>

#include "millstream/graph/graph.h"

namespace millstream {

// Writes the graph as text (a GraphDef), whole or not at all: what TensorFlow calls graph.pbtxt.
Status WriteGraphText(const Graph& graph, const std::string& path);

}  // namespace millstream

#endif  // MILLSTREAM_TRAIN_SAVING_GRAPH_TEXT_H_
