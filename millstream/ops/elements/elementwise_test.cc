// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/elements/elementwise.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "millstream/framework/cpu_device.h"
#include "millstream/framework/run_kernel.h"
#include "millstream/ops/elements/broadcast.h"

namespace millstream {
namespace {

StatusOr<Tensor> RunOp(const char* name, std::vector<Tensor> inputs, AttrMap attrs = {}) {
  const OpEntry* op = OpRegistry::Global().Find(name);
  if (op == nullptr) return errors::NotFound(name);
  if (op->def.FindAttr("T") != nullptr) attrs.Set("T", inputs[0].dtype());
  ASSIGN_OR_RETURN(std::vector<Tensor> out, RunKernel(*op, attrs, std::move(inputs), CpuDevice::SingleThreaded()));
  return out[0];
}

template <typename T>
Tensor Filled(const Shape& shape, int start) {
  Tensor t(kDTypeOf<T>, shape);
  for (int64_t i = 0; i < t.num_elements(); ++i) {
    t.data<T>()[i] = static_cast<T>(static_cast<float>((start + i * 7) % 101));
  }
  return t;
}

int64_t OffsetIn(const Shape& in, const Shape& out, int64_t flat) {
  int64_t offset = 0, stride = 1;
  for (int i = out.rank() - 1; i >= 0; --i) {
    const int64_t index = flat % out.dim(i);
    flat /= out.dim(i);
    const int at = i - (out.rank() - in.rank());
    if (at < 0) continue;
    if (in.dim(at) != 1) offset += index * stride;
    stride *= in.dim(at);
  }
  return offset;
}

template <typename T>
void ExpectSub(const Shape& a, const Shape& b) {
  const Tensor x = Filled<T>(a, 3), y = Filled<T>(b, 50);
  StatusOr<Tensor> z = RunOp("Sub", {x, y});
  ASSERT_TRUE(z.ok()) << z.status();
  const Shape out = *BroadcastShapes(a, b);
  ASSERT_EQ(z->shape().ToString(), out.ToString());
  for (int64_t i = 0; i < out.num_elements(); ++i) {
    const auto left = static_cast<float>(x.data<T>()[OffsetIn(a, out, i)]);
    const auto right = static_cast<float>(y.data<T>()[OffsetIn(b, out, i)]);
    ASSERT_EQ(static_cast<float>(z->data<T>()[i]), left - right) << a.ToString() << b.ToString() << " at " << i;
  }
}

TEST(BinaryTest, BroadcastsAllShapes) {
  const std::pair<Shape, Shape> cases[] = {
      {{}, {}},
      {{1}, {}},
      {{7}, {}},
      {{}, {5000}},
      {{1, 1}, {3}},
      {{0}, {1}},
      {{3, 0, 2}, {2}},
      {{17, 10}, {10}},
      {{10}, {333, 10}},
      {{9, 300}, {300}},
      {{9, 300}, {9, 1}},
      {{9, 1}, {9, 3000}},
      {{5, 1}, {1, 7}},
      {{500, 1}, {1, 3}},
      {{3, 1, 5}, {4, 1}},
      {{2, 1, 3, 1, 2}, {4, 1, 5, 1}},
      {{6, 1, 300}, {5, 300}},
      {{1, 300, 1}, {4, 1, 300}},
      {{33, 127}, {33, 127}},
      {{3, 1, 1, 4}, {2, 5, 4}},
      {{2, 2, 2, 2, 2, 2, 2}, {2, 1, 2, 1, 2, 1}},
  };
  for (const auto& [a, b] : cases) {
    ExpectSub<float>(a, b);
    ExpectSub<double>(b, a);
    ExpectSub<Half>(a, b);
    ExpectSub<int32_t>(b, a);
    ExpectSub<int64_t>(a, b);
  }
}

TEST(BinaryTest, ParallelRangesBroadcastAlike) {
  CpuDevice device(CpuDevice::SingleThreaded()->attributes(), new ThreadPool(3));
  const Shape shapes[][2] = {{{4000, 100}, {100}}, {{4000, 100}, {4000, 1}}, {{300, 1, 50}, {40, 1}}, {{400000}, {}}};
  for (const auto& [a, b] : shapes) {
    const Tensor x = Filled<float>(a, 1), y = Filled<float>(b, 9);
    AttrMap attrs;
    attrs.Set("T", DType::kFloat);
    const OpEntry& op = *OpRegistry::Global().Find("Sub");
    auto many = RunKernel(op, attrs, {x, y}, &device), one = RunKernel(op, attrs, {x, y}, CpuDevice::SingleThreaded());
    ASSERT_TRUE(many.ok() && one.ok());
    ASSERT_EQ(0, std::memcmp((*many)[0].raw(), (*one)[0].raw(), (*one)[0].ByteSize()));
  }
}

// Without the copies that an initializer list makes.
std::vector<Tensor> Inputs(Tensor x, Tensor y) {
  std::vector<Tensor> inputs;
  inputs.push_back(std::move(x));
  inputs.push_back(std::move(y));
  return inputs;
}

TEST(BinaryTest, ReusesAnExclusiveInput) {
  Tensor x = Filled<float>({100}, 0);
  const void* memory = x.raw();
  StatusOr<Tensor> z = RunOp("AddV2", Inputs(std::move(x), Tensor::Scalar(1.0f)));
  ASSERT_TRUE(z.ok());
  EXPECT_EQ(z->raw(), memory);
  EXPECT_EQ(z->data<float>()[1], 8.0f);
  Tensor y = Filled<float>({3, 4}, 0);
  memory = y.raw();
  z = RunOp("Sub", Inputs(Filled<float>({4}, 1), std::move(y)));
  ASSERT_TRUE(z.ok());
  EXPECT_EQ(z->raw(), memory);
  EXPECT_EQ(z->data<float>()[5], 8.0f - 35.0f);
}

TEST(BinaryTest, SharedInputIsNotOverwritten) {
  const Tensor x = Filled<float>({10}, 0);
  StatusOr<Tensor> z = RunOp("AddV2", {x, x});
  ASSERT_TRUE(z.ok());
  EXPECT_EQ(x.data<float>()[1], 7.0f);
  EXPECT_EQ(z->data<float>()[1], 14.0f);
}

TEST(BinaryTest, Errors) {
  StatusOr<Tensor> z = RunOp("AddV2", {Filled<float>({2}, 0), Filled<float>({3}, 0)});
  EXPECT_EQ(z.status().message(), "Incompatible shapes: [2] vs. [3]");
  z = RunOp("FloorDiv", {Tensor::Vector<int32_t>({1, 2}), Tensor::Vector<int32_t>({1, 0})});
  EXPECT_EQ(z.status().message(), "Integer division by zero");
  // 2^62 * 2^62 elements.
  const int64_t big = int64_t{1} << 32;
  EXPECT_FALSE(BroadcastShapes(Shape({big, 1}), Shape({1, big})).ok());
}

TEST(BinaryTest, IntegerDivisionAtTheLimits) {
  const int32_t low = std::numeric_limits<int32_t>::min();
  const Tensor x = Tensor::Vector<int32_t>({low, -7, 7, -7}), y = Tensor::Vector<int32_t>({-1, 2, -2, -2});
  const auto values = [](const Tensor& t) {
    return std::vector<int32_t>(t.flat<int32_t>().begin(), t.flat<int32_t>().end());
  };
  EXPECT_EQ(values(*RunOp("FloorDiv", {x, y})), (std::vector<int32_t>{low, -4, -4, 3}));
  EXPECT_EQ(values(*RunOp("TruncateDiv", {x, y})), (std::vector<int32_t>{low, -3, -3, 3}));
}

TEST(BinaryTest, StringsAndComparisons) {
  const Tensor column = Tensor::Of<std::string>({2, 1}, {"a", "b"}), row = Tensor::Vector<std::string>({"x", "y"});
  StatusOr<Tensor> z = RunOp("Add", {column, row});
  ASSERT_TRUE(z.ok()) << z.status();
  EXPECT_EQ(z->data<std::string>()[2], "bx");
  AttrMap lenient;
  lenient.Set("incompatible_shape_error", false);
  z = RunOp("NotEqual", {Tensor::Vector<float>({1, 2}), Tensor::Vector<float>({1, 2, 3})}, lenient);
  ASSERT_TRUE(z.ok()) << z.status();
  EXPECT_EQ(z->rank(), 0);
  EXPECT_TRUE(z->scalar<bool>());
}

}  // namespace
}  // namespace millstream
