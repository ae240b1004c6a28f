// SPDX-License-Identifier: Apache-2.0
#include "tests/golden_engine.h"

#include "millstream/framework/cpu_device.h"
#include "millstream/framework/run_kernel.h"

namespace millstream {

StatusOr<Tensor> GoldenEngine::Value(const Output& output, const Feeds& feeds, Values* values) const {
  const std::string name = output.node->name() + ":" + std::to_string(output.index);
  if (const auto fed = feeds.find(name); fed != feeds.end()) return fed->second;
  RETURN_IF_ERROR(RunNode(*output.node, feeds, values));
  return values->at(output.node).at(static_cast<size_t>(output.index));
}

Status GoldenEngine::RunNode(const Node& node, const Feeds& feeds, Values* values) const {
  if (values->count(&node) > 0) return OkStatus();
  if (node.IsControlFlow() || node.IsStateful()) return errors::Unimplemented(node.type(), " needs a session");
  std::vector<Tensor> inputs;
  for (const Output& input : node.inputs()) {
    ASSIGN_OR_RETURN(Tensor t, Value(input, feeds, values));
    inputs.push_back(std::move(t));
  }
  ASSIGN_OR_RETURN((*values)[&node], RunKernel(node.op(), node.attrs(), std::move(inputs), CpuDevice::SingleThreaded()));
  return OkStatus();
}

Status GoldenEngine::Run(const Feeds& feeds, const std::vector<std::string>& fetches,
                         const std::vector<std::string>& targets, std::vector<Tensor>* outputs) {
  Values values;
  for (const std::string& fetch : fetches) {
    ASSIGN_OR_RETURN(const Output output, graph_->FindOutput(fetch));
    ASSIGN_OR_RETURN(Tensor t, Value(output, feeds, &values));
    outputs->push_back(std::move(t));
  }
  for (const std::string& target : targets) {
    const Node* node = graph_->Find(target);
    if (node == nullptr) return errors::NotFound("no node ", target);
    RETURN_IF_ERROR(RunNode(*node, feeds, &values));
  }
  return OkStatus();
}

}  // namespace millstream
