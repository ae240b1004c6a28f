// SPDX-License-Identifier: Apache-2.0
#include "millstream/devices/shadow/shadow_kernel.h"

#include <algorithm>
#include <cstring>

#include "millstream/base/notification.h"
#include "millstream/devices/shadow/variable_twins.h"

namespace millstream::shadow {
namespace {

constexpr int32_t kSharedUses = 2;  // kernels take over no buffer of an input

// A handle to the twin of the variable behind a handle; the handle itself if there is no variable.
StatusOr<Tensor> TwinHandle(const KernelContext& ctx, int i, VariableTwins* twins) {
  const StatusOr<Ref<Variable>> variable = ctx.ResourceInput<Variable>(i);
  if (!variable.ok()) return ctx.input(i);
  ResourceHandle handle = ctx.input(i).data<ResourceHandle>()[0];
  ASSIGN_OR_RETURN(handle.resource, twins->Of(*variable));
  return Tensor::Scalar(handle);
}

}  // namespace

ShadowKernel::ShadowKernel(Node node, std::unique_ptr<Kernel> kernel)
    : node_(std::make_shared<const Node>(std::move(node))), kernel_(std::move(kernel)) {
  const auto plain = [](DType t) { return IsPlainBytes(t) && !IsRef(t); };
  const auto on_host = [](bool host) { return host; };
  const auto& host_outputs = node_->memory.host_outputs;
  may_be_late_ = std::all_of(node_->output_types.begin(), node_->output_types.end(), plain) &&
                 std::none_of(host_outputs.begin(), host_outputs.end(), on_host) && node_->op->shape != nullptr;
  makes_objects_ = !std::all_of(node_->output_types.begin(), node_->output_types.end(),
                                [](DType t) { return IsPlainBytes(RemoveRef(t)); });
  for (const ArgDef& arg : node_->op->def.inputs) {
    may_be_late_ = may_be_late_ && !arg.is_ref && arg.type != DType::kResource;
  }
}

Status ShadowKernel::Compute(KernelContext& ctx) {
  std::vector<Shape> shapes;
  return may_be_late_ && InferShapes(ctx, &shapes) ? Issue(ctx, shapes) : RunAndWait(ctx);
}

bool ShadowKernel::InferShapes(const KernelContext& ctx, std::vector<Shape>* shapes) const {
  std::vector<PartialShape> inputs;
  for (int i = 0; i < ctx.num_inputs(); ++i) inputs.emplace_back(ctx.input(i).shape());
  ShapeContext shape(node_->attrs, std::move(inputs), ctx.num_outputs());
  for (int i = 0; i < ctx.num_inputs(); ++i) {
    if (node_->memory.host_inputs[i]) shape.set_constant(i, ctx.input(i));
  }
  if (!node_->op->shape(shape).ok()) return false;  // the kernel says it better
  for (int i = 0; i < ctx.num_outputs(); ++i) {
    if (!shape.output(i).IsFullyDefined()) return false;
    shapes->push_back(shape.output(i).ToShape());
  }
  return true;
}

Status ShadowKernel::Issue(KernelContext& ctx, const std::vector<Shape>& shapes) {
  auto* const device = static_cast<ShadowDevice*>(ctx.device());
  std::vector<Tensor> inputs;
  for (int i = 0; i < ctx.num_inputs(); ++i) {
    inputs.push_back(node_->memory.host_inputs[i] ? ctx.input(i) : device->Visible(ctx.input(i)));
  }
  // Only addresses go into the work, as with a real device: tensors may be gone by then, and their memory is not.
  std::vector<Tensor> results;
  for (int i = 0; i < ctx.num_outputs(); ++i) {
    ASSIGN_OR_RETURN(Tensor result, device->AllocateTensor(ctx.output_dtype(i), shapes[i]));
    results.push_back(device->Visible(result));
    ctx.set_output(i, std::move(result));
  }
  device->stream()->ThenCall([device, node = node_, kernel = kernel_, inputs = std::move(inputs),
                              results = std::move(results), iter = ctx.frame_iter(), tag = ctx.tag()] {
    const Status status = RunLate(device, *node, kernel.get(), inputs, results, iter, tag);
    if (!status.ok()) {
      device->NoteError(Status(status.code(), absl::StrCat(status.message(), "\n\t [[{{node ", node->name, "}}]]")));
    }
  });
  return OkStatus();
}

Status ShadowKernel::RunLate(ShadowDevice* device, const Node& node, Kernel* kernel, const std::vector<Tensor>& inputs,
                             const std::vector<Tensor>& results, int64_t frame_iter, uint64_t tag) {
  StepContext step;
  step.pool = device->pool();
  std::vector<Entry> entries(inputs.size()), outputs(results.size());
  for (size_t i = 0; i < inputs.size(); ++i) entries[i].tensor = inputs[i];
  RETURN_IF_ERROR(RunKernel(step, device, node, kernel, frame_iter, tag, &entries, &outputs));
  for (size_t i = 0; i < results.size(); ++i) {
    const Tensor& got = outputs[i].tensor;
    if (!got.IsInitialized()) return errors::Internal("the kernel set no output ", i);
    if (got.shape() != results[i].shape() || got.dtype() != results[i].dtype()) {
      return errors::Internal("the shape function says ", results[i].shape().ToString(), ", the kernel made ",
                              got.shape().ToString());
    }
    std::memcpy(const_cast<void*>(results[i].raw()), got.raw(), got.ByteSize());
  }
  return OkStatus();
}

Status ShadowKernel::RunKernel(const StepContext& step, ShadowDevice* device, const Node& node, Kernel* kernel,
                               int64_t frame_iter, uint64_t tag, std::vector<Entry>* inputs,
                               std::vector<Entry>* outputs) {
  std::vector<Entry*> pointers;
  for (Entry& entry : *inputs) {
    entry.uses.store(kSharedUses, std::memory_order_relaxed);
    pointers.push_back(&entry);
  }
  KernelContext::Frame frame;
  frame.step = &step;
  frame.device = device->host();
  frame.op = &node.op->def;
  frame.node_name = &node.name;
  frame.inputs = pointers.data();
  frame.derefs = nullptr;
  frame.num_inputs = static_cast<int>(pointers.size());
  frame.outputs = outputs->data();
  frame.output_types = node.output_types.data();
  frame.num_outputs = static_cast<int>(outputs->size());
  frame.frame_iter = frame_iter;
  frame.tag = tag;
  KernelContext ctx(frame);
  return kernel->Compute(ctx);
}

Status ShadowKernel::RunAndWait(KernelContext& ctx) {
  auto* const device = static_cast<ShadowDevice*>(ctx.device());
  Notification done;
  Status status;
  device->stream()->ThenCall([&] {
    status = RunNow(ctx, device);
    done.Notify();
  });
  done.Wait();
  return status;
}

Status ShadowKernel::RunNow(KernelContext& ctx, ShadowDevice* device) {
  VariableTwins twins(device);
  std::vector<Entry> inputs(static_cast<size_t>(ctx.num_inputs())), outputs(static_cast<size_t>(ctx.num_outputs()));
  for (int i = 0; i < ctx.num_inputs(); ++i) {
    if (node_->ref_inputs[i]) {
      ASSIGN_OR_RETURN(inputs[i].ref, twins.Of(ctx.input_ref(i)));
    } else if (ctx.input(i).dtype() == DType::kResource) {
      ASSIGN_OR_RETURN(inputs[i].tensor, TwinHandle(ctx, i, &twins));
    } else {
      inputs[i].tensor = device->Holds(ctx.input(i)) ? device->Visible(ctx.input(i)) : ctx.input(i);
      // What becomes part of an object must live as long as it does.
      if (makes_objects_ && device->Holds(ctx.input(i))) {
        ASSIGN_OR_RETURN(inputs[i].tensor, inputs[i].tensor.Clone());
      }
    }
  }
  RETURN_IF_ERROR(RunKernel(ctx.step(), device, *node_, kernel_.get(), ctx.frame_iter(), ctx.tag(), &inputs, &outputs));
  RETURN_IF_ERROR(twins.Commit());
  for (int i = 0; i < ctx.num_outputs(); ++i) {
    if (outputs[i].dead) ctx.set_output_dead(i);
    if (outputs[i].ref) ctx.set_output_ref(i, twins.OriginalOf(outputs[i].ref));
    if (outputs[i].tensor.IsInitialized()) RETURN_IF_ERROR(SetOutput(ctx, device, i, outputs[i].tensor));
  }
  return OkStatus();
}

Status ShadowKernel::SetOutput(KernelContext& ctx, ShadowDevice* device, int i, const Tensor& value) {
  if (node_->memory.host_outputs[i]) {
    if (!IsPlainBytes(value.dtype())) {
      ctx.set_output(i, value);
      return OkStatus();
    }
    ASSIGN_OR_RETURN(Tensor own, value.Clone());  // it may be a view of the device's memory
    ctx.set_output(i, std::move(own));
    return OkStatus();
  }
  ASSIGN_OR_RETURN(Tensor result, device->NewTensor(value));
  ctx.set_output(i, std::move(result));
  return OkStatus();
}

}  // namespace millstream::shadow
