// SPDX-License-Identifier: Apache-2.0
#include "millstream/tensor/shape.h"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>

namespace millstream {
namespace {

// Six dimensions are stored inline, more on the heap: both sides of that border, and the extremes.
const std::vector<int> kRanks = {0, 1, 2, 5, 6, 7, 8, 20, kMaxRank};

Shape OfRank(int rank, int64_t first = 3) {
  std::vector<int64_t> dims(static_cast<size_t>(rank), 1);
  if (rank > 0) dims[0] = first;
  if (rank > 1) dims.back() = 2;
  return Shape(dims);
}

TEST(ShapeTest, KnowsItsSizes) {
  for (const int rank : kRanks) {
    const Shape shape = OfRank(rank);
    EXPECT_EQ(shape.rank(), rank);
    EXPECT_EQ(shape.num_elements(), (rank > 0 ? 3 : 1) * (rank > 1 ? 2 : 1));
    EXPECT_EQ(shape.dims().size(), static_cast<size_t>(rank));
    if (rank > 0) {
      EXPECT_EQ(shape.dim(0), 3);
    }
    if (rank > 1) {
      EXPECT_EQ(shape.dim(rank - 1), 2);
    }
  }
}

TEST(ShapeTest, CopiesAndMovesBetweenAllRanks) {
  for (const int from : kRanks) {
    for (const int to : kRanks) {
      const Shape original = OfRank(from);
      Shape copy = original;
      EXPECT_EQ(copy, original);
      Shape target = OfRank(to, 5);
      target = original;
      EXPECT_EQ(target, original) << from << " to " << to;
      Shape moved_to = OfRank(to, 5);
      moved_to = std::move(copy);
      EXPECT_EQ(moved_to, original) << from << " to " << to;
      EXPECT_EQ(copy, Shape()) << "a shape that was moved from is a scalar";  // NOLINT(bugprone-use-after-move)
      const Shape constructed = std::move(moved_to);
      EXPECT_EQ(constructed, original);
    }
  }
}

TEST(ShapeTest, AssignmentToItselfChangesNothing) {
  for (const int rank : kRanks) {
    Shape shape = OfRank(rank);
    const Shape& same = shape;
    shape = same;
    EXPECT_EQ(shape, OfRank(rank));
  }
}

TEST(ShapeTest, ComparesRankAndSizes) {
  EXPECT_EQ(Shape({2, 3}), Shape({2, 3}));
  EXPECT_FALSE(Shape({2, 3}) == Shape({3, 2}));
  EXPECT_FALSE(Shape({6}) == Shape({2, 3}));
  EXPECT_FALSE(Shape({0, 2}) == Shape({2, 0}));
  EXPECT_FALSE(Shape() == Shape({1}));
}

TEST(ShapeTest, AddsInsertsAndRemovesDimensions) {
  Shape shape;
  std::vector<int64_t> dims;
  for (int i = 1; i <= 9; ++i) {  // crosses the border between inline and heap
    shape.AddDim(i);
    dims.push_back(i);
    EXPECT_EQ(shape, Shape(dims));
  }
  shape.InsertDim(0, 7);
  dims.insert(dims.begin(), 7);
  shape.InsertDim(4, 1);
  dims.insert(dims.begin() + 4, 1);
  EXPECT_EQ(shape, Shape(dims));
  while (!dims.empty()) {
    const int at = static_cast<int>(dims.size() / 2);
    shape.RemoveDim(at);
    dims.erase(dims.begin() + at);
    EXPECT_EQ(shape, Shape(dims));
  }
  EXPECT_EQ(shape.num_elements(), 1);
}

TEST(ShapeTest, ChangedSizesAreCounted) {
  Shape shape({2, 3, 4});
  shape.set_dim(1, 0);
  EXPECT_EQ(shape.num_elements(), 0);
  shape.set_dim(1, 5);
  EXPECT_EQ(shape.num_elements(), 40);
  EXPECT_EQ(shape.Product(0, 2), 10);
  EXPECT_EQ(shape.Product(1, 1), 1);
}

TEST(ShapeTest, MakeRefusesWhatIsNoShape) {
  constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();
  const std::vector<std::vector<int64_t>> bad = {{-1},
                                                 {2, -3},
                                                 {kHuge, 2},
                                                 {int64_t{1} << 32, int64_t{1} << 32},
                                                 {kHuge, 1, 2},
                                                 {std::numeric_limits<int64_t>::min()},
                                                 std::vector<int64_t>(kMaxRank + 1, 1)};
  for (const auto& dims : bad) {
    EXPECT_TRUE(absl::IsInvalidArgument(Shape::Make(dims).status())) << dims.size() << " dims, first " << dims[0];
  }
  EXPECT_TRUE(Shape::Make(std::vector<int64_t>{kHuge}).ok());
  EXPECT_TRUE(Shape::Make(std::vector<int64_t>(kMaxRank, 1)).ok());
}

TEST(ShapeTest, ToStringListsSizes) {
  EXPECT_EQ(Shape().ToString(), "[]");
  EXPECT_EQ(Shape({2, 0, 3}).ToString(), "[2,0,3]");
}

TEST(PartialShapeTest, CompatibleWhereAShapeFitsBoth) {
  const PartialShape unknown, a = {-1, 3}, b = {2, -1}, c = {2, 4};
  EXPECT_TRUE(unknown.IsCompatibleWith(a));
  EXPECT_TRUE(a.IsCompatibleWith(b));
  EXPECT_FALSE(a.IsCompatibleWith(c));
  EXPECT_FALSE(a.IsCompatibleWith(PartialShape({-1})));
}

TEST(PartialShapeTest, MergeTakesWhatEitherKnows) {
  const PartialShape a = {-1, 3}, b = {2, -1};
  EXPECT_EQ(*a.MergeWith(b), PartialShape({2, 3}));
  EXPECT_EQ(*PartialShape().MergeWith(a), a);
  EXPECT_EQ(*a.MergeWith(PartialShape()), a);
  EXPECT_TRUE(absl::IsInvalidArgument(a.MergeWith(PartialShape({2, 4})).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(a.MergeWith(PartialShape({2})).status()));
}

TEST(PartialShapeTest, ConcatenatesAndSlices) {
  const PartialShape a = {-1, 3}, b = {4};
  EXPECT_EQ(a.Concatenate(b), PartialShape({-1, 3, 4}));
  EXPECT_FALSE(a.Concatenate(PartialShape()).rank_known());
  EXPECT_EQ(a.Concatenate(b).Slice(1, 3), PartialShape({3, 4}));
  EXPECT_FALSE(PartialShape().Slice(0, 1).rank_known());
}

TEST(PartialShapeTest, CountsElementsWhereAllSizesAreKnown) {
  EXPECT_EQ(PartialShape({2, 3}).num_elements(), 6);
  EXPECT_EQ(PartialShape({2, -1}).num_elements(), -1);
  EXPECT_EQ(PartialShape().num_elements(), -1);
  EXPECT_TRUE(PartialShape({2, 3}).IsFullyDefined());
  EXPECT_FALSE(PartialShape().IsFullyDefined());
  EXPECT_EQ(PartialShape({2, 3}).ToShape(), Shape({2, 3}));
}

TEST(PartialShapeTest, MakeRefusesWhatIsNoShape) {
  EXPECT_TRUE(absl::IsInvalidArgument(PartialShape::Make({-2}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(PartialShape::Make(std::vector<int64_t>(kMaxRank + 1, -1)).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(PartialShape::Make({int64_t{1} << 40, int64_t{1} << 40}).status()));
  EXPECT_TRUE(PartialShape::Make({-1, 5}).ok());
}

TEST(PartialShapeTest, ToStringMarksWhatIsUnknown) {
  EXPECT_EQ(PartialShape().ToString(), "<unknown>");
  EXPECT_EQ(PartialShape({-1, 3}).ToString(), "[?,3]");
}

}  // namespace
}  // namespace millstream
