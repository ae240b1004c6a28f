// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "millstream/framework/cpu_device.h"
#include "millstream/framework/run_kernel.h"

namespace millstream {
namespace {

using Ints = AttrValue::Ints;
using NamedAttrs = std::vector<std::pair<const char*, AttrValue>>;

StatusOr<Tensor> RunOp(const char* name, std::vector<Tensor> inputs, const NamedAttrs& named, DType dtype) {
  const OpEntry* op = OpRegistry::Global().Find(name);
  if (op == nullptr) return errors::NotFound(name);
  AttrMap attrs;
  attrs.Set("T", dtype);
  for (const auto& [key, value] : named) attrs.Set(key, value);
  ASSIGN_OR_RETURN(std::vector<Tensor> out, RunKernel(*op, attrs, std::move(inputs), CpuDevice::SingleThreaded()));
  return out[0];
}

template <typename T>
Tensor Numbers(const Shape& shape, int start) {
  Tensor t(kDTypeOf<T>, shape);
  for (int64_t i = 0; i < t.num_elements(); ++i) t.data<T>()[i] = static_cast<T>((start + i * 7) % 23 - 11) / T(4);
  return t;
}

double Dot(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.shape(), b.shape());
  double sum = 0;
  for (int64_t i = 0; i < a.num_elements(); ++i) sum += a.data<double>()[i] * b.data<double>()[i];
  return sum;
}

NamedAttrs Plain(const char* padding = "SAME") { return {{"strides", Ints{1, 1, 1, 1}}, {"padding", padding}}; }

TEST(FusedConv2DTest, EqualsItsParts) {
  const Tensor x = Numbers<float>({2, 5, 6, 3}, 1), w = Numbers<float>({3, 3, 3, 4}, 5), b = Numbers<float>({4}, 2);
  const auto conv = RunOp("Conv2D", {x, w}, Plain(), DType::kFloat);
  ASSERT_TRUE(conv.ok()) << conv.status();
  const auto biased = RunOp("BiasAdd", {*conv, b}, {}, DType::kFloat);
  ASSERT_TRUE(biased.ok()) << biased.status();
  for (const char* activation : {"", "Relu", "Relu6"}) {
    AttrValue::Strings fused = {"BiasAdd"};
    Tensor want = *biased;
    if (*activation != 0) {
      fused.push_back(activation);
      want = *RunOp(activation, {want}, {}, DType::kFloat);
    }
    NamedAttrs attrs = Plain();
    attrs.emplace_back("fused_ops", fused);
    attrs.emplace_back("num_args", 1);
    const auto got = RunOp("_FusedConv2D", {x, w, b}, attrs, DType::kFloat);
    ASSERT_TRUE(got.ok()) << got.status();
    for (int64_t i = 0; i < want.num_elements(); ++i) {
      EXPECT_NEAR(got->data<float>()[i], want.data<float>()[i], 1e-4) << activation << " " << i;
    }
  }
}

TEST(FusedConv2DTest, RefusesOtherFusions) {
  const Tensor x = Numbers<float>({1, 4, 4, 1}, 1), w = Numbers<float>({2, 2, 1, 2}, 5);
  for (const AttrValue::Strings& fused : {AttrValue::Strings{}, {"Relu"}, {"BiasAdd", "Tanh"}}) {
    NamedAttrs attrs = Plain();
    attrs.emplace_back("fused_ops", fused);
    attrs.emplace_back("num_args", 1);
    const auto got = RunOp("_FusedConv2D", {x, w, Numbers<float>({2}, 0)}, attrs, DType::kFloat);
    EXPECT_EQ(got.status().code(), absl::StatusCode::kUnimplemented) << got.status();
  }
  NamedAttrs attrs = Plain();
  attrs.emplace_back("fused_ops", AttrValue::Strings{"BiasAdd"});
  attrs.emplace_back("num_args", 1);
  const auto got = RunOp("_FusedConv2D", {x, w, Numbers<float>({3}, 0)}, attrs, DType::kFloat);
  EXPECT_EQ(got.status().code(), absl::StatusCode::kInvalidArgument) << got.status();
}

// TensorFlow has no CPU kernels for these, so there are no recordings: <conv(x, w), g> = <x, dx(w, g)> = <w, dw(x, g)>.
TEST(Conv2DTest, GradientsOfGroupedAndDilatedConvolutionsAreAdjoint) {
  struct Case {
    Shape x, w;
    Ints strides, dilations;
  };
  const Case cases[] = {{{2, 6, 5, 4}, {3, 2, 2, 6}, {1, 1, 1, 1}, {1, 1, 1, 1}},
                        {{1, 9, 8, 2}, {3, 3, 2, 3}, {1, 1, 1, 1}, {1, 2, 3, 1}},
                        {{2, 9, 8, 4}, {2, 3, 2, 2}, {1, 2, 3, 1}, {1, 2, 2, 1}}};
  for (const Case& c : cases) {
    const Tensor x = Numbers<double>(c.x, 3), w = Numbers<double>(c.w, 8);
    const NamedAttrs attrs = {{"strides", c.strides}, {"dilations", c.dilations}, {"padding", "SAME"}};
    const auto y = RunOp("Conv2D", {x, w}, attrs, DType::kDouble);
    ASSERT_TRUE(y.ok()) << y.status();
    const Tensor g = Numbers<double>(y->shape(), 1);
    const auto sizes = [](const Shape& s) {
      return Tensor::Vector(std::vector<int32_t>(s.dims().begin(), s.dims().end()));
    };
    const auto dx = RunOp("Conv2DBackpropInput", {sizes(c.x), w, g}, attrs, DType::kDouble);
    const auto dw = RunOp("Conv2DBackpropFilter", {x, sizes(c.w), g}, attrs, DType::kDouble);
    ASSERT_TRUE(dx.ok() && dw.ok()) << dx.status() << dw.status();
    EXPECT_NEAR(Dot(*y, g), Dot(x, *dx), 1e-8);
    EXPECT_NEAR(Dot(*y, g), Dot(w, *dw), 1e-8);
  }
}

TEST(Conv2DTest, RefusesMalformedAttributes) {
  const int64_t huge = std::numeric_limits<int64_t>::max();
  const Tensor x = Numbers<float>({1, 4, 4, 1}, 1), w = Numbers<float>({2, 2, 1, 1}, 5);
  const NamedAttrs cases[] = {
      {{"strides", Ints{1, 0, 1, 1}}, {"padding", "SAME"}},
      {{"strides", Ints{1, 1, 1}}, {"padding", "SAME"}},
      {{"strides", Ints{1, 1, huge, 1}}, {"padding", "SAME"}},
      {{"strides", Ints{1, 1, 1, 1}}, {"dilations", Ints{1, huge, 1, 1}}, {"padding", "VALID"}},
      {{"strides", Ints{1, 1, 1, 1}}, {"dilations", Ints{1, 100, 1, 1}}, {"padding", "VALID"}},
      {{"strides", Ints{1, 1, 1, 1}}, {"padding", "EXPLICIT"}},
      {{"strides", Ints{1, 1, 1, 1}}, {"padding", "EXPLICIT"}, {"explicit_paddings", Ints{0, 0, -1, 0, 0, 0, 0, 0}}},
      {{"strides", Ints{1, 1, 1, 1}}, {"padding", "EXPLICIT"}, {"explicit_paddings", Ints{0, 1, 0, 0, 0, 0, 0, 0}}},
      {{"strides", Ints{1, 1, 1, 1}}, {"padding", "SAME"}, {"explicit_paddings", Ints{0, 0, 0, 0, 0, 0, 0, 0}}},
  };
  for (const NamedAttrs& attrs : cases) {
    const Status status = RunOp("Conv2D", {x, w}, attrs, DType::kFloat).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  }
  const NamedAttrs over_images = {{"strides", Ints{2, 1, 1, 1}}, {"padding", "SAME"}};
  const Status batch = RunOp("Conv2D", {x, w}, over_images, DType::kFloat).status();
  EXPECT_EQ(batch.code(), absl::StatusCode::kUnimplemented) << batch;
}

TEST(Conv2DTest, EmptyImagesAndFilters) {
  const NamedAttrs padded = {
      {"strides", Ints{1, 1, 1, 1}}, {"padding", "EXPLICIT"}, {"explicit_paddings", Ints{0, 0, 2, 2, 2, 2, 0, 0}}};
  const auto zeros =
      RunOp("Conv2D", {Tensor(DType::kFloat, {1, 0, 3, 2}), Numbers<float>({2, 2, 2, 1}, 5)}, padded, DType::kFloat);
  ASSERT_TRUE(zeros.ok()) << zeros.status();
  for (const float v : zeros->flat<float>()) EXPECT_EQ(v, 0);
  for (const Shape& filter : {Shape({0, 2, 1, 1}), Shape({2, 2, 0, 1})}) {
    const Status status =
        RunOp("Conv2D", {Numbers<float>({1, 4, 4, 1}, 1), Tensor(DType::kFloat, filter)}, Plain(), DType::kFloat)
            .status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  }
  const auto none =
      RunOp("Conv2D", {Numbers<float>({1, 4, 4, 1}, 1), Tensor(DType::kFloat, {2, 2, 1, 0})}, Plain(), DType::kFloat);
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_EQ(none->shape(), Shape({1, 4, 4, 0}));
}

TEST(MaxPoolTest, PaddingMustBeLessThanTheWindow) {
  const NamedAttrs attrs = {{"ksize", Ints{1, 2, 2, 1}},
                            {"strides", Ints{1, 1, 1, 1}},
                            {"padding", "EXPLICIT"},
                            {"explicit_paddings", Ints{0, 0, 2, 0, 0, 0, 0, 0}}};
  const Status status = RunOp("MaxPool", {Numbers<float>({1, 4, 4, 1}, 1)}, attrs, DType::kFloat).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
}

TEST(MaxPoolTest, GradientAtAPlaceOutsideIsRefused) {
  const NamedAttrs attrs = {
      {"ksize", Ints{1, 2, 2, 1}}, {"strides", Ints{1, 2, 2, 1}}, {"padding", "VALID"}, {"Targmax", DType::kInt64}};
  for (const int64_t place : {int64_t{-1}, int64_t{16}, std::numeric_limits<int64_t>::max()}) {
    const Tensor argmax = Tensor::Of<int64_t>({1, 2, 2, 1}, {0, 1, 2, place});
    const Tensor x = Numbers<float>({1, 4, 4, 1}, 1), dy = Numbers<float>({1, 2, 2, 1}, 1);
    const Status status = RunOp("MaxPoolGradWithArgmax", {x, dy, argmax}, attrs, DType::kFloat).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  }
}

}  // namespace
}  // namespace millstream
