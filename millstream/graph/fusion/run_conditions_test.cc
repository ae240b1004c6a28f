// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/fusion/run_conditions.h"

#include <gtest/gtest.h>

#include "millstream/graph/control_flow/control_flow_builders.h"
#include "millstream/graph/scope.h"

namespace millstream {
namespace {

class RunConditionsTest : public ::testing::Test {
 protected:
  Output Op(const char* type, std::vector<Output> inputs) { return scope_.Op(type, std::move(inputs)); }
  Output Float() { return scope_.Op("Placeholder", {}, {{"dtype", DType::kFloat}}); }
  Output Dequeue() {
    const Output queue = scope_.Op("FIFOQueueV2", {}, {{"component_types", AttrValue::DTypes{DType::kFloat}}});
    return scope_.Op("QueueDequeueV2", {queue}, {{"component_types", AttrValue::DTypes{DType::kFloat}}});
  }
  bool Same(const Output& a, const Output& b) {
    EXPECT_TRUE(scope_.ok()) << scope_.status();
    const auto order = scope_.graph()->TopologicalOrder();
    EXPECT_TRUE(order.ok()) << order.status();
    const RunConditions conditions(*scope_.graph(), *order);
    return conditions.Of(*a.node) == conditions.Of(*b.node);
  }

  Scope scope_ = Scope::Root();
};

TEST_F(RunConditionsTest, PlainKernelsAreNoConditions) {
  const Output x = Float();
  const Output random = scope_.Op("RandomUniform", {scope_.Constant({2})}, {{"dtype", DType::kFloat}});
  EXPECT_TRUE(Same(Op("Tanh", {x}), Op("Mul", {x, random})));
}

TEST_F(RunConditionsTest, WhatMayWaitIsACondition) {
  const Output x = Float(), taken = Dequeue(), other = Dequeue();
  EXPECT_FALSE(Same(Op("Tanh", {x}), Op("Tanh", {taken})));
  EXPECT_FALSE(Same(Op("Tanh", {other}), Op("Tanh", {taken})));
  EXPECT_FALSE(Same(Op("AddV2", {other, taken}), Op("Tanh", {taken})));
  EXPECT_TRUE(Same(Op("AddV2", {other, taken}), Op("Mul", {Op("Tanh", {taken}), other})));
  const Scope after = scope_.WithControlDependencies({taken.node});
  EXPECT_TRUE(Same(after.Op("Tanh", {x}), Op("Tanh", {taken})));
}

TEST_F(RunConditionsTest, SidesOfABranchDiffer) {
  const Output x = Float(), p = scope_.Op("Placeholder", {}, {{"dtype", DType::kBool}}), q = Op("LogicalNot", {p});
  Node* const a = scope_.Add("Switch", {x, p});
  Node* const b = scope_.Add("Switch", {Op("Tanh", {x}), p});
  Node* const c = scope_.Add("Switch", {x, q});
  EXPECT_TRUE(Same(Op("Tanh", {Output(a, 1)}), Op("Tanh", {Output(b, 1)})));
  EXPECT_FALSE(Same(Op("Tanh", {Output(a, 0)}), Op("Tanh", {Output(b, 1)})));
  EXPECT_FALSE(Same(Op("Tanh", {Output(a, 1)}), Op("Tanh", {Output(c, 1)})));
  EXPECT_FALSE(Same(Op("Tanh", {Output(a, 1)}), Op("Tanh", {x})));
  const Output merged(scope_.Add("Merge", {Output(a, 0), Output(a, 1)}));
  EXPECT_FALSE(Same(Op("Tanh", {merged}), Op("Tanh", {x})));
}

TEST_F(RunConditionsTest, VariablesOfALoopGoTogether) {
  Output of_first, of_second, of_branch;
  WhileLoop(
      scope_,
      [](const Scope& s, const std::vector<Output>& v) {
        return s.Op("Less", {v[0], s.Const(9.0F)});
      },
      [&](const Scope& s, const std::vector<Output>& v) {
        of_first = s.Op("Tanh", {v[0]});
        of_second = s.Op("Tanh", {v[1]});
        of_branch = s.Op("Tanh", {v[2]});
        const std::vector<Output> chosen = Cond(
            s, s.Op("Less", {v[1], v[0]}), [&](const Scope& t) { return std::vector<Output>{t.Op("Neg", {v[2]})}; },
            [&](const Scope& t) { return std::vector<Output>{t.Op("Exp", {v[2]})}; });
        return std::vector<Output>{of_first, s.Op("Mul", {of_second, of_first}), chosen[0]};
      },
      {Float(), Float(), Float()});
  EXPECT_TRUE(Same(of_first, of_second));
  EXPECT_FALSE(Same(of_first, of_branch));  // its next value may be on a branch
  EXPECT_FALSE(Same(of_first, Op("Tanh", {Float()})));
}

}  // namespace
}  // namespace millstream
