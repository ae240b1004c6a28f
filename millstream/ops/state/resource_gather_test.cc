// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "millstream/ops/state/testing/op_runner.h"

namespace millstream {
namespace {

constexpr int64_t kRows = 100'000, kWidth = 16;

class GatherTest : public ::testing::TestWithParam<bool> {
 protected:
  GatherTest() {
    const std::vector<std::pair<std::string, AttrValue>> attrs = {
        {"dtype", DType::kFloat}, {"shape", PartialShape({kRows, kWidth})}, {"shared_name", std::string("table")}};
    OpRunner variable(env_, GetParam() ? "VarHandleOp" : "VariableV2", attrs);
    table_ = (*variable.Run({}))[0];
    OpRunner assign(env_, GetParam() ? "AssignVariableOp" : "Assign", {{GetParam() ? "dtype" : "T", DType::kFloat}});
    Tensor zeros(DType::kFloat, Shape({kRows, kWidth}));
    std::fill_n(zeros.data<float>(), kRows * kWidth, 0.f);
    EXPECT_TRUE(assign.Run({*table_, zeros}).ok());
  }
  OpRunner Gather() {
    return GetParam() ? OpRunner(env_, "ResourceGather", {{"dtype", DType::kFloat}, {"Tindices", DType::kInt64}})
                      : OpRunner(env_, "_GatherReference", {{"T", DType::kFloat}, {"Tindices", DType::kInt64}});
  }
  const void* Memory() {
    OpRunner read(env_, GetParam() ? "ReadVariableOp" : "Identity", {{GetParam() ? "dtype" : "T", DType::kFloat}});
    if (!GetParam()) return table_->ref->Snapshot().raw();
    return read.Value({*table_})->raw();
  }

  OpRunner::Env env_{2};
  std::optional<Edge> table_;
};

TEST_P(GatherTest, UpdatesBesideGathersOfFewRowsDoNotCopyTheTable) {
  OpRunner gather = Gather();
  OpRunner add(env_, GetParam() ? "ResourceScatterAdd" : "ScatterAdd",
               {{GetParam() ? "dtype" : "T", DType::kFloat}, {"Tindices", DType::kInt64}});
  Tensor ids(DType::kInt64, Shape({kRows / 10}));
  for (int64_t i = 0; i < ids.num_elements(); ++i) ids.data<int64_t>()[i] = i * 10;
  std::atomic<bool> done{false};
  std::thread reader([&] {
    while (!done) ASSERT_TRUE(gather.Run({*table_, ids}).ok());
  });
  const void* const memory = Memory();
  Tensor ones(DType::kFloat, Shape({1, kWidth}));
  std::fill_n(ones.data<float>(), kWidth, 1.f);
  for (int i = 0; i < 300; ++i) {
    ASSERT_TRUE(add.Run({*table_, Tensor::Vector<int64_t>({i}), ones}).ok());
    ASSERT_EQ(Memory(), memory) << "after update " << i;
  }
  done = true;
  reader.join();
  const Tensor rows = *gather.Value({*table_, Tensor::Vector<int64_t>({299, 300})});
  EXPECT_EQ(rows.data<float>()[0], 1);
  EXPECT_EQ(rows.data<float>()[kWidth], 0);
}

TEST_P(GatherTest, RowsOutsideTheTableAreInvalid) {
  OpRunner gather = Gather();
  for (const int64_t bad : {int64_t{-1}, kRows}) {
    const Status status = gather.Run({*table_, Tensor::Vector<int64_t>({0, bad})}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  }
  Tensor many(DType::kInt64, Shape({kRows}));
  std::fill_n(many.data<int64_t>(), kRows, kRows);
  EXPECT_EQ(gather.Run({*table_, many}).status().code(), absl::StatusCode::kInvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(Kinds, GatherTest, ::testing::Bool(),
                         [](const auto& test) { return test.param ? "Resource" : "Reference"; });

}  // namespace
}  // namespace millstream
