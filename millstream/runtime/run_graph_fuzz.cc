// SPDX-License-Identifier: Apache-2.0
// Runs small programs made of arbitrary bytes: whatever a GraphDef says, a step ends with a status.
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

#include "google/protobuf/stubs/logging.h"
#include "millstream/proto/graph.pb.h"
#include "millstream/runtime/session.h"
#include "millstream/tensor/allocator.h"

namespace {

// Ops that write files or wait for somebody else have no place here.
bool IsHarmless(const millstream::proto::GraphDef& graph) {
  static const std::set<std::string> kRefused = {"SaveV2", "MergeV2Checkpoints", "WriteFile", "Print", "PrintV2"};
  for (const auto& node : graph.node()) {
    if (kRefused.contains(node.op()) || node.op().find("Queue") != std::string::npos ||
        node.op().find("Accumulator") != std::string::npos || node.op().find("File") != std::string::npos) {
      return false;
    }
  }
  return graph.library().function_size() == 0;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  google::protobuf::SetLogHandler(nullptr);  // it reports every string that is not UTF-8
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace millstream;  // NOLINT(google-build-using-namespace)
  constexpr int kMaxNodes = 32;
  SetHostMemoryLimit(int64_t{256} << 20);
  proto::GraphDef graph;
  if (!graph.ParseFromArray(data, static_cast<int>(size)) || graph.node_size() > kMaxNodes || !IsHarmless(graph))
    return 0;
  SessionOptions options;
  options.intra_op_threads = 1;
  options.inter_op_threads = 1;
  options.operation_timeout_ms = 200;
  options.max_tensor_bytes = 1 << 20;
  auto session = NewSession(options);
  if (!session.ok() || !(*session)->Create(graph).ok()) return 0;
  for (const auto& node : graph.node()) {
    std::vector<Tensor> out;
    (*session)->Run({}, {}, {node.name()}, &out).IgnoreError();
    (*session)->Run({}, {node.name() + ":0"}, {}, &out).IgnoreError();
  }
  return 0;
}
