// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_STATUS_GRAPH_VIEW_H_
#define MILLSTREAM_STATUS_GRAPH_VIEW_H_

#include <memory>
#include <string>
#include <vector>

#include "millstream/distributed/master/master_session.h"

namespace millstream {

// The largest graph among these sessions as JSON: names, ops, devices and inputs of its nodes, the first 20000 of them.
// Nodes, devices and ops are referred to by number. NotFound if no session has nodes.
StatusOr<std::string> LargestGraphJson(const std::vector<std::shared_ptr<MasterSession>>& sessions);

}  // namespace millstream

#endif  // MILLSTREAM_STATUS_GRAPH_VIEW_H_
