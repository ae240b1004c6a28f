// SPDX-License-Identifier: Apache-2.0
#include "millstream/runtime/compile.h"

#include <gtest/gtest.h>

#include "millstream/framework/cpu_device.h"
#include "millstream/graph/scope.h"

namespace millstream {
namespace {

class CompileTest : public ::testing::Test {
 protected:
  // A plan that runs all nodes of the graph.
  std::shared_ptr<const Plan> CompileAll(const Scope& scope) {
    EXPECT_TRUE(scope.ok()) << scope.status();
    std::vector<Node*> all;
    for (const auto& node : scope.graph()->nodes()) all.push_back(node.get());
    StatusOr<PrunedGraph> pruned = Prune(*scope.graph(), {}, {}, all);
    EXPECT_TRUE(pruned.ok()) << pruned.status();
    CompileOptions options;
    options.kernels = &kernels_;
    options.find_device = [](absl::string_view) -> Device* { return CpuDevice::SingleThreaded(); };
    auto plan = Compile(*std::move(pruned), options);
    EXPECT_TRUE(plan.ok()) << plan.status();
    return *std::move(plan);
  }

  static const PlanNode& NodeOf(const Plan& plan, absl::string_view type) {
    for (const PlanNode& node : plan.nodes) {
      if (node.node->type() == type) return node;
    }
    ADD_FAILURE() << "no " << type;
    return plan.nodes.front();
  }

  ResourceManager resources_;
  KernelCache kernels_{&resources_, nullptr};
};

TEST_F(CompileTest, UpdatesComeAfterReadersWhereTheOrderIsOpen) {
  const Scope s = Scope::Root();
  Output v = s.Op("VariableV2", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape({4})}});
  s.Op("StridedSliceAssign",
       {v, s.Constant({0}), s.Constant({2}), s.Constant({1}), s.Const(Tensor::Vector<float>({1, 2}))});
  s.Op("AssignAdd", {v, s.Const(Tensor::Vector<float>({1, 1, 1, 1}))});
  s.Op("Neg", {s.Op("Identity", {v})});
  const auto plan = CompileAll(s);
  ASSERT_EQ(plan->nodes.size(), 5u);
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(plan->nodes[i].update, i >= 3) << plan->nodes[i].node->name();
}

TEST_F(CompileTest, NodesHaveTheKindsThatExecutorsKnow) {
  const Scope s = Scope::Root();
  const Output pred = s.Op("Placeholder", {}, {{"dtype", DType::kBool}, {"shape", PartialShape(Shape())}});
  const Node* branch = s.Add("Switch", {pred, pred});
  Node* merge = s.Add("Merge", {Output(const_cast<Node*>(branch), 0), Output(const_cast<Node*>(branch), 1)});
  const auto plan = CompileAll(s);
  EXPECT_TRUE(plan->control_flow);
  EXPECT_EQ(NodeOf(*plan, "Switch").kind, NodeKind::kSwitch);
  EXPECT_EQ(NodeOf(*plan, merge->type()).kind, NodeKind::kMerge);
  EXPECT_EQ(NodeOf(*plan, "Placeholder").kind, NodeKind::kOp);
}

TEST_F(CompileTest, OpsThatMayBlockAreMarked) {
  const Scope s = Scope::Root();
  s.Op("ReadFile", {s.Const("name")});
  s.Op("MatMul",
       {s.Op("Placeholder", {}, {{"dtype", DType::kFloat}}), s.Op("Placeholder", {}, {{"dtype", DType::kFloat}})});
  const auto plan = CompileAll(s);
  EXPECT_TRUE(NodeOf(*plan, "ReadFile").may_block);
  EXPECT_FALSE(NodeOf(*plan, "MatMul").may_block);
}

}  // namespace
}  // namespace millstream
