// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "millstream/framework/op.h"
#include "millstream/ops/resources/handle.h"

namespace millstream {
namespace {

// Tensors that stay in the session between steps, under names. Thread-safe.
class SessionTensors final : public Resource {
 public:
  std::string DebugString() const override { return "SessionTensors"; }

  std::string Add(const std::string& node, const std::string& device, Tensor tensor) {
    MutexLock lock(mu_);
    std::string name = absl::StrCat(node, ";", next_++, ";", device);
    tensors_.emplace(name, std::move(tensor));
    return name;
  }
  StatusOr<Tensor> Get(const std::string& name) {
    MutexLock lock(mu_);
    const auto it = tensors_.find(name);
    if (it != tensors_.end()) return it->second;
    return errors::InvalidArgument("The tensor with handle '", name, "' is not in the session store.");
  }
  Status Delete(const std::string& name) {
    MutexLock lock(mu_);
    if (tensors_.erase(name) > 0) return OkStatus();
    return errors::InvalidArgument("Failed to delete a tensor with handle '", name, "' in the session store.");
  }

 private:
  Mutex mu_;
  int64_t next_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<std::string, Tensor> tensors_ ABSL_GUARDED_BY(mu_);
};

StatusOr<Ref<SessionTensors>> Tensors(const KernelContext& ctx) {
  return ctx.resources()->LookupOrCreate<SessionTensors>(
      "", "_session_tensors", []() -> StatusOr<Ref<SessionTensors>> { return MakeRef<SessionTensors>(); });
}

StatusOr<std::string> HandleName(const KernelContext& ctx) {
  if (ctx.input(0).num_elements() != 1) return errors::InvalidArgument("handle must be a scalar");
  return ctx.input(0).data<std::string>()[0];
}

Status GetSessionHandleCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(Ref<SessionTensors> tensors, Tensors(ctx));
  const std::string name = tensors->Add(ctx.node_name(), ctx.device()->name(), ctx.input(0));
  if (ctx.output_dtype(0) == DType::kResource) {
    ctx.set_output(0, MakeHandle(*ctx.device(), ctx.resources()->default_container(), name, "tensorflow::Tensor",
                                 Ref<Resource>()));
    return OkStatus();
  }
  ctx.set_output(0, Tensor::Scalar(name));
  return OkStatus();
}

Status GetSessionTensorCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(const std::string name, HandleName(ctx));
  ASSIGN_OR_RETURN(Ref<SessionTensors> tensors, Tensors(ctx));
  ASSIGN_OR_RETURN(Tensor tensor, tensors->Get(name));
  if (tensor.dtype() != ctx.output_dtype(0)) {
    return errors::InvalidArgument("The tensor with handle '", name, "' is of type ", DTypeName(tensor.dtype()));
  }
  ctx.set_output(0, std::move(tensor));
  return OkStatus();
}

Status DeleteSessionTensorCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(const std::string name, HandleName(ctx));
  ASSIGN_OR_RETURN(Ref<SessionTensors> tensors, Tensors(ctx));
  return tensors->Delete(name);
}

OP("GetSessionHandle")
    .Input("value: T")
    .Output("handle: string")
    .Attr("T: type")
    .Stateful()
    .Shape(ScalarShape)
    .NotDifferentiable()
    .Cpu(GetSessionHandleCpu)
    .Doc("Keeps a tensor in the session; the name to find it again by.");

OP("GetSessionHandleV2")
    .Input("value: T")
    .Output("handle: resource")
    .Attr("T: type")
    .Stateful()
    .Shape(ScalarShape)
    .NotDifferentiable()
    .Cpu(GetSessionHandleCpu)
    .Doc("As GetSessionHandle, with a resource handle.");

OP("GetSessionTensor")
    .Input("handle: string")
    .Output("value: dtype")
    .Attr("dtype: type")
    .Stateful()
    .Shape(UnknownShape)
    .NotDifferentiable()
    .Cpu(GetSessionTensorCpu)
    .Doc("A tensor that the session keeps.");

OP("DeleteSessionTensor")
    .Input("handle: string")
    .Stateful()
    .Shape(NoOutputs)
    .NotDifferentiable()
    .Cpu(DeleteSessionTensorCpu)
    .Doc("Lets go of a tensor that the session keeps.");

}  // namespace
}  // namespace millstream
