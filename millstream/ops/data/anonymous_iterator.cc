// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/op.h"
#include "millstream/ops/data/element_attrs.h"
#include "millstream/ops/data/iterator_resource.h"
#include "millstream/ops/resources/handle.h"

namespace millstream {
namespace {

// Iterators without a name, which functions make for loops over datasets. They are the step's and end with it.
class AnonymousIterator final : public Kernel {
 public:
  explicit AnonymousIterator(KernelInit& init) : signature_(init) {}
  Status Compute(KernelContext& ctx) override {
    ResourceManager* const resources = ctx.step_resources();
    if (resources == nullptr) return errors::FailedPrecondition("There is no step to own the iterator");
    const std::string name = resources->UniqueName("AnonymousIterator");
    RETURN_IF_ERROR(resources->Create("", name, MakeRef<IteratorResource>(signature_)));
    ctx.set_output(0, MakeHandle(*ctx.device(), "", name, "tensorflow::data::IteratorResource", nullptr));
    if (ctx.num_outputs() > 1) ctx.set_output(1, Tensor::Scalar(Variant()));
    return OkStatus();
  }

 private:
  const OutputSignature signature_;
};

Status DeleteIteratorCpu(KernelContext& ctx) {
  const Tensor& handle = ctx.input(0);
  if (handle.num_elements() != 1) return errors::InvalidArgument("handle must be one resource handle");
  const ResourceHandle& h = handle.data<ResourceHandle>()[0];
  // The step may have been another one; its iterators are gone.
  const Status gone = ctx.step_resources() == nullptr
                          ? OkStatus()
                          : ctx.step_resources()->Delete<IteratorResource>(h.container, h.name);
  return absl::IsNotFound(gone) ? OkStatus() : gone;
}

void AnonymousIteratorOp(OpBuilder& op) {
  op.Output("handle: resource")
      .With(ElementAttrs)
      .Stateful()
      .Shape(ScalarShape)
      .Cpu<AnonymousIterator>()
      .Doc("An iterator that belongs to the step.");
}
OP("AnonymousIterator").With(AnonymousIteratorOp);
OP("AnonymousIteratorV2").With(AnonymousIteratorOp).Output("deleter: variant");
OP("AnonymousIteratorV3").With(AnonymousIteratorOp);

OP("DeleteIterator")
    .Input("handle: resource")
    .Input("deleter: variant")
    .Stateful()
    .Shape(NoOutputs)
    .Cpu(DeleteIteratorCpu)
    .Doc("Ends an iterator of the step.");

}  // namespace
}  // namespace millstream
