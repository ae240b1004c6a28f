// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TESTS_GOLDEN_SHAPES_H_
#define MILLSTREAM_TESTS_GOLDEN_SHAPES_H_

#include <gtest/gtest.h>

#include "millstream/proto/meta_graph.pb.h"

namespace millstream {

// Replaces the nodes that `signature.inputs` names by placeholders of those shapes, and compares the static shapes of
// `signature.outputs`: ours must fit TensorFlow's, and say at least as much where TensorFlow's is fully known. Where
// TensorFlow refused the graph we must too.
::testing::AssertionResult SameShapes(proto::GraphDef graph, const proto::SignatureDef& signature);

}  // namespace millstream

#endif  // MILLSTREAM_TESTS_GOLDEN_SHAPES_H_
