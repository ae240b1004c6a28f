// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/import/import.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <chrono>

#include "millstream/graph/functions/function_library.h"
#include "millstream/proto/graph.pb.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;

class ImportTest : public ::testing::Test {
 protected:
  static proto::GraphDef Parse(const std::string& text) {
    proto::GraphDef def;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &def)) << text;
    return def;
  }
  Status Import(const std::string& text) { return ImportGraph(Parse(text), {}, &graph_); }

  Graph graph_;
};

constexpr char kTwo[] = R"(
    node { name: "p" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
    node { name: "n" op: "Neg" input: "p" device: "/job:ps" attr { key: "T" value { type: DT_FLOAT } } })";

TEST_F(ImportTest, ConnectsNodesAndFillsInDefaults) {
  ASSERT_TRUE(Import(kTwo).ok());
  ASSERT_EQ(graph_.num_nodes(), 2);
  Node* n = graph_.Find("n");
  EXPECT_EQ(n->input(0), Output(graph_.Find("p"), 0));
  EXPECT_EQ(n->device(), "/job:ps");
  EXPECT_EQ(n->output_type(0), DType::kFloat);
  PartialShape shape({1});
  ASSERT_TRUE(graph_.Find("p")->GetAttr("shape", &shape).ok());
  EXPECT_FALSE(shape.rank_known());
}

TEST_F(ImportTest, OldPlaceholdersWithTheShapeOfAScalarTakeAnything) {
  for (const auto& [producer, known] : {std::pair(21, false), std::pair(22, true)}) {
    Graph graph;
    const std::string versions = absl::StrCat("versions { producer: ", producer, " } ");
    ASSERT_TRUE(ImportGraph(Parse(versions + R"(node { name: "p" op: "Placeholder"
        attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "shape" value { shape { } } } }
        node { name: "q" op: "Placeholder"
        attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "shape" value { shape { dim { size: 2 } } } } })"),
                            {}, &graph)
                    .ok());
    PartialShape shape({1});
    ASSERT_TRUE(graph.Find("p")->GetAttr("shape", &shape).ok());
    EXPECT_EQ(shape.rank_known(), known) << producer;
    ASSERT_TRUE(graph.Find("q")->GetAttr("shape", &shape).ok());
    EXPECT_EQ(shape.rank(), 1) << producer;
  }
}

TEST_F(ImportTest, InputsMayComeLaterInTheMessage) {
  ASSERT_TRUE(Import(R"(
    node { name: "n" op: "Neg" input: "p" input: "^q" attr { key: "T" value { type: DT_INT32 } } }
    node { name: "p" op: "Placeholder" attr { key: "dtype" value { type: DT_INT32 } } }
    node { name: "q" op: "NoOp" })")
                  .ok());
  EXPECT_EQ(graph_.Find("n")->control_inputs(), std::vector<Node*>{graph_.Find("q")});
}

TEST_F(ImportTest, ExtendsAnExistingGraph) {
  ASSERT_TRUE(Import(kTwo).ok());
  ASSERT_TRUE(Import(R"(node { name: "m" op: "Neg" input: "n:0" attr { key: "T" value { type: DT_FLOAT } } })").ok());
  EXPECT_EQ(graph_.Find("m")->input(0).node, graph_.Find("n"));
  EXPECT_THAT(Import(R"(node { name: "p" op: "NoOp" })").ToString(), HasSubstr("Node 'p' is not unique"));
}

TEST_F(ImportTest, FailedImportLeavesTheGraphAsItWas) {
  ASSERT_TRUE(Import(kTwo).ok());
  const Status s = Import(R"(
    library { function { signature { name: "f" } } }
    node { name: "a" op: "NoOp" }
    node { name: "b" op: "Neg" input: "zz" attr { key: "T" value { type: DT_FLOAT } } })");
  EXPECT_EQ(s.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(s.ToString(), HasSubstr("Node 'b': Unknown input node 'zz'"));
  EXPECT_EQ(graph_.num_nodes(), 2);
  EXPECT_EQ(graph_.id_limit(), 2);
  EXPECT_EQ(graph_.Find("a"), nullptr);
  EXPECT_EQ(graph_.library()->Find("f"), nullptr);
  EXPECT_TRUE(Import(R"(node { name: "a" op: "NoOp" })").ok());
}

TEST_F(ImportTest, LoopsThroughNextIterationAreAllowed) {
  EXPECT_TRUE(Import(R"(
    node { name: "p" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
    node { name: "m" op: "Merge" input: "p" input: "i" attr { key: "N" value { i: 2 } }
           attr { key: "T" value { type: DT_FLOAT } } }
    node { name: "i" op: "NextIteration" input: "m" attr { key: "T" value { type: DT_FLOAT } } })")
                  .ok());
}

TEST_F(ImportTest, ReferencesMayBeReadAsValues) {
  EXPECT_TRUE(Import(R"(
    node { name: "v" op: "VariableV2" attr { key: "dtype" value { type: DT_FLOAT } }
           attr { key: "shape" value { shape {} } } }
    node { name: "n" op: "Neg" input: "v" attr { key: "T" value { type: DT_FLOAT } } }
    node { name: "a" op: "Assign" input: "v" input: "n" attr { key: "T" value { type: DT_FLOAT } } })")
                  .ok());
}

TEST_F(ImportTest, MessagesStayShort) {
  const Status s = Import("node { name: 'a' op: '" + std::string(1 << 20, 'x') + "' }");
  EXPECT_EQ(s.code(), absl::StatusCode::kNotFound);
  EXPECT_LT(s.message().size(), 8000u);
}

TEST_F(ImportTest, FunctionsNestedTooDeeplyAreRefused) {
  proto::GraphDef def;
  auto* node = def.add_node();
  node->set_name("a");
  node->set_op("NoOp");
  proto::AttrValue* value = &(*node->mutable_attr())["_f"];
  for (int depth = 0; depth < 1000; ++depth) value = &(*value->mutable_func()->mutable_attr())["f"];
  const Status s = ImportGraph(def, {}, &graph_);
  EXPECT_EQ(s.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(s.ToString(), HasSubstr("nested more than"));
}

TEST_F(ImportTest, LimitsAreKept) {
  ImportOptions options;
  options.max_nodes = 1;
  EXPECT_EQ(ImportGraph(Parse(kTwo), options, &graph_).code(), absl::StatusCode::kResourceExhausted);
  options = {};
  options.max_tensor_bytes = 100;
  const std::string big = R"(node { name: "NAME" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
      attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { dim { size: 26 } } float_val: 1 } } } })";
  EXPECT_EQ(ImportGraph(Parse(big), options, &graph_).code(), absl::StatusCode::kResourceExhausted);
  options = {};
  options.max_graph_bytes = 150 + 64;  // one output
  std::string second = big;
  second.replace(second.find("NAME"), 4, "OTHER");
  EXPECT_TRUE(ImportGraph(Parse(big), options, &graph_).ok());
  graph_.RemoveNodesFrom(0);
  EXPECT_EQ(ImportGraph(Parse(big + second), options, &graph_).code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(ImportTest, OutputsCountTowardsTheLimit) {
  ImportOptions options;
  options.max_graph_bytes = 1 << 20;
  const Status s = ImportGraph(Parse(R"(
    node { name: "d" op: "Placeholder" attr { key: "dtype" value { type: DT_INT32 } } }
    node { name: "s" op: "Split" input: "d" input: "d" attr { key: "T" value { type: DT_INT32 } }
           attr { key: "num_split" value { i: 1000000 } } })"),
                               options, &graph_);
  EXPECT_EQ(s.code(), absl::StatusCode::kResourceExhausted) << s;
}

// 100,000 nodes in a chain with a NoOp that waits for them all.
proto::GraphDef LargeGraph() {
  proto::GraphDef def;
  auto* p = def.add_node();
  p->set_name("p");
  p->set_op("Placeholder");
  (*p->mutable_attr())["dtype"].set_type(proto::DT_FLOAT);
  auto* all = def.add_node();
  all->set_name("all");
  all->set_op("NoOp");
  std::string last = "p";
  for (int i = 0; i < 100000; ++i) {
    auto* n = def.add_node();
    n->set_name(absl::StrCat("model/layer_", i, "/add"));
    n->set_op("AddV2");
    n->add_input(last);
    n->add_input("p");
    n->set_device("/job:worker/task:0");
    (*n->mutable_attr())["T"].set_type(proto::DT_FLOAT);
    last = n->name();
    def.mutable_node(1)->add_input("^" + last);
  }
  return def;
}

TEST_F(ImportTest, LargeGraphsAreCheap) {
  const proto::GraphDef def = LargeGraph();
  const auto before = mallinfo2();
  const auto start = std::chrono::steady_clock::now();
  ASSERT_TRUE(ImportGraph(def, {}, &graph_).ok());
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const auto after = mallinfo2();
  const auto bytes =
      static_cast<double>(after.uordblks + after.hblkhd) - static_cast<double>(before.uordblks + before.hblkhd);
  RecordProperty("bytes_per_node", static_cast<int>(bytes / def.node_size()));
  RecordProperty("milliseconds", static_cast<int>(seconds * 1000));
  std::printf("import: %.0f ms, %.0f bytes per node\n", seconds * 1000, bytes / def.node_size());
  EXPECT_LT(seconds, 60.0);  // generous: sanitizers, busy machines
  EXPECT_LT(bytes / def.node_size(), 1024);
}

// In a process of its own: the names stay.
void ImportManyNames() {
  proto::GraphDef def;
  auto* node = def.add_node();
  node->set_name("n");
  node->set_op("NoOp");
  for (int i = 0; i < 1000; ++i) {
    node->clear_attr();
    (*node->mutable_attr())["_" + std::string(100000, 'x') + std::to_string(i)].set_b(true);
    Graph graph;
    const Status status = ImportGraph(def, {}, &graph);
    if (absl::IsResourceExhausted(status)) break;
    if (!status.ok() || i == 999) std::exit(1);
  }
  node->clear_attr();
  Graph graph;
  std::exit(ImportGraph(def, {}, &graph).ok() ? 0 : 2);
}

TEST_F(ImportTest, NamesDoNotFillTheMemory) { EXPECT_EXIT(ImportManyNames(), ::testing::ExitedWithCode(0), ""); }

}  // namespace
}  // namespace millstream
