// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/shape_refiner.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "millstream/graph/control_flow/control_flow_builders.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
using Outputs = std::vector<Output>;

Output Input(const Scope& s, PartialShape shape, DType dtype = DType::kFloat) {
  return s.Op("Placeholder", {}, {{"dtype", dtype}, {"shape", std::move(shape)}});
}

Output Element(const Scope& s, Output vector, int32_t i) {
  return s.Op("StridedSlice", {vector, s.Constant({i}), s.Constant({i + 1}), s.Constant({1})},
              {{"shrink_axis_mask", 1}});
}

TEST(ShapeRefinerTest, FoldsIntegerArithmeticOnKnownShapes) {
  Scope s = Scope::Root();
  Output shape = s.Op("Shape", {Input(s, {3, 4, 5})});
  Output n = s.Op("Mul", {Element(s, shape, 0), Element(s, shape, 2)});
  Output both = s.Op("Pack", {n, s.Op("Rank", {shape}), s.Op("Size", {shape})});
  ASSERT_TRUE(s.ok()) << s.status();
  Tensor value;
  ASSERT_TRUE(s.ConstantValue(both, &value));
  EXPECT_THAT(value.flat<int32_t>(), ElementsAre(15, 1, 3));
  EXPECT_EQ(s.ShapeOf(s.Op("Reshape", {Input(s, {-1}), s.Op("ConcatV2", {both, shape, s.Const<int32_t>(0)})})),
            PartialShape({15, 1, 3, 3, 4, 5}));
}

TEST(ShapeRefinerTest, UnknownSizesTravelThroughMovingOps) {
  Scope s = Scope::Root();
  Output shape = s.Op("Shape", {Input(s, {-1, 4, 6})}, {{"out_type", DType::kInt64}});
  Output tail = s.Op("Slice", {shape, s.Constant({1}), s.Constant({-1})});
  Output all = s.Op("ConcatV2", {tail, s.Op("Pack", {Element(s, shape, 0), s.Const<int64_t>(2)}), s.Const<int32_t>(0)});
  ASSERT_TRUE(s.ok()) << s.status();
  EXPECT_EQ(s.shapes().ConstantAsShape(all), PartialShape({4, 6, -1, 2}));
  Tensor value;
  EXPECT_FALSE(s.ConstantValue(all, &value));
  EXPECT_TRUE(s.ConstantValue(tail, &value));
  EXPECT_EQ(s.ShapeOf(s.Op("Fill", {s.Op("Cast", {all}, {{"DstT", DType::kInt32}}), s.Const(0.f)})),
            PartialShape({4, 6, -1, 2}));
}

TEST(ShapeRefinerTest, PartsThatAreNotKnownAtAll) {
  Scope s = Scope::Root();
  Output n = Input(s, Shape(), DType::kInt32), v = Input(s, {2}, DType::kInt32);
  Output packed = s.Op("Pack", {s.Const<int32_t>(3), n, s.Const<int32_t>(-1)});
  EXPECT_EQ(s.shapes().ConstantAsShape(packed), PartialShape({3, -1, -1}));
  EXPECT_EQ(s.shapes().ConstantAsShape(s.Op("ConcatV2", {v, packed, s.Const<int32_t>(0)})),
            PartialShape({-1, -1, 3, -1, -1}));
  EXPECT_EQ(s.shapes().ConstantAsShape(v), PartialShape({-1, -1}));
  EXPECT_FALSE(s.shapes().ConstantAsShape(Input(s, PartialShape(), DType::kInt32)).rank_known());
}

TEST(ShapeRefinerTest, LargeTensorsAreNotComputed) {
  Scope s = Scope::Root();
  Output big = s.Op("Fill", {s.Constant({1000}), s.Const<int32_t>(1)});
  Tensor value;
  EXPECT_FALSE(s.ConstantValue(s.Op("AddV2", {big, big}), &value));
  EXPECT_EQ(s.ShapeOf(big), PartialShape({1000}));
}

TEST(ShapeRefinerTest, MergeShapeMakesMorePreciseAndChecks) {
  Scope s = Scope::Root();
  Output x = Input(s, {-1, 3});
  ASSERT_TRUE(s.shapes().MergeShape(x, {2, -1}).ok());
  EXPECT_EQ(s.ShapeOf(x), PartialShape({2, 3}));
  EXPECT_EQ(s.shapes().MergeShape(x, {4, -1}).code(), absl::StatusCode::kInvalidArgument);
}

// The shapes that a whole graph gets, without what the builder of the loop knew.
PartialShape AfterReload(const Scope& s, Output o) {
  ShapeRefiner refiner(*s.graph());
  const Status status = refiner.AddAll();
  EXPECT_TRUE(status.ok()) << status;
  return refiner.shape(o);
}

Outputs Loop(const Scope& s, Output x, const std::function<Output(const Scope&, Output)>& body) {
  return WhileLoop(
      s, [](const Scope& in, const Outputs&) { return in.Const(true); },
      [&](const Scope& in, const Outputs& v) { return Outputs{body(in, v[0])}; }, {x},
      {.shape_invariants = {PartialShape()}});
}

TEST(ShapeRefinerTest, LoopsKeepShapesThatTheBodyKeeps) {
  Scope s = Scope::Root();
  Outputs r = Loop(s, Input(s, {2, 3}), [](const Scope& in, Output v) { return in.Op("Mul", {v, v}); });
  ASSERT_TRUE(s.ok()) << s.status();
  EXPECT_EQ(AfterReload(s, r[0]), PartialShape({2, 3}));
}

TEST(ShapeRefinerTest, LoopsForgetSizesThatTheBodyChanges) {
  Scope s = Scope::Root();
  Outputs r = Loop(s, Input(s, {2, 3}), [](const Scope& in, Output v) {
    return in.Op("ConcatV2", {v, v, in.Const<int32_t>(0)});
  });
  ASSERT_TRUE(s.ok()) << s.status();
  EXPECT_EQ(AfterReload(s, r[0]), PartialShape({-1, 3}));
}

TEST(ShapeRefinerTest, LoopsForgetTheRankIfTheBodyChangesIt) {
  Scope s = Scope::Root();
  Outputs r = Loop(s, Input(s, {2, 3}), [](const Scope& in, Output v) {
    return in.Op("ExpandDims", {v, in.Const<int32_t>(0)});
  });
  ASSERT_TRUE(s.ok()) << s.status();
  EXPECT_FALSE(AfterReload(s, r[0]).rank_known());
}

TEST(ShapeRefinerTest, NestedLoopsSettle) {
  Scope s = Scope::Root();
  Outputs r = Loop(s, Input(s, {2, 3}), [](const Scope& outer, Output v) {
    return Loop(outer, v, [](const Scope& in, Output u) { return in.Op("ConcatV2", {u, u, in.Const<int32_t>(1)}); })[0];
  });
  ASSERT_TRUE(s.ok()) << s.status();
  EXPECT_EQ(AfterReload(s, r[0]), PartialShape({2, -1}));
}

}  // namespace
}  // namespace millstream
