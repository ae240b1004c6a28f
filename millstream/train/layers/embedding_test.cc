// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/layers/embedding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "millstream/train/optimizers/gradient_descent.h"
#include "millstream/train/testing/steps.h"
#include "millstream/train/variables/variables.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using Strategy = EmbeddingOptions::Strategy;

class EmbeddingTest : public ::testing::TestWithParam<bool> {
 protected:
  // Row i of the whole table of 5 is {i, 10 i}.
  PartitionedVariable Table(int64_t parts) {
    VariableOptions options;
    options.resource = GetParam();
    options.partitioner = FixedSizePartitioner(parts);
    options.initializer = ValueInitializer(Tensor::Of<float>(Shape({5, 2}), {0, 0, 1, 10, 2, 20, 3, 30, 4, 40}));
    return variables.GetPartitioned(absl::StrCat("table", parts), Shape({5, 2}), options);
  }
  std::vector<float> Run(Output fetch) {
    Node* init = GlobalVariablesInitializer(s);
    return FloatsOf(*SessionOf(s, init), fetch);
  }

  const Scope s = Scope::Root();
  const VariableScope variables = VariableScope(s).Enter("tables", VariableScope::Reuse::kAuto);
};

TEST_P(EmbeddingTest, FindsRowsInParts) {
  const Output ids = s.Const(Tensor::Of<int64_t>(Shape({2, 2}), {4, 0, 2, 4}));
  for (const int64_t parts : {1, 2, 3}) {
    const Output rows = EmbeddingLookup(s, Table(parts), ids, {.partition_strategy = Strategy::kDiv});
    EXPECT_THAT(Run(rows), ElementsAre(4, 40, 0, 0, 2, 20, 4, 40)) << parts;
    EXPECT_EQ(s.ShapeOf(rows), PartialShape({2, 2, 2})) << parts;
  }
  // Rows 0, 2, 4 of the whole are taken to be those of the first part, which holds 0, 1 and 2.
  EXPECT_THAT(Run(EmbeddingLookup(s, Table(2).parts, ids)), ElementsAre(2, 20, 0, 0, 1, 10, 2, 20));
}

TEST_P(EmbeddingTest, OnlyRowsThatWereUsedAreTrained) {
  const PartitionedVariable table = Table(2);
  const Output ids = s.Const(Tensor::Vector<int32_t>({1, 4, 4}));
  const Output rows = EmbeddingLookup(s, table, ids, {.partition_strategy = Strategy::kDiv});
  GradientDescentOptimizer optimizer(1);
  const auto gradients = optimizer.ComputeGradients(s, s.Op("Sum", {rows, s.Constant({0, 1})}));
  ASSERT_EQ(gradients.size(), 2u);
  EXPECT_TRUE(gradients[0].gradient.IsSparse());
  Node* train = optimizer.ApplyGradients(s, gradients);
  Node* init = GlobalVariablesInitializer(s);
  const Output whole = table.Value(s);
  const auto session = SessionOf(s, init);
  RunStep(*session, {}, {train});
  EXPECT_THAT(FloatsOf(*session, whole), ElementsAre(0, 0, 0, 9, 2, 20, 3, 30, 2, 38));
}

TEST_P(EmbeddingTest, MaxNorm) {
  const Output rows = EmbeddingLookup(s, Table(2), s.Const(Tensor::Vector<int32_t>({0, 3})),
                                      {.partition_strategy = Strategy::kDiv, .max_norm = 1});
  EXPECT_THAT(Run(rows), ElementsAre(0, 0, FloatNear(0.0995037f, 1e-6f), FloatNear(0.9950372f, 1e-6f)));
}

TEST_P(EmbeddingTest, CombinesSparseIds) {
  // Row 0 has the ids 1 and 3, row 1 has 3.
  const SparseOutput ids = {s.Const(Tensor::Of<int64_t>(Shape({3, 2}), {0, 0, 0, 2, 1, 0})),
                            s.Const(Tensor::Vector<int64_t>({1, 3, 3})), s.Const(Tensor::Vector<int64_t>({2, 3}))};
  const std::vector<GraphVariable> table = Table(1).parts;
  const Output weights = s.Const(Tensor::Vector<float>({3, 1, 2}));
  const auto combined = [&](Output by, Combiner combiner) {
    return Run(EmbeddingLookupSparse(s, table, ids, by, combiner));
  };
  EXPECT_THAT(combined({}, Combiner::kSum), ElementsAre(4, 40, 3, 30));
  EXPECT_THAT(combined({}, Combiner::kMean), ElementsAre(2, 20, 3, 30));
  EXPECT_THAT(combined(weights, Combiner::kSum), ElementsAre(6, 60, 6, 60));
  EXPECT_THAT(combined(weights, Combiner::kMean), ElementsAre(1.5f, 15, 3, 30));
  EXPECT_THAT(combined(weights, Combiner::kSqrtN),
              ElementsAre(FloatNear(1.897367f, 1e-5f), FloatNear(18.97367f, 1e-4f), 3, 30));
}

INSTANTIATE_TEST_SUITE_P(ReferencesAndResources, EmbeddingTest, ::testing::Bool());

TEST(EmbeddingErrorsTest, RefusesWhatDoesNotFit) {
  const Scope s = Scope::Root();
  EmbeddingLookup(s, std::vector<GraphVariable>(), s.Constant({0}));
  EXPECT_EQ(s.status().code(), absl::StatusCode::kInvalidArgument);
  const Scope other = Scope::Root();
  const VariableScope v(other);
  EmbeddingLookup(other, {v.Get("a", Shape({2, 2})), v.Get("b", Shape({2, 3}))}, other.Constant({0}));
  EXPECT_EQ(other.status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace millstream
