// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "millstream/framework/run_kernel.h"
#include "millstream/math/simd.h"
#include "millstream/ops/elements/testing/threaded_device.h"

namespace millstream {
namespace {

// A pool over volumes [batch, in.., channels] by the definition, slowly.
struct Pool {
  int64_t batch, in[3], channels, window[3], strides[3];
  bool same;

  int64_t Out(int d) const {
    return same ? (in[d] + strides[d] - 1) / strides[d] : (in[d] - window[d]) / strides[d] + 1;
  }
  int64_t Before(int d) const {
    return same ? std::max<int64_t>(0, (Out(d) - 1) * strides[d] + window[d] - in[d]) / 2 : 0;
  }
  Shape InShape() const { return Shape({batch, in[0], in[1], in[2], channels}); }
  Shape OutShape() const { return Shape({batch, Out(0), Out(1), Out(2), channels}); }

  // Calls fn(output element, elements of its window in row order).
  template <typename Fn>
  void ForEachWindow(Fn fn) const {
    for (int64_t o = 0; o < OutShape().num_elements(); ++o) {
      const int64_t c = o % channels, at = o / channels;
      const int64_t place[3] = {at / Out(2) / Out(1) % Out(0), at / Out(2) % Out(1), at % Out(2)};
      const int64_t image = at / Out(2) / Out(1) / Out(0);
      int64_t first[3];
      for (int d = 0; d < 3; ++d) first[d] = place[d] * strides[d] - Before(d);
      std::vector<int64_t> elements;
      for (int64_t i = 0; i < window[0] * window[1] * window[2]; ++i) {
        const int64_t z = first[0] + i / window[2] / window[1], y = first[1] + i / window[2] % window[1];
        const int64_t x = first[2] + i % window[2];
        if (z < 0 || z >= in[0] || y < 0 || y >= in[1] || x < 0 || x >= in[2]) continue;
        elements.push_back((((image * in[0] + z) * in[1] + y) * in[2] + x) * channels + c);
      }
      fn(o, elements);
    }
  }

  StatusOr<Tensor> Run(const char* name, std::vector<Tensor> inputs, Device* device) const {
    AttrMap attrs;
    attrs.Set("T", DType::kFloat);
    attrs.Set("ksize", std::vector<int64_t>{1, window[0], window[1], window[2], 1});
    attrs.Set("strides", std::vector<int64_t>{1, strides[0], strides[1], strides[2], 1});
    attrs.Set("padding", std::string(same ? "SAME" : "VALID"));
    ASSIGN_OR_RETURN(std::vector<Tensor> out,
                     RunKernel(*OpRegistry::Global().Find(name), attrs, std::move(inputs), device));
    return out[0];
  }
};

Tensor Random(const Shape& shape, std::mt19937& random) {
  Tensor t(DType::kFloat, shape);
  // Few values, so that many windows have several maxima.
  for (int64_t i = 0; i < t.num_elements(); ++i) t.data<float>()[i] = static_cast<float>(random() % 9) - 4;
  return t;
}

void ExpectNear(const StatusOr<Tensor>& got, const Shape& shape, const std::vector<float>& want, const char* what) {
  ASSERT_TRUE(got.ok()) << what << ": " << got.status();
  ASSERT_EQ(got->shape(), shape) << what;
  for (size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(got->data<float>()[i], want[i], 1e-5) << what << " " << i;
}

void Check(const Pool& pool, const Tensor& x, const Tensor& dy, const Tensor& ddx, Device* device) {
  const auto outputs = static_cast<size_t>(pool.OutShape().num_elements());
  std::vector<float> max(outputs), mean(outputs), second(outputs);
  std::vector<float> max_grad(static_cast<size_t>(x.num_elements())), mean_grad(max_grad.size());
  pool.ForEachWindow([&](int64_t o, const std::vector<int64_t>& elements) {
    int64_t best = elements[0];
    const auto count = static_cast<float>(elements.size());
    for (const int64_t i : elements) {
      if (x.data<float>()[i] > x.data<float>()[best]) best = i;
      mean[o] += x.data<float>()[i] / count;
      mean_grad[i] += dy.data<float>()[o] / count;
    }
    max[o] = x.data<float>()[best];
    max_grad[best] += dy.data<float>()[o];
    second[o] = ddx.data<float>()[best];
  });
  const StatusOr<Tensor> maxima = pool.Run("MaxPool3D", {x}, device);
  ExpectNear(maxima, pool.OutShape(), max, "MaxPool3D");
  ExpectNear(pool.Run("AvgPool3D", {x}, device), pool.OutShape(), mean, "AvgPool3D");
  ExpectNear(pool.Run("MaxPool3DGrad", {x, *maxima, dy}, device), x.shape(), max_grad, "MaxPool3DGrad");
  ExpectNear(pool.Run("MaxPool3DGradGrad", {x, *maxima, ddx}, device), pool.OutShape(), second, "MaxPool3DGradGrad");
  std::vector<int32_t> sizes;
  for (const int64_t d : x.shape().dims()) sizes.push_back(static_cast<int32_t>(d));
  ExpectNear(pool.Run("AvgPool3DGrad", {Tensor::Vector(sizes), dy}, device), x.shape(), mean_grad, "AvgPool3DGrad");
}

TEST(Pool3DTest, RandomPoolsOnSeveralThreadsWithEveryInstructionSet) {
  std::mt19937 random(3);
  const ThreadedDevice one(1), two(2), five(5);
  for (int trial = 0; trial < 40; ++trial) {
    Pool pool{};
    pool.batch = static_cast<int64_t>(1 + random() % 3);
    pool.channels = static_cast<int64_t>(1 + random() % 70);
    pool.same = random() % 2 == 0;
    for (int d = 0; d < 3; ++d) {
      pool.in[d] = static_cast<int64_t>(1 + random() % 9);
      pool.window[d] = static_cast<int64_t>(1 + random() % static_cast<uint32_t>(std::min<int64_t>(pool.in[d], 4)));
      pool.strides[d] = static_cast<int64_t>(1 + random() % 3);
    }
    const Tensor x = Random(pool.InShape(), random), ddx = Random(pool.InShape(), random);
    const Tensor dy = Random(pool.OutShape(), random);
    for (Device* device : {one.get(), two.get(), five.get()}) {
      for (const simd::Isa isa : {simd::Isa::kSse2, simd::Isa::kAvx2, simd::Isa::kAvx512}) {
        const simd::ScopedIsa scoped(isa);
        SCOPED_TRACE(testing::Message() << "volumes " << pool.InShape().ToString() << ", trial " << trial);
        Check(pool, x, dy, ddx, device);
        if (HasFatalFailure()) return;
      }
    }
  }
}

}  // namespace
}  // namespace millstream
