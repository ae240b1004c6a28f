// SPDX-License-Identifier: Apache-2.0
// Tensors without elements whose other sizes are huge: what kernels make of them cannot always be counted, and must not
// end the process.
#include <gtest/gtest.h>

#include "millstream/framework/cpu_device.h"
#include "millstream/framework/run_kernel.h"

namespace millstream {
namespace {

constexpr int64_t kHuge = int64_t{1} << 40;

struct HugeCase {
  const char* op;
  std::vector<Tensor> inputs;
  std::vector<std::pair<const char*, AttrValue>> attrs;
  bool succeeds;
};

Tensor Empty(std::initializer_list<int64_t> dims) { return Tensor(DType::kFloat, Shape(dims)); }

std::vector<HugeCase> HugeCases() {
  const Tensor many = Empty({kHuge, 0}), none = Empty({0}), wide = Empty({0, kHuge});
  const std::vector<Tensor> cell = {many, wide, wide, many, none, none, none, none};
  return {
      {"Qr", {Empty({kHuge, 0, 0})}, {}, true},
      {"Svd", {Empty({kHuge, 0, 0})}, {}, true},
      {"Qr", {Empty({4, kHuge, 0})}, {{"full_matrices", true}}, false},
      {"Svd", {Empty({4, kHuge, 0})}, {{"full_matrices", true}}, false},
      {"Fingerprint", {Empty({int64_t{1} << 61, 0}), Tensor::Scalar<std::string>("farmhash64")}, {}, false},
      {"NearestNeighbors", {many, many, Tensor::Scalar<int64_t>(kHuge)}, {}, false},
      {"GRUBlockCell", {many, wide, wide, wide, none, none}, {}, false},
      {"LSTMBlockCell", cell, {}, false},
      {"BlockLSTM",
       {Tensor::Scalar<int64_t>(1), Empty({kHuge, 1, 0}), Empty({1, 1 << 10}), Empty({1, 1 << 10}),
        Empty({1 << 10, 1 << 12}), Empty({1 << 10}), Empty({1 << 10}), Empty({1 << 10}), Empty({1 << 12})},
       {},
       false},
      {"BlockLSTM",
       {Tensor::Scalar<int64_t>(1), Empty({1, 0, kHuge}), wide, wide, many, none, none, none, none},
       {},
       false},
  };
}

TEST(HugeSizesTest, AreResultsOrErrors) {
  for (const HugeCase& c : HugeCases()) {
    const OpEntry* op = OpRegistry::Global().Find(c.op);
    ASSERT_NE(op, nullptr) << c.op;
    AttrMap attrs;
    attrs.Set("T", DType::kFloat);
    for (const auto& [name, value] : c.attrs) attrs.Set(name, value);
    const auto made = RunKernel(*op, attrs, c.inputs, CpuDevice::SingleThreaded());
    EXPECT_EQ(made.ok(), c.succeeds) << c.op << ": " << made.status();
  }
}

}  // namespace
}  // namespace millstream
