// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/op.h"
#include "millstream/ops/data/devices/multi_device_iterator.h"
#include "millstream/ops/data/element_attrs.h"
#include "millstream/ops/resources/handle.h"
#include "millstream/ops/resources/handle_text.h"

namespace millstream {
namespace {

constexpr char kTypeName[] = "tensorflow::data::MultiDeviceIterator";

int ShardCount(KernelInit& init) { return static_cast<int>(init.Attr<std::vector<std::string>>("devices").size()); }

// An iterator that steps share by name.
class NamedIterator final : public Kernel {
 public:
  explicit NamedIterator(KernelInit& init)
      : container_(init.Attr<std::string>("container")),
        name_(init.Attr<std::string>("shared_name")),
        shards_(ShardCount(init)),
        signature_(init) {
    if (name_.empty()) name_ = init.node_name();
  }
  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(Ref<MultiDeviceIterator> found,
                     ctx.resources()->LookupOrCreate<MultiDeviceIterator>(
                         container_, name_, [&]() -> StatusOr<Ref<MultiDeviceIterator>> {
                           return MakeRef<MultiDeviceIterator>(signature_, shards_);
                         }));
    RETURN_IF_ERROR(CheckSignature(signature_, found->signature().types, found->signature().shapes));
    ctx.set_output(0, MakeHandle(*ctx.device(), container_, name_, kTypeName, nullptr));
    return OkStatus();
  }

 private:
  const std::string container_;
  std::string name_;
  const int shards_;
  const OutputSignature signature_;
};

// One without a name, which is the step's and ends with it.
class AnonymousIterator final : public Kernel {
 public:
  explicit AnonymousIterator(KernelInit& init) : shards_(ShardCount(init)), signature_(init) {}
  Status Compute(KernelContext& ctx) override {
    ResourceManager* const resources = ctx.step_resources();
    if (resources == nullptr) return errors::FailedPrecondition("There is no step to own the iterator");
    const std::string name = resources->UniqueName("AnonymousMultiDeviceIterator");
    RETURN_IF_ERROR(resources->Create("", name, MakeRef<MultiDeviceIterator>(signature_, shards_)));
    ctx.set_output(0, MakeHandle(*ctx.device(), "", name, kTypeName, nullptr));
    if (ctx.num_outputs() > 1) ctx.set_output(1, Tensor::Scalar(Variant()));
    return OkStatus();
  }

 private:
  const int shards_;
  const OutputSignature signature_;
};

Status InitCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(Ref<Dataset> dataset, DatasetInput(ctx, 0));
  ASSIGN_OR_RETURN(const Ref<MultiDeviceIterator> iterator, ctx.ResourceInput<MultiDeviceIterator>(1));
  ASSIGN_OR_RETURN(const int64_t max_buffer_size, ScalarInput<int64_t>(ctx, 2, "max_buffer_size"));
  ASSIGN_OR_RETURN(const int64_t incarnation, iterator->Start(std::move(dataset), max_buffer_size, ctx.step()));
  ctx.set_output(0, Tensor::Scalar(incarnation));
  return OkStatus();
}

class GetNextFromShard final : public AsyncKernel {
 public:
  explicit GetNextFromShard(KernelInit&) {}
  void ComputeAsync(KernelContext& ctx, Done done) override {
    const StatusOr<Ref<MultiDeviceIterator>> iterator = ctx.ResourceInput<MultiDeviceIterator>(0);
    if (!iterator.ok()) return done(iterator.status());
    const StatusOr<int32_t> shard = ScalarInput<int32_t>(ctx, 1, "shard_num");
    if (!shard.ok()) return done(shard.status());
    const StatusOr<int64_t> incarnation = ScalarInput<int64_t>(ctx, 2, "incarnation_id");
    if (!incarnation.ok()) return done(incarnation.status());
    (*iterator)->GetNext(ctx, *shard, *incarnation, std::move(done));
  }
};

class FromStringHandle final : public Kernel {
 public:
  explicit FromStringHandle(KernelInit& init) : signature_(init) {}
  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const ResourceHandle handle, HandleFromText(ctx, 0));
    ASSIGN_OR_RETURN(const Ref<MultiDeviceIterator> found,
                     ctx.resources()->Lookup<MultiDeviceIterator>(handle.container, handle.name));
    if (!signature_.types.empty()) {
      RETURN_IF_ERROR(CheckSignature(signature_, found->signature().types, found->signature().shapes));
    }
    ctx.set_output(0, MakeHandle(*ctx.device(), handle.container, handle.name, kTypeName, nullptr));
    return OkStatus();
  }

 private:
  const OutputSignature signature_;
};

Status DeleteCpu(KernelContext& ctx) {
  const Tensor& handle = ctx.input(0);
  if (handle.num_elements() != 1) return errors::InvalidArgument("multi_device_iterator must be one resource handle");
  const ResourceHandle& h = handle.data<ResourceHandle>()[0];
  // The step may have been another one; its iterators are gone.
  const Status gone = ctx.step_resources() == nullptr
                          ? OkStatus()
                          : ctx.step_resources()->Delete<MultiDeviceIterator>(h.container, h.name);
  return absl::IsNotFound(gone) ? OkStatus() : gone;
}

OP("MultiDeviceIterator")
    .Output("handle: resource")
    .Attr("devices: list(string) >= 1")
    .Attr("shared_name: string")
    .Attr("container: string")
    .With(ElementAttrs)
    .Stateful()
    .Shape(ScalarShape)
    .Cpu<NamedIterator>()
    .Doc("An iterator that deals the elements of a dataset to several devices in turn.");
OP("AnonymousMultiDeviceIterator")
    .Output("handle: resource")
    .Output("deleter: variant")
    .Attr("devices: list(string) >= 1")
    .With(ElementAttrs)
    .Stateful()
    .Shape(ScalarShape)
    .Cpu<AnonymousIterator>()
    .Doc("A multi-device iterator that belongs to the step.");
OP("AnonymousMultiDeviceIteratorV3")
    .Output("handle: resource")
    .Attr("devices: list(string) >= 1")
    .With(ElementAttrs)
    .Stateful()
    .Shape(ScalarShape)
    .Cpu<AnonymousIterator>()
    .Doc("A multi-device iterator that belongs to the step.");
OP("MultiDeviceIteratorInit")
    .Input("dataset: variant")
    .Input("multi_device_iterator: resource")
    .Input("max_buffer_size: int64")
    .Output("incarnation_id: int64")
    .Stateful()
    .Shape(ScalarShape)
    .Cpu(InitCpu)
    .Doc(
        "Starts a multi-device iterator anew at the front of a dataset; the incarnation is for those who ask for "
        "elements.");
OP("MultiDeviceIteratorGetNextFromShard")
    .Input("multi_device_iterator: resource")
    .Input("shard_num: int32")
    .Input("incarnation_id: int64")
    .Output("components: output_types")
    .With(ElementAttrs)
    .Stateful()
    .Shape(ElementShapes)
    .Cpu<GetNextFromShard>()
    .Doc("The next element for one of the devices. OutOfRange at the end.");
OP("MultiDeviceIteratorToStringHandle")
    .Input("multi_device_iterator: resource")
    .Output("string_handle: string")
    .Stateful()
    .Shape(ScalarShape)
    .Cpu(OutputHandleText<MultiDeviceIterator>)
    .Doc("The name of a multi-device iterator as a string, for MultiDeviceIteratorFromStringHandle.");
OP("MultiDeviceIteratorFromStringHandle")
    .Input("string_handle: string")
    .Output("multi_device_iterator: resource")
    .Attr("output_types: list(type) >= 0 = []")
    .Attr("output_shapes: list(shape) >= 0 = []")
    .Stateful()
    .Shape(ScalarShape)
    .Cpu<FromStringHandle>()
    .Doc("The multi-device iterator that a string names.");
OP("DeleteMultiDeviceIterator")
    .Input("multi_device_iterator: resource")
    .Input("iterators: N * resource")
    .Input("deleter: variant")
    .Attr("N: int >= 0")
    .Stateful()
    .Shape(NoOutputs)
    .Cpu(DeleteCpu)
    .Doc("Ends a multi-device iterator of the step.");

}  // namespace
}  // namespace millstream
