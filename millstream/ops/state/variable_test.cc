// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <thread>

#include "millstream/ops/state/testing/op_runner.h"

namespace millstream {
namespace {

using Attributes = std::vector<std::pair<std::string, AttrValue>>;

Attributes VariableAttrs(DType dtype, PartialShape shape, std::string name) {
  return {{"dtype", dtype}, {"shape", std::move(shape)}, {"shared_name", std::move(name)}};
}

Edge RefTo(OpRunner::Env& env, PartialShape shape, const std::string& name, DType dtype = DType::kFloat) {
  OpRunner op(env, "VariableV2", VariableAttrs(dtype, std::move(shape), name));
  return Edge((*op.Run({}))[0].ref);
}

Edge HandleTo(OpRunner::Env& env, PartialShape shape, const std::string& name, DType dtype = DType::kFloat) {
  OpRunner op(env, "VarHandleOp", VariableAttrs(dtype, std::move(shape), name));
  return Edge((*op.Run({}))[0].tensor);
}

std::vector<float> Floats(const Tensor& t) { return {t.flat<float>().begin(), t.flat<float>().end()}; }

TEST(VariableTest, AssignAndRead) {
  OpRunner::Env env;
  const Edge v = RefTo(env, {2}, "v");
  OpRunner initialized(env, "IsVariableInitialized", {{"dtype", DType::kFloat}});
  EXPECT_FALSE(initialized.Value({v})->scalar<bool>());
  OpRunner assign(env, "Assign", {{"T", DType::kFloat}});
  EXPECT_EQ(assign.Run({v, Tensor::Vector<float>({1, 2, 3})}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Floats(*assign.Value({v, Tensor::Vector<float>({1, 2})})), std::vector<float>({1, 2}));
  EXPECT_TRUE(initialized.Value({v})->scalar<bool>());
  EXPECT_EQ(assign.Run({v, Tensor::Vector<float>({1, 2, 3})}).status().message(),
            "Assign requires shapes of both tensors to match. lhs shape= [2] rhs "
            "shape= [3]");
}

TEST(VariableTest, SameNameIsTheSameVariableUntilTheContainerIsReset) {
  OpRunner::Env env;
  OpRunner op(env, "VariableV2", VariableAttrs(DType::kFloat, {2}, "v"));
  const Edge first = (*op.Run({}))[0];
  EXPECT_EQ(first.ref, RefTo(env, {2}, "v").ref);
  env.resources.ClearContainer("");
  const Edge second = (*op.Run({}))[0];
  EXPECT_FALSE(first.ref == second.ref);
  EXPECT_FALSE(second.ref->IsInitialized());
}

TEST(VariableTest, AssignTakesOverAnExclusiveBufferAndCopiesAShared) {
  OpRunner::Env env;
  const Edge v = RefTo(env, {2}, "v");
  OpRunner assign(env, "Assign", {{"T", DType::kFloat}});
  Tensor value = Tensor::Vector<float>({1, 2});
  const void* data = value.raw();
  std::vector<Edge> inputs = {v};  // an initializer list would keep the value alive
  inputs.emplace_back(std::move(value));
  ASSERT_TRUE(assign.Run(std::move(inputs)).ok());
  EXPECT_EQ(v.ref->Snapshot().raw(), data);
  const Tensor kept = Tensor::Vector<float>({3, 4});
  ASSERT_TRUE(assign.Run({v, kept}).ok());
  EXPECT_FALSE(v.ref->Snapshot().SharesBufferWith(kept));
}

TEST(VariableTest, SnapshotsDoNotChange) {
  OpRunner::Env env;
  const Edge h = HandleTo(env, {2}, "v");
  OpRunner assign(env, "AssignVariableOp", {{"dtype", DType::kFloat}});
  OpRunner read(env, "ReadVariableOp", {{"dtype", DType::kFloat}});
  OpRunner add(env, "AssignAddVariableOp", {{"dtype", DType::kFloat}});
  OpRunner sub(env, "AssignSubVariableOp", {{"dtype", DType::kFloat}});
  ASSERT_TRUE(assign.Run({h, Tensor::Vector<float>({1, 2})}).ok());
  const Tensor before = *read.Value({h});
  ASSERT_TRUE(add.Run({h, Tensor::Vector<float>({10, 20})}).ok());
  ASSERT_TRUE(sub.Run({h, Tensor::Vector<float>({1, 1})}).ok());
  EXPECT_EQ(Floats(before), std::vector<float>({1, 2}));
  EXPECT_EQ(Floats(*read.Value({h})), std::vector<float>({10, 21}));
}

TEST(VariableTest, ReadsOfNothingFail) {
  OpRunner::Env env;
  const Edge h = HandleTo(env, {2}, "v");
  OpRunner read(env, "ReadVariableOp", {{"dtype", DType::kFloat}});
  const Status status = read.Run({h}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message().find("Error while reading resource variable v from Container: localhost."), 0u) << status;
  OpRunner wrong(env, "ReadVariableOp", {{"dtype", DType::kInt32}});
  EXPECT_EQ(wrong.Run({h}).status().code(), absl::StatusCode::kInvalidArgument);
  OpRunner initialized(env, "VarIsInitializedOp");
  EXPECT_FALSE(initialized.Value({h})->scalar<bool>());
  OpRunner add(env, "AssignAdd", {{"T", DType::kFloat}});
  EXPECT_EQ(add.Run({RefTo(env, {2}, "r"), Tensor::Vector<float>({1, 2})}).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST(VariableTest, DestroyedVariablesComeBackEmpty) {
  OpRunner::Env env;
  OpRunner handle(env, "VarHandleOp", VariableAttrs(DType::kFloat, {2}, "v"));
  OpRunner assign(env, "AssignVariableOp", {{"dtype", DType::kFloat}});
  OpRunner read(env, "ReadVariableOp", {{"dtype", DType::kFloat}});
  OpRunner destroy(env, "DestroyResourceOp", {{"ignore_lookup_error", false}});
  const Edge old = (*handle.Run({}))[0];
  EXPECT_EQ(destroy.Run({old}).status().code(), absl::StatusCode::kNotFound);
  ASSERT_TRUE(assign.Run({old, Tensor::Vector<float>({1, 2})}).ok());
  ASSERT_TRUE(destroy.Run({old}).ok());
  EXPECT_EQ(read.Run({old}).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(read.Run({(*handle.Run({}))[0]}).status().code(), absl::StatusCode::kFailedPrecondition);
  // The old handle reaches the new variable by name.
  ASSERT_TRUE(assign.Run({old, Tensor::Vector<float>({3, 4})}).ok());
  EXPECT_EQ(Floats(*read.Value({(*handle.Run({}))[0]})), std::vector<float>({3, 4}));
}

TEST(VariableTest, HandlesFromTheWireAreFoundByName) {
  OpRunner::Env env;
  const Edge h = HandleTo(env, {2}, "v");
  OpRunner assign(env, "AssignVariableOp", {{"dtype", DType::kFloat}});
  ASSERT_TRUE(assign.Run({h, Tensor::Vector<float>({1, 2})}).ok());
  ResourceHandle wire = h.tensor.scalar<ResourceHandle>();
  wire.resource = nullptr;
  OpRunner shape(env, "VariableShape");
  EXPECT_EQ(shape.Value({Tensor::Scalar(wire)})->data<int32_t>()[0], 2);
}

TEST(VariableTest, NoUpdateIsLost) {
  OpRunner::Env env(2);
  const Edge v = RefTo(env, {3}, "v");
  OpRunner assign(env, "Assign", {{"T", DType::kFloat}});
  OpRunner add(env, "AssignAdd", {{"T", DType::kFloat}});
  ASSERT_TRUE(assign.Run({v, Tensor::Vector<float>({0, 0, 0})}).ok());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        ASSERT_TRUE(add.Run({v, Tensor::Vector<float>({1, 1, 1})}).ok());
        (void)v.ref->Snapshot();
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(Floats(v.ref->Snapshot()), std::vector<float>({2000, 2000, 2000}));
}

TEST(ScatterTest, RowsAndScalars) {
  OpRunner::Env env;
  const Edge v = RefTo(env, {3, 2}, "v");
  OpRunner assign(env, "Assign", {{"T", DType::kFloat}});
  const Attributes types = {{"T", DType::kFloat}, {"Tindices", DType::kInt32}};
  OpRunner add(env, "ScatterAdd", types), update(env, "ScatterUpdate", types), max(env, "ScatterMax", types);
  ASSERT_TRUE(assign.Run({v, Tensor::Of<float>({3, 2}, {0, 0, 0, 0, 0, 0})}).ok());
  EXPECT_EQ(Floats(*add.Value({v, Tensor::Vector<int32_t>({2, 0, 2}), Tensor::Of<float>({3, 2}, {1, 2, 3, 4, 5, 6})})),
            std::vector<float>({3, 4, 0, 0, 6, 8}));
  EXPECT_EQ(Floats(*update.Value({v, Tensor::Scalar<int32_t>(1), Tensor::Scalar<float>(9)})),
            std::vector<float>({3, 4, 9, 9, 6, 8}));
  EXPECT_EQ(Floats(*max.Value({v, Tensor::Vector<int32_t>({0, 2}), Tensor::Scalar<float>(7)})),
            std::vector<float>({7, 7, 9, 9, 7, 8}));
  EXPECT_EQ(add.Run({v, Tensor::Of<int32_t>({1, 2}, {0, 3}), Tensor::Scalar<float>(1)}).status().message(),
            "indices[0,1] = 3 is not in [0, 3)");
  EXPECT_EQ(add.Run({v, Tensor::Vector<int32_t>({0}), Tensor::Vector<float>({1})}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(ScatterTest, ThreadsAgreeWithOne) {
  OpRunner::Env env(2);
  const int64_t rows = 500, width = 400, n = 2000;
  const Edge v = HandleTo(env, {rows, width}, "v");
  OpRunner assign(env, "AssignVariableOp", {{"dtype", DType::kFloat}});
  OpRunner read(env, "ReadVariableOp", {{"dtype", DType::kFloat}});
  OpRunner add(env, "ResourceScatterAdd", {{"dtype", DType::kFloat}, {"Tindices", DType::kInt64}});
  Tensor zeros(DType::kFloat, Shape({rows, width})), updates(DType::kFloat, Shape({n, width})),
      indices(DType::kInt64, Shape({n}));
  for (float& x : zeros.flat<float>()) x = 0;
  for (int64_t i = 0; i < n * width; ++i) updates.data<float>()[i] = static_cast<float>(i % 7);
  for (int64_t i = 0; i < n; ++i) indices.data<int64_t>()[i] = i * 37 % rows;
  ASSERT_TRUE(assign.Run({v, *zeros.Clone()}).ok());
  ASSERT_TRUE(add.Run({v, indices, updates}).ok());
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t k = 0; k < width; ++k)
      zeros.data<float>()[i * 37 % rows * width + k] += updates.data<float>()[i * width + k];
  }
  EXPECT_EQ(Floats(*read.Value({v})), Floats(zeros));
}

TEST(ScatterTest, DivisionChecksItsUpdates) {
  OpRunner::Env env;
  const Edge v = RefTo(env, {2}, "v", DType::kInt32);
  OpRunner assign(env, "Assign", {{"T", DType::kInt32}});
  OpRunner div(env, "ScatterDiv", {{"T", DType::kInt32}, {"Tindices", DType::kInt32}});
  ASSERT_TRUE(assign.Run({v, Tensor::Vector<int32_t>({INT32_MIN, 7})}).ok());
  EXPECT_EQ(div.Run({v, Tensor::Scalar<int32_t>(0), Tensor::Scalar<int32_t>(0)}).status().message(),
            "updates must not contain 0");
  const Tensor out = *div.Value({v, Tensor::Vector<int32_t>({0, 1}), Tensor::Vector<int32_t>({-1, 2})});
  EXPECT_EQ(out.data<int32_t>()[0], INT32_MIN);
  EXPECT_EQ(out.data<int32_t>()[1], 3);
}

TEST(ResourceGatherTest, Rows) {
  OpRunner::Env env;
  const Edge v = HandleTo(env, {3, 2}, "v");
  OpRunner assign(env, "AssignVariableOp", {{"dtype", DType::kFloat}});
  OpRunner gather(env, "ResourceGather", {{"dtype", DType::kFloat}, {"Tindices", DType::kInt32}});
  ASSERT_TRUE(assign.Run({v, Tensor::Of<float>({3, 2}, {1, 2, 3, 4, 5, 6})}).ok());
  const Tensor out = *gather.Value({v, Tensor::Of<int32_t>({1, 2}, {2, 0})});
  EXPECT_EQ(out.shape(), Shape({1, 2, 2}));
  EXPECT_EQ(Floats(out), std::vector<float>({5, 6, 1, 2}));
  EXPECT_EQ(gather.Run({v, Tensor::Vector<int32_t>({0, 5})}).status().message(), "indices[1] = 5 is not in [0, 3)");
}

TEST(CountUpToTest, StopsAtTheLimit) {
  OpRunner::Env env;
  const Edge v = RefTo(env, PartialShape(std::vector<int64_t>{}), "v", DType::kInt32);
  OpRunner assign(env, "Assign", {{"T", DType::kInt32}});
  OpRunner count(env, "CountUpTo", {{"T", DType::kInt32}, {"limit", 2}});
  ASSERT_TRUE(assign.Run({v, Tensor::Scalar<int32_t>(1)}).ok());
  EXPECT_EQ(count.Value({v})->scalar<int32_t>(), 1);
  EXPECT_EQ(count.Run({v}).status().message(), "Reached limit of 2");
}

}  // namespace
}  // namespace millstream
