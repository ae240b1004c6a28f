// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/node_kind.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "millstream/graph/scope.h"

namespace millstream {
namespace {

const OpEntry& Op(absl::string_view name) {
  const OpEntry* op = OpRegistry::Global().Find(name);
  EXPECT_NE(op, nullptr) << name;
  return *op;
}

OpKind KindOfOp(absl::string_view name) { return KindOf(Op(name).traits); }

TEST(NodeKindTest, TwinsAreOfOneKind) {
  for (const char* name : {"Switch", "Merge", "Enter", "Exit", "NextIteration"}) {
    EXPECT_TRUE(IsControlFlow(KindOfOp(name))) << name;
    EXPECT_EQ(KindOfOp(name), KindOfOp(absl::StrCat("Ref", name))) << name;
  }
  for (const char* name : {"If", "Case", "While"}) EXPECT_EQ(KindOfOp(name), KindOfOp(absl::StrCat("Stateless", name)));
  EXPECT_EQ(KindOfOp("PartitionedCall"), KindOfOp("StatefulPartitionedCall"));
  EXPECT_TRUE(IsControlFlow(KindOfOp("_SwitchN")));
  EXPECT_FALSE(IsControlFlow(KindOfOp("LoopCond")));
  EXPECT_EQ(KindOfOp("MatMul"), OpKind::kPlain);
}

TEST(NodeKindTest, NodesKnowTheirKind) {
  const Scope s = Scope::Root();
  const Output pred = s.Const(true);
  const Node* branch = s.Add("Switch", {pred, pred});
  Output v = s.Op("VariableV2", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape(Shape())}});
  const Node* ref_branch = s.Add("RefSwitch", {v, pred});
  ASSERT_TRUE(s.ok()) << s.status();
  EXPECT_TRUE(IsSwitch(*branch) && branch->IsControlFlow() && !IsRefTwin(*branch));
  EXPECT_TRUE(IsSwitch(*ref_branch) && ref_branch->IsControlFlow() && IsRefTwin(*ref_branch));
  EXPECT_TRUE(IsA(*v.node, OpKind::kVariable));
  EXPECT_TRUE(IsFreeConstant(*pred.node));
  const Output waits = s.WithControlDependencies({v.node}).Const(1.f);
  EXPECT_FALSE(IsFreeConstant(*waits.node));
}

TEST(OpTraitsTest, UpdatesChangeWhatTheyAreGiven) {
  for (const char* name : {"Assign", "AssignAddVariableOp", "ApplyAdam", "SparseApplyAdagrad", "ResourceApplyMomentum",
                           "ResourceSparseApplyFtrl", "ScatterAdd", "ResourceScatterUpdate", "ScatterNdSub",
                           "ResourceScatterNdMax", "StridedSliceAssign", "ResourceStridedSliceAssign", "CountUpTo"}) {
    EXPECT_TRUE(Op(name).Has(OpTrait::kUpdates)) << name;
  }
  for (const char* name : {"VariableV2", "ReadVariableOp", "IsVariableInitialized", "ResourceGather", "Identity",
                           "RefSwitch", "ScatterNd", "QueueDequeueV2", "Add"}) {
    EXPECT_FALSE(Op(name).Has(OpTrait::kUpdates)) << name;
  }
  for (const OpEntry* op : OpRegistry::Global().Sorted()) {
    if (!op->Has(OpTrait::kUpdates)) continue;
    EXPECT_TRUE(std::any_of(op->def.inputs.begin(), op->def.inputs.end(),
                            [](const ArgDef& arg) { return arg.is_ref || arg.type == DType::kResource; }))
        << op->def.name << " updates, but takes neither a reference nor a handle";
  }
}

TEST(OpTraitsTest, FunctionsAndFilesMayBlock) {
  for (const OpEntry* op : OpRegistry::Global().Sorted()) {
    const bool calls = std::any_of(op->def.attrs.begin(), op->def.attrs.end(), [](const AttrDef& attr) {
      return attr.type == "func" || attr.type == "list(func)";
    });
    EXPECT_TRUE(!calls || op->Has(OpTrait::kMayBlock)) << op->def.name;
  }
  for (const char* name : {"SaveV2", "RestoreV2", "WriteFile", "ReadFile", "RecordInput"})
    EXPECT_TRUE(Op(name).Has(OpTrait::kMayBlock)) << name;
  for (const char* name : {"MatMul", "Assign", "RandomUniform"}) EXPECT_FALSE(Op(name).Has(OpTrait::kMayBlock)) << name;
}

TEST(OpTraitsTest, WhatPassesItsInputHasOneType) {
  for (const OpEntry* op : OpRegistry::Global().Sorted()) {
    if (!op->Has(OpTrait::kPassesInput)) continue;
    ASSERT_FALSE(op->def.inputs.empty() || op->def.outputs.empty()) << op->def.name;
    EXPECT_EQ(op->def.inputs[0].type_attr, op->def.outputs[0].type_attr) << op->def.name;
    EXPECT_FALSE(op->def.stateful) << op->def.name;
  }
  EXPECT_TRUE(Op("StopGradient").Has(OpTrait::kPassesInput));
}

TEST(OpTraitsTest, EffectsOnlyIsForStatefulOps) {
  for (const OpEntry* op : OpRegistry::Global().Sorted()) {
    EXPECT_TRUE(!op->Has(OpTrait::kEffectsOnly) || op->def.stateful) << op->def.name;
  }
  EXPECT_TRUE(Op("Assert").Has(OpTrait::kEffectsOnly));
  EXPECT_FALSE(Op("RandomUniform").Has(OpTrait::kEffectsOnly));
}

}  // namespace
}  // namespace millstream
