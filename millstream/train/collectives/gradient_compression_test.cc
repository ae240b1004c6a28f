// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/collectives/gradient_compression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "millstream/train/testing/steps.h"

namespace millstream {
namespace {

using Kind = GradientCompression::Kind;
using Gradients = std::vector<std::vector<float>>;  // of the workers

Gradients RandomGradients(int workers, size_t size) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  Gradients gradients(static_cast<size_t>(workers), std::vector<float>(size));
  for (auto& one : gradients) std::generate(one.begin(), one.end(), [&] { return normal(random); });
  return gradients;
}

// Workers that are devices of one process and share a graph: the means that each of them gets.
class Workers {
 public:
  Workers(const Gradients& gradients, const GradientCompression& compression, DType dtype = DType::kFloat) {
    const int count = static_cast<int>(gradients.size());
    for (int i = 0; i < count; ++i) {
      const Scope s = scope.NameScope(absl::StrCat("worker", i)).WithDevice(absl::StrCat("/cpu:", i));
      const auto size = static_cast<int64_t>(gradients[i].size());
      const GraphVariable v = VariableScope(s).Get(absl::StrCat("v", i), Shape({size / 5, 5}));
      const Tensor values = Tensor::Vector<float>(gradients[i]).Reshaped(Shape({size / 5, 5}));
      CollectiveGroup group(count);
      const Output mean = CompressedMean(s, group, compression, v, CastTo(s, s.Const(values), dtype), "Test");
      means.push_back(mean ? CastTo(s, mean, DType::kFloat) : mean);
      dtypes.push_back(mean ? mean.dtype() : DType::kInvalid);
    }
    if (!scope.ok()) return;
    Node* const init = LocalVariablesInitializer(scope);
    SessionOptions options;
    options.device_count = {{"CPU", count}};
    session = *NewSession(options);
    EXPECT_EQ(session->Extend(*scope.graph()), OkStatus());
    RunStep(*session, {}, {init});
  }
  // One step; all workers must have the same.
  std::vector<float> Step() {
    const std::vector<Tensor> found = RunStep(*session, means);
    const auto values = [](const Tensor& t) {
      return std::vector<float>(t.flat<float>().begin(), t.flat<float>().end());
    };
    for (const Tensor& t : found) EXPECT_EQ(values(t), values(found[0]));
    return values(found[0]);
  }

  Scope scope = Scope::Root();
  std::vector<Output> means;
  std::vector<DType> dtypes;
  std::unique_ptr<Session> session;
};

std::vector<float> MeanOf(const Gradients& gradients) {
  std::vector<float> mean(gradients[0].size());
  for (const auto& one : gradients) {
    for (size_t i = 0; i < mean.size(); ++i) mean[i] += one[i] / static_cast<float>(gradients.size());
  }
  return mean;
}

float LargestDifference(const std::vector<float>& a, const std::vector<float>& b) {
  float largest = 0;
  for (size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

TEST(GradientCompressionTest, SixteenBitsAreCloseAndOfTheGradientsType) {
  for (const int count : {2, 3}) {
    for (const DType dtype : {DType::kFloat, DType::kDouble}) {
      const Gradients gradients = RandomGradients(count, 100);
      for (const auto& [kind, least, most] : std::vector<std::tuple<Kind, float, float>>{
               {Kind::kNone, 0.0f, 1e-6f}, {Kind::kHalf, 1e-6f, 0.01f}, {Kind::kBfloat16, 1e-4f, 0.1f}}) {
        Workers workers(gradients, {.kind = kind}, dtype);
        EXPECT_EQ(workers.dtypes[0], dtype);
        const float difference = LargestDifference(workers.Step(), MeanOf(gradients));
        EXPECT_GE(difference, least);
        EXPECT_LE(difference, most);
      }
    }
  }
}

// Error feedback by its definition, beside which the graph's means must be the same step by step.
TEST(GradientCompressionTest, TopKSendsTheLargestEntriesAndKeepsTheOthers) {
  constexpr size_t kSize = 200, kSent = 8;
  for (const size_t count : {2, 3}) {
    const Gradients gradients = RandomGradients(static_cast<int>(count), kSize);
    Workers workers(gradients, {.kind = Kind::kTopK, .ratio = 0.04});
    Gradients residuals(count, std::vector<float>(kSize));
    for (int step = 0; step < 30; ++step) {
      std::vector<float> mean(kSize);
      for (size_t w = 0; w < count; ++w) {
        std::vector<float>& residual = residuals[w];
        for (size_t i = 0; i < kSize; ++i) residual[i] += gradients[w][i];
        std::vector<size_t> order(kSize);
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(),
                         [&](size_t a, size_t b) { return std::abs(residual[a]) > std::abs(residual[b]); });
        for (size_t i = 0; i < kSent; ++i) {
          mean[order[i]] += residual[order[i]] / static_cast<float>(count);
          residual[order[i]] = 0;
        }
      }
      EXPECT_LT(LargestDifference(workers.Step(), mean), 1e-4f) << step;
    }
  }
}

TEST(GradientCompressionTest, SmallGradientsTravelWhole) {
  const Gradients gradients = RandomGradients(2, 10);
  Workers workers(gradients, {.kind = Kind::kTopK, .ratio = 0.5});
  EXPECT_TRUE(workers.scope.Collection(graph_keys::kLocalVariables).empty());
  EXPECT_LT(LargestDifference(workers.Step(), MeanOf(gradients)), 1e-6f);
}

TEST(GradientCompressionTest, RefusesSharesThatMakeNoSense) {
  for (const double ratio : {0.0, -1.0, 1.5, std::nan("")}) {
    const Workers workers(RandomGradients(2, 100), {.kind = Kind::kTopK, .ratio = ratio});
    EXPECT_EQ(workers.scope.status().code(), absl::StatusCode::kInvalidArgument) << ratio;
  }
}

}  // namespace
}  // namespace millstream
