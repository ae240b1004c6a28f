// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/optimizers/delay_compensated_gradient_descent.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "millstream/train/testing/steps.h"

namespace millstream {
namespace {

using DcAsgd = DelayCompensatedGradientDescentOptimizer;

constexpr float kRate = 0.1f, kLambda = 2;

// What two workers that take turns do to a row of which the gradient is the row itself, by the formula.
struct Reference {
  std::vector<float> w;
  std::vector<float> shadows[2] = {w, w};  // of the workers
  void Step(int worker, size_t i, float gradient) {
    w[i] -= kRate * (gradient + kLambda * gradient * gradient * (w[i] - shadows[worker][i]));
    shadows[worker][i] = w[i];
  }
};

// Two workers with the same graph variables; each has its shadow.
TEST(DelayCompensatedTest, DenseStepsFollowTheFormula) {
  for (const bool resource : {false, true}) {
    Scope s = Scope::Root();
    const GraphVariable w = VariableScope(s).Get(
        "w", Shape({2}), {.initializer = ValueInitializer(Tensor::Vector<float>({1, -2})), .resource = resource});
    const Output loss = s.Op("L2Loss", {w.value});  // whose gradient is w
    Node* train[2];
    DcAsgd workers[2] = {{kRate, kLambda, {.num_workers = 2, .worker_index = 0, .name = "A"}},
                         {kRate, kLambda, {.num_workers = 2, .worker_index = 1, .name = "B"}}};
    for (int i = 0; i < 2; ++i) train[i] = workers[i].Minimize(s, loss);
    Node* init = GlobalVariablesInitializer(s);
    ASSERT_TRUE(s.ok()) << s.status();
    EXPECT_NE(s.graph()->Find("w/A/shadow_1"), nullptr);
    const auto session = SessionOf(s, init);
    Reference reference{{1, -2}};
    for (const int worker : {0, 1, 1, 0, 1, 0, 0}) {
      RunStep(*session, {}, {train[worker]});
      for (size_t i = 0; i < 2; ++i) reference.Step(worker, i, reference.w[i]);
      EXPECT_THAT(FloatsOf(*session, w.value), ::testing::Pointwise(::testing::FloatNear(1e-6f), reference.w));
      const GraphVariable shadow = workers[worker].Slot(w, absl::StrCat("shadow_", worker));
      EXPECT_THAT(FloatsOf(*session, shadow.value),
                  ::testing::Pointwise(::testing::FloatNear(1e-6f), reference.shadows[worker]));
    }
  }
}

// Rows that occur twice count with the sum of their gradients; the others stay.
TEST(DelayCompensatedTest, SparseStepsFollowTheFormula) {
  for (const bool resource : {false, true}) {
    Scope s = Scope::Root();
    const GraphVariable w = VariableScope(s).Get(
        "w", Shape({3}), {.initializer = ValueInitializer(Tensor::Vector<float>({1, -2, 3})), .resource = resource});
    const Output indices = s.Constant({2, 0, 2});
    const Output rows = resource ? s.Op("ResourceGather", {w.handle, indices}, {{"dtype", DType::kFloat}})
                                 : s.Op("GatherV2", {w.handle, indices, s.Const<int32_t>(0)});
    const Output loss = s.Op("L2Loss", {rows});
    Node* train[2];
    DcAsgd workers[2] = {{kRate, kLambda, {.num_workers = 2, .worker_index = 0, .name = "A"}},
                         {kRate, kLambda, {.num_workers = 2, .worker_index = 1, .name = "B"}}};
    for (int i = 0; i < 2; ++i) train[i] = workers[i].Minimize(s, loss);
    Node* init = GlobalVariablesInitializer(s);
    const auto session = SessionOf(s, init);
    Reference reference{{1, -2, 3}};
    for (const int worker : {0, 1, 0}) {
      RunStep(*session, {}, {train[worker]});
      reference.Step(worker, 0, reference.w[0]);
      reference.Step(worker, 2, 2 * reference.w[2]);
      EXPECT_THAT(FloatsOf(*session, w.value), ::testing::Pointwise(::testing::FloatNear(1e-5f), reference.w));
    }
  }
}

TEST(DelayCompensatedTest, RefusesWorkersThatAreNotThere) {
  for (const DcAsgd::Options& options :
       {DcAsgd::Options{.num_workers = 0}, DcAsgd::Options{.num_workers = 2, .worker_index = 2}}) {
    Scope s = Scope::Root();
    const GraphVariable w = VariableScope(s).Get("w", Shape({2}));
    DcAsgd(0.1, 0.1, options).Minimize(s, s.Op("L2Loss", {w.value}));
    EXPECT_EQ(s.status().code(), absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace millstream
