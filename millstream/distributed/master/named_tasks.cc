// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/master/named_tasks.h"

#include "millstream/framework/device_name.h"
#include "millstream/graph/functions/function_library.h"
#include "millstream/graph/graph.h"
#include "millstream/proto/graph.pb.h"

namespace millstream {
namespace {

void AddFunctions(const proto::FunctionDefLibrary& library, std::set<std::string>* devices) {
  for (const auto& function : library.function()) {
    for (const auto& node : function.node_def()) devices->insert(node.device());
  }
}

}  // namespace

std::set<std::string> RequestedDevices(const proto::GraphDef& graph) {
  std::set<std::string> devices;
  for (const auto& node : graph.node()) devices.insert(node.device());
  AddFunctions(graph.library(), &devices);
  return devices;
}

std::set<std::string> RequestedDevices(const Graph& graph) {
  std::set<std::string> devices;
  for (const auto& node : graph.nodes()) {
    if (node != nullptr) devices.insert(std::string(node->device()));
  }
  if (graph.library() == nullptr) return devices;
  proto::FunctionDefLibrary functions;
  graph.library()->ToProto(&functions);
  AddFunctions(functions, &devices);
  return devices;
}

std::vector<std::string> TasksNamedBy(const std::set<std::string>& devices, const std::vector<std::string>& tasks) {
  std::set<std::string> named;
  for (const std::string& device : devices) {
    StatusOr<DeviceName> wanted = DeviceName::Parse(device);
    if (!wanted.ok() || !wanted->job.has_value()) continue;  // placing the graph tells what is wrong
    wanted->type.reset();
    wanted->index.reset();
    for (const std::string& task : tasks) {
      const StatusOr<DeviceName> name = DeviceName::Parse(task);
      if (name.ok() && wanted->Matches(*name)) named.insert(task);
    }
  }
  return {named.begin(), named.end()};
}

}  // namespace millstream
