// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/variables/variable_scope.h"

#include <gtest/gtest.h>

#include "millstream/graph/testing/gradient_check.h"
#include "millstream/graph/variables/save_slice.h"

namespace millstream {
namespace {

using Reuse = VariableScope::Reuse;

TEST(VariableScopeTest, NamesVariablesByScope) {
  Scope s = Scope::Root();
  const VariableScope root(s);
  const VariableScope layer = root.Enter("net").Enter("layer");
  const GraphVariable w = layer.Get("w", Shape({2, 3}));
  const GraphVariable step = root.Get("step", Shape(), {.dtype = DType::kInt64, .trainable = false});
  ASSERT_TRUE(s.ok()) << s.status();
  EXPECT_EQ(layer.name(), "net/layer");
  EXPECT_EQ(w.handle.name(), "net/layer/w:0");
  EXPECT_EQ(w.value.name(), "net/layer/w/read:0");
  EXPECT_EQ(w.initializer->name(), "net/layer/w/Assign");
  EXPECT_EQ(step.handle.name(), "step:0");
  EXPECT_EQ(s.ShapeOf(w.value), PartialShape({2, 3}));
  EXPECT_EQ(s.Collection("variables").size(), 2u);
  EXPECT_EQ(s.Collection("trainable_variables").size(), 1u);
  EXPECT_EQ(layer.scope().Const(1.0f).name(), "net/layer/Const:0");
}

TEST(VariableScopeTest, ReusesOnlyWhereAsked) {
  Scope s = Scope::Root();
  const VariableScope root(s);
  const GraphVariable w = root.Enter("a").Get("w", Shape({2}));
  const VariableScope again = root.Enter("a", Reuse::kYes);
  EXPECT_EQ(again.Get("w", Shape({2})).handle, w.handle);
  EXPECT_EQ(again.scope().name_prefix(), "a_1/");  // ops do not share names
  EXPECT_EQ(again.Enter("b", Reuse::kNo).Enter("c").name(), "a/b/c");
  const VariableScope automatic = root.Enter("a", Reuse::kAuto);
  EXPECT_EQ(automatic.Get("w", Shape({2})).handle, w.handle);
  EXPECT_EQ(automatic.Get("b", Shape({2})).handle.name(), "a/b:0");
  EXPECT_TRUE(s.ok()) << s.status();
}

// What goes wrong, each in a graph of its own.
TEST(VariableScopeTest, RefusesWhatDoesNotFit) {
  const auto status = [](const std::function<void(const VariableScope&)>& then) {
    Scope s = Scope::Root();
    const VariableScope root(s);
    root.Enter("a").Get("w", Shape({2}));
    then(root);
    EXPECT_EQ(s.status().code(), absl::StatusCode::kInvalidArgument) << s.status();
    return std::string(s.status().message());
  };
  EXPECT_NE(status([](const auto& v) { v.Enter("a").Get("w", Shape({2})); }).find("already exists"), std::string::npos);
  EXPECT_NE(status([](const auto& v) { v.Enter("a", Reuse::kYes).Get("x", Shape({2})); }).find("does not exist"),
            std::string::npos);
  EXPECT_NE(status([](const auto& v) {
              v.Enter("a", Reuse::kYes).Enter("b", Reuse::kNo).Get("x", Shape({2}));
            }).find("does not exist"),
            std::string::npos);
  EXPECT_NE(status([](const auto& v) { v.Enter("a", Reuse::kYes).Get("w", Shape({3})); }).find("Trying to share"),
            std::string::npos);
  EXPECT_NE(status([](const auto& v) {
              v.Enter("a", Reuse::kAuto).Get("w", Shape({2}), {.dtype = DType::kDouble});
            }).find("Trying to share"),
            std::string::npos);
  EXPECT_NE(status([](const auto& v) {
              v.scope().WithOpName("taken").Const(1.0f);
              v.Get("taken", Shape());
            }).find("another node has its name"),
            std::string::npos);
  status([](const auto& v) { v.Enter(""); });
}

TEST(VariableScopeTest, InitializersAndResources) {
  Scope s = Scope::Root();
  const VariableScope root = VariableScope(s).WithInitializer(ConstantInitializer(3));
  const GraphVariable v = root.Enter("a").Get("v", Shape({2}), {.resource = true});
  ASSERT_TRUE(s.ok()) << s.status();
  EXPECT_TRUE(v.handle.node->Is("VarHandleOp"));
  EXPECT_TRUE(v.value.node->Is("ReadVariableOp"));
  EXPECT_EQ(s.ShapeOf(v.value), PartialShape({2}));
  EXPECT_TRUE(v.initializer->input(1).node->Is("Const"));
  EXPECT_EQ(v.initializer->input(1).node->name(), v.handle.node->name() + "/Initializer/Const");
  root.Get("filter", Shape({5, 5, 3, 8}), {.initializer = GlorotUniformInitializer(7)});
  root.Get("scalar", Shape(), {.initializer = GlorotUniformInitializer()});
  root.Get("flags", Shape({2}), {.dtype = DType::kBool, .initializer = ConstantInitializer(0)});
  EXPECT_TRUE(s.ok()) << s.status();
}

TEST(VariableScopeTest, LayersOfAScopeThatIsEnteredAgainHaveTheSameNames) {
  Scope s = Scope::Root();
  const VariableScope root(s);
  const VariableScope a = root.Enter("a");
  EXPECT_EQ(a.EnterNew("dense").name(), "a/dense");
  EXPECT_EQ(a.EnterNew("dense").name(), "a/dense_1");
  EXPECT_EQ(root.Enter("a", Reuse::kYes).EnterNew("dense").name(), "a/dense");
}

TEST(VariableScopeTest, CustomGettersSeeWholeNames) {
  Scope s = Scope::Root();
  std::vector<std::string> asked;
  const auto noting = [&asked](const std::string& who) {
    return [&asked, who](const VariableGetter& getter, const std::string& name, const Shape& shape,
                         const VariableOptions& options) {
      asked.push_back(absl::StrCat(who, " ", name));
      return getter(name, shape, options);
    };
  };
  const VariableScope outer = VariableScope(s).Enter("a").WithCustomGetter(noting("outer"));
  const VariableScope inner = outer.Enter("b").WithCustomGetter(noting("inner"));
  EXPECT_EQ(inner.Get("w", Shape({2})).handle.name(), "a/b/w:0");
  EXPECT_EQ(asked, (std::vector<std::string>{"inner a/b/w", "outer a/b/w"}));
  // One that gives another variable.
  const GraphVariable instead = outer.Get("instead", Shape({2}));
  const VariableScope replaced = outer.WithCustomGetter(
      [instead](const VariableGetter&, const std::string&, const Shape&, const VariableOptions&) { return instead; });
  EXPECT_EQ(replaced.Get("x", Shape({2})).handle, instead.handle);
  EXPECT_TRUE(s.ok()) << s.status();
}

TEST(PartitionedVariableTest, PartsAreVariables) {
  Scope s = Scope::Root();
  int task = 0;
  const VariableScope v = VariableScope(s)
                              .Enter("a")
                              .WithPartitioner(FixedSizePartitioner(3))
                              .WithDeviceFunction([&task](const Node& node) {
                                return node.Is("VariableV2") ? absl::StrCat("/job:ps/task:", task++) : "/job:worker";
                              });
  const PartitionedVariable w = v.GetPartitioned("w", Shape({10, 4}));
  ASSERT_TRUE(s.ok()) << s.status();
  ASSERT_EQ(w.parts.size(), 3u);
  EXPECT_EQ(w.parts[0].handle.name(), "a/w/part_0:0");
  EXPECT_EQ(w.parts[2].shape, PartialShape({3, 4}));
  EXPECT_EQ(w.parts[2].handle.node->device(), "/job:ps/task:2");
  const Output value = w.Value(s);
  EXPECT_EQ(value.name(), "a/w:0");
  EXPECT_EQ(s.ShapeOf(value), PartialShape({10, 4}));
  EXPECT_EQ(s.Collection("variables").size(), 3u);
  EXPECT_EQ(SaveSliceOf(*w.parts[1].handle.node)->Spec(), "10 4 4,3:0,4");
  // Scalars are whole, and what is found again is the same.
  EXPECT_EQ(v.Get("scalar", Shape()).handle.name(), "a/scalar:0");
  EXPECT_EQ(v.GetValue("b", Shape({2})).node->name(), "a/b");
  const VariableScope again = VariableScope(v).AtRoot().Enter("a", Reuse::kYes);
  EXPECT_EQ(again.GetPartitioned("w", Shape({10, 4})).parts[1].handle, w.parts[1].handle);
  EXPECT_TRUE(s.ok()) << s.status();
}

TEST(PartitionedVariableTest, InitialValuesAreOfTheWhole) {
  Scope s = Scope::Root();
  VariableOptions options;
  options.partitioner = FixedSizePartitioner(2);
  options.initializer = ValueInitializer(Tensor::Vector<float>({1, 2, 3}));
  const PartitionedVariable w = VariableScope(s).GetPartitioned("w", Shape({3}), options);
  options.initializer = GlorotUniformInitializer();
  const PartitionedVariable glorot = VariableScope(s).GetPartitioned("glorot", Shape({300, 2}), options);
  ASSERT_TRUE(s.ok()) << s.status();
  const StatusOr<std::vector<Tensor>> second = Evaluate(s, {}, {w.parts[1].initializer->input(1)});
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ((*second)[0].shape(), Shape({1}));
  EXPECT_EQ((*second)[0].flat<float>()[0], 3);
  Tensor value;
  // sqrt(6 / 302), as for the whole, not sqrt(6 / 152)
  const Node* max = s.graph()->Find("glorot/part_0/Initializer/random_uniform/max");
  ASSERT_NE(max, nullptr);
  ASSERT_TRUE(max->GetAttr("value", &value).ok());
  EXPECT_NEAR(value.scalar<float>(), 0.14095f, 1e-4);
}

TEST(PartitionedVariableTest, RefusesWhatDoesNotFit) {
  const auto message = [](const std::function<void(const VariableScope&)>& then) {
    Scope s = Scope::Root();
    const VariableScope v = VariableScope(s).WithPartitioner(FixedSizePartitioner(2));
    v.GetPartitioned("w", Shape({4}));
    v.WithPartitioner(nullptr).Get("whole", Shape({4}));
    EXPECT_TRUE(s.ok()) << s.status();
    then(v);
    EXPECT_EQ(s.status().code(), absl::StatusCode::kInvalidArgument) << s.status();
    return std::string(s.status().message());
  };
  EXPECT_NE(message([](const auto& v) { v.Get("x", Shape({4})); }).find("is partitioned"), std::string::npos);
  EXPECT_NE(message([](const auto& v) { v.GetPartitioned("w", Shape({4})); }).find("already exists"),
            std::string::npos);
  EXPECT_NE(message([](const auto& v) { v.GetPartitioned("whole", Shape({4})); }).find("unpartitioned version"),
            std::string::npos);
  EXPECT_NE(message([](const auto& v) { v.WithPartitioner(nullptr).Get("w", Shape({4})); }).find("No partitioner"),
            std::string::npos);
  EXPECT_NE(message([](const auto& v) { v.GetPartitioned("s", Shape()); }).find("rank at least 1"), std::string::npos);
  EXPECT_NE(
      message([](const auto& v) { v.WithPartitioner(nullptr).GetPartitioned("s", Shape({2})); }).find("no partit"),
      std::string::npos);
}

}  // namespace
}  // namespace millstream
