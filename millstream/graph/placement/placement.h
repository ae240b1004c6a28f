// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_GRAPH_PLACEMENT_PLACEMENT_H_
#define MILLSTREAM_GRAPH_PLACEMENT_PLACEMENT_H_

#include <vector>

#include "millstream/framework/device.h"
#include "millstream/graph/graph.h"

namespace millstream {

struct PlacementOptions {
  bool allow_soft_placement = false;
  // Where nodes go that say nothing; a full name out of `devices`. "": the first device.
  std::string default_device{};
  // Conditionals that LowerControlFlow() takes apart later need not be where the handles are that they take.
  bool lowers_control_flow = false;
};

// Gives every node without an assigned device a full device name out of `devices`:
//  1. the parts of the device the user wrote are kept (with soft placement its type and index are only wishes);
//  2. nodes colocated by `_class`, joined by a reference edge or sharing a resource handle are on one device; who takes
//  a handle or
//     a reference follows it, even against its own wish, as in TensorFlow;
//  3. the device has a kernel for every one of them.
// Nodes placed before stay where they are. InvalidArgument, naming the node and listing the candidates, if there is no
// way.
Status PlaceGraph(const std::vector<DeviceAttributes>& devices, const PlacementOptions& options, Graph* graph);

}  // namespace millstream

#endif  // MILLSTREAM_GRAPH_PLACEMENT_PLACEMENT_H_
