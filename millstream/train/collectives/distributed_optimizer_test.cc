// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/collectives/distributed_optimizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "millstream/train/optimizers/gradient_descent.h"
#include "millstream/train/testing/steps.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::Pointwise;

// Workers that are devices of one process, with a graph and a session each would have a hub each; so they share a
// graph, in which each has its variables on its own device. Worker i has the loss (i + 1) * sum(w) + sum of rows of e.
class Workers {
 public:
  explicit Workers(int count, int rows = 2) {
    for (int i = 0; i < count; ++i) {
      groups.push_back(std::make_shared<CollectiveGroup>(count));
      const Scope s = scope.NameScope(absl::StrCat("worker", i)).WithDevice(absl::StrCat("/cpu:", i));
      const VariableScope variables(s);
      w.push_back(variables.Get(absl::StrCat("w", i), Shape({3}), {.initializer = ConstantInitializer(i)}));
      e.push_back(variables.Get(absl::StrCat("e", i), Shape({100, 2}), {.initializer = ConstantInitializer(i)}));
      const Output sum = s.Op("Sum", {s.Op("Mul", {w[i].value, s.Const(static_cast<float>(i + 1))}), s.Constant({0})});
      std::vector<int32_t> ids(static_cast<size_t>(rows), i);
      const Output found = s.Op("GatherV2", {e[i].handle, s.Const(Tensor::Vector<int32_t>(ids)), s.Const<int32_t>(0)});
      const Output loss = s.Op("AddV2", {sum, s.Op("Sum", {found, s.Constant({0, 1})})});
      optimizers.push_back(
          std::make_unique<DistributedOptimizer>(std::make_shared<GradientDescentOptimizer>(1.0), groups[i]));
      ComputeGradientsOptions own;
      own.variables = {w[i], e[i]};
      gradients.push_back(optimizers[i]->ComputeGradients(s, loss, own));
      trains.push_back(optimizers[i]->ApplyGradients(s, gradients[i]));
      broadcasts.push_back(groups[i]->Broadcast(s, {w[i], e[i]}, /*is_root=*/i == 1 || count == 1));
    }
    EXPECT_EQ(scope.status(), OkStatus());
    init = GlobalVariablesInitializer(scope);
    SessionOptions options;
    options.device_count = {{"CPU", count}};
    StatusOr<std::unique_ptr<Session>> made = NewSession(options);
    EXPECT_TRUE(made.ok()) << made.status();
    session = *std::move(made);
    EXPECT_EQ(session->Extend(*scope.graph()), OkStatus());
    RunStep(*session, {}, {init});
  }
  void Run(const std::vector<Node*>& nodes) { RunStep(*session, {}, {nodes.begin(), nodes.end()}); }
  std::vector<float> ValuesOf(const GraphVariable& v) { return FloatsOf(*session, v.value); }

  Scope scope = Scope::Root();
  std::vector<std::shared_ptr<CollectiveGroup>> groups;
  std::vector<std::unique_ptr<DistributedOptimizer>> optimizers;
  std::vector<GraphVariable> w, e;
  std::vector<std::vector<GradientAndVariable>> gradients;
  std::vector<Node*> trains, broadcasts;
  Node* init = nullptr;
  std::unique_ptr<Session> session;
};

TEST(DistributedOptimizerTest, AppliesTheMeanOfAllWorkers) {
  for (const int count : {1, 2, 4}) {
    Workers workers(count);
    workers.Run(workers.broadcasts);
    const float root = count == 1 ? 0 : 1;
    for (int i = 0; i < count; ++i) EXPECT_THAT(workers.ValuesOf(workers.w[i]), ElementsAre(root, root, root));
    workers.Run(workers.trains);
    const float mean = (1.0f + static_cast<float>(count)) / 2;  // of 1, 2, ...
    for (int i = 0; i < count; ++i) {
      EXPECT_THAT(workers.ValuesOf(workers.w[i]), Pointwise(FloatNear(1e-6f), {root - mean, root - mean, root - mean}));
      const std::vector<float> rows = workers.ValuesOf(workers.e[i]);
      for (int row = 0; row < 100; ++row) {  // each worker's loss has its row twice
        const float want = row < count ? root - 2.0f / static_cast<float>(count) : root;
        EXPECT_NEAR(rows[static_cast<size_t>(row) * 2], want, 1e-6) << row;
      }
    }
  }
}

TEST(DistributedOptimizerTest, SparseGradientsStaySparseWhereThatIsSmaller) {
  EXPECT_TRUE(Workers(2, 2).gradients[0][1].gradient.IsSparse());
  EXPECT_FALSE(Workers(2, 60).gradients[0][1].gradient.IsSparse());  // 120 rows of 100
  Workers workers(2, 60);
  workers.Run(workers.broadcasts);
  workers.Run(workers.trains);
  EXPECT_NEAR(workers.ValuesOf(workers.e[1])[0], 1 - 30, 1e-5);
}

TEST(DistributedOptimizerTest, WhatCannotBeBroadcastIsNamed) {
  const Scope scope = Scope::Root();
  VariableOptions options;
  options.dtype = DType::kInt8;
  options.initial_constant = Tensor::Scalar<int8_t>(1);
  options.trainable = false;
  const GraphVariable v = VariableScope(scope).Get("small", Shape(), options);
  CollectiveGroup(2).Broadcast(scope, {v}, true);
  EXPECT_TRUE(absl::IsUnimplemented(scope.status()));
  EXPECT_THAT(std::string(scope.status().message()), ::testing::HasSubstr("'small'"));
}

}  // namespace
}  // namespace millstream
