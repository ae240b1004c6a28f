// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>

#include "millstream/math/simd.h"
#include "millstream/ops/array/testing/run_op.h"
#include "millstream/ops/elements/testing/threaded_device.h"

namespace millstream {
namespace {

// What a transpose must give, element by element.
template <typename T>
void ExpectTransposed(const Tensor& in, const Tensor& out, const std::vector<int32_t>& perm) {
  const int rank = in.rank();
  for (int64_t flat = 0; flat < out.num_elements(); ++flat) {
    int64_t rest = flat, from = 0;
    for (int d = rank - 1; d >= 0; --d) {
      const int64_t i = rest % out.dim(d);
      rest /= out.dim(d);
      from += i * in.shape().Product(perm[d] + 1, rank);
    }
    ASSERT_EQ(out.data<T>()[flat], in.data<T>()[from]) << in.shape().ToString() << " element " << flat;
  }
}

template <typename T>
class TransposeTest : public ::testing::Test {};
using CopiedTypes = ::testing::Types<int8_t, int16_t, int32_t, int64_t, std::complex<double>>;
TYPED_TEST_SUITE(TransposeTest, CopiedTypes);

TYPED_TEST(TransposeTest, MovesEveryElementToItsPlace) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 150; ++trial) {
    const int rank = static_cast<int>(random() % 6);
    std::vector<int64_t> dims(rank);
    std::vector<int32_t> perm(rank);
    for (int d = 0; d < rank; ++d) dims[d] = static_cast<int64_t>(random() % (rank < 3 ? 40 : 7)), perm[d] = d;
    std::shuffle(perm.begin(), perm.end(), random);
    const Tensor in = Iota<TypeParam>(Shape(dims));
    auto out = RunOp("Transpose", {in, Tensor::Vector(perm)});
    ASSERT_TRUE(out.ok()) << out.status();
    ExpectTransposed<TypeParam>(in, (*out)[0], perm);
  }
}

// Lengths around those of vectors.
TYPED_TEST(TransposeTest, ReversesAndFillsWithEveryInstructionSet) {
  for (const simd::Isa isa : {simd::Isa::kSse2, simd::Isa::kAvx2, simd::Isa::kAvx512}) {
    const simd::ScopedIsa scoped(isa);
    for (const int64_t n : {1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 100, 127}) {
      const Tensor in = Iota<TypeParam>({3, n});
      const auto out = RunOp("ReverseV2", {in, Tensor::Vector<int32_t>({1})});
      ASSERT_TRUE(out.ok()) << out.status();
      for (int64_t i = 0; i < 3 * n; ++i) {
        ASSERT_EQ((*out)[0].template data<TypeParam>()[i], in.template data<TypeParam>()[i / n * n + n - 1 - i % n])
            << n;
      }
      const auto filled =
          RunOp("Fill", {Tensor::Vector<int64_t>({n}), Tensor::Scalar(TypeParam(3))}, {{"index_type", DType::kInt64}});
      ASSERT_TRUE(filled.ok()) << filled.status();
      for (int64_t i = 0; i < n; ++i) ASSERT_EQ((*filled)[0].template data<TypeParam>()[i], TypeParam(3)) << n;
    }
  }
}

// Rows of every length up to those that are copied by calls, and tiles with and without remainders.
TYPED_TEST(TransposeTest, LargeShapesOnSeveralThreadsWithEveryInstructionSet) {
  const ThreadedDevice one(1), two(2), five(5);
  struct Case {
    std::vector<int64_t> dims;
    std::vector<int32_t> perm;
  };
  std::vector<Case> cases = {{{131, 150}, {1, 0}},
                             {{3, 100, 67}, {0, 2, 1}},
                             {{64, 64, 64}, {2, 1, 0}},
                             {{50, 7, 9, 5}, {0, 2, 1, 3}},
                             {{41, 37, 3}, {2, 0, 1}}};
  for (int64_t row = 1; row <= 70; ++row) cases.push_back({{37, 13, row}, {1, 0, 2}});
  for (const int64_t row : {100, 127, 128, 129, 255, 256, 257, 300}) cases.push_back({{9, 13, row}, {1, 0, 2}});
  for (const Case& c : cases) {
    const Tensor in = Iota<TypeParam>(Shape(c.dims));
    AttrMap attrs;
    attrs.Set("T", in.dtype());
    attrs.Set("Tperm", DType::kInt32);
    for (Device* device : {one.get(), two.get(), five.get()}) {
      for (const simd::Isa isa : {simd::Isa::kSse2, simd::Isa::kAvx2, simd::Isa::kAvx512}) {
        const simd::ScopedIsa scoped(isa);
        auto out =
            RunKernel(*OpRegistry::Global().Find("Transpose"), attrs, {in, Tensor::Vector(c.perm)}, device, nullptr);
        ASSERT_TRUE(out.ok()) << out.status();
        ExpectTransposed<TypeParam>(in, (*out)[0], c.perm);
        if (this->HasFatalFailure()) return;
      }
    }
  }
}

TEST(StridedCopyTest, CopiesObjects) {
  const Tensor in = Tensor::Of<std::string>({2, 2}, {"a", "b", "c", "d"});
  EXPECT_EQ(RunToString("Transpose", {in, Tensor::Vector<int32_t>({1, 0})}), R"([2,2] [["a" "c"] ["b" "d"]])");
  EXPECT_EQ(RunToString("Tile", {in, Tensor::Vector<int32_t>({1, 2})}),
            R"([2,4] [["a" "b" "a" "b"] ["c" "d" "c" "d"]])");
  EXPECT_EQ(RunToString("ReverseV2", {in, Tensor::Vector<int32_t>({1})}), R"([2,2] [["b" "a"] ["d" "c"]])");
}

TEST(StridedCopyTest, SharesTheBufferWhereNothingMoves) {
  const Tensor in = Iota<float>({4, 1, 16});
  auto same = RunOp("Transpose", {in, Tensor::Vector<int32_t>({1, 0, 2})});
  EXPECT_TRUE((*same)[0].SharesBufferWith(in));
  auto rows = RunOp("Slice", {in, Tensor::Vector<int32_t>({1, 0, 0}), Tensor::Vector<int32_t>({2, -1, -1})});
  EXPECT_TRUE((*rows)[0].SharesBufferWith(in));
  auto reshaped = RunOp("Reshape", {in, Tensor::Vector<int32_t>({-1, 8})});
  EXPECT_TRUE((*reshaped)[0].SharesBufferWith(in));
  auto parts = RunOp("Split", {Tensor::Scalar<int32_t>(0), in}, {{"num_split", 4}, {"T", DType::kFloat}});
  EXPECT_TRUE((*parts)[3].SharesBufferWith(in));
  EXPECT_EQ((*parts)[3].data<float>()[0], 48);
}

}  // namespace
}  // namespace millstream
