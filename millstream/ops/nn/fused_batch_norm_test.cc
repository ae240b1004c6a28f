// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "millstream/framework/cpu_device.h"
#include "millstream/framework/run_kernel.h"

namespace millstream {
namespace {

// Images without pixels or channels are not read.
TEST(FusedBatchNormTest, EmptyImages) {
  struct Case {
    Shape x;
    const char* format;
    int64_t channels;
  };
  const Case cases[] = {{{2, 3, 0, 5}, "NCHW", 3},
                        {{0, 3, 2, 5}, "NCHW", 3},
                        {{2, 0, 4, 5}, "NCHW", 0},
                        {{2, 0, 4, 5}, "NHWC", 5},
                        {{2, 3, 4, 0}, "NHWC", 0}};
  for (const Case& c : cases) {
    AttrMap attrs;
    attrs.Set("T", DType::kFloat);
    attrs.Set("U", DType::kFloat);
    attrs.Set("data_format", c.format);
    Tensor ones(DType::kFloat, Shape({c.channels}));
    for (float& v : ones.flat<float>()) v = 1;
    const Tensor x(DType::kFloat, c.x), none(DType::kFloat, Shape({0}));
    const auto y = RunKernel(*OpRegistry::Global().Find("FusedBatchNormV3"), attrs, {x, ones, ones, none, none},
                             CpuDevice::SingleThreaded());
    ASSERT_TRUE(y.ok()) << y.status();
    for (const float v : (*y)[1].flat<float>()) EXPECT_TRUE(std::isnan(v));
    const auto dx = RunKernel(*OpRegistry::Global().Find("FusedBatchNormGradV3"), attrs,
                              {x, x, ones, ones, ones, Tensor::Scalar(0.0f)}, CpuDevice::SingleThreaded());
    ASSERT_TRUE(dx.ok()) << dx.status();
    for (const float v : (*dx)[1].flat<float>()) EXPECT_EQ(v, 0);
  }
}

}  // namespace
}  // namespace millstream
