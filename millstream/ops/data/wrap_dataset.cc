// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/op.h"
#include "millstream/ops/data/dataset.h"

namespace millstream {
namespace {

// A dataset in another variant. On the CPU that protects it from nothing; other devices do not see into it.
class WrappedDataset final : public VariantValue {
 public:
  explicit WrappedDataset(Ref<Dataset> dataset) : dataset_(std::move(dataset)) {}
  std::string type_name() const override { return "tensorflow::WrappedDatasetVariantWrapper"; }
  const Ref<Dataset>& dataset() const { return dataset_; }

 private:
  const Ref<Dataset> dataset_;
};

Status WrapCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(Ref<Dataset> dataset, DatasetInput(ctx, 0));
  ctx.set_output(0, Tensor::Scalar(Variant(MakeRef<WrappedDataset>(std::move(dataset)))));
  return OkStatus();
}

Status UnwrapCpu(KernelContext& ctx) {
  const Tensor& t = ctx.input(0);
  const auto* wrapped = t.rank() == 0 ? t.scalar<Variant>().get<WrappedDataset>() : nullptr;
  if (wrapped == nullptr) return errors::InvalidArgument("Tensor must be a WrappedDataset variant object.");
  OutputDataset(ctx, wrapped->dataset());
  return OkStatus();
}

OP("WrapDatasetVariant")
    .Input("input_handle: variant")
    .Output("output_handle: variant")
    .Shape(ScalarShape)
    .Cpu(WrapCpu)
    .Doc("A dataset in a variant that only UnwrapDatasetVariant opens.");
OP("UnwrapDatasetVariant")
    .Input("input_handle: variant")
    .Output("output_handle: variant")
    .Shape(ScalarShape)
    .Cpu(UnwrapCpu)
    .Doc("The dataset in what WrapDatasetVariant made.");

}  // namespace
}  // namespace millstream
