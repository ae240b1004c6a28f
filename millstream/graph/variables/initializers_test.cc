// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/variables/initializers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "millstream/graph/testing/gradient_check.h"

namespace millstream {
namespace {

Tensor First(const Initializer& initializer, const Shape& shape, DType dtype = DType::kFloat) {
  Scope s = Scope::Root();
  const Output value = initializer(s, dtype, shape);
  EXPECT_TRUE(s.ok()) << s.status();
  StatusOr<std::vector<Tensor>> out = Evaluate(s, {}, {value});
  EXPECT_TRUE(out.ok()) << out.status();
  EXPECT_EQ((*out)[0].shape(), shape);
  return (*out)[0];
}

struct Moments {
  double mean = 0, deviation = 0, largest = 0;
};
Moments MomentsOf(const Tensor& t) {
  Moments m;
  double squares = 0;
  for (const float x : t.flat<float>()) {
    m.mean += x;
    squares += double{x} * x;
    m.largest = std::max(m.largest, std::abs(double{x}));
  }
  const auto n = static_cast<double>(t.num_elements());
  m.mean /= n;
  m.deviation = std::sqrt(squares / n - m.mean * m.mean);
  return m;
}

TEST(InitializersTest, Constants) {
  EXPECT_THAT(First(ZerosInitializer(), Shape({2})).flat<float>(), ::testing::ElementsAre(0, 0));
  EXPECT_THAT(First(OnesInitializer(), Shape({2}), DType::kInt64).flat<int64_t>(), ::testing::ElementsAre(1, 1));
  EXPECT_THAT(First(ConstantInitializer(-2.5), Shape({1, 2}), DType::kDouble).flat<double>(),
              ::testing::ElementsAre(-2.5, -2.5));
  EXPECT_THAT(First(ConstantInitializer(3), Shape({40, 50})).flat<float>(), ::testing::Each(3));  // a Fill
  EXPECT_THAT(First(ZerosInitializer(), Shape({2}), DType::kString).flat<std::string>(),
              ::testing::ElementsAre("", ""));
  EXPECT_THAT(First(ValueInitializer(Tensor::Vector<float>({1, 2})), Shape({2})).flat<float>(),
              ::testing::ElementsAre(1, 2));
}

TEST(InitializersTest, Distributions) {
  const Shape shape({100, 200});
  const Moments normal = MomentsOf(First(RandomNormalInitializer(1, 2), shape));
  EXPECT_NEAR(normal.mean, 1, 0.1);
  EXPECT_NEAR(normal.deviation, 2, 0.1);
  const Moments cut = MomentsOf(First(TruncatedNormalInitializer(0, 1), shape));
  EXPECT_LE(cut.largest, 2);
  EXPECT_NEAR(cut.deviation, 0.8796, 0.03);
  const Moments uniform = MomentsOf(First(RandomUniformInitializer(-3, 1), shape));
  EXPECT_NEAR(uniform.mean, -1, 0.1);
  EXPECT_LE(uniform.largest, 3);
  const Tensor integers = First(RandomUniformInitializer(2, 5), shape, DType::kInt64);
  for (const int64_t x : integers.flat<int64_t>()) EXPECT_TRUE(x >= 2 && x < 5);
}

// The deviation is sqrt(scale / n), whatever the distribution.
TEST(InitializersTest, VarianceScaling) {
  const Shape matrix({300, 100}), filter({3, 3, 20, 50});
  EXPECT_NEAR(MomentsOf(First(GlorotUniformInitializer(), matrix)).deviation, std::sqrt(1 / 200.0), 0.003);
  EXPECT_LE(MomentsOf(First(GlorotUniformInitializer(), matrix)).largest, std::sqrt(3 / 200.0));
  EXPECT_NEAR(MomentsOf(First(GlorotNormalInitializer(), filter)).deviation, std::sqrt(1 / (9 * 35.0)), 0.003);
  EXPECT_NEAR(MomentsOf(First(HeNormalInitializer(), matrix)).deviation, std::sqrt(2 / 300.0), 0.003);
  EXPECT_NEAR(MomentsOf(First(HeUniformInitializer(), filter)).deviation, std::sqrt(2 / (9 * 20.0)), 0.004);
  EXPECT_NEAR(MomentsOf(First(LecunNormalInitializer(), matrix)).deviation, std::sqrt(1 / 300.0), 0.003);
  EXPECT_NEAR(MomentsOf(First(LecunUniformInitializer(), matrix)).deviation, std::sqrt(1 / 300.0), 0.003);
  const Initializer fan_out = VarianceScalingInitializer(
      {.scale = 1, .mode = VarianceScaling::Mode::kFanOut, .distribution = VarianceScaling::Distribution::kNormal});
  EXPECT_NEAR(MomentsOf(First(fan_out, matrix)).deviation, 0.1, 0.003);
  EXPECT_EQ(First(GlorotUniformInitializer(), Shape()).num_elements(), 1);
}

TEST(InitializersTest, OrthogonalColumnsOrRows) {
  for (const Shape& shape : {Shape({5, 3}), Shape({3, 5}), Shape({2, 3, 4})}) {
    const Tensor t = First(OrthogonalInitializer(2), shape);
    const int64_t columns = shape.dim(shape.rank() - 1), rows = t.num_elements() / columns;
    const auto at = [&](int64_t i, int64_t k) {
      return rows >= columns ? t.flat<float>()[k * columns + i] : t.flat<float>()[i * columns + k];
    };
    for (int64_t i = 0; i < std::min(rows, columns); ++i) {
      for (int64_t j = 0; j <= i; ++j) {
        double product = 0;
        for (int64_t k = 0; k < std::max(rows, columns); ++k) product += at(i, k) * at(j, k);
        EXPECT_NEAR(product, i == j ? 4 : 0, 1e-5) << shape.ToString();
      }
    }
  }
}

// tf.random_uniform_initializer(-1, 1, seed=5) gives these in TensorFlow, without a graph's seed.
TEST(InitializersTest, SeedsAreTensorFlows) {
  const Tensor drawn = First(RandomUniformInitializer(-1, 1, 5), Shape({3}));
  EXPECT_THAT(drawn.flat<float>(),
              ::testing::ElementsAreArray(First(RandomUniformInitializer(-1, 1, 5), Shape({3})).flat<float>()));
  EXPECT_THAT(drawn.flat<float>(), ::testing::Pointwise(::testing::FloatNear(1e-6f),
                                                        std::vector<float>{-0.22337747f, 0.32736564f, -0.61617851f}));
}

TEST(InitializersTest, Refuse) {
  const auto fails = [](const Initializer& initializer, DType dtype) {
    Scope s = Scope::Root();
    initializer(s, dtype, Shape({2}));
    return s.status().code() == absl::StatusCode::kInvalidArgument;
  };
  EXPECT_TRUE(fails(GlorotUniformInitializer(), DType::kInt32));
  EXPECT_TRUE(fails(RandomNormalInitializer(), DType::kInt32));
  EXPECT_TRUE(fails(OnesInitializer(), DType::kString));
  EXPECT_TRUE(fails(OrthogonalInitializer(), DType::kFloat));
  EXPECT_TRUE(fails(ValueInitializer(Tensor::Vector<float>({1})), DType::kFloat));
  EXPECT_TRUE(fails(VarianceScalingInitializer({.scale = 0}), DType::kFloat));
}

}  // namespace
}  // namespace millstream
