// SPDX-License-Identifier: Apache-2.0
// Steps that an accelerator records and launches again, on one that lives in host memory.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "millstream/framework/accelerator.h"
#include "millstream/framework/cpu_device.h"
#include "millstream/framework/device_factory.h"
#include "millstream/framework/device_kernel.h"
#include "millstream/framework/device_kernels.h"
#include "millstream/graph/scope.h"
#include "millstream/runtime/session.h"

namespace millstream {
namespace {

constexpr char kType[] = "TAPE";
using Work = std::vector<std::function<void()>>;

int launches = 0;  // of recordings
int issued = 0;    // kernels that were called

// Work runs at once, or is kept while it is recorded. Memory of a recording is never used for anything else.
class TapeDevice final : public Accelerator {
 public:
  TapeDevice(DeviceAttributes attributes, ThreadPool* pool) : Accelerator(std::move(attributes)), pool_(pool) {}
  Allocator* allocator() override { return HostAllocator(); }
  ThreadPool* pool() override { return pool_; }
  StatusOr<Tensor> AllocateTensor(DType dtype, const Shape& shape) override { return Tensor::Make(dtype, shape); }
  bool Holds(const Tensor&) const override { return true; }
  void CopyFromHost(const Tensor& from, Tensor* to, std::function<void(Status)> done) override {
    std::memcpy(to->raw(), from.raw(), from.ByteSize());
    done(OkStatus());
  }
  void CopyToHost(const Tensor& from, Tensor* to, std::function<void(Status)> done) override {
    done(ReadBack(from, to));
  }
  Status ReadBack(const Tensor& from, Tensor* to) override {
    std::memcpy(to->raw(), from.raw(), from.ByteSize());
    return OkStatus();
  }
  Status CopyOnDevice(const Tensor& from, Tensor* to) override {
    Issue([from = from.raw(), to = to->raw(), bytes = from.ByteSize()] { std::memcpy(to, from, bytes); });
    return OkStatus();
  }
  bool CanRecord() const override { return true; }
  Status StartRecording() override {
    tape_ = std::make_unique<Tape>();
    return OkStatus();
  }
  StatusOr<std::unique_ptr<Recording>> FinishRecording() override { return std::move(tape_); }

  void Issue(std::function<void()> fn) {
    if (tape_ == nullptr) return fn();
    tape_->work.push_back(std::move(fn));
  }
  Tensor Allocate(const Shape& shape) {
    Tensor made(DType::kFloat, shape);
    if (tape_ != nullptr) tape_->memory.push_back(made);
    return made;
  }

 private:
  struct Tape final : Recording {
    Status Launch() override {
      ++launches;
      for (const auto& fn : work) fn();
      return OkStatus();
    }
    bool Holds(const Tensor& tensor) const override {
      return std::any_of(memory.begin(), memory.end(), [&](const Tensor& t) { return t.raw() == tensor.raw(); });
    }
    Work work;
    std::vector<Tensor> memory;
  };
  ThreadPool* const pool_;
  std::unique_ptr<Tape> tape_;
};

class TapeAdd final : public DeviceKernel {
 public:
  explicit TapeAdd(KernelInit&) {}
  Status Compute(KernelContext& ctx) override {
    ++issued;
    auto* const device = static_cast<TapeDevice*>(ctx.device());
    const Tensor &a = ctx.input(0), &b = ctx.input(1);
    Tensor sum = device->Allocate(a.shape());
    device->Issue([x = a.data<float>(), y = b.data<float>(), z = sum.data<float>(), n = a.num_elements()] {
      for (int64_t i = 0; i < n; ++i) z[i] = x[i] + y[i];
    });
    ctx.set_output(0, std::move(sum));
    return OkStatus();
  }
};

// Gives the variable other memory in every call, as a kernel may that finds a reader.
class TapeAssignAdd final : public DeviceKernel {
 public:
  explicit TapeAssignAdd(KernelInit&) {}
  Status Compute(KernelContext& ctx) override {
    ++issued;
    auto* const device = static_cast<TapeDevice*>(ctx.device());
    Variable& variable = ctx.ref_input(0);
    MutexLock lock(variable.mu());
    Tensor sum = device->Allocate(variable.tensor().shape());
    device->Issue([x = variable.tensor().data<float>(), y = ctx.input(1).data<float>(), z = sum.data<float>(),
                   n = sum.num_elements()] {
      for (int64_t i = 0; i < n; ++i) z[i] = x[i] + y[i];
    });
    variable.set_tensor(std::move(sum));
    ctx.set_output_ref(0, ctx.input_ref(0));
    return OkStatus();
  }
};

class TapeAssign final : public DeviceKernel {
 public:
  explicit TapeAssign(KernelInit&) {}
  Status Compute(KernelContext& ctx) override {
    auto* const device = static_cast<TapeDevice*>(ctx.device());
    const Tensor& value = ctx.input(1);
    Tensor copy = device->Allocate(value.shape());
    RETURN_IF_ERROR(device->CopyOnDevice(value, &copy));
    ctx.ref_input(0).Assign(std::move(copy));
    ctx.set_output_ref(0, ctx.input_ref(0));
    return OkStatus();
  }
};

template <typename K>
void AddKernel(const char* op) {
  KernelDef kernel;
  kernel.device_type = kType;
  kernel.constraints = {{"T", DType::kFloat}};
  kernel.factory = [](KernelInit& init) -> StatusOr<std::unique_ptr<Kernel>> { return std::make_unique<K>(init); };
  ASSERT_TRUE(AddDeviceKernel(&OpRegistry::Global().Add(op), kernel).ok());
}

class RecordedStepsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    AddNeutralKernels(kType);
    AddKernel<TapeAdd>("AddV2");
    AddKernel<TapeAssignAdd>("AssignAdd");
    AddKernel<TapeAssign>("Assign");
    RegisterDeviceFactory({kType, [](const DeviceRequest& request) -> StatusOr<std::vector<std::unique_ptr<Device>>> {
                             std::vector<std::unique_ptr<Device>> devices;
                             if (request.max_devices <= 0) return devices;  // other tests do without
                             DeviceAttributes attributes;
                             attributes.name = request.task + "/device:TAPE:0";
                             attributes.type = kType;
                             devices.push_back(std::make_unique<TapeDevice>(attributes, request.pool));
                             return devices;
                           }});
  }

  void SetUp() override {
    launches = issued = 0;
    SessionOptions options;
    options.allow_soft_placement = true;
    options.device_count[kType] = 1;
    session_ = *NewSession(options);
    Scope s = Scope::Root().WithDevice("/device:TAPE:0");
    Output x = s.WithOpName("x").Op("Placeholder", {}, {{"dtype", DType::kFloat}});
    Output v = s.WithOpName("v").Op("VariableV2", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape(Shape({2}))}});
    s.WithDevice("/device:CPU:0").WithOpName("unused").Const(1.f);
    s.WithOpName("old").Op("Identity", {v});
    s.WithOpName("sum").Op("AddV2", {x, x});
    Output update = s.WithOpName("update").Op("AssignAdd", {v, x});
    s.WithOpName("after").WithControlDependencies({update.node}).Op("AddV2", {x, v});
    s.WithOpName("init").Op("Assign", {v, s.Const(Tensor::Vector<float>({0, 10}))});
    ASSERT_TRUE(s.ok()) << s.status();
    ASSERT_TRUE(session_->Extend(*s.graph()).ok());
    const Status initialized = session_->Run({}, {}, {"init"}, nullptr);
    ASSERT_TRUE(initialized.ok()) << initialized;
    issued = 0;
  }

  std::vector<Tensor> Run(const std::vector<float>& x, const std::vector<std::string>& fetches) {
    std::vector<Tensor> out;
    const Status status = session_->Run({{"x:0", Tensor::Vector<float>(x)}}, fetches, {}, &out);
    EXPECT_TRUE(status.ok()) << status;
    out.resize(fetches.size(), Tensor::Scalar(0.f));
    return out;
  }

  std::unique_ptr<Session> session_;
};

TEST_F(RecordedStepsTest, ThirdStepIsALaunchWithNewFeeds) {
  for (int i = 1; i <= 6; ++i) {
    const auto f = static_cast<float>(i);
    EXPECT_EQ(Run({f, 1}, {"sum:0"})[0].data<float>()[0], 2 * f);
    EXPECT_EQ(issued, std::min(i, 2));
    EXPECT_EQ(launches, std::max(0, i - 1));
  }
}

TEST_F(RecordedStepsTest, EveryShapeHasItsRecording) {
  for (int i = 0; i < 4; ++i) {
    for (const size_t size : {2, 3, 5}) {
      const std::vector<float> x(size, static_cast<float>(i));
      const Tensor sum = Run(x, {"sum:0"})[0];
      ASSERT_EQ(sum.num_elements(), static_cast<int64_t>(size));
      EXPECT_EQ(sum.data<float>()[size - 1], 2.f * static_cast<float>(i));
    }
  }
  EXPECT_EQ(issued, 3 * 2);
}

// The variable gets other memory in the recording; every launch must find the value of the step before.
TEST_F(RecordedStepsTest, UpdatesAddUpAndOthersSeeThem) {
  float total = 0;
  for (int i = 1; i <= 8; ++i) {
    const auto f = static_cast<float>(i);
    total += f;
    EXPECT_EQ(Run({f, 0}, {"after:0"})[0].data<float>()[0], f + total) << i;
    if (i % 3 != 0) continue;
    EXPECT_EQ(Run({0, 0}, {"old:0"})[0].data<float>()[0], total) << i;
  }
  EXPECT_GT(launches, 5);
}

// A variable that is assigned lies elsewhere: the step is recorded anew.
TEST_F(RecordedStepsTest, AssignedVariablesAreFound) {
  for (int i = 0; i < 4; ++i) Run({1, 1}, {"after:0"});
  ASSERT_TRUE(session_->Run({}, {}, {"init"}, nullptr).ok());
  for (int i = 1; i <= 4; ++i) {
    const Tensor after = Run({1, 1}, {"after:0"})[0];
    EXPECT_EQ(after.data<float>()[0], 1.f + static_cast<float>(i));
    EXPECT_EQ(after.data<float>()[1], 11.f + static_cast<float>(i));
  }
}

// Who fetched a value before keeps it, whatever later steps do.
TEST_F(RecordedStepsTest, FetchedValuesStay) {
  std::vector<Tensor> kept;
  for (int i = 0; i < 5; ++i) kept.push_back(Run({1, 1}, {"after:0"})[0]);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(kept[i].data<float>()[0], 2.f + static_cast<float>(i));
}

}  // namespace
}  // namespace millstream
