// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_MASTER_NAMED_TASKS_H_
#define MILLSTREAM_DISTRIBUTED_MASTER_NAMED_TASKS_H_

#include <set>
#include <string>
#include <vector>

namespace millstream {

class Graph;
namespace proto {
class GraphDef;
}  // namespace proto

// The devices that nodes of a graph, and of its functions, ask for.
std::set<std::string> RequestedDevices(const proto::GraphDef& graph);
std::set<std::string> RequestedDevices(const Graph& graph);

// Those of `tasks` that one of the devices names: "/job:worker/task:1", or all of a job for "/job:worker". A device
// that names no job needs nobody.
std::vector<std::string> TasksNamedBy(const std::set<std::string>& devices, const std::vector<std::string>& tasks);

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_MASTER_NAMED_TASKS_H_
