// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "millstream/framework/run_kernel.h"
#include "millstream/math/simd.h"
#include "millstream/ops/elements/testing/threaded_device.h"

namespace millstream {
namespace {

StatusOr<std::vector<Tensor>> RunOnce(const char* name, std::vector<Tensor> inputs, Device* device) {
  return RunKernel(*OpRegistry::Global().Find(name), AttrMap(), std::move(inputs), device);
}

Tensor Random(const Shape& shape, float low, float high, std::mt19937& random) {
  std::uniform_real_distribution<float> uniform(low, high);
  Tensor t(DType::kFloat, shape);
  for (int64_t i = 0; i < t.num_elements(); ++i) t.data<float>()[i] = uniform(random);
  return t;
}

// What eight bits make of a range.
struct Range {
  Range(float low, float high) : step((high - low) / 255) {
    const float zero = std::clamp(std::round(-low / step), 0.0f, 255.0f);
    min = -zero * step;
    max = (255 - zero) * step;
  }
  float step, min, max;
};

// Values and gradients of each channel by the definition; the sums of gradients in double.
void Check(bool per_channel, const Tensor& x, const Tensor& dy, const Tensor& low, const Tensor& high, Device* device) {
  const char* const name = per_channel ? "FakeQuantWithMinMaxVarsPerChannel" : "FakeQuantWithMinMaxVars";
  const auto out = RunOnce(name, {x, low, high}, device);
  const auto grads = RunOnce((std::string(name) + "Gradient").c_str(), {dy, x, low, high}, device);
  ASSERT_TRUE(out.ok() && grads.ok()) << out.status() << grads.status();
  const int64_t channels = low.num_elements();
  std::vector<double> below(static_cast<size_t>(channels)), above(below.size());
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    const int64_t c = i % channels;
    const Range r(low.data<float>()[c], high.data<float>()[c]);
    const float v = x.data<float>()[i], d = dy.data<float>()[i], y = (*out)[0].data<float>()[i];
    const float inside = std::clamp(v, r.min, r.max);
    // The nearest step; a value half way may go to either.
    ASSERT_LE(std::abs(y - inside), 0.501f * r.step) << i;
    ASSERT_LE(std::abs((y - r.min) / r.step - std::round((y - r.min) / r.step)), 1e-3f) << i;
    ASSERT_EQ((*grads)[0].data<float>()[i], v >= r.min && v <= r.max ? d : 0) << i;
    if (v < r.min) below[c] += d;
    if (v > r.max) above[c] += d;
  }
  for (int64_t c = 0; c < channels; ++c) {
    ASSERT_NEAR((*grads)[1].data<float>()[c], below[c], 1e-3 * (1 + std::abs(below[c])));
    ASSERT_NEAR((*grads)[2].data<float>()[c], above[c], 1e-3 * (1 + std::abs(above[c])));
  }
}

TEST(FakeQuantTest, LargeShapesOnSeveralThreadsWithEveryInstructionSet) {
  std::mt19937 random(11);
  const ThreadedDevice one(1), two(2), five(5);
  for (const Shape& shape : {Shape({1, 1}), Shape({3, 7}), Shape({1000, 33}), Shape({50, 1000}), Shape({40000, 3})}) {
    const Tensor x = Random(shape, -2, 2, random), dy = Random(shape, -1, 1, random);
    const Shape channels({shape.dim(1)});
    const Tensor lows = Random(channels, -1.5f, -0.5f, random), highs = Random(channels, 0.5f, 1.5f, random);
    for (Device* device : {one.get(), two.get(), five.get()}) {
      for (const simd::Isa isa : {simd::Isa::kSse2, simd::Isa::kAvx2, simd::Isa::kAvx512}) {
        const simd::ScopedIsa scoped(isa);
        SCOPED_TRACE(shape.ToString());
        Check(false, x, dy, Tensor::Scalar(-0.7f), Tensor::Scalar(1.1f), device);
        Check(true, x, dy, lows, highs, device);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(FakeQuantTest, SumsDoNotDependOnThreads) {
  std::mt19937 random(12);
  const ThreadedDevice one(1), five(5);
  const Tensor x = Random(Shape({300001}), -2, 2, random), dy = Random(Shape({300001}), -1, 1, random);
  const std::vector<Tensor> inputs = {dy, x, Tensor::Scalar(-0.7f), Tensor::Scalar(1.1f)};
  const auto a = RunOnce("FakeQuantWithMinMaxVarsGradient", inputs, one.get());
  const auto b = RunOnce("FakeQuantWithMinMaxVarsGradient", inputs, five.get());
  ASSERT_TRUE(a.ok() && b.ok());
  for (int i = 1; i < 3; ++i) EXPECT_EQ((*a)[i].scalar<float>(), (*b)[i].scalar<float>());
}

}  // namespace
}  // namespace millstream
