// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_GRAPH_PLACEMENT_DEVICE_COPIES_H_
#define MILLSTREAM_GRAPH_PLACEMENT_DEVICE_COPIES_H_

#include <functional>

#include "millstream/framework/device.h"
#include "millstream/graph/prune.h"

namespace millstream {

// Adds copies where a value is in one memory and is read in another: _CopyToHost, _CopyToDevice, and twins of constants
// (with kDeviceConstantAttr) that are copied when the plan is made. A value is copied at most once to each memory.
// Results of the graph are on the host. REQUIRES: every node has a device, which `find_device` knows.
// InvalidArgument if a reference to a variable would have to be copied.
Status AddDeviceCopies(const std::function<Device*(absl::string_view)>& find_device, PrunedGraph* graph);

}  // namespace millstream

#endif  // MILLSTREAM_GRAPH_PLACEMENT_DEVICE_COPIES_H_
