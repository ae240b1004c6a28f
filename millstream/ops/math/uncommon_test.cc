// SPDX-License-Identifier: Apache-2.0
// Ops and paths that no recording of TensorFlow covers.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "millstream/framework/cpu_device.h"
#include "millstream/framework/run_kernel.h"

namespace millstream {
namespace {

StatusOr<Tensor> RunOp(const char* name, std::vector<Tensor> inputs, AttrMap attrs = {}, const char* type = "T",
                       int typed = 0) {
  const OpEntry* op = OpRegistry::Global().Find(name);
  if (op == nullptr) return errors::NotFound(name);
  if (op->def.FindAttr(type) != nullptr) attrs.Set(type, inputs[typed].dtype());
  ASSIGN_OR_RETURN(std::vector<Tensor> out, RunKernel(*op, attrs, std::move(inputs), CpuDevice::SingleThreaded()));
  return out[0];
}

template <typename T>
std::vector<T> Values(const StatusOr<Tensor>& t) {
  EXPECT_TRUE(t.ok()) << t.status();
  if (!t.ok()) return {};
  return std::vector<T>(t->flat<T>().begin(), t->flat<T>().end());
}

AttrMap Ids() {
  AttrMap attrs;
  attrs.Set("Tindices", DType::kInt32);
  return attrs;
}

TEST(UncommonTest, FusedMatMul) {
  AttrMap attrs;
  attrs.Set("num_args", 1);
  attrs.Set("fused_ops", std::vector<std::string>{"BiasAdd", "Relu"});
  const Tensor a = Tensor::Of<float>({2, 2}, {1, 2, 3, 4}), b = Tensor::Of<float>({2, 2}, {1, -1, 0, 1});
  const Tensor bias = Tensor::Vector<float>({-2, 0.5f});
  EXPECT_EQ(Values<float>(RunOp("_FusedMatMul", {a, b, bias}, attrs)), (std::vector<float>{0, 1.5f, 1, 1.5f}));
  EXPECT_EQ(RunOp("_FusedMatMul", {a, b, Tensor::Vector<float>({1})}, attrs).status().code(),
            absl::StatusCode::kInvalidArgument);
  attrs.Set("fused_ops", std::vector<std::string>{"FusedBatchNorm"});
  EXPECT_EQ(RunOp("_FusedMatMul", {a, b, bias}, attrs).status().code(), absl::StatusCode::kUnimplemented);
}

// Exponents that are all the same have loops of their own, which give what std::pow() gives.
TEST(UncommonTest, CommonPowers) {
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> x = {0.0f, -0.0f, 1, 2.25f, -3, inf, -inf, std::nanf(""), 1e-30f, 7};
  for (const float y : {2.0f, 3.0f, 0.5f, -0.5f, -1.0f, 1.5f}) {
    const std::vector<float> z = Values<float>(RunOp("Pow", {Tensor::Vector(x), Tensor::Scalar(y)}));
    ASSERT_EQ(z.size(), x.size());
    for (size_t i = 0; i < x.size(); ++i) {
      const float want = std::pow(x[i], y);
      EXPECT_EQ(std::isnan(z[i]), std::isnan(want)) << x[i] << " " << y;
      if (!std::isnan(want)) {
        EXPECT_FLOAT_EQ(z[i], want) << x[i] << " " << y;
        EXPECT_EQ(std::signbit(z[i]), std::signbit(want)) << x[i] << " " << y;
      }
    }
  }
}

TEST(UncommonTest, MatMulTypesAndTransposes) {
  AttrMap both;
  both.Set("transpose_a", true);
  both.Set("transpose_b", true);
  const Tensor a = Tensor::Of<int32_t>({2, 1}, {2, 3}), b = Tensor::Of<int32_t>({2, 2}, {1, 4, 5, 6});
  EXPECT_EQ(Values<int32_t>(RunOp("MatMul", {a, b}, both)), (std::vector<int32_t>{14, 28}));
  Tensor h(DType::kHalf, Shape({2, 2}));
  for (int i = 0; i < 4; ++i) h.data<Half>()[i] = Half(static_cast<float>(i));
  StatusOr<Tensor> squared = RunOp("MatMul", {h, h});
  ASSERT_TRUE(squared.ok());
  EXPECT_EQ(static_cast<float>(squared->data<Half>()[3]), 11.0f);
}

TEST(UncommonTest, BatchMatMulBroadcasts) {
  Tensor x(DType::kFloat, Shape({2, 1, 3, 2})), y(DType::kFloat, Shape({1, 4, 2, 5}));
  for (int i = 0; i < 12; ++i) x.data<float>()[i] = static_cast<float>(i);
  for (int i = 0; i < 40; ++i) y.data<float>()[i] = static_cast<float>(i % 7);
  const std::vector<float> z = Values<float>(RunOp("BatchMatMulV2", {x, y}));
  ASSERT_EQ(z.size(), 2u * 4 * 3 * 5);
  for (int a = 0; a < 2; ++a) {
    for (int b = 0; b < 4; ++b) {
      for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 5; ++j) {
          const float* row = x.data<float>() + a * 6 + i * 2;
          const float* matrix = y.data<float>() + b * 10;
          EXPECT_EQ(z[((a * 4 + b) * 3 + i) * 5 + j], row[0] * matrix[j] + row[1] * matrix[5 + j]);
        }
      }
    }
  }
  EXPECT_EQ(RunOp("BatchMatMul", {x, y}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(UncommonTest, Segments) {
  const Tensor data = Tensor::Of<float>({3, 2}, {1, 2, 3, -4, 5, 6}), ids = Tensor::Vector<int32_t>({0, 0, 2});
  EXPECT_EQ(Values<float>(RunOp("SegmentMean", {data, ids}, Ids())), (std::vector<float>{2, -1, 0, 0, 5, 6}));
  EXPECT_EQ(Values<float>(RunOp("SegmentMax", {data, ids}, Ids())), (std::vector<float>{3, 2, 0, 0, 5, 6}));
  EXPECT_EQ(Values<float>(RunOp("SegmentProd", {data, ids}, Ids())), (std::vector<float>{3, -8, 1, 1, 5, 6}));
  const Tensor small = Tensor::Vector<int8_t>({5, -3, 7}), any = Tensor::Vector<int32_t>({1, -1, 1});
  const Tensor rows = Tensor::Scalar(int32_t{2});
  EXPECT_EQ(Values<int8_t>(RunOp("UnsortedSegmentMin", {small, Tensor::Vector<int32_t>({1, 1, 0}), rows}, Ids())),
            (std::vector<int8_t>{7, -3}));
  EXPECT_EQ(Values<int8_t>(RunOp("UnsortedSegmentProd", {small, any, rows}, Ids())), (std::vector<int8_t>{1, 35}));
  EXPECT_FALSE(RunOp("UnsortedSegmentSum", {small, Tensor::Vector<int32_t>({0, 2, 0}), rows}, Ids()).ok());
}

TEST(UncommonTest, CountsAndBits) {
  const Tensor values = Tensor::Vector<int32_t>({1, 1, 5, 2}), none(DType::kFloat, Shape({0}));
  EXPECT_EQ(Values<float>(RunOp("Bincount", {values, Tensor::Scalar(int32_t{3}), none}, {}, "T", 2)),
            (std::vector<float>{0, 2, 1}));
  const Tensor x = Tensor::Vector<int8_t>({-128, 1, 3}), y = Tensor::Vector<int8_t>({1, 9, -2});
  EXPECT_EQ(Values<int8_t>(RunOp("RightShift", {x, y})), (std::vector<int8_t>{-64, 0, 3}));
  EXPECT_EQ(Values<int8_t>(RunOp("BitwiseXor", {x, y})), (std::vector<int8_t>{-127, 8, -3}));
  EXPECT_EQ(Values<int8_t>(RunOp("Invert", {x})), (std::vector<int8_t>{127, -2, -4}));
}

TEST(UncommonTest, SpecialFunctions) {
  const auto one = [](const char* op, std::initializer_list<double> args) {
    std::vector<Tensor> inputs;
    for (const double a : args) inputs.push_back(Tensor::Scalar(a));
    return Values<double>(RunOp(op, inputs))[0];
  };
  EXPECT_NEAR(one("Polygamma", {1, 1}), 1.6449340668482264, 1e-13);
  EXPECT_NEAR(one("Polygamma", {2, 2.5}), -0.23620405164172739, 1e-13);
  EXPECT_NEAR(one("Digamma", {-2.3}), 3.3173231, 1e-6);
  EXPECT_NEAR(one("Zeta", {2, -1.5}), 9.3792466449892912, 1e-12);
  EXPECT_NEAR(one("Erfc", {3}), 2.2090496998585441e-05, 1e-18);
  EXPECT_NEAR(one("Atan2", {-1, -1}), -2.356194490192345, 1e-15);
  EXPECT_EQ(one("MulNoNan", {INFINITY, 0}), 0);
  EXPECT_EQ(one("Xlog1py", {0, -1}), 0);
}

TEST(UncommonTest, SelectsObjects) {
  using Strings = std::vector<std::string>;
  const Tensor t = Tensor::Of<std::string>({2, 2}, {"a", "b", "c", "d"});
  const Tensor e = Tensor::Vector<std::string>({"x", "y"}), column = Tensor::Of<bool>({2, 1}, {true, false});
  EXPECT_EQ(Values<std::string>(RunOp("SelectV2", {column, t, e}, {}, "T", 1)), (Strings{"a", "b", "x", "y"}));
  const Tensor other = Tensor::Of<std::string>({2, 2}, {"1", "2", "3", "4"});
  const Tensor rows = Tensor::Vector<bool>({false, true});
  EXPECT_EQ(Values<std::string>(RunOp("Select", {rows, t, other}, {}, "T", 1)), (Strings{"1", "2", "c", "d"}));
}

}  // namespace
}  // namespace millstream
