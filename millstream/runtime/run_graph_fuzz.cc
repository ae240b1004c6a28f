// SPDX-License-Identifier: Apache-2.0
// Runs small programs of arbitrary nodes: whatever a GraphDef says, a step ends with a status.
#include <cstddef>
#include <cstdint>
#include <string>

#include "millstream/graph/testing/program_fuzzer.h"
#include "millstream/runtime/session.h"
#include "millstream/tensor/allocator.h"

namespace millstream {
namespace {

constexpr int kMaxNodes = 48;
constexpr int kMaxTimeouts = 2;  // steps that wait for somebody are not worth much time

SessionOptions Options() {
  SessionOptions options;
  options.intra_op_threads = 1;
  options.inter_op_threads = 1;
  options.operation_timeout_ms = 50;
  options.max_tensor_bytes = 1 << 20;
  return options;
}

// All nodes in one step, then each output by itself.
void RunAll(Session* session, const proto::GraphDef& graph) {
  std::vector<std::string> targets;
  for (const auto& node : graph.node()) targets.push_back(node.name());
  std::vector<Tensor> out;
  int timeouts = 0;
  const auto done = [&](const Status& status) {
    return absl::IsDeadlineExceeded(status) && ++timeouts == kMaxTimeouts;
  };
  if (done(session->Run({}, {}, targets, &out))) return;
  for (const std::string& name : targets) {
    if (done(session->Run({}, {name + ":0"}, {}, &out))) return;
  }
}

}  // namespace
}  // namespace millstream

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace millstream;  // NOLINT(google-build-using-namespace)
  SetHostMemoryLimit(int64_t{256} << 20);
  proto::GraphDef graph;
  if (!graph.ParseFromArray(data, static_cast<int>(size)) || graph.node_size() > kMaxNodes ||
      !testing::IsHarmless(graph))
    return 0;
  auto session = NewSession(Options());
  if (session.ok() && (*session)->Create(graph).ok()) RunAll(session->get(), graph);
  return 0;
}
