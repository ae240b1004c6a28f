// SPDX-License-Identifier: Apache-2.0
// Runs single ops with arbitrary attributes and inputs: whatever they are, a step ends with a status.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "millstream/base/testing/proto_fuzzer.h"
#include "millstream/framework/cpu_device.h"
#include "millstream/framework/run_kernel.h"
#include "millstream/graph/import/import.h"
#include "millstream/graph/testing/random_program.h"
#include "millstream/runtime/session.h"
#include "millstream/tensor/allocator.h"

namespace millstream {
namespace {

// The inputs of a node that needs nothing but values: then its kernel can be run as it is, without a session.
bool ConstantInputs(const Node& node, std::vector<Tensor>* inputs) {
  if (node.IsStateful() || node.IsControlFlow()) return false;
  for (const Output& in : node.inputs()) {
    inputs->emplace_back();
    if (!in.node->Is("Const") || !in.node->GetAttr("value", &inputs->back()).ok()) return false;
  }
  for (const KernelDef& kernel : node.op().kernels) {
    if (kernel.async) return false;
  }
  return true;
}

const OpEntry& Choose(testing::Choices* choices) {
  // One op alone, to look at it closely.
  static const char* only = std::getenv("OP_FUZZ_ONLY");
  if (only != nullptr) return *OpRegistry::Global().Find(only);
  const auto& ops = testing::HarmlessOps();
  return *ops[static_cast<size_t>(choices->Below(static_cast<int>(ops.size())))];
}

// The inputs may come from nodes with state: those need a session.
Status RunInSession(const proto::GraphDef& graph, const std::string& target) {
  SessionOptions options;
  options.intra_op_threads = 1;
  options.inter_op_threads = 1;
  options.operation_timeout_ms = 100;
  options.rewrite = RewriteOptions::None();
  ASSIGN_OR_RETURN(std::unique_ptr<Session> session, NewSession(options));
  RETURN_IF_ERROR(session->Create(graph));
  return session->Run({}, {}, {target}, nullptr);
}

Status RunNode(const proto::GraphDef& def, const std::string& name) {
  Graph graph;
  RETURN_IF_ERROR(ImportGraph(def, {}, &graph));
  const Node* node = graph.Find(name);
  std::vector<Tensor> inputs;
  if (!ConstantInputs(*node, &inputs)) return RunInSession(def, name);
  return RunKernel(node->op(), node->attrs(), std::move(inputs), CpuDevice::SingleThreaded()).status();
}

}  // namespace
}  // namespace millstream

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace millstream;  // NOLINT(google-build-using-namespace)
  SetHostMemoryLimit(int64_t{256} << 20);
  testing::Choices choices(data, size);
  const OpEntry& op = Choose(&choices);
  proto::GraphDef def;
  testing::RandomProgram program(&choices, &def);
  program.set_connect(false);
  const int made = program.AddNode(op);
  if (made < 0) return 0;
  program.AddFunctions();
  // To see which ops are reached, and how far.
  static const bool show = std::getenv("OP_FUZZ_SHOW") != nullptr;
  if (show) std::fprintf(stderr, "%s\n", op.def.name.c_str());
  const Status status = RunNode(def, def.node(made).name());
  if (show) std::fprintf(stderr, "%s %s\n", op.def.name.c_str(), status.ToString().c_str());
  return 0;
}
