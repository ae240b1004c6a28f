// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/kernel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "millstream/framework/cpu_device.h"
#include "millstream/framework/op_def.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;

// A device whose memory is used up.
class FullDevice final : public Device, Allocator {
 public:
  FullDevice() : Device({.name = "/device:CPU:7", .type = "CPU", .physical_desc = ""}) {}
  Allocator* allocator() override { return this; }
  ThreadPool* pool() override { return CpuDevice::SingleThreaded()->pool(); }
  void* Allocate(size_t, size_t*) override { return nullptr; }
  void Deallocate(void*, size_t) override {}
  AllocatorStats stats() const override { return {}; }
};

// One invocation with two inputs and one output of type float.
class KernelContextTest : public ::testing::Test {
 protected:
  void Feed(int i, Tensor value, int uses) {
    entries_[i].tensor = std::move(value);
    entries_[i].uses = uses;
  }
  KernelContext Context(Device* device = CpuDevice::SingleThreaded()) {
    return KernelContext({.step = &step_,
                          .device = device,
                          .op = &op_,
                          .node_name = &name_,
                          .inputs = inputs_,
                          .derefs = derefs_,
                          .num_inputs = 2,
                          .outputs = &output_,
                          .output_types = &output_type_,
                          .num_outputs = 1});
  }

  // Output 0, of shape [6], gets memory of its own although input 0 is a candidate for forwarding.
  void ExpectAllocates(Tensor value, int uses) {
    output_.tensor = Tensor();
    Feed(0, std::move(value), uses);
    KernelContext ctx = Context();
    const auto out = ctx.ForwardOrAllocate({0}, 0, Shape({6}));
    ASSERT_TRUE(out.ok()) << out.status();
    EXPECT_NE((*out)->raw(), ctx.input(0).raw());
    EXPECT_EQ((*out)->dtype(), DType::kFloat);
    EXPECT_EQ((*out)->shape(), Shape({6}));
  }

  StepContext step_;
  OpDef op_;
  std::string name_ = "node";
  Entry entries_[2];
  Entry* inputs_[2] = {&entries_[0], &entries_[1]};
  Tensor derefs_[2];
  Entry output_;
  DType output_type_ = DType::kFloat;
};

TEST_F(KernelContextTest, ForwardsABufferThatNobodyElseNeeds) {
  Feed(0, Tensor(DType::kFloat, Shape({2, 3})), 1);
  const void* buffer = entries_[0].tensor.raw();
  KernelContext ctx = Context();
  const auto out = ctx.ForwardOrAllocate({0}, 0, Shape({3, 2}));
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ((*out)->raw(), buffer);
  EXPECT_EQ((*out)->shape(), Shape({3, 2}));
  EXPECT_EQ(ctx.input(0).raw(), buffer) << "the kernel still reads its input";
}

TEST_F(KernelContextTest, ForwardsTheFirstCandidateThatFits) {
  Feed(0, Tensor(DType::kFloat, Shape({5})), 1);
  Feed(1, Tensor(DType::kFloat, Shape({6})), 1);
  KernelContext ctx = Context();
  EXPECT_EQ((*ctx.ForwardOrAllocate({0, 1}, 0, Shape({6})))->raw(), entries_[1].tensor.raw());
}

TEST_F(KernelContextTest, DoesNotForwardWhatOthersNeed) {
  const Tensor kept(DType::kFloat, Shape({6}));  // a constant, a feed
  ExpectAllocates(kept, 1);
  ExpectAllocates(Tensor(DType::kFloat, Shape({6})), 2);  // another consumer has not run
  ExpectAllocates(Tensor(DType::kInt32, Shape({6})), 1);
  ExpectAllocates(Tensor(DType::kFloat, Shape({7})), 1);
}

TEST_F(KernelContextTest, DoesNotForwardAVariable) {
  auto variable = MakeRef<Variable>(DType::kFloat, PartialShape({6}), "v");
  entries_[0].ref = variable;
  entries_[0].uses = 1;
  derefs_[0] = Tensor(DType::kFloat, Shape({6}));
  KernelContext ctx = Context();
  EXPECT_TRUE(ctx.input_is_ref(0));
  EXPECT_EQ(ctx.input(0).raw(), derefs_[0].raw());
  EXPECT_FALSE(ctx.InputIsExclusive(0));
  EXPECT_NE((*ctx.ForwardOrAllocate({0}, 0, Shape({6})))->raw(), derefs_[0].raw());
}

TEST_F(KernelContextTest, TakeInputMovesTheLastUseAndSharesOthers) {
  Feed(0, Tensor(DType::kFloat, Shape({4})), 1);
  Feed(1, Tensor(DType::kFloat, Shape({4})), 2);
  KernelContext ctx = Context();
  const Tensor moved = ctx.TakeInput(0);
  EXPECT_TRUE(moved.RefIsOne());
  const Tensor shared = ctx.TakeInput(1);
  EXPECT_FALSE(shared.RefIsOne());
  EXPECT_EQ(shared.raw(), entries_[1].tensor.raw());
}

TEST_F(KernelContextTest, OutOfMemoryNamesShapeTypeAndDevice) {
  FullDevice device;
  KernelContext ctx = Context(&device);
  const Status status = ctx.AllocateOutput(0, Shape({2, 3})).status();
  EXPECT_TRUE(absl::IsResourceExhausted(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("[2,3]"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("float"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("/device:CPU:7"));
}

TEST_F(KernelContextTest, ResourceInputChecksTheHandle) {
  ResourceManager resources;
  step_.resources = &resources;
  Feed(0, Tensor::Scalar(1.0f), 1);
  EXPECT_TRUE(absl::IsInvalidArgument(Context().ResourceInput<Variable>(0).status())) << "not a handle";
  ResourceHandle handle;
  handle.container = "c";
  handle.name = "nobody";
  Feed(0, Tensor::Scalar(handle), 1);
  EXPECT_TRUE(absl::IsNotFound(Context().ResourceInput<Variable>(0).status()));
}

TEST(KernelInitTest, KeepsTheFirstError) {
  OpDef op;
  const std::string name = "node";
  AttrMap attrs;
  attrs.Set("N", int64_t{3});
  KernelInit init(op, name, attrs, CpuDevice::SingleThreaded(), nullptr, nullptr, {}, {});
  EXPECT_EQ(init.Attr<int64_t>("N"), 3);
  EXPECT_TRUE(init.status().ok());
  init.Attr<std::string>("missing");
  const Status first = init.status();
  EXPECT_FALSE(first.ok());
  EXPECT_THAT(std::string(first.message()), HasSubstr("missing"));
  init.Fail(absl::InternalError("later"));
  EXPECT_EQ(init.status(), first);
}

class LateKernel final : public AsyncKernel {
 public:
  void ComputeAsync(KernelContext&, Done done) override {
    thread_ = std::thread([done = std::move(done)] { done(absl::AbortedError("late")); });
  }
  ~LateKernel() override { thread_.join(); }

 private:
  std::thread thread_;
};

TEST_F(KernelContextTest, AsyncKernelMayBeAwaited) {
  LateKernel kernel;
  KernelContext ctx = Context();
  EXPECT_EQ(static_cast<Kernel&>(kernel).Compute(ctx), absl::AbortedError("late"));
}

}  // namespace
}  // namespace millstream
