// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/variable_scope.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace millstream
