// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_GRAPH_FUNCTIONS_IMPORT_OPTIONS_H_
#define MILLSTREAM_GRAPH_FUNCTIONS_IMPORT_OPTIONS_H_

#include <cstdint>

namespace millstream {

// The version of the program format that we speak: TensorFlow 2.21's.
inline constexpr int kGraphDefVersion = 2474;

// Limits on what a program may ask for; ResourceExhausted beyond them.
struct ImportOptions {
  int64_t max_nodes = int64_t{4} << 20;         // of the graph with what it already holds; functions count too
  int64_t max_tensor_bytes = int64_t{2} << 30;  // of one tensor in an attribute
  int64_t max_graph_bytes = int64_t{16} << 30;  // of all that the nodes hold beyond their text: tensors, outputs
  // The part of a graph that a master has cut: it may have reserved attributes (reserved_attrs.h).
  bool is_part = false;
};

}  // namespace millstream

#endif  // MILLSTREAM_GRAPH_FUNCTIONS_IMPORT_OPTIONS_H_
