// SPDX-License-Identifier: Apache-2.0
// Dilations of volumes, which TensorFlow's CPU has in some builds only.
#include <gtest/gtest.h>

#include "millstream/framework/cpu_device.h"
#include "millstream/framework/run_kernel.h"

namespace millstream {
namespace {

using Ints = AttrValue::Ints;

StatusOr<Tensor> RunConv(const char* name, std::vector<Tensor> inputs, const char* padding, const Ints& dilations) {
  AttrMap attrs;
  attrs.Set("T", DType::kFloat);
  attrs.Set("strides", Ints{1, 1, 2, 1, 1});
  attrs.Set("padding", std::string(padding));
  attrs.Set("dilations", dilations);
  ASSIGN_OR_RETURN(std::vector<Tensor> out,
                   RunKernel(*OpRegistry::Global().Find(name), attrs, std::move(inputs), CpuDevice::SingleThreaded()));
  return out[0];
}

Tensor Numbers(const Shape& shape, int start) {
  Tensor t(DType::kFloat, shape);
  for (int64_t i = 0; i < t.num_elements(); ++i) t.data<float>()[i] = static_cast<float>((start + i * 7) % 23 - 11) / 4;
  return t;
}

// A filter of 2 x 2 x 2 with zeros between its taps: dilations 2, 1 and 3.
Tensor Spread(const Tensor& filter) {
  Tensor t(DType::kFloat, Shape({3, 2, 4, 2, 3}));
  std::fill_n(t.data<float>(), t.num_elements(), 0.0f);
  for (int64_t i = 0; i < 8; ++i) {
    const int64_t place = (i / 4 * 2 * 2 + i / 2 % 2) * 4 + i % 2 * 3;
    std::copy_n(filter.data<float>() + i * 6, 6, t.data<float>() + place * 6);
  }
  return t;
}

void ExpectSame(const StatusOr<Tensor>& got, const StatusOr<Tensor>& want) {
  ASSERT_TRUE(got.ok()) << got.status();
  ASSERT_TRUE(want.ok()) << want.status();
  ASSERT_EQ(got->shape(), want->shape());
  for (int64_t i = 0; i < got->num_elements(); ++i) {
    EXPECT_NEAR(got->data<float>()[i], want->data<float>()[i], 1e-3) << i;
  }
}

TEST(Conv3DTest, DilationIsAFilterWithZeros) {
  const Tensor x = Numbers(Shape({2, 5, 4, 6, 2}), 1), f = Numbers(Shape({2, 2, 2, 2, 3}), 5);
  const Ints one = {1, 1, 1, 1, 1}, dilations = {1, 2, 1, 3, 1};
  for (const char* padding : {"VALID", "SAME"}) {
    const StatusOr<Tensor> want = RunConv("Conv3D", {x, Spread(f)}, padding, one);
    ExpectSame(RunConv("Conv3D", {x, f}, padding, dilations), want);
    ExpectSame(RunConv("Conv", {x, f}, padding, dilations), want);
    ASSERT_TRUE(want.ok());
    Tensor sizes(DType::kInt32, Shape({5}));
    std::copy_n(x.shape().dims().begin(), 5, sizes.data<int32_t>());
    ExpectSame(RunConv("Conv3DBackpropInputV2", {sizes, f, *want}, padding, dilations),
               RunConv("Conv3DBackpropInputV2", {sizes, Spread(f), *want}, padding, one));
  }
}

TEST(Conv3DTest, EmptyFiltersAreRefused) {
  for (const Shape& filter : {Shape({1, 1, 0, 1, 1}), Shape({1, 1, 1, 1, 0})}) {
    const Status status =
        RunConv("Conv3D", {Numbers(Shape({1, 1, 1, 2, 1}), 1), Numbers(filter, 5)}, "SAME", {1, 1, 1, 1, 1}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  }
}

TEST(Conv3DTest, HugeDilationsAreRefused) {
  const Tensor x = Numbers(Shape({1, 2, 2, 2, 1}), 1), f = Numbers(Shape({2, 2, 2, 1, 1}), 5);
  EXPECT_EQ(RunConv("Conv3D", {x, f}, "SAME", {1, int64_t{1} << 62, 1, 1, 1}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(RunConv("Conv3D", {x, f}, "VALID", {1, 3, 1, 1, 1}).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace millstream
