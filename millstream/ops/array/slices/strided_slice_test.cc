// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "millstream/ops/array/testing/run_op.h"

namespace millstream {
namespace {

using I = std::vector<int32_t>;

struct Masks {
  int begin = 0, end = 0, ellipsis = 0, new_axis = 0, shrink = 0;
};

std::string Cut(const Tensor& in, const I& begin, const I& end, const I& strides, Masks m = {}) {
  return RunToString("StridedSlice", {in, Tensor::Vector(begin), Tensor::Vector(end), Tensor::Vector(strides)},
                     {{"begin_mask", m.begin},
                      {"end_mask", m.end},
                      {"ellipsis_mask", m.ellipsis},
                      {"new_axis_mask", m.new_axis},
                      {"shrink_axis_mask", m.shrink}});
}

TEST(StridedSliceTest, Ranges) {
  const Tensor x = Iota<int32_t>({8});
  EXPECT_EQ(Cut(x, {2}, {5}, {1}), "[3] [2 3 4]");
  EXPECT_EQ(Cut(x, {0}, {0}, {3}, {.begin = 1, .end = 1}), "[3] [0 3 6]");
  EXPECT_EQ(Cut(x, {-2}, {100}, {1}), "[2] [6 7]");
  EXPECT_EQ(Cut(x, {6}, {1}, {-2}), "[3] [6 4 2]");
  EXPECT_EQ(Cut(x, {0}, {0}, {-1}, {.begin = 1, .end = 1}), "[8] [7 6 5 4 3 2 1 0]");
  EXPECT_EQ(Cut(x, {100}, {-100}, {-3}), "[3] [7 4 1]");
  EXPECT_EQ(Cut(x, {5}, {2}, {1}), "[0] []");
  EXPECT_EQ(Cut(x, {3}, {0}, {1}, {.shrink = 1}), "[] 3");
  EXPECT_EQ(Cut(x, {-1}, {0}, {1}, {.shrink = 1}), "[] 7");
}

TEST(StridedSliceTest, EllipsisNewAxisAndShrinkTogether) {
  const Tensor x = Iota<int32_t>({2, 3, 4});
  EXPECT_EQ(Cut(x, {0, 1}, {0, 2}, {1, 1}, {.ellipsis = 1}), "[2,3,1] [[[1] [5] [9]] [[13] [17] [21]]]");
  EXPECT_EQ(Cut(x, {0, 0, 1}, {0, 0, 0}, {1, 1, 1}, {.ellipsis = 1, .new_axis = 2, .shrink = 4}),
            "[2,3,1] [[[1] [5] [9]] [[13] [17] [21]]]");
  EXPECT_EQ(Cut(x, {1, 0, 2}, {0, 0, 0}, {1, 1, 1}, {.ellipsis = 2, .shrink = 5}), "[3] [14 18 22]");
  EXPECT_EQ(Cut(x, {1}, {2}, {1}), "[1,3,4] [[[12 13 14 15] [16 17 18 19] [20 21 22 23]]]");
  // A new axis wins over shrinking at the same place.
  EXPECT_EQ(Cut(Iota<int32_t>({2}), {0}, {0}, {1}, {.new_axis = 1, .shrink = 1}), "[1,2] [[0 1]]");
}

TEST(StridedSliceTest, Errors) {
  const Tensor x = Iota<int32_t>({2, 3});
  EXPECT_EQ(Cut(x, {2}, {0}, {1}, {.shrink = 1}), "slice index 2 of dimension 0 out of bounds.");
  EXPECT_EQ(Cut(x, {0}, {1}, {0}), "strides[0] must be non-zero");
  EXPECT_EQ(Cut(x, {0, 0, 0}, {1, 1, 1}, {1, 1, 1}), "Index out of range using input dim 2; input has only 2 dims");
  EXPECT_EQ(Cut(x, {0, 0}, {0, 0}, {1, 1}, {.ellipsis = 3}), "Multiple ellipses in slice spec not allowed");
  EXPECT_EQ(Cut(x, {0}, {0}, {-1}, {.shrink = 1}), "only stride 1 allowed on non-range indexing.");
}

TEST(StridedSliceTest, ExtremeBoundsDoNotOverflow) {
  const Tensor x = Iota<int32_t>({4});
  const auto cut = [&](int64_t b, int64_t e, int64_t s) {
    return RunToString("StridedSlice",
                       {x, Tensor::Vector<int64_t>({b}), Tensor::Vector<int64_t>({e}), Tensor::Vector<int64_t>({s})});
  };
  EXPECT_EQ(cut(INT64_MIN, INT64_MAX, INT64_MAX), "[1] [0]");
  EXPECT_EQ(cut(INT64_MAX, INT64_MIN, INT64_MIN), "[1] [3]");
}

TEST(StridedSliceGradTest, PutsTheGradientWhereTheSliceWas) {
  EXPECT_EQ(RunToString("StridedSliceGrad", {Tensor::Vector<int32_t>({2, 4}), Tensor::Vector<int32_t>({0, 3}),
                                             Tensor::Vector<int32_t>({2, 0}), Tensor::Vector<int32_t>({1, -2}),
                                             Tensor::Of<float>({2, 2}, {1, 2, 3, 4})}),
            "[2,4] [[0 2 0 1] [0 4 0 3]]");
}

}  // namespace
}  // namespace millstream
