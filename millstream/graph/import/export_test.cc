// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/import/export.h"

#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include "millstream/graph/attr_proto.h"
#include "millstream/graph/import/import.h"
#include "millstream/proto/graph.pb.h"
#include "millstream/proto/meta_graph.pb.h"
#include "millstream/proto/op_def.pb.h"

namespace millstream {
namespace {

using google::protobuf::util::MessageDifferencer;

constexpr char kProgram[] = R"(
  versions { producer: 2474 }
  library {
    function { signature { name: "exported" input_arg { name: "x" type: DT_FLOAT }
                           output_arg { name: "y" type: DT_FLOAT } }
               ret { key: "y" value: "x" } }
    gradient { function_name: "exported" gradient_func: "exported_grad" }
  }
  node { name: "c" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
         attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { dim { size: 2 } }
                                              tensor_content: "\001\000\000\000\002\000\000\000" } } } }
  node { name: "p" op: "Placeholder" device: "/job:ps/task:1" attr { key: "dtype" value { type: DT_FLOAT } }
         attr { key: "shape" value { shape { dim { size: -1 } dim { size: 3 } } } }
         attr { key: "_class" value { list { s: "loc:@c" } } } attr { key: "_empty" value { list {} } } }
  node { name: "m" op: "MatMul" input: "p" input: "p" input: "^c" attr { key: "T" value { type: DT_FLOAT } }
         attr { key: "transpose_a" value { b: true } } attr { key: "transpose_b" value { b: false } } }
  node { name: "s" op: "Switch" input: "p" input: "b" attr { key: "T" value { type: DT_FLOAT } } }
  node { name: "b" op: "Placeholder" attr { key: "dtype" value { type: DT_BOOL } }
         attr { key: "shape" value { shape { unknown_rank: true } } } }
  node { name: "n" op: "Neg" input: "s:1" attr { key: "T" value { type: DT_FLOAT } } })";

class ExportTest : public ::testing::Test {
 protected:
  ExportTest() {
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(kProgram, &program_));
    const Status s = ImportGraph(program_, {}, &graph_);
    EXPECT_TRUE(s.ok()) << s;
  }
  proto::GraphDef program_;
  Graph graph_;
};

// Attributes that ops of the library declare beyond those in the program are filled in: compare what was written.
void KeepKnownAttrs(const proto::GraphDef& like, proto::GraphDef* def) {
  for (int i = 0; i < like.node_size() && i < def->node_size(); ++i) {
    auto& attrs = *def->mutable_node(i)->mutable_attr();
    std::vector<std::string> extra;
    for (const auto& [name, value] : attrs)
      if (!like.node(i).attr().contains(name)) extra.push_back(name);
    for (const std::string& name : extra) attrs.erase(name);
  }
}

TEST_F(ExportTest, RoundTripKeepsEverything) {
  proto::GraphDef out;
  ASSERT_TRUE(ExportGraph(graph_, &out).ok());
  KeepKnownAttrs(program_, &out);
  std::string difference;
  MessageDifferencer differencer;
  differencer.ReportDifferencesToString(&difference);
  EXPECT_TRUE(differencer.Compare(program_, out)) << difference;
}

TEST_F(ExportTest, DefaultsCanBeLeftOut) {
  proto::GraphDef out;
  ASSERT_TRUE(ExportGraph(graph_, &out, {.strip_default_attrs = true, .with_library = false}).ok());
  EXPECT_FALSE(out.has_library());
  EXPECT_TRUE(out.node(2).attr().contains("transpose_a"));
  EXPECT_FALSE(out.node(2).attr().contains("transpose_b"));
  EXPECT_TRUE(out.node(2).attr().contains("T"));
  EXPECT_FALSE(out.node(4).attr().contains("shape"));
}

TEST_F(ExportTest, MetaGraphHoldsCollectionsAndOps) {
  proto::MetaGraphDef out;
  ASSERT_TRUE(
      ExportMetaGraph(graph_, {{"losses", {.names = {"n:0"}, .bytes = {}, .ints = {}, .floats = {}}}}, {"train"}, &out)
          .ok());
  EXPECT_EQ(out.collection_def().at("losses").node_list().value(0), "n:0");
  EXPECT_EQ(out.meta_info_def().tags(0), "train");
  EXPECT_EQ(out.meta_info_def().stripped_op_list().op_size(), 5);
  EXPECT_EQ(out.graph_def().node_size(), 6);
}

TEST_F(ExportTest, OpDefsRoundTrip) {
  for (const OpEntry* op : OpRegistry::Global().Sorted()) {
    proto::OpDef def, again;
    ASSERT_TRUE(OpDefToProto(op->def, &def).ok()) << op->def.name;
    StatusOr<OpDef> back = OpDefFromProto(def);
    ASSERT_TRUE(back.ok()) << op->def.name << back.status();
    ASSERT_TRUE(OpDefToProto(*back, &again).ok());
    EXPECT_TRUE(MessageDifferencer::Equals(def, again)) << def.DebugString();
  }
}

TEST_F(ExportTest, UnconnectedNodesAreRefused) {
  graph_.SetInput(graph_.Find("n"), 0, Output());
  proto::GraphDef out;
  EXPECT_EQ(ExportGraph(graph_, &out).code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace millstream
