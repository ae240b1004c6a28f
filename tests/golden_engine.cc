// SPDX-License-Identifier: Apache-2.0
#include "tests/golden_engine.h"

#include <cstdlib>

#include "millstream/framework/cpu_device.h"
#include "millstream/framework/run_kernel.h"
#include "millstream/graph/attr_proto.h"

namespace millstream {
namespace {

// "node:2" -> {"node", 2}.
std::pair<std::string, int> SplitName(const std::string& name) {
  const size_t colon = name.find(':');
  if (colon == std::string::npos) return {name, 0};
  return {name.substr(0, colon), std::atoi(name.c_str() + colon + 1)};
}

}  // namespace

Status GoldenEngine::Create(const proto::GraphDef& graph) {
  for (const proto::NodeDef& node : graph.node()) nodes_[node.name()] = node;
  return OkStatus();
}

StatusOr<Tensor> GoldenEngine::Output(const std::string& name, const Feeds& feeds, Values* values) const {
  const auto [node, index] = SplitName(name);
  if (const auto fed = feeds.find(node + ":" + std::to_string(index)); fed != feeds.end()) return fed->second;
  RETURN_IF_ERROR(RunNode(node, feeds, values));
  return values->at(node).at(index);
}

Status GoldenEngine::RunNode(const std::string& name, const Feeds& feeds, Values* values) const {
  if (values->count(name) > 0) return OkStatus();
  const proto::NodeDef& node = nodes_.at(name);
  ASSIGN_OR_RETURN(const OpEntry* op, OpRegistry::Global().Lookup(node.op()));
  AttrMap attrs;
  for (const auto& [key, value] : node.attr()) {
    ASSIGN_OR_RETURN(AttrValue v, AttrFromProto(value));
    attrs.Set(key, std::move(v));
  }
  std::vector<Tensor> inputs;
  for (const std::string& input : node.input()) {
    ASSIGN_OR_RETURN(Tensor t, Output(input, feeds, values));
    inputs.push_back(std::move(t));
  }
  ASSIGN_OR_RETURN((*values)[name], RunKernel(*op, std::move(attrs), std::move(inputs), CpuDevice::SingleThreaded()));
  return OkStatus();
}

Status GoldenEngine::Run(const Feeds& feeds, const std::vector<std::string>& fetches,
                         const std::vector<std::string>& targets, std::vector<Tensor>* outputs) {
  Values values;
  for (const std::string& fetch : fetches) {
    ASSIGN_OR_RETURN(Tensor t, Output(fetch, feeds, &values));
    outputs->push_back(std::move(t));
  }
  for (const std::string& target : targets) RETURN_IF_ERROR(RunNode(target, feeds, &values));
  return OkStatus();
}

}  // namespace millstream
