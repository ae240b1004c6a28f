// SPDX-License-Identifier: Apache-2.0
// Bytes -> GraphDef -> Graph: nothing crashes; what is accepted can be sorted, exported and imported again, and every
// function of it can be instantiated or refused.
#include "millstream/base/logging.h"
#include "millstream/graph/functions/function_library.h"
#include "millstream/graph/import/export.h"
#include "millstream/graph/import/import.h"
#include "millstream/graph/testing/program_fuzzer.h"

namespace millstream {
namespace {

constexpr ImportOptions kOptions{.max_nodes = 10000, .max_tensor_bytes = 1 << 20, .max_graph_bytes = 1 << 24};

void InstantiateAll(const FunctionLibrary& library) {
  for (const std::string& name : library.Names()) {
    const NameAttrList call{.name = name, .attrs = {{"T", DType::kFloat}, {"N", 2}}};
    StatusOr<FunctionBody> body = library.Instantiate(call, kOptions);
    if (body.ok()) MS_CHECK(body->graph->TopologicalOrder().ok());
  }
}

void RoundTrip(const Graph& graph) {
  proto::GraphDef again;
  if (!ExportGraph(graph, &again).ok()) return;
  Graph copy;
  MS_CHECK(ImportGraph(again, kOptions, &copy).ok());
  MS_CHECK(copy.num_nodes() == graph.num_nodes());
}

}  // namespace
}  // namespace millstream

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace millstream;  // NOLINT(google-build-using-namespace)
  proto::GraphDef def;
  if (!def.ParseFromArray(data, static_cast<int>(size))) return 0;
  Graph graph;
  if (!ImportGraph(def, kOptions, &graph).ok()) {
    MS_CHECK(graph.num_nodes() == 0);
    return 0;
  }
  MS_CHECK(graph.TopologicalOrder().ok());
  RoundTrip(graph);
  if (graph.library() != nullptr) InstantiateAll(*graph.library());
  return 0;
}
