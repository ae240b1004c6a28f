// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/once_a_step.h"
#include "millstream/framework/op.h"
#include "millstream/ops/data/element_attrs.h"
#include "millstream/ops/data/iterator_resource.h"
#include "millstream/ops/resources/handle.h"
#include "millstream/ops/resources/handle_text.h"

namespace millstream {
namespace {

constexpr char kTypeName[] = "tensorflow::data::IteratorResource";

// Names where the kernel's iterator lives.
struct SharedName {
  explicit SharedName(KernelInit& init)
      : container(init.Attr<std::string>("container")), name(init.Attr<std::string>("shared_name")) {
    if (name.empty()) name = init.node_name();
  }
  StatusOr<Ref<IteratorResource>> FindOrMake(KernelContext& ctx, const OutputSignature& signature) const {
    ASSIGN_OR_RETURN(Ref<IteratorResource> found, ctx.resources()->LookupOrCreate<IteratorResource>(
                                                      container, name, [&]() -> StatusOr<Ref<IteratorResource>> {
                                                        return MakeRef<IteratorResource>(signature);
                                                      }));
    RETURN_IF_ERROR(CheckSignature(signature, found->signature().types, found->signature().shapes));
    return found;
  }
  // Without a pointer: only the manager owns iterators, so they end with it.
  Tensor Handle(KernelContext& ctx) const { return MakeHandle(*ctx.device(), container, name, kTypeName, nullptr); }
  std::string container;
  std::string name;
};

class IteratorHandle final : public Kernel {
 public:
  explicit IteratorHandle(KernelInit& init) : name_(init), signature_(init) {}
  Status Compute(KernelContext& ctx) override {
    RETURN_IF_ERROR(name_.FindOrMake(ctx, signature_).status());
    ctx.set_output(0, name_.Handle(ctx));
    return OkStatus();
  }

 private:
  const SharedName name_;
  const OutputSignature signature_;
};

// Asks a function for its dataset the first time it runs.
class OneShotIterator final : public AsyncKernel {
 public:
  explicit OneShotIterator(KernelInit& init)
      : name_(init), signature_(init), factory_(init.Attr<NameAttrList>("dataset_factory")) {}

  void ComputeAsync(KernelContext& ctx, Done done) override {
    bool is_first = false;
    {
      MutexLock lock(mu_);
      if (!finished_) {
        is_first = waiting_.empty();
        waiting_.push_back({&ctx, done});
        if (!is_first) return;
      }
    }
    if (is_first) return Start(ctx);
    Answer(ctx, done);
  }

 private:
  struct Waiting {
    KernelContext* ctx;
    Done done;
  };

  void Answer(KernelContext& ctx, const Done& done) {
    ctx.set_output(0, name_.Handle(ctx));
    done(OkStatus());
  }

  void Start(KernelContext& ctx) {
    if (ctx.step().functions == nullptr) return Finish(errors::Internal("No function library is provided."));
    StatusOr<std::shared_ptr<CompiledFunction>> compiled = ctx.step().functions->Instantiate(factory_);
    if (!compiled.ok()) return Finish(compiled.status());
    if (!(*compiled)->arg_types().empty()) {
      return Finish(errors::InvalidArgument("dataset_factory of a one-shot iterator must not take arguments"));
    }
    auto rets = std::make_shared<Element>();
    const CompiledFunction& function = **compiled;
    ctx.step().functions->RunAsync(function, ctx.step(), {}, rets.get(),
                                   [this, &ctx, rets, keep = *compiled](const Status& status) {
                                     Finish(status.ok() ? Initialize(ctx, *rets) : status);
                                   });
  }

  Status Initialize(KernelContext& ctx, const Element& rets) {
    if (rets.size() != 1 || rets[0].dtype() != DType::kVariant || rets[0].rank() != 0 ||
        rets[0].scalar<Variant>().get<Dataset>() == nullptr) {
      return errors::InvalidArgument("The `dataset_factory` function must return a single scalar of dtype DT_VARIANT.");
    }
    ASSIGN_OR_RETURN(Ref<IteratorResource> iterator, name_.FindOrMake(ctx, signature_));
    return iterator->SetDataset(Ref<Dataset>::Share(rets[0].scalar<Variant>().get<Dataset>()), ctx.step());
  }

  // A failure is not kept: the next step tries again.
  void Finish(const Status& status) {
    std::vector<Waiting> waiting;
    {
      MutexLock lock(mu_);
      finished_ = status.ok();
      waiting.swap(waiting_);
    }
    for (Waiting& w : waiting) {
      if (status.ok())
        Answer(*w.ctx, w.done);
      else
        w.done(status);
    }
  }

  const SharedName name_;
  const OutputSignature signature_;
  const NameAttrList factory_;
  Mutex mu_;
  bool finished_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<Waiting> waiting_ ABSL_GUARDED_BY(mu_);
};

Status MakeIteratorCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(Ref<Dataset> dataset, DatasetInput(ctx, 0));
  ASSIGN_OR_RETURN(Ref<IteratorResource> iterator, ctx.ResourceInput<IteratorResource>(1));
  return iterator->SetDataset(std::move(dataset), ctx.step());
}

class IteratorGetNext final : public AsyncOnceAStep {
 public:
  explicit IteratorGetNext(KernelInit&) {}
  void ComputeFrom(KernelContext& ctx, int64_t* /*progress*/, Done done) override {
    StatusOr<Ref<IteratorResource>> iterator = ctx.ResourceInput<IteratorResource>(0);
    if (!iterator.ok()) return done(iterator.status());
    (*iterator)->GetNext(ctx, std::move(done));
  }
};

class IteratorGetNextAsOptional final : public AsyncOnceAStep {
 public:
  explicit IteratorGetNextAsOptional(KernelInit&) {}
  void ComputeFrom(KernelContext& ctx, int64_t* /*progress*/, Done done) override {
    StatusOr<Ref<IteratorResource>> iterator = ctx.ResourceInput<IteratorResource>(0);
    if (!iterator.ok()) return done(iterator.status());
    (*iterator)->GetNextAsOptional(ctx, std::move(done));
  }
};

Status GetDeviceCpu(KernelContext& ctx) {
  ctx.set_output(0, Tensor::Scalar(ctx.device()->name()));
  return OkStatus();
}

Status ToStringHandleCpu(KernelContext& ctx) { return OutputHandleText<IteratorResource>(ctx); }

class FromStringHandle final : public Kernel {
 public:
  explicit FromStringHandle(KernelInit& init) : signature_(init) {}
  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const ResourceHandle handle, HandleFromText(ctx, 0));
    ASSIGN_OR_RETURN(Ref<IteratorResource> iterator,
                     ctx.resources()->Lookup<IteratorResource>(handle.container, handle.name));
    if (!signature_.types.empty()) {
      RETURN_IF_ERROR(CheckSignature(signature_, iterator->signature().types, iterator->signature().shapes));
    }
    ctx.set_output(0, MakeHandle(*ctx.device(), handle.container, handle.name, kTypeName, nullptr));
    return OkStatus();
  }

 private:
  const OutputSignature signature_;
};

#define ITERATOR(Name)             \
  OP(Name)                         \
      .Output("handle: resource")  \
      .Attr("shared_name: string") \
      .Attr("container: string")   \
      .With(ElementAttrs)          \
      .Stateful()                  \
      .Shape(ScalarShape)          \
      .Cpu<IteratorHandle>()       \
      .Doc("An iterator that MakeIterator gives a dataset.")
ITERATOR("IteratorV2");
ITERATOR("Iterator");

OP("OneShotIterator")
    .Output("handle: resource")
    .Attr("dataset_factory: func")
    .With(ElementAttrs)
    .Attr("container: string = ''")
    .Attr("shared_name: string = ''")
    .Stateful()
    .Shape(ScalarShape)
    .Cpu<OneShotIterator>()
    .Doc("An iterator over the dataset that a function makes.");
OP("MakeIterator")
    .Input("dataset: variant")
    .Input("iterator: resource")
    .Stateful()
    .Shape(NoOutputs)
    .Cpu(MakeIteratorCpu)
    .Doc("Starts an iterator anew at the front of a dataset.");

#define GET_NEXT(Name)                    \
  OP(Name)                                \
      .Input("iterator: resource")        \
      .Output("components: output_types") \
      .With(ElementAttrs)                 \
      .Stateful()                         \
      .Shape(ElementShapes)               \
      .Cpu<IteratorGetNext>()             \
      .Doc("The next element of an iterator. OutOfRange at the end.")
GET_NEXT("IteratorGetNext");
GET_NEXT("IteratorGetNextSync");

OP("IteratorGetNextAsOptional")
    .Input("iterator: resource")
    .Output("optional: variant")
    .With(ElementAttrs)
    .Stateful()
    .Shape(ScalarShape)
    .Cpu<IteratorGetNextAsOptional>()
    .Doc("The next element of an iterator as an optional, which has no value at the end.");
#define GET_DEVICE(Name)           \
  OP(Name)                         \
      .Input("resource: resource") \
      .Output("device: string")    \
      .Stateful()                  \
      .Shape(ScalarShape)          \
      .Cpu(GetDeviceCpu)           \
      .Doc("The device of an iterator.")
GET_DEVICE("IteratorGetDevice");
GET_DEVICE("ExperimentalIteratorGetDevice");
#undef GET_DEVICE

OP("IteratorToStringHandle")
    .Input("resource_handle: resource")
    .Output("string_handle: string")
    .Stateful()
    .Shape(ScalarShape)
    .Cpu(ToStringHandleCpu)
    .Doc("The name of an iterator as a string, for IteratorFromStringHandle.");
#define FROM_STRING(Name)                           \
  OP(Name)                                          \
      .Input("string_handle: string")               \
      .Output("resource_handle: resource")          \
      .Attr("output_types: list(type) >= 0 = []")   \
      .Attr("output_shapes: list(shape) >= 0 = []") \
      .Stateful()                                   \
      .Shape(ScalarShape)                           \
      .Cpu<FromStringHandle>()                      \
      .Doc("The iterator that a string names.")
FROM_STRING("IteratorFromStringHandle");
FROM_STRING("IteratorFromStringHandleV2");
#undef FROM_STRING
#undef GET_NEXT
#undef ITERATOR

}  // namespace
}  // namespace millstream
