// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_TESTING_WAITING_PROGRAM_H_
#define MILLSTREAM_DISTRIBUTED_TESTING_WAITING_PROGRAM_H_

#include <string>
#include <vector>

#include "millstream/proto/graph.pb.h"
#include "millstream/proto/named_tensor.pb.h"

namespace millstream::testing {

// A small program with one of each kind of state that outlives a step, and of each op that waits for others: a
// variable, an iterator, a queue that is mostly empty or full, a collective with another task.
struct WaitingProgram {
  // `prefix` comes before the names of all nodes.
  static proto::GraphDef Graph(const std::string& prefix = "");
  // Of tensors that can be fetched from the graph without prefix; some do not exist.
  static const std::vector<std::string>& Names();
  // A value for the placeholder "x".
  static proto::NamedTensorProto Feed();
};

}  // namespace millstream::testing

#endif  // MILLSTREAM_DISTRIBUTED_TESTING_WAITING_PROGRAM_H_
