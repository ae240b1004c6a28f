// SPDX-License-Identifier: Apache-2.0
#include "millstream/status/graph_view.h"

#include <string>
#include <unordered_map>

#include "millstream/status/json_text.h"

namespace millstream {
namespace {

constexpr int kMaxNodes = 20'000;
constexpr int kMaxInputs = 64;  // of one node

// Numbers names in the order in which they come.
class Names {
 public:
  int Number(absl::string_view name) {
    const auto [it, is_new] = numbers_.try_emplace(std::string(name), static_cast<int>(list_.size()));
    if (is_new) list_.push_back(it->first);
    return it->second;
  }
  const std::vector<std::string>& list() const { return list_; }

 private:
  std::unordered_map<std::string, int> numbers_;
  std::vector<std::string> list_;
};

int CountNodes(const SessionGraph& graph) {
  int count = 0;
  graph.VisitNodes([&](const Node&) { return ++count, true; });
  return count;
}

}  // namespace

StatusOr<std::string> LargestGraphJson(const std::vector<std::shared_ptr<MasterSession>>& sessions) {
  MasterSession* largest = nullptr;
  int most = 0;
  for (const auto& session : sessions) {
    const int nodes = CountNodes(session->graph());
    if (nodes > most) {
      largest = session.get();
      most = nodes;
    }
  }
  if (largest == nullptr) return errors::NotFound("No session with a graph is open at this task");
  Names devices, ops;
  std::unordered_map<int, int> numbers;  // of nodes, by id
  Json nodes = Json::array();
  std::vector<std::vector<int>> inputs;  // ids
  largest->graph().VisitNodes([&](const Node& node) {
    numbers.emplace(node.id(), static_cast<int>(nodes.size()));
    nodes.push_back({node.name(), ops.Number(node.type()), devices.Number(node.assigned_device())});
    std::vector<int>& from = inputs.emplace_back();
    for (const Output& input : node.inputs()) from.push_back(input.node->id());
    for (const Node* input : node.control_inputs()) from.push_back(-1 - input->id());
    if (from.size() > kMaxInputs) from.resize(kMaxInputs);
    return nodes.size() < kMaxNodes;
  });
  Json edges = Json::array();  // from, to, whether it only says "after"
  for (size_t to = 0; to < inputs.size(); ++to) {
    for (const int id : inputs[to]) {
      const auto from = numbers.find(id < 0 ? -1 - id : id);
      if (from != numbers.end()) edges.push_back({from->second, to, id < 0 ? 1 : 0});
    }
  }
  return ToText({{"session", largest->handle()},
                 {"total_nodes", most},
                 {"devices", devices.list()},
                 {"ops", ops.list()},
                 {"nodes", std::move(nodes)},
                 {"edges", std::move(edges)}});
}

}  // namespace millstream
