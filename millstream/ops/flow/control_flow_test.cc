// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "millstream/ops/flow/summary.h"
#include "millstream/ops/state/testing/op_runner.h"

namespace millstream {
namespace {

TEST(SwitchTest, OneSideIsDead) {
  OpRunner::Env env;
  OpRunner op(env, "Switch", {{"T", DType::kFloat}});
  const auto out = *op.Run({Tensor::Scalar<float>(3), Tensor::Scalar(true)});
  EXPECT_TRUE(out[0].dead);
  EXPECT_FALSE(out[1].dead);
  EXPECT_EQ(out[1].tensor.scalar<float>(), 3);
  EXPECT_FALSE(op.Run({Tensor::Scalar<float>(3), Tensor::Vector<bool>({true})}).ok());
}

TEST(SwitchTest, ReferencesStayReferences) {
  OpRunner::Env env;
  auto variable = MakeRef<Variable>(DType::kFloat, PartialShape(), "v");
  OpRunner op(env, "RefSwitch", {{"T", DType::kFloat}});
  const auto out = *op.Run({variable, Tensor::Scalar(false)});
  EXPECT_EQ(out[0].ref, variable);
  EXPECT_TRUE(out[1].dead);
  OpRunner select(env, "RefSelect", {{"T", DType::kFloat}, {"N", 2}});
  auto other = MakeRef<Variable>(DType::kFloat, PartialShape(), "w");
  EXPECT_EQ((*select.Run({Tensor::Scalar<int32_t>(1), variable, other}))[0].ref, other);
  EXPECT_FALSE(select.Run({Tensor::Scalar<int32_t>(2), variable, other}).ok());
}

TEST(SwitchTest, OutOfRangeIndexTakesTheLastBranch) {
  OpRunner::Env env;
  OpRunner op(env, "_SwitchN", {{"T", DType::kFloat}, {"num_outs", 3}});
  EXPECT_FALSE((*op.Run({Tensor::Scalar<float>(3), Tensor::Scalar<int32_t>(-1)}))[2].dead);
  const auto out = *op.Run({Tensor::Scalar<float>(3), Tensor::Scalar<int32_t>(0)});
  EXPECT_FALSE(out[0].dead);
  EXPECT_TRUE(out[1].dead && out[2].dead);
}

TEST(MergeTest, FirstLiveInput) {
  OpRunner::Env env;
  OpRunner op(env, "Merge", {{"T", DType::kFloat}, {"N", 2}});
  const auto out = *op.Run({Tensor(), Tensor::Scalar<float>(3)});
  EXPECT_EQ(out[0].tensor.scalar<float>(), 3);
  EXPECT_EQ(out[1].tensor.scalar<int32_t>(), 1);
}

TEST(AssertTest, ShowsItsData) {
  OpRunner::Env env;
  OpRunner op(env, "Assert", {{"T", std::vector<DType>{DType::kString, DType::kInt32}}});
  const Tensor text = Tensor::Scalar("x:"), numbers = Tensor::Of<int32_t>({2, 2}, {1, 2, 3, 4});
  EXPECT_TRUE(op.Run({Tensor::Scalar(true), text, numbers}).ok());
  const Status status = op.Run({Tensor::Scalar(false), text, numbers}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "assertion failed: [x:] [[1 2][3...]...]");
}

TEST(SummaryTest, AsTensorFlowPrints) {
  EXPECT_EQ(SummarizeForPrint(Tensor::Scalar<float>(1.5f), 3), "1.5");
  EXPECT_EQ(SummarizeForPrint(Tensor::Vector<int32_t>({1, 2, 3, 4, 5}), 3), "1 2 3...");
  EXPECT_EQ(SummarizeForPrint(Tensor::Of<int32_t>({2, 2, 3}, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}), 3), "[[0 0 0]]...");
  EXPECT_EQ(SummarizeForPrint(Tensor::Vector<std::string>({"x", "y"}), -1), "x y");
  EXPECT_EQ(SummarizeForPrint(Tensor::Scalar<float>(123456789.f), 3), "123456792");
  EXPECT_EQ(SummarizeForPrint(Tensor::Scalar<double>(1e-7), 3), "1e-07");
  EXPECT_EQ(SummarizeForPrint(Tensor::Scalar(true), 3), "1");
  EXPECT_EQ(SummarizeForPrint(Tensor(DType::kFloat, Shape({0})), 3), "");
}

TEST(StackTest, LastInFirstOut) {
  OpRunner::Env env;
  const std::pair<const char*, const char*> names[] = {{"StackV2", "V2"}, {"Stack", ""}};
  for (const auto& [op, suffix] : names) {
    OpRunner make(env, op, {{"elem_type", DType::kFloat}});
    OpRunner push(env, absl::StrCat("StackPush", suffix), {{"T", DType::kFloat}});
    OpRunner pop(env, absl::StrCat("StackPop", suffix), {{"elem_type", DType::kFloat}});
    OpRunner close(env, absl::StrCat("StackClose", suffix));
    std::vector<Edge> size;
    if (*suffix != 0) size.emplace_back(Tensor::Scalar<int32_t>(2));
    const Edge first = (*make.Run(size))[0], second = (*make.Run(size))[0];
    ASSERT_TRUE(push.Run({first, Tensor::Scalar<float>(1)}).ok());
    EXPECT_EQ((*push.Run({first, Tensor::Scalar<float>(2)}))[0].tensor.scalar<float>(), 2);
    EXPECT_EQ(push.Run({first, Tensor::Scalar<float>(3)}).ok(), *suffix == 0);
    EXPECT_EQ(pop.Value({first})->scalar<float>(), *suffix == 0 ? 3 : 2);
    EXPECT_EQ(pop.Run({second}).status().code(), absl::StatusCode::kInvalidArgument);
    ASSERT_TRUE(close.Run({first}).ok());
    EXPECT_EQ(pop.Run({first}).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace millstream
