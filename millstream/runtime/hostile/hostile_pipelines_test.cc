// SPDX-License-Identifier: Apache-2.0
// Graphs of pipelines that are no pipelines, and pipelines that lead to their beginnings in 2^60 ways.
#include <gtest/gtest.h>

#include "google/protobuf/text_format.h"
#include "millstream/ops/strings/fingerprint.h"
#include "millstream/proto/graph.pb.h"
#include "millstream/runtime/testing/hostile_graph.h"

namespace millstream {
namespace {

using enum absl::StatusCode;

constexpr int kLevels = 60;
const AttrValue kShapes = std::vector<PartialShape>{PartialShape(Shape())};

Status RunDatasetFromGraph(const std::string& library, const proto::GraphDef& pipeline) {
  proto::GraphDef program;
  if (!google::protobuf::TextFormat::ParseFromString(absl::StrCat("library { ", library, " }"), &program))
    return errors::Internal("not a program");
  proto::NodeDef* const bytes = program.add_node();
  bytes->set_name("bytes");
  bytes->set_op("Const");
  (*bytes->mutable_attr())["dtype"].set_type(proto::DT_STRING);
  proto::TensorProto* const value = (*bytes->mutable_attr())["value"].mutable_tensor();
  value->set_dtype(proto::DT_STRING);
  value->mutable_tensor_shape();
  value->add_string_val(pipeline.SerializeAsString());
  proto::NodeDef* const make = program.add_node();
  make->set_name("make");
  make->set_op("DatasetFromGraph");
  make->add_input("bytes");
  proto::NodeDef* const count = program.add_node();
  count->set_name("count");
  count->set_op("DatasetCardinality");
  count->add_input("make");
  ASSIGN_OR_RETURN(std::unique_ptr<Session> session, NewSession({}));
  RETURN_IF_ERROR(session->Create(program));
  std::vector<Tensor> out;
  return session->Run({}, {"count:0"}, {}, &out);
}

// The function that DatasetFromGraph makes of a graph has a name that anybody can compute.
TEST(HostilePipelinesTest, AFunctionTakesTheNameOfAPipeline) {
  const std::string name = absl::StrCat("__dataset_from_graph_", Fingerprint64(""));
  for (const char* signature :
       {"", "input_arg { name: 'x' type: DT_VARIANT }", "output_arg { name: 'y' type: DT_FLOAT }",
        "input_arg { name: 'x' type: DT_VARIANT } output_arg { name: 'y' type: DT_VARIANT }"}) {
    const bool same_type = absl::string_view(signature).find("'y' type: DT_VARIANT") != absl::string_view::npos;
    const bool has_float = absl::string_view(signature).find("DT_FLOAT") != absl::string_view::npos;
    const std::string body =
        has_float
            ? "node_def { name: 'c' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'value' "
              "value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: 1 } } } } ret { key: 'y' value: "
              "'c:output:0' }"
        : same_type ? "ret { key: 'y' value: 'x' }"
                    : "";
    ExpectSurvives({kInvalidArgument}, [&] {
      return RunDatasetFromGraph(
          absl::StrCat("function { signature { name: '", name, "' ", signature, " } ", body, " }"), proto::GraphDef());
    });
  }
}

TEST(HostilePipelinesTest, GraphsThatAreNoPipelines) {
  const char* const graphs[] = {
      "",
      "node { name: 'r' op: '_Retval' }",
      "node { name: 'r' op: '_Retval' input: 'r' }",
      "node { name: 'r' op: '_Retval' input: '^r' }",
      "node { name: 'n' op: 'NoOp' } node { name: 'r' op: '_Retval' input: '^n' }",
      "node { name: 'n' op: 'NoOp' } node { name: 'r' op: '_Retval' input: 'n' }",
      "node { name: 'n' op: 'Neg' input: 'n' attr { key: 'T' value { type: DT_FLOAT } } } node { name: 'r' op: "
      "'_Retval' input: 'n' }",
      "node { name: 'c' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'value' value { tensor "
      "{ dtype: DT_FLOAT tensor_shape {} float_val: 1 } } } } node { name: 'r' op: '_Retval' input: 'c' }",
      "node { name: 'c' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'value' value { tensor "
      "{ dtype: DT_FLOAT tensor_shape {} float_val: 1 } } } } node { name: 'r' op: '_Retval' input: 'c:1' }",
      "node { name: 'r' op: '_Retval' input: 'r:-1' }",
  };
  for (const char* const text : graphs) {
    ExpectSurvives({kInvalidArgument, kNotFound}, [&] {
      proto::GraphDef pipeline;
      if (!google::protobuf::TextFormat::ParseFromString(text, &pipeline)) return errors::Internal("not a program");
      return RunDatasetFromGraph("", pipeline);
    });
  }
}

// Batches of different ranks, which are cut into batches of another size, and types that are not those of the input.
TEST(HostilePipelinesTest, BatchesOfOtherShapesAndTypes) {
  const AttrValue unknown = std::vector<PartialShape>{PartialShape::Unknown()};
  const AttrValue number = std::vector<DType>{DType::kInt64}, text = std::vector<DType>{DType::kString};
  const auto whole = [&](const Scope& s, Shape shape) {
    Tensor t(DType::kInt64, shape);
    std::fill_n(t.data<int64_t>(), t.num_elements(), 7);
    return s.Op("TensorDataset", {s.Const(t)}, {{"Toutput_types", number}, {"output_shapes", unknown}});
  };
  const auto rebatched = [&](const Scope& s, Output dataset, const AttrValue& types) {
    const Output again = s.Op("RebatchDatasetV2", {dataset, s.Const(Tensor::Vector<int64_t>({1000})), s.Const(false)},
                              {{"output_types", types}, {"output_shapes", unknown}});
    return s.Op("DatasetToSingleElement", {again}, {{"output_types", types}, {"output_shapes", unknown}}).name();
  };
  for (const Shape& second : {Shape({3, 5}), Shape({3, 1 << 16}), Shape({3, 1, 1}), Shape({3, 0})}) {
    ExpectSurvives({kInvalidArgument}, [&] {
      Scope s = Scope::Root();
      const Output both = s.Op("ConcatenateDataset", {whole(s, Shape({2})), whole(s, second)},
                               {{"output_types", number}, {"output_shapes", unknown}});
      return RunOnce(s, rebatched(s, both, number));
    });
  }
  ExpectSurvives({kInvalidArgument}, [&] {
    Scope s = Scope::Root();
    return RunOnce(s, rebatched(s, whole(s, Shape({2})), text));
  });
}

// Functions that give other elements than their datasets declare, to datasets that rely on that.
TEST(HostilePipelinesTest, ElementsOfOtherTypesThanDeclared) {
  const auto number = [](const std::string& name, int value) {
    return absl::StrCat(
        "node { name: '", name,
        "' op: 'Const' attr { key: 'dtype' value { type: DT_INT64 } } attr { key: 'value' value { tensor "
        "{ dtype: DT_INT64 tensor_shape {} int64_val: ",
        value, " } } } } ");
  };
  const auto element = [](const std::string& types) {
    std::string shapes;
    for (size_t at = 0; (at = types.find("type:", at)) != std::string::npos; ++at)
      shapes += " shape { unknown_rank: true }";
    return absl::StrCat("attr { key: 'output_types' value { list { ", types,
                        " } } } attr { key: 'output_shapes' value { list {", shapes, " } } } ");
  };
  const std::string one = "type: DT_INT64", two = "type: DT_INT64 type: DT_INT64", text = "type: DT_STRING";
  const std::string empty = "attr { key: 'Targuments' value { list {} } } ";
  const std::string library =
      "library { function { signature { name: 'twice' input_arg { name: 'x' type: DT_INT64 } output_arg { name: 'a' "
      "type: DT_INT64 } output_arg { name: 'b' type: DT_INT64 } } ret { key: 'a' value: 'x' } ret { key: 'b' value: "
      "'x' "
      "} } function { signature { name: 'once' input_arg { name: 'x' type: DT_INT64 } output_arg { name: 'a' type: "
      "DT_INT64 } } ret { key: 'a' value: 'x' } } } ";
  for (const char* const map : {"MapDataset", "ParallelMapDatasetV2"}) {
    const bool parallel = absl::string_view(map) != "MapDataset";
    const auto mapped = [&](const std::string& f, const std::string& types) {
      return absl::StrCat("node { ",
                          parallel ? NodeInText("mapped", map, {"range", "two"}) : NodeInText("mapped", map, {"range"}),
                          element(types), empty, "attr { key: 'f' value { func { name: '", f, "' } } } } ");
    };
    const std::string sources =
        absl::StrCat(library, number("zero", 0), number("two", 2), number("many", 100), "node { ",
                     NodeInText("range", "RangeDataset", {"zero", "many", "two"}, element(one)), " } ",
                     "node { name: 'no' op: 'Const' attr { key: 'dtype' value { type: DT_BOOL } } attr { key: 'value' "
                     "value { tensor { dtype: DT_BOOL tensor_shape {} bool_val: false } } } } ");
    const auto get = [&](const std::string& from, const std::string& types) {
      return absl::StrCat("node { ", NodeInText("y", "DatasetToSingleElement", {from}, element(types)), " } ");
    };
    const std::string programs[] = {
        // The second batch has elements of two components and of one.
        absl::StrCat(mapped("twice", one), "node { ",
                     NodeInText("both", "ConcatenateDataset", {"mapped", "range"}, element(one)), " } node { ",
                     NodeInText("batch", "BatchDatasetV2", {"both", "many", "no"}, element(one)), " } ",
                     get("batch", one)),
        absl::StrCat(mapped("once", two), "node { ",
                     NodeInText("first", "TakeDataset", {"mapped", "two"}, element(two)), " } node { ",
                     NodeInText("batch", "BatchDatasetV2", {"first", "two", "no"}, element(two)), " } ",
                     get("batch", two)),
        absl::StrCat(mapped("once", text), "node { ", NodeInText("lines", "UnbatchDataset", {"mapped"}, element(text)),
                     " } ", get("lines", text)),
        absl::StrCat(
            mapped("once", two), "node { ",
            NodeInText("window", "WindowDataset", {"mapped", "two", "two", "two", "no"},
                       element("type: DT_VARIANT type: DT_VARIANT")),
            " } node { ",
            NodeInText("first", "TakeDataset", {"window", "two"}, element("type: DT_VARIANT type: DT_VARIANT")), " } ",
            get("first", "type: DT_VARIANT type: DT_VARIANT")),
    };
    for (const std::string& program : programs) {
      ExpectSurvives({kInvalidArgument}, [&] { return RunText(sources + program, "y:0"); });
    }
  }
}

AttrValue Types(DType type) { return std::vector<DType>{type}; }

Output Doubled(const Scope& s, Output dataset, DType type) {
  for (int i = 0; i < kLevels; ++i) {
    dataset =
        s.Op("ConcatenateDataset", {dataset, dataset}, {{"output_types", Types(type)}, {"output_shapes", kShapes}});
  }
  return dataset;
}
Output Range(const Scope& s) {
  return s.Op("RangeDataset", {s.Const<int64_t>(0), s.Const<int64_t>(8), s.Const<int64_t>(1)},
              {{"output_types", Types(DType::kInt64)}, {"output_shapes", kShapes}});
}
Status Shard(const Scope& s, Output dataset, DType type, int64_t policy) {
  const Output sharded =
      s.Op("AutoShardDataset", {dataset, s.Const<int64_t>(2), s.Const<int64_t>(0)},
           {{"output_types", Types(type)}, {"output_shapes", kShapes}, {"auto_shard_policy", policy}});
  return RunOnce(s, s.Op("DatasetCardinality", {sharded}).name());
}

TEST(HostilePipelinesTest, ManyWaysAreShardedByHint) {
  for (const int64_t shards : {-1, 2}) {
    ExpectSurvives({kOk}, [shards] {
      Scope s = Scope::Root();
      const Output shard = s.Op("ShardDataset", {Range(s), s.Const(shards), s.Const<int64_t>(0)},
                                {{"output_types", Types(DType::kInt64)}, {"output_shapes", kShapes}});
      return Shard(s, Doubled(s, shard, DType::kInt64), DType::kInt64, 3);
    });
  }
}

// Lines of files whose names are given, and one function within another that open them, each in two ways.
TEST(HostilePipelinesTest, ManyWaysAreShardedByFile) {
  const std::string element =
      "attr { key: 'output_types' value { list { type: DT_STRING } } } attr { key: 'output_shapes' value { list { "
      "shape "
      "{} } } }";
  const auto string_const = [](const std::string& name, const std::string& shape) {
    return absl::StrCat("name: '", name,
                        "' op: 'Const' attr { key: 'dtype' value { type: DT_STRING } } attr { key: "
                        "'value' value { tensor { dtype: DT_STRING tensor_shape {",
                        shape, "} string_val: 'a' } } }");
  };
  const auto flat_map = [&](const std::string& name, const std::string& input, const std::string& f) {
    return NodeInText(name, "FlatMapDataset", {input},
                      absl::StrCat(element, "attr { key: 'f' value { func { name: '", f,
                                   "' } } } attr { key: 'Targuments' value { list {} } }"));
  };
  const std::string signature = "input_arg { name: 'x' type: DT_STRING } output_arg { name: 'y' type: DT_VARIANT } } ";
  const std::string slices =
      "attr { key: 'Toutput_types' value { list { type: DT_STRING } } } attr { key: "
      "'output_shapes' value { list { shape {} } } }";
  for (const int depth : {0, kLevels}) {
    std::string program = "library { ";
    for (int i = 0; i <= depth; ++i) {
      absl::StrAppend(&program, "function { signature { name: 'f", i, "' ", signature);
      if (i < depth) {
        const std::string next = absl::StrCat("f", i + 1);
        absl::StrAppend(&program, "node_def { ", NodeInText("t", "TensorDataset", {"x"}, slices), " } node_def { ",
                        flat_map("a", "t:handle:0", next), " } node_def { ", flat_map("b", "t:handle:0", next),
                        " } ret { key: 'y' value: 'a:handle:0' } } ");
      } else {
        absl::StrAppend(
            &program, "node_def { ", string_const("none", ""),
            " } node_def { name: 'n' op: 'Const' attr { key: 'dtype' value { type: DT_INT64 } } attr { key: "
            "'value' value { tensor { dtype: DT_INT64 tensor_shape {} int64_val: 0 } } } } node_def { ",
            NodeInText("d", depth == 0 ? "TextLineDataset" : "TensorDataset",
                       depth == 0 ? std::initializer_list<std::string>{"x", "none:output:0", "n:output:0"}
                                  : std::initializer_list<std::string>{"x"},
                       depth == 0 ? "" : slices),
            " } ret { key: 'y' value: 'd:handle:0' } } ");
      }
    }
    absl::StrAppend(&program, "} node { ", string_const("names", " dim { size: 1 } "), " } node { ",
                    NodeInText("slices", "TensorSliceDataset", {"names"}, slices), " } node { ",
                    flat_map("d0", "slices", "f0"), " } ");
    for (int i = 0; i < kLevels; ++i) {
      const std::string input = absl::StrCat("d", i);
      absl::StrAppend(&program, "node { ",
                      NodeInText(absl::StrCat("d", i + 1), "ConcatenateDataset", {input, input}, element), " } ");
    }
    for (const auto& [name, value] : {std::pair("workers", 2), std::pair("index", 0)}) {
      absl::StrAppend(&program, "node { name: '", name,
                      "' op: 'Const' attr { key: 'dtype' value { type: DT_INT64 } } attr { key: 'value' value { tensor "
                      "{ dtype: DT_INT64 tensor_shape {} int64_val: ",
                      value, " } } } } ");
    }
    absl::StrAppend(&program, "node { ",
                    NodeInText("sharded", "AutoShardDataset", {absl::StrCat("d", kLevels), "workers", "index"},
                               absl::StrCat(element, "attr { key: 'auto_shard_policy' value { i: 1 } }")),
                    " } node { ", NodeInText("y", "DatasetCardinality", {"sharded"}), " } ");
    ExpectSurvives({depth == 0 ? kOk : kNotFound}, [&] { return RunText(program, "y:0"); });
  }
}

TEST(HostilePipelinesTest, ManyWaysToAnAssertion) {
  ExpectSurvives({kResourceExhausted}, [] {
    Scope s = Scope::Root();
    const AttrValue types = Types(DType::kInt64);
    const Output checked = s.Op("AssertNextDataset", {Range(s), s.Const(Tensor::Vector<std::string>({"Concatenate"}))},
                                {{"output_types", types}, {"output_shapes", kShapes}});
    const Output dataset = Doubled(s, checked, DType::kInt64);
    const Output iterator =
        s.Op("IteratorV2", {},
             {{"output_types", types}, {"output_shapes", kShapes}, {"shared_name", ""}, {"container", ""}});
    Node* const make = s.Add("MakeIterator", {dataset, iterator});
    return RunOnce(s, "", make->name());
  });
}

}  // namespace
}  // namespace millstream
