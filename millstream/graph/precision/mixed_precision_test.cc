// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/precision/mixed_precision.h"

#include <gmock/gmock.h>

#include <functional>

#include "millstream/framework/precision_class.h"
#include "millstream/graph/passes/passes.h"
#include "millstream/graph/scope.h"

namespace millstream {
namespace {

constexpr char kCpu[] = "/job:localhost/replica:0/task:0/device:CPU:0";
constexpr MixedPrecision kHalfOnCpu{DType::kInvalid, DType::kHalf};

class MixedPrecisionTest : public ::testing::Test {
 protected:
  Output Input(const char* name, DType dtype = DType::kFloat) {
    return scope_.WithOpName(name).Op("Placeholder", {}, {{"dtype", dtype}, {"shape", PartialShape({2, 2})}});
  }
  Output Named(const char* name, const char* op, std::vector<Output> inputs) {
    return scope_.WithOpName(name).Op(op, std::move(inputs));
  }

  PrunedGraph Rewrite(const std::vector<Output>& rets, const MixedPrecision& types = kHalfOnCpu,
                      const std::vector<Node*>& targets = {}) {
    EXPECT_TRUE(scope_.ok()) << scope_.status();
    StatusOr<PrunedGraph> part = Prune(*scope_.graph(), {}, rets, targets);
    EXPECT_TRUE(part.ok()) << part.status();
    for (const auto& node : part->graph->nodes()) node->set_assigned_device(kCpu);
    EXPECT_TRUE(UseMixedPrecision(types, &*part).ok());
    RemoveUnused(&*part);
    for (const auto& node : part->graph->nodes()) EXPECT_TRUE(part->graph->CheckInputs(*node).ok()) << node->name();
    return *std::move(part);
  }

  // The names of the nodes that work with half, without what twins have behind the original's name.
  static std::vector<std::string> Half(const PrunedGraph& part) {
    std::vector<std::string> names;
    for (const auto& node : part.graph->nodes()) {
      DType type = DType::kInvalid;
      if (node->GetAttr("T", &type).ok() && type == DType::kHalf)
        names.push_back(node->name().substr(0, node->name().find('/')));
    }
    return names;
  }
  static int Count(const PrunedGraph& part, const char* op) {
    int count = 0;
    for (const auto& node : part.graph->nodes()) count += node->Is(op) ? 1 : 0;
    return count;
  }

  Scope scope_ = Scope::Root();
};

using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

TEST_F(MixedPrecisionTest, LeavesGraphsAloneUnlessAsked) {
  const Output y = Named("product", "MatMul", {Input("x"), Input("w")});
  EXPECT_THAT(Half(Rewrite({y}, {})), IsEmpty());
  EXPECT_THAT(Half(Rewrite({y}, {DType::kHalf, DType::kInvalid})), IsEmpty());  // accelerators only
}

TEST_F(MixedPrecisionTest, CastsAroundAProductAndKeepsTheTypeOfResults) {
  const PrunedGraph part = Rewrite({Named("product", "MatMul", {Input("x"), Input("w")})});
  EXPECT_THAT(Half(part), UnorderedElementsAre("product"));
  EXPECT_EQ(Count(part, "Cast"), 3);
  EXPECT_EQ(part.rets[0].dtype(), DType::kFloat);
}

TEST_F(MixedPrecisionTest, CastsAValueOnce) {
  const Output x = Input("x");
  const Output y = Named("a", "MatMul", {x, x});
  const PrunedGraph part = Rewrite({Named("b", "MatMul", {y, x}), y});
  EXPECT_THAT(Half(part), UnorderedElementsAre("a", "b"));
  EXPECT_EQ(Count(part, "Cast"), 3);  // x, a as a result, b as a result
}

TEST_F(MixedPrecisionTest, TakesWhatIsBetweenProducts) {
  const Output x = Input("x");
  const Output tanh = Named("tanh", "Tanh", {Named("relu", "Relu", {Named("first", "MatMul", {x, x})})});
  const Output last = Named("after", "Tanh", {Named("second", "MatMul", {tanh, Named("before", "Tanh", {x})})});
  EXPECT_THAT(Half(Rewrite({last})), UnorderedElementsAre("first", "relu", "tanh", "second"));
}

TEST_F(MixedPrecisionTest, KeepsFloatsBehindUnsafeOps) {
  const Output x = Input("x");
  const Output e = Named("exp", "Exp", {Named("first", "MatMul", {x, x})});
  const Output back = Named("relu", "Relu", {Named("mul", "Mul", {e, x})});
  EXPECT_THAT(Half(Rewrite({Named("second", "MatMul", {back, x})})), UnorderedElementsAre("first", "second"));
}

TEST_F(MixedPrecisionTest, MovesCastsBehindOpsThatOnlyMoveNumbers) {
  const Output x = Input("x");
  const Output y = Named("flat", "Identity", {Named("relu", "Relu", {Named("product", "MatMul", {x, x})})});
  const PrunedGraph part = Rewrite({Named("shape", "Shape", {y}), Named("sum", "Neg", {y})});
  EXPECT_THAT(Half(part), UnorderedElementsAre("product", "relu", "flat", "shape", "sum"));
  EXPECT_EQ(part.rets[0].dtype(), DType::kInt32);
  EXPECT_EQ(part.rets[1].dtype(), DType::kFloat);
}

TEST_F(MixedPrecisionTest, LeavesOtherTypesAndTargetsAlone) {
  const Output x = Input("x"), d = Input("d", DType::kDouble);
  const Output target = Named("target", "MatMul", {x, x});
  EXPECT_THAT(Half(Rewrite({Named("product", "MatMul", {d, d})}, kHalfOnCpu, {target.node})), IsEmpty());
}

TEST_F(MixedPrecisionTest, CastsConstantsWhereTheyAre) {
  const PrunedGraph part =
      Rewrite({Named("product", "MatMul", {Input("x"), scope_.Const(Tensor::Of<float>({2, 2}, {1, 2, 3, 4}))})});
  EXPECT_EQ(Count(part, "Cast"), 2);
  for (const auto& node : part.graph->nodes()) {
    DType type = DType::kInvalid;
    if (!node->Is("Const")) continue;
    EXPECT_TRUE(node->GetAttr("dtype", &type).ok() && type == DType::kHalf);
  }
}

TEST_F(MixedPrecisionTest, UsesTheTypeOfTheDevice) {
  const PrunedGraph part =
      Rewrite({Named("product", "MatMul", {Input("x"), Input("w")})}, {DType::kHalf, DType::kBfloat16});
  bool found = false;
  for (const auto& node : part.graph->nodes()) {
    DType type = DType::kInvalid;
    if (!node->Is("MatMul")) continue;
    found = node->GetAttr("T", &type).ok() && type == DType::kBfloat16;
  }
  EXPECT_TRUE(found);
}

TEST_F(MixedPrecisionTest, WaitsWithReadsOfReferences) {
  const Output v = scope_.WithOpName("v").Op("VariableV2", {}, {{"shape", Shape({2, 2})}, {"dtype", DType::kFloat}});
  const Output before = Input("before");
  const Output product = scope_.WithControlDependencies({before.node}).WithOpName("product").Op("MatMul", {v, v});
  const PrunedGraph part = Rewrite({product});
  int waiting = 0;
  for (const auto& node : part.graph->nodes()) waiting += node->Is("Cast") && !node->control_inputs().empty() ? 1 : 0;
  EXPECT_EQ(waiting, 2);
}

TEST(PrecisionClassTest, EveryOpThatMayChangeHasTheAttribute) {
  int known = 0;
  for (const OpEntry* op : OpRegistry::Global().Sorted()) {
    const auto what = FindPrecisionClass(op->def.name);
    known += what ? 1 : 0;
    if (!what || *what == PrecisionClass::kDeny) continue;
    EXPECT_NE(op->def.FindAttr("T"), nullptr) << op->def.name;
  }
  EXPECT_GT(known, 100);
}

}  // namespace
}  // namespace millstream
