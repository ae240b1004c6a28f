// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/recorded_value.h"

#include "millstream/framework/op_def.h"

namespace millstream {
namespace {

class RecordingKernel final : public Kernel {
 public:
  RecordingKernel(const KernelInit& init, std::unique_ptr<Kernel> kernel)
      : op_(&init.op()), attrs_(std::make_shared<const AttrMap>(init.attrs())), kernel_(std::move(kernel)) {}

  Status Compute(KernelContext& ctx) override {
    if (makes_others_.load(std::memory_order_relaxed)) return kernel_->Compute(ctx);
    // Held before the kernel may move them away.
    std::vector<Tensor> inputs;
    inputs.reserve(static_cast<size_t>(ctx.num_inputs()));
    for (int i = 0; i < ctx.num_inputs(); ++i) inputs.push_back(ctx.input(i));
    RETURN_IF_ERROR(kernel_->Compute(ctx));
    Record(*ctx.output(0), std::move(inputs));
    return OkStatus();
  }

 private:
  void Record(const Tensor& output, std::vector<Tensor> inputs) {
    if (output.dtype() != DType::kVariant || output.rank() != 0) return;
    auto* value = output.scalar<Variant>().get<RecordedValue>();
    if (value == nullptr) return makes_others_.store(true, std::memory_order_relaxed);
    if (value->record() != nullptr) return;  // an input that was passed on
    value->set_record(std::make_shared<const NodeRecord>(NodeRecord{op_, attrs_, std::move(inputs)}));
  }

  const OpDef* const op_;
  const std::shared_ptr<const AttrMap> attrs_;
  const std::unique_ptr<Kernel> kernel_;
  std::atomic<bool> makes_others_{false};
};

}  // namespace

std::unique_ptr<Kernel> WithRecords(const KernelInit& init, std::unique_ptr<Kernel> kernel) {
  const bool one_variant = init.output_types().size() == 1 && init.output_types()[0] == DType::kVariant;
  if (!one_variant || dynamic_cast<AsyncKernel*>(kernel.get()) != nullptr) return kernel;
  return std::make_unique<RecordingKernel>(init, std::move(kernel));
}

}  // namespace millstream
