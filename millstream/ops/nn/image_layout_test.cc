// SPDX-License-Identifier: Apache-2.0
// Ops over images and volumes give the same with channels first as with channels last, for all types and paddings.
#include "millstream/ops/nn/image_layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "millstream/framework/cpu_device.h"
#include "millstream/framework/run_kernel.h"

namespace millstream {
namespace {

using Ints = AttrValue::Ints;
using Sizes = std::vector<int64_t>;

constexpr DType kFloats[] = {DType::kHalf, DType::kBfloat16, DType::kFloat, DType::kDouble};

StatusOr<Tensor> RunOp(const std::string& name, std::vector<Tensor> inputs, AttrMap attrs) {
  const OpEntry* op = OpRegistry::Global().Find(name);
  if (op == nullptr) return errors::NotFound(name);
  ASSIGN_OR_RETURN(std::vector<Tensor> out, RunKernel(*op, attrs, std::move(inputs), CpuDevice::SingleThreaded()));
  return out[0];
}

Tensor Cast(const Tensor& t, DType to) {
  AttrMap attrs;
  attrs.Set("SrcT", t.dtype());
  attrs.Set("DstT", to);
  attrs.Set("Truncate", false);
  return t.dtype() == to ? t : *RunOp("Cast", {t}, attrs);
}

// Small whole numbers, which every type holds and adds exactly.
Tensor Numbers(const Shape& shape, int start, DType dtype) {
  Tensor t(DType::kFloat, shape);
  for (int64_t i = 0; i < t.num_elements(); ++i) t.data<float>()[i] = static_cast<float>((start + i * 7) % 5 - 2);
  return Cast(t, dtype);
}

Tensor IntVector(const Sizes& values) { return Tensor::Vector(std::vector<int32_t>(values.begin(), values.end())); }

// The order [batch, channels, ...] of something in the order [batch, ..., channels], `each` values a dimension.
Sizes First(Sizes values, int each = 1) {
  std::rotate(values.begin() + each, values.end() - each, values.end());
  return values;
}

Tensor TransposedToFirst(const Tensor& t) {
  Sizes perm(static_cast<size_t>(t.rank()));
  for (size_t i = 0; i < perm.size(); ++i) perm[i] = static_cast<int64_t>(i);
  AttrMap attrs;
  attrs.Set("T", t.dtype());
  attrs.Set("Tperm", DType::kInt32);
  return *RunOp("Transpose", {t, IntVector(First(perm))}, attrs);
}

struct Window {
  Sizes strides;
  std::string padding;
  Sizes dilations = {}, ksize = {}, explicit_paddings = {};

  AttrMap Attrs(DType dtype, bool first) const {
    AttrMap attrs;
    attrs.Set("T", dtype);
    attrs.Set("padding", padding);
    const auto set = [&](const char* name, const Sizes& values, int each) {
      if (!values.empty()) attrs.Set(name, first ? First(values, each) : values);
    };
    set("strides", strides, 1);
    set("dilations", dilations, 1);
    set("ksize", ksize, 1);
    set("explicit_paddings", explicit_paddings, 2);
    const bool volume = strides.size() == 5;
    if (first) attrs.Set("data_format", std::string(volume ? "NCDHW" : "NCHW"));
    return attrs;
  }
};

// Runs `op` in both orders; `images`: which of the inputs are images, `sizes`: which are sizes of images. The result
// is an image unless it is a filter.
void ExpectSame(const std::string& op, const Window& w, const std::vector<Tensor>& inputs, std::set<int> images,
                int sizes = -1, bool gives_filter = false) {
  const DType dtype = inputs.back().dtype();
  SCOPED_TRACE(absl::StrCat(op, " ", DTypeName(dtype), " ", w.padding));
  std::vector<Tensor> first = inputs;
  for (const int i : images) first[static_cast<size_t>(i)] = TransposedToFirst(inputs[static_cast<size_t>(i)]);
  if (sizes >= 0) {
    const Tensor& t = inputs[static_cast<size_t>(sizes)];
    first[static_cast<size_t>(sizes)] =
        IntVector(First(Sizes(t.data<int32_t>(), t.data<int32_t>() + t.num_elements())));
  }
  const auto last_result = RunOp(op, inputs, w.Attrs(dtype, false));
  const auto first_result = RunOp(op, first, w.Attrs(dtype, true));
  ASSERT_TRUE(last_result.ok()) << last_result.status();
  ASSERT_TRUE(first_result.ok()) << first_result.status();
  const Tensor want = gives_filter ? *last_result : TransposedToFirst(*last_result);
  ASSERT_EQ(first_result->shape(), want.shape());
  EXPECT_EQ(std::memcmp(first_result->raw(), want.raw(), want.ByteSize()), 0);
}

const Window kConvolutions[] = {
    {.strides = {1, 1, 1, 1}, .padding = "SAME"},
    {.strides = {1, 2, 1, 1}, .padding = "VALID"},
    {.strides = {1, 1, 1, 1}, .padding = "SAME", .dilations = {1, 1, 2, 1}},
    {.strides = {1, 1, 2, 1}, .padding = "EXPLICIT", .explicit_paddings = {0, 0, 1, 2, 0, 1, 0, 0}},
};

TEST(ImageLayoutTest, ConvolutionsAndTheirGradients) {
  for (const Window& w : kConvolutions) {
    for (const DType dtype : kFloats) {
      for (const int64_t channels : {1, 3, 17}) {
        const Shape image({2, 6, 7, channels}), filter({3, 2, channels, 4}), spread({3, 2, channels, 2});
        const Tensor x = Numbers(image, 1, dtype), f = Numbers(filter, 3, dtype), d = Numbers(spread, 2, dtype);
        const Tensor image_sizes = IntVector({2, 6, 7, channels});
        ExpectSame("Conv2D", w, {x, f}, {0});
        ExpectSame("DepthwiseConv2dNative", w, {x, d}, {0});
        const Tensor dy = Numbers(RunOp("Conv2D", {x, f}, w.Attrs(dtype, false))->shape(), 5, dtype);
        ExpectSame("Conv2DBackpropInput", w, {image_sizes, f, dy}, {2}, 0);
        ExpectSame("Conv2DBackpropFilter", w, {x, IntVector({3, 2, channels, 4}), dy}, {0, 2}, -1, true);
        const Tensor dz = Numbers(RunOp("DepthwiseConv2dNative", {x, d}, w.Attrs(dtype, false))->shape(), 5, dtype);
        ExpectSame("DepthwiseConv2dNativeBackpropInput", w, {image_sizes, d, dz}, {2}, 0);
        ExpectSame("DepthwiseConv2dNativeBackpropFilter", w, {x, IntVector({3, 2, channels, 2}), dz}, {0, 2}, -1, true);
      }
    }
    const Tensor x = Numbers({2, 6, 7, 3}, 1, DType::kInt32), f = Numbers({3, 2, 3, 4}, 3, DType::kInt32);
    ExpectSame("Conv2D", w, {x, f}, {0});
  }
}

TEST(ImageLayoutTest, TheGradientOfImagesMayHaveTwoSizes) {
  const Tensor f = Numbers({3, 2, 3, 4}, 3, DType::kFloat), dy = Numbers({2, 4, 6, 7}, 5, DType::kFloat);
  const AttrMap attrs = kConvolutions[0].Attrs(DType::kFloat, true);
  const auto two = RunOp("Conv2DBackpropInput", {IntVector({6, 7}), f, dy}, attrs);
  const auto four = RunOp("Conv2DBackpropInput", {IntVector({2, 3, 6, 7}), f, dy}, attrs);
  ASSERT_TRUE(two.ok() && four.ok()) << two.status() << four.status();
  ASSERT_EQ(two->shape(), four->shape());
  EXPECT_EQ(std::memcmp(two->raw(), four->raw(), four->ByteSize()), 0);
}

TEST(ImageLayoutTest, PoolsAndTheirGradients) {
  const Window windows[] = {
      {.strides = {1, 2, 2, 1}, .padding = "VALID", .ksize = {1, 2, 2, 1}},
      {.strides = {1, 2, 1, 1}, .padding = "SAME", .ksize = {1, 3, 2, 1}},
  };
  for (const Window& w : windows) {
    for (const DType dtype : kFloats) {
      for (const int64_t channels : {1, 5, 70}) {
        const Tensor x = Numbers({2, 6, 7, channels}, 1, dtype);
        const auto y = RunOp("MaxPool", {x}, w.Attrs(dtype, false));
        ASSERT_TRUE(y.ok()) << y.status();
        const Tensor dy = Numbers(y->shape(), 5, dtype);
        ExpectSame("MaxPool", w, {x}, {0});
        ExpectSame("MaxPoolGrad", w, {x, *y, dy}, {0, 1, 2});
        ExpectSame("MaxPoolGradGrad", w, {x, *y, x}, {0, 1, 2});
        ExpectSame("AvgPool", w, {x}, {0});
        ExpectSame("AvgPoolGrad", w, {IntVector({2, 6, 7, channels}), dy}, {1}, 0);
      }
    }
    for (const DType dtype : {DType::kInt8, DType::kInt32, DType::kInt64}) {
      ExpectSame("MaxPool", w, {Numbers({1, 6, 7, 4}, 1, dtype)}, {0});
    }
  }
}

TEST(ImageLayoutTest, WindowsThatAreInputsHaveTheOrderOfTheImages) {
  Window w{.strides = {}, .padding = "SAME"};
  const Tensor x = Numbers({2, 6, 7, 3}, 1, DType::kFloat), dy = Numbers({2, 3, 7, 3}, 5, DType::kFloat);
  const auto run = [&](const char* op, const std::vector<Tensor>& images, bool first) {
    std::vector<Tensor> inputs;
    for (const Tensor& t : images) inputs.push_back(first ? TransposedToFirst(t) : t);
    for (const Sizes& sizes : {Sizes{1, 3, 2, 1}, Sizes{1, 2, 1, 1}}) {
      inputs.push_back(IntVector(first ? First(sizes) : sizes));
    }
    AttrMap attrs = w.Attrs(DType::kFloat, false);
    attrs.Set("data_format", std::string(first ? "NCHW" : "NHWC"));
    return RunOp(op, std::move(inputs), attrs);
  };
  const auto y = run("MaxPoolV2", {x}, false), y_first = run("MaxPoolV2", {x}, true);
  ASSERT_TRUE(y.ok() && y_first.ok()) << y.status() << y_first.status();
  EXPECT_EQ(std::memcmp(TransposedToFirst(*y).raw(), y_first->raw(), y->ByteSize()), 0);
  const auto dx = run("MaxPoolGradV2", {x, *y, dy}, false), dx_first = run("MaxPoolGradV2", {x, *y, dy}, true);
  ASSERT_TRUE(dx.ok() && dx_first.ok()) << dx.status() << dx_first.status();
  EXPECT_EQ(std::memcmp(TransposedToFirst(*dx).raw(), dx_first->raw(), dx->ByteSize()), 0);
}

TEST(ImageLayoutTest, VolumesAndTheirGradients) {
  for (const char* padding : {"SAME", "VALID"}) {
    for (const DType dtype : kFloats) {
      const Window w{.strides = {1, 2, 1, 1, 1}, .padding = padding, .dilations = {1, 1, 1, 2, 1}};
      const Tensor x = Numbers({2, 4, 5, 6, 3}, 1, dtype), f = Numbers({2, 2, 3, 3, 4}, 3, dtype);
      ExpectSame("Conv3D", w, {x, f}, {0});
      const Tensor dy = Numbers(RunOp("Conv3D", {x, f}, w.Attrs(dtype, false))->shape(), 5, dtype);
      ExpectSame("Conv3DBackpropInputV2", w, {IntVector({2, 4, 5, 6, 3}), f, dy}, {2}, 0);
      ExpectSame("Conv3DBackpropFilterV2", w, {x, IntVector({2, 2, 3, 3, 4}), dy}, {0, 2}, -1, true);
    }
    for (const DType dtype : {DType::kBfloat16, DType::kFloat}) {
      const Window w{.strides = {1, 2, 1, 1, 1}, .padding = padding, .ksize = {1, 2, 1, 3, 1}};
      const Tensor x = Numbers({2, 4, 5, 6, 3}, 1, dtype);
      const auto y = RunOp("MaxPool3D", {x}, w.Attrs(dtype, false));
      ASSERT_TRUE(y.ok()) << y.status();
      const Tensor dy = Numbers(y->shape(), 5, dtype);
      ExpectSame("MaxPool3D", w, {x}, {0});
      ExpectSame("MaxPool3DGradGrad", w, {x, *y, x}, {0, 1, 2});
      ExpectSame("AvgPool3D", w, {x}, {0});
      ExpectSame("AvgPool3DGrad", w, {IntVector({2, 4, 5, 6, 3}), dy}, {1}, 0);
    }
  }
}

TEST(ImageLayoutTest, EmptyImages) {
  const Window w = kConvolutions[0];
  ExpectSame("Conv2D", w, {Numbers({0, 4, 4, 2}, 1, DType::kFloat), Numbers({2, 2, 2, 3}, 1, DType::kFloat)}, {0});
  ExpectSame("Conv2D", w, {Numbers({2, 4, 4, 2}, 1, DType::kFloat), Numbers({2, 2, 2, 0}, 1, DType::kFloat)}, {0});
}

}  // namespace
}  // namespace millstream
