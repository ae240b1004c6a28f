// SPDX-License-Identifier: Apache-2.0
// Bytes -> GraphDef -> Graph: nothing crashes; what is accepted can be sorted, exported and imported again, and every
// function of it can be instantiated or refused.
#include "google/protobuf/stubs/logging.h"
#include "millstream/base/logging.h"
#include "millstream/graph/export.h"
#include "millstream/graph/function_library.h"
#include "millstream/graph/import.h"
#include "millstream/graph/testing/random_program.h"

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

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  google::protobuf::SetLogHandler(nullptr);  // it reports every string that is not UTF-8
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned int seed) {
  using namespace millstream;  // NOLINT(google-build-using-namespace)
  testing::ProtoMutator mutator(seed, &testing::ProgramWords());
  proto::GraphDef def;
  const auto change = [&](testing::ProtoMutator* m) { return testing::ChangeProgram(m, &def), true; };
  return testing::MutateMessage(data, size, max_size, &mutator, &def, change, LLVMFuzzerMutate);
}

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
