// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/placement/device_copies.h"

#include <gtest/gtest.h>

#include "millstream/framework/accelerator.h"
#include "millstream/framework/cpu_device.h"
#include "millstream/framework/device_kernels.h"
#include "millstream/graph/reserved_attrs.h"
#include "millstream/graph/scope.h"

namespace millstream {
namespace {

constexpr char kCpu[] = "/job:localhost/replica:0/task:0/device:CPU:0";
constexpr char kFirst[] = "/job:localhost/replica:0/task:0/device:PROBE:0";
constexpr char kSecond[] = "/job:localhost/replica:0/task:0/device:PROBE:1";

// An accelerator that is never used: only its memory counts.
class Probe final : public Accelerator {
 public:
  explicit Probe(const char* name) : Accelerator(Attributes(name)) {}
  Allocator* allocator() override { return HostAllocator(); }
  ThreadPool* pool() override { return CpuDevice::SingleThreaded()->pool(); }
  StatusOr<Tensor> AllocateTensor(DType dtype, const Shape& shape) override { return Tensor::Make(dtype, shape); }
  bool Holds(const Tensor&) const override { return false; }

 private:
  static DeviceAttributes Attributes(const char* name) {
    DeviceAttributes attributes;
    attributes.name = name;
    attributes.type = "PROBE";
    return attributes;
  }
};

class DeviceCopiesTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    static bool added = false;
    if (added) return;
    added = true;
    AddNeutralKernels("PROBE");
    for (const char* name : {"Neg", "AddV2", "Reshape"}) {
      OpEntry& op = OpRegistry::Global().Add(name);
      const std::vector<KernelDef> kernels = op.kernels;
      for (KernelDef kernel : kernels) {
        if (kernel.device_type != "CPU") continue;
        kernel.device_type = "PROBE";
        ASSERT_TRUE(AddDeviceKernel(&op, kernel).ok());
        EXPECT_TRUE(absl::IsFailedPrecondition(AddDeviceKernel(&op, kernel)));
      }
    }
  }

  Device* Find(absl::string_view name) {
    if (name == kFirst) return &first_;
    if (name == kSecond) return &second_;
    return name == kCpu ? CpuDevice::SingleThreaded() : nullptr;
  }

  Output On(const char* device, const Output& value) {
    value.node->set_assigned_device(device);
    return value;
  }

  Status Add(std::vector<Output> rets) {
    pruned_.graph = scope_.graph()->Clone();
    pruned_.rets.clear();
    for (const Output& ret : rets) pruned_.rets.emplace_back(pruned_.graph->Find(ret.node->name()), ret.index);
    return AddDeviceCopies([this](absl::string_view name) { return Find(name); }, &pruned_);
  }

  int Count(absl::string_view type) const {
    int count = 0;
    for (const auto& node : pruned_.graph->nodes()) count += node != nullptr && node->Is(type);
    return count;
  }

  Probe first_{kFirst}, second_{kSecond};
  Scope scope_ = Scope::Root();
  PrunedGraph pruned_;
};

TEST_F(DeviceCopiesTest, NothingOnTheHost) {
  const Output x = On(kCpu, scope_.Op("Neg", {On(kCpu, scope_.Const(1.0f))}));
  ASSERT_TRUE(Add({x}).ok());
  EXPECT_EQ(pruned_.graph->num_nodes(), 2);
}

TEST_F(DeviceCopiesTest, ResultsComeToTheHost) {
  const Output x = On(kFirst, scope_.Op("Neg", {On(kFirst, scope_.Const(1.0f))}));
  ASSERT_TRUE(Add({x, x}).ok());
  EXPECT_EQ(Count("_CopyToHost"), 1);
  EXPECT_TRUE(pruned_.rets[0].node->Is("_CopyToHost"));
  EXPECT_EQ(pruned_.rets[0], pruned_.rets[1]);
}

TEST_F(DeviceCopiesTest, ConstantsAreCopiedWithThePlan) {
  const Output one = On(kFirst, scope_.Const(1.0f));
  const Output x = On(kFirst, scope_.Op("AddV2", {one, one}));
  ASSERT_TRUE(Add({x}).ok());
  EXPECT_EQ(Count("_CopyToDevice"), 0);
  const Node* const in = pruned_.rets[0].node->input(0).node->input(0).node;
  EXPECT_TRUE(in->attrs().Has(kDeviceConstantAttr));
  EXPECT_EQ(in->assigned_device(), kFirst);
}

TEST_F(DeviceCopiesTest, EachValueOncePerMemory) {
  const Output x = On(kCpu, scope_.Op("Neg", {On(kCpu, scope_.Const(1.0f))}));
  const Output a = On(kFirst, scope_.Op("Neg", {x}));
  const Output b = On(kFirst, scope_.Op("AddV2", {x, a}));
  const Output c = On(kSecond, scope_.Op("AddV2", {x, b}));
  ASSERT_TRUE(Add({c}).ok());
  EXPECT_EQ(Count("_CopyToDevice"), 3);  // x to both, b to the second
  EXPECT_EQ(Count("_CopyToHost"), 2);    // b on its way, c
}

TEST_F(DeviceCopiesTest, HostArgumentsStay) {
  const Output shape = On(kCpu, scope_.Op("Neg", {On(kCpu, scope_.Const(Tensor::Vector<int32_t>({-2})))}));
  const Output x = On(kFirst, scope_.Op("Neg", {On(kFirst, scope_.Const(Tensor::Vector<float>({1, 2})))}));
  const Output y = On(kFirst, scope_.Op("Reshape", {x, shape}));
  ASSERT_TRUE(Add({y}).ok());
  EXPECT_EQ(Count("_CopyToDevice"), 0);
  EXPECT_EQ(Count("_CopyToHost"), 1);
}

TEST_F(DeviceCopiesTest, SizesAreOnTheHost) {
  const Output x = On(kFirst, scope_.Op("Neg", {On(kFirst, scope_.Const(1.0f))}));
  const Output size = On(kFirst, scope_.Op("Size", {x}));
  ASSERT_TRUE(Add({size}).ok());
  EXPECT_EQ(Count("_CopyToHost"), 0);
}

TEST_F(DeviceCopiesTest, AReferenceIsReadAfterWhatItsReaderWaitsFor) {
  for (const auto& [variables, readers] : {std::pair(kFirst, kCpu), {kCpu, kFirst}, {kFirst, kSecond}}) {
    scope_ = Scope::Root();
    const Output v =
        On(variables, scope_.Op("VariableV2", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape(Shape())}}));
    std::vector<Output> read;
    for (int i = 0; i < 2; ++i) {
      const Output lock = On(kCpu, scope_.Const(1.0f));
      read.push_back(On(readers, scope_.WithControlDependencies({lock.node}).Op("Neg", {v})));
    }
    ASSERT_TRUE(Add(read).ok());
    std::vector<const Node*> copies;
    for (const auto& node : pruned_.graph->nodes()) {
      if (node != nullptr && node->num_inputs() > 0 && node->input(0).node->Is("VariableV2"))
        copies.push_back(node.get());
    }
    ASSERT_EQ(copies.size(), 2u) << variables << " to " << readers;
    for (const Node* copy : copies) ASSERT_EQ(copy->control_inputs().size(), 1u);
    EXPECT_NE(copies[0]->control_inputs()[0], copies[1]->control_inputs()[0]);
  }
}

TEST_F(DeviceCopiesTest, AMissingDeviceIsNamed) {
  const Output x = On("/job:other/replica:0/task:0/device:CPU:0", scope_.Const(1.0f));
  const Status status = Add({x});
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_NE(status.message().find("/job:other"), absl::string_view::npos);
}

}  // namespace
}  // namespace millstream
