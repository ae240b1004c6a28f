// SPDX-License-Identifier: Apache-2.0
#include <iostream>

#include "millstream/proto/graph.pb.h"

int main() {
  millstream::proto::GraphDef graph;
  graph.add_node()->set_op("NoOp");
  std::cout << "graph of " << graph.node_size() << " node\n";
  return graph.node_size() == 1 ? 0 : 1;
}
