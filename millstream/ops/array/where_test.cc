// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>

#include "millstream/ops/array/testing/run_op.h"

namespace millstream {
namespace {

// Masks and numbers of every rank, larger and smaller than the ranges that threads work on, few and many of them true.
template <typename T>
void ExpectIndices(const Shape& shape, unsigned percent, Device* device) {
  std::mt19937 random(percent);
  Tensor x(kDTypeOf<T>, shape);
  std::vector<int64_t> expected;
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    const bool on = random() % 100 < percent;
    x.data<T>()[i] = on ? T(1) : T(0);
    if (!on) continue;
    for (int64_t d = 0, inner = x.num_elements(), rest = i; d < shape.rank(); ++d) {
      inner /= shape.dim(static_cast<int>(d));
      expected.push_back(rest / inner);
      rest %= inner;
    }
  }
  AttrMap attrs;
  attrs.Set("T", kDTypeOf<T>);
  const auto out = RunKernel(*OpRegistry::Global().Find("Where"), attrs, {x}, device);
  ASSERT_TRUE(out.ok()) << out.status();
  const auto got = (*out)[0].flat<int64_t>();
  EXPECT_EQ(std::vector<int64_t>(got.begin(), got.end()), expected) << shape.ToString() << ", " << percent << " %";
}

TEST(WhereTest, GivesTheIndicesOfTrueElementsInOrder) {
  ThreadPool pool(3);
  CpuDevice threads(CpuDevice::SingleThreaded()->attributes(), &pool);
  for (CpuDevice* device : {CpuDevice::SingleThreaded(), &threads}) {
    for (const Shape& shape : {Shape({0}), Shape({1}), Shape({7}), Shape({8}), Shape({100001}), Shape({3, 5}),
                               Shape({0, 4}), Shape({331, 301}), Shape({5, 40000}), Shape({40000, 3}),
                               Shape({7, 11, 13, 71}), Shape({2, 3, 2, 2, 3, 2, 5, 9})}) {
      for (const unsigned percent : {0U, 3U, 60U, 100U}) {
        ExpectIndices<bool>(shape, percent, device);
        ExpectIndices<float>(shape, percent, device);
        ExpectIndices<int64_t>(shape, percent, device);
      }
    }
  }
}

}  // namespace
}  // namespace millstream
