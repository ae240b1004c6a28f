// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/scope.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "millstream/graph/shape_refiner.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

OP("ScopeTestSource")
    .Output("y: dtype")
    .Attr("dtype: type = DT_FLOAT")
    .Attr("shape: shape = { unknown_rank: true }")
    .Shape(ShapeFromAttr);
OP("ScopeTestVar").Output("ref: Ref(dtype)").Attr("dtype: type = DT_FLOAT").Shape(ScalarShape);
OP("ScopeTestChange").Input("ref: Ref(T)").Output("new_ref: Ref(T)").Attr("T: type");
OP("ScopeTestAdd").Input("x: T").Input("y: T").Output("z: T").Attr("T: numbertype").Shape(BroadcastBinaryShape);
OP("ScopeTestPack").Input("values: N * T").Input("axis: int32").Output("z: T").Attr("N: int >= 1").Attr("T: type");
OP("ScopeTestPairs").Input("a: N * T").Input("b: N * int32").Output("z: T").Attr("N: int >= 1").Attr("T: type");
OP("ScopeTestList").Input("values: Tin").Output("z: Tin").Attr("Tin: list(type)");

Output Source(const Scope& s, PartialShape shape = {}, DType dtype = DType::kFloat) {
  return s.Op("ScopeTestSource", {}, {{"shape", std::move(shape)}, {"dtype", dtype}});
}

TEST(ScopeTest, NamesAreUniqueAsInTensorFlow) {
  Scope root = Scope::Root();
  EXPECT_EQ(Source(root).node->name(), "ScopeTestSource");
  EXPECT_EQ(Source(root).node->name(), "ScopeTestSource_1");
  Scope a = root.NameScope("a");
  EXPECT_EQ(Source(a).node->name(), "a/ScopeTestSource");
  EXPECT_EQ(Source(a.WithOpName("x")).node->name(), "a/x");
  EXPECT_EQ(Source(a.WithOpName("X")).node->name(), "a/X_1");
  EXPECT_EQ(root.NameScope("a").name_prefix(), "a_1/");
  EXPECT_EQ(root.NameScope("a").name_prefix(), "a_2/");
  EXPECT_EQ(root.NameScope("a/").name_prefix(), "a/");
  EXPECT_EQ(a.NameScope("b").name_prefix(), "a/b/");
  EXPECT_EQ(Source(root.WithOpName("a")).node->name(), "a_3");
  EXPECT_EQ(Source(a.WithOpName("a/x_7/")).node->name(), "a/x_7");
}

TEST(ScopeTest, NamesOfAnExistingGraphAreTaken) {
  Scope first = Scope::Root();
  Source(first.NameScope("layer").WithOpName("w"));
  Scope second(first.graph());
  EXPECT_EQ(Source(second.WithOpName("layer/w")).node->name(), "layer/w_1");
  EXPECT_EQ(second.NameScope("layer").name_prefix(), "layer_1/");
}

TEST(ScopeTest, InfersTypesAndCounts) {
  Scope s = Scope::Root();
  Output f = Source(s), d = Source(s, {}, DType::kDouble), i = Source(s, {}, DType::kInt32);
  Output v = s.Op("ScopeTestVar", {});
  EXPECT_EQ(s.Op("ScopeTestAdd", {v, f}).dtype(), DType::kFloat);
  Node* pack = s.Add("ScopeTestPack", {f, f, f, i});
  ASSERT_TRUE(s.ok()) << s.status();
  int n = 0;
  ASSERT_TRUE(pack->GetAttr("N", &n).ok());
  EXPECT_EQ(n, 3);
  Node* pairs = s.Add("ScopeTestPairs", {d, d, i, i});
  ASSERT_TRUE(s.ok()) << s.status();
  ASSERT_TRUE(pairs->GetAttr("N", &n).ok());
  EXPECT_EQ(n, 2);
  EXPECT_EQ(pairs->output_type(0), DType::kDouble);
  Node* list = s.Add("ScopeTestList", {f, i, v});
  ASSERT_TRUE(s.ok()) << s.status();
  EXPECT_THAT(list->output_types(), ElementsAre(DType::kFloat, DType::kInt32, DType::kFloat));
}

TEST(ScopeTest, FirstErrorSticksAndNamesTheNode) {
  Scope s = Scope::Root();
  Output bad = s.WithOpName("sum").Op("ScopeTestAdd", {Source(s), Source(s, {}, DType::kInt32)});
  EXPECT_FALSE(bad);
  EXPECT_EQ(s.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(s.status().message()), HasSubstr("sum"));
  const int nodes = s.graph()->num_nodes();
  EXPECT_FALSE(s.Op("ScopeTestAdd", {bad, bad}));
  EXPECT_EQ(s.graph()->num_nodes(), nodes);
  EXPECT_THAT(std::string(s.status().message()), HasSubstr("sum"));
}

TEST(ScopeTest, ShapesAreCheckedWhenANodeIsAdded) {
  Scope s = Scope::Root();
  Output sum = s.Op("ScopeTestAdd", {Source(s, {2, 1}), Source(s, {3})});
  ASSERT_TRUE(s.ok()) << s.status();
  EXPECT_EQ(s.ShapeOf(sum), PartialShape({2, 3}));
  s.WithOpName("bad").Op("ScopeTestAdd", {Source(s, {2}), Source(s, {3})});
  EXPECT_THAT(std::string(s.status().message()), HasSubstr("{{node bad}} = ScopeTestAdd"));
  EXPECT_THAT(std::string(s.status().message()), HasSubstr("input shapes: [2], [3]."));
  EXPECT_EQ(s.graph()->Find("bad"), nullptr);
}

TEST(ScopeTest, DevicesMerge) {
  Scope s = Scope::Root().WithDevice("/job:ps/task:0");
  EXPECT_EQ(s.WithDevice("/gpu:1").device(), "/job:ps/task:0/device:GPU:1");
  EXPECT_EQ(s.WithDevice("/task:3/device:CPU:0").device(), "/job:ps/task:3/device:CPU:0");
  EXPECT_EQ(s.WithDevice("").device(), "/job:ps/task:0");
  EXPECT_EQ(Source(s).node->device(), "/job:ps/task:0");
  s.WithDevice("/nonsense");
  EXPECT_EQ(s.status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(ScopeTest, ControlDependenciesAndColocation) {
  Scope s = Scope::Root();
  Node* a = Source(s.WithDevice("/cpu:0").WithOpName("a")).node;
  Node* b = Source(s.WithControlDependencies({a}).WithControlDependencies({a})).node;
  EXPECT_THAT(b->control_inputs(), ElementsAre(a));
  Node* c = Source(s.WithControlDependencies({a}).WithNoControlDependencies().ColocateWith(a).WithOpName("c")).node;
  EXPECT_TRUE(c->control_inputs().empty());
  EXPECT_EQ(c->device(), "/device:CPU:0");
  Node* d = Source(s.ColocateWith(c)).node;
  EXPECT_THAT(*d->attrs().Find("_class")->get<AttrValue::Strings>(), ElementsAre("loc:@a"));
}

TEST(ScopeTest, NodesThatWaitThroughTheirInputsGetNoControlInputs) {
  Scope s = Scope::Root();
  Node* first = Source(s.WithOpName("first")).node;
  const Output outside = Source(s);
  const Scope after = s.WithControlDependencies({first});
  const Output inside = Source(after);
  EXPECT_THAT(inside.node->control_inputs(), ElementsAre(first));
  EXPECT_TRUE(after.NameScope("n").Op("ScopeTestAdd", {inside, outside}).node->control_inputs().empty());
  EXPECT_THAT(after.Op("ScopeTestAdd", {outside, outside}).node->control_inputs(), ElementsAre(first));
  // A data input is enough.
  EXPECT_TRUE(after.Op("ScopeTestAdd", {outside, Output(first)}).node->control_inputs().empty());
  // Another scope with the same dependencies has made nothing yet.
  EXPECT_THAT(s.WithControlDependencies({first}).Op("ScopeTestAdd", {inside, inside}).node->control_inputs(),
              ElementsAre(first));
  Node* second = Source(s.WithOpName("second")).node;
  EXPECT_THAT(after.WithControlDependencies({second}).Op("ScopeTestAdd", {inside, inside}).node->control_inputs(),
              ElementsAre(second));
}

TEST(ScopeTest, ColocationIsStrongerThanDevices) {
  Scope s = Scope::Root().WithDevice("/job:worker");
  Node* a = Source(Scope(s).WithDevice("/job:ps/task:1").WithOpName("a")).node;
  Node* b = Source(s.WithOpName("b")).node;
  EXPECT_EQ(Source(s.ColocateWith(a).WithDevice("/job:ps/task:0")).node->device(), "/job:ps/task:1");
  Node* both = Source(s.ColocateWith(b).ColocateWith(a)).node;
  EXPECT_EQ(both->device(), "/job:ps/task:1");
  EXPECT_THAT(*both->attrs().Find("_class")->get<AttrValue::Strings>(), ElementsAre("loc:@a", "loc:@b"));
}

TEST(ScopeTest, NodesThatTakeAReferenceAreColocated) {
  Scope s = Scope::Root().WithDevice("/job:worker");
  Output v = s.WithDevice("/job:ps").WithOpName("v").Op("ScopeTestVar", {});
  Node* change = s.Op("ScopeTestChange", {v}).node;
  EXPECT_EQ(change->device(), "/job:ps");
  EXPECT_THAT(*change->attrs().Find("_class")->get<AttrValue::Strings>(), ElementsAre("loc:@v"));
  EXPECT_EQ(s.Op("ScopeTestAdd", {v, v}).node->device(), "/job:worker");
}

TEST(ScopeTest, ColocatesWithANodeThatIsNotThereYet) {
  Scope s = Scope::Root().WithDevice("/job:ps");
  Node* early = Source(s.ColocateWithName("v").WithNoDevice()).node;
  EXPECT_EQ(early->device(), "");
  EXPECT_THAT(*early->attrs().Find("_class")->get<AttrValue::Strings>(), ElementsAre("loc:@v"));
  Node* a = Source(s.WithOpName("a")).node;
  Node* slot = Source(s.ColocateWith(a).ColocateWithName("v")).node;
  EXPECT_THAT(*slot->attrs().Find("_class")->get<AttrValue::Strings>(), ElementsAre("loc:@a"));
}

TEST(ScopeTest, DeviceFunctionsSeeWhatWasAskedFor) {
  int count = 0;
  const auto place = [count](const Node& node) mutable {
    return node.device().empty() ? absl::StrCat("/task:", count++) : std::string(node.device());
  };
  Scope s = Scope::Root().WithDevice("/job:ps/device:CPU:0").WithDeviceFunction(place);
  EXPECT_EQ(Source(s).node->device(), "/job:ps/task:0/device:CPU:0");
  EXPECT_EQ(Source(s.NameScope("a")).node->device(), "/job:ps/task:1/device:CPU:0");
  EXPECT_EQ(Source(s.WithDevice("/job:other")).node->device(), "/job:other/device:CPU:0");
  Node* beside = Source(s.ColocateWith(Source(s).node)).node;
  EXPECT_EQ(beside->device(), "/job:ps/task:2/device:CPU:0");
  EXPECT_EQ(Source(s).node->device(), "/job:ps/task:3/device:CPU:0");
}

TEST(ScopeTest, CollectionsAreShared) {
  Scope s = Scope::Root();
  Output x = Source(s);
  s.NameScope("inner").AddToCollection("losses", x);
  EXPECT_THAT(s.Collection("losses"), ElementsAre(x));
  EXPECT_TRUE(s.Collection("none").empty());
}

}  // namespace
}  // namespace millstream
