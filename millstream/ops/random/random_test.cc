// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "millstream/framework/cpu_device.h"
#include "millstream/framework/run_kernel.h"

namespace millstream {
namespace {

StatusOr<Tensor> Draw(const char* name, int64_t seed, int64_t seed2) {
  AttrMap attrs;
  attrs.Set("T", DType::kInt32);
  attrs.Set("dtype", DType::kFloat);
  attrs.Set("seed", seed);
  attrs.Set("seed2", seed2);
  ASSIGN_OR_RETURN(std::vector<Tensor> out, RunKernel(*OpRegistry::Global().Find(name), attrs,
                                                      {Tensor::Vector<int32_t>({100})}, CpuDevice::SingleThreaded()));
  return out[0];
}

TEST(RandomTest, TwoZeroSeedsDifferFromKernelToKernel) {
  for (const char* name : {"RandomUniform", "RandomStandardNormal", "TruncatedNormal"}) {
    const auto a = Draw(name, 0, 0), b = Draw(name, 0, 0), c = Draw(name, 0, 1), d = Draw(name, 0, 1);
    ASSERT_TRUE(a.ok() && b.ok() && c.ok() && d.ok()) << a.status();
    EXPECT_FALSE(std::ranges::equal(a->flat<float>(), b->flat<float>())) << name;
    EXPECT_TRUE(std::ranges::equal(c->flat<float>(), d->flat<float>())) << name;
  }
}

}  // namespace
}  // namespace millstream
