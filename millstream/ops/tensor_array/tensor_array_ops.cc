// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "millstream/framework/op.h"
#include "millstream/ops/resources/handle.h"
#include "millstream/ops/tensor_array/tensor_array_input.h"
#include "millstream/ops/tensor_array/tensor_array_kernels.h"

namespace millstream {

StatusOr<Ref<TensorArray>> TensorArrayInput(const KernelContext& ctx, DType dtype, const char* does) {
  ASSIGN_OR_RETURN(Ref<TensorArray> array, HandleInput<TensorArray>(ctx, 0));
  if (array->dtype() != dtype) {
    return errors::InvalidArgument("TensorArray dtype is ", DTypeName(array->dtype()), " but Op ", does, " dtype ",
                                   DTypeName(dtype), ".");
  }
  return array;
}

namespace {

constexpr char kContainer[] = "_tensor_arrays";

// The name of the innermost gradients scope: arrays of different calls of
// gradients stay apart.
std::string GradientSource(const std::string& prefix) {
  const std::vector<std::string> parts = absl::StrSplit(prefix, '/');
  for (size_t n = parts.size(); n > 0; --n) {
    if (absl::StartsWith(parts[n - 1], "gradients")) return absl::StrJoin(parts.begin(), parts.begin() + n, "/");
  }
  return "gradients";
}

}  // namespace

GradientArray MakeGradientArray(GradContext& g, Output handle, Output flow) {
  Node* node = g.Add("TensorArrayGradV3", {handle, flow}, {{"source", GradientSource(g.scope().name_prefix())}});
  if (node == nullptr) return {};
  return {Output(node, 0), Output(node, 1)};
}

Status ArrayReadGradient(GradContext& g, const char* write) {
  const GradientArray array = MakeGradientArray(g, g.input(0), g.input(2));
  g.set_dx(2, g.Op(write, {array.handle, g.input(1), g.dy(0), array.flow}));
  return g.status();
}

Status ArrayWriteGradient(GradContext& g, const char* read) {
  const GradientArray array = MakeGradientArray(g, g.input(0), g.dy(0));
  g.set_dx(2, g.Op(read, {array.handle, g.input(1), array.flow}, {{"dtype", g.input(2).dtype()}}));
  g.set_dx(3, g.dy(0));
  return g.status();
}

namespace {

StatusOr<int32_t> ScalarIndex(const KernelContext& ctx, int i) {
  const Tensor& t = ctx.input(i);
  if (t.rank() != 0)
    return errors::InvalidArgument("TensorArray index must be scalar, but had shape: ", t.shape().ToString());
  return t.scalar<int32_t>();
}

// Output 0 in the form that the op declares.
void SetHandle(KernelContext& ctx, const std::string& container, const std::string& name, Ref<TensorArray> array) {
  if (ctx.output_dtype(0) == DType::kResource) {
    ctx.set_output(0, MakeHandle(*ctx.device(), container, name, "N10tensorflow11TensorArrayE", std::move(array)));
  } else if (ctx.op().outputs[0].is_ref) {
    ctx.set_output_ref(0, MakeStringHandle(container, name));
  } else {
    ctx.set_output(0, Tensor::Vector<std::string>({container, name}));
  }
}

}  // namespace

TensorArrayCreate::TensorArrayCreate(KernelInit& init) {
  options_.name = init.Attr<std::string>("tensor_array_name");
  if (options_.name.empty()) options_.name = init.node_name();
  options_.dtype = init.Attr<DType>("dtype");
  options_.element_shape = init.Attr<PartialShape>("element_shape");
  options_.dynamic_size = init.Attr<bool>("dynamic_size");
  options_.clear_after_read = init.Attr<bool>("clear_after_read");
  options_.identical_element_shapes =
      init.HasAttr("identical_element_shapes") && init.Attr<bool>("identical_element_shapes");
}

Status TensorArrayCreate::Compute(KernelContext& ctx) {
  const Tensor& size = ctx.input(0);
  if (size.rank() != 0)
    return errors::InvalidArgument("TensorArray size must be scalar, but had shape: ", size.shape().ToString());
  if (size.scalar<int32_t>() < 0) return errors::InvalidArgument("Size should be >= 0.");
  if (size.scalar<int32_t>() > TensorArray::kMaxSize) {
    return errors::ResourceExhausted("TensorArray of ", size.scalar<int32_t>(), " elements is beyond the limit of ",
                                     TensorArray::kMaxSize);
  }
  ResourceManager& resources = *ctx.step_resources();
  TensorArray::Options options = options_;
  options.name = resources.UniqueName(options_.name);
  Ref<TensorArray> array = MakeRef<TensorArray>(options, size.scalar<int32_t>());
  RETURN_IF_ERROR(resources.Create<TensorArray>(kContainer, options.name, array));
  SetHandle(ctx, kContainer, options.name, std::move(array));
  if (ctx.num_outputs() == 2) ctx.set_output(1, Tensor::Scalar<float>(0));
  return OkStatus();
}

Status TensorArrayGradient::Compute(KernelContext& ctx) {
  ASSIGN_OR_RETURN(Ref<TensorArray> forward, HandleInput<TensorArray>(ctx, 0));
  PartialShape prepend(std::vector<int64_t>{});
  if (ctx.num_inputs() == 3) {
    const auto dims = ctx.input(2).flat<int32_t>();
    ASSIGN_OR_RETURN(prepend, PartialShape::Make(std::vector<int64_t>(dims.begin(), dims.end())));
  }
  const std::string name = absl::StrCat(forward->name(), "@", source_);
  ASSIGN_OR_RETURN(Ref<TensorArray> grads, ctx.step_resources()->LookupOrCreate<TensorArray>(kContainer, name, [&] {
    return TensorArray::ForGradientsOf(*forward, name, prepend);
  }));
  SetHandle(ctx, kContainer, name, std::move(grads));
  if (ctx.num_outputs() == 2) ctx.set_output(1, ctx.TakeInput(1));
  return OkStatus();
}

Status TensorArrayWriteCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(Ref<TensorArray> array, TensorArrayInput(ctx, ctx.input(2).dtype(), kWrites));
  ASSIGN_OR_RETURN(const int32_t index, ScalarIndex(ctx, 1));
  RETURN_IF_ERROR(array->Write(index, ctx.TakeInput(2)));
  ctx.set_output(0, ctx.TakeInput(3));
  return OkStatus();
}

Status TensorArrayReadCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(Ref<TensorArray> array, TensorArrayInput(ctx, ctx.output_dtype(0)));
  ASSIGN_OR_RETURN(const int32_t index, ScalarIndex(ctx, 1));
  ASSIGN_OR_RETURN(Tensor value, array->Read(index));
  ctx.set_output(0, std::move(value));
  return OkStatus();
}

Status TensorArraySizeCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(Ref<TensorArray> array, HandleInput<TensorArray>(ctx, 0));
  ASSIGN_OR_RETURN(const int64_t size, array->Size());
  ctx.set_output(0, Tensor::Scalar<int32_t>(static_cast<int32_t>(size)));
  return OkStatus();
}

// The step keeps the closed array until it ends, so that late readers are told
// what happened.
Status TensorArrayCloseCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(Ref<TensorArray> array, HandleInput<TensorArray>(ctx, 0));
  array->Close();
  return OkStatus();
}

namespace {

Status ArrayShape(ShapeContext& c) {
  bool identical = false;
  DType dtype = DType::kInvalid;
  PartialShape element;
  RETURN_IF_ERROR(c.GetAttr("identical_element_shapes", &identical));
  RETURN_IF_ERROR(c.GetAttr("dtype", &dtype));
  RETURN_IF_ERROR(c.GetAttr("element_shape", &element));
  if (identical) c.set_output_handle(0, std::move(element), dtype);
  return ScalarShape(c);
}

Status GradShape(ShapeContext& c) {
  if (c.num_inputs() == 2 && c.input_handle_dtype(0) != DType::kInvalid) {
    c.set_output_handle(0, c.input_handle_shape(0), c.input_handle_dtype(0));
  }
  return ScalarShape(c);
}

Status ReadShape(ShapeContext& c) {
  if (c.input_handle_dtype(0) != DType::kInvalid) c.set_output(0, c.input_handle_shape(0));
  return OkStatus();
}

Status ReadGradient(GradContext& g) { return ArrayReadGradient(g, "TensorArrayWriteV3"); }
Status WriteGradient(GradContext& g) { return ArrayWriteGradient(g, "TensorArrayReadV3"); }

OP("TensorArrayV3")
    .Input("size: int32")
    .Output("handle: resource")
    .Output("flow: float")
    .Attr("dtype: type")
    .Attr("element_shape: shape = { unknown_rank: true }")
    .Attr("dynamic_size: bool = false")
    .Attr("clear_after_read: bool = true")
    .Attr("identical_element_shapes: bool = false")
    .Attr("tensor_array_name: string = ''")
    .Stateful()
    .Shape(ArrayShape)
    .NotDifferentiable()
    .Cpu<TensorArrayCreate>()
    .Doc("A new array of tensors, gone with the step.");

OP("TensorArrayGradV3")
    .Input("handle: resource")
    .Input("flow_in: float")
    .Output("grad_handle: resource")
    .Output("flow_out: float")
    .Attr("source: string")
    .Stateful()
    .Shape(GradShape)
    .NotDifferentiable()
    .Cpu<TensorArrayGradient>()
    .Doc("The array that collects the gradients of an array.");

OP("TensorArrayGradWithShape")
    .Input("handle: resource")
    .Input("flow_in: float")
    .Input("shape_to_prepend: int32")
    .Output("grad_handle: resource")
    .Output("flow_out: float")
    .Attr("source: string")
    .Stateful()
    .Shape(GradShape)
    .NotDifferentiable()
    .Cpu<TensorArrayGradient>()
    .Doc("TensorArrayGradV3 whose elements have more dimensions in front.");

OP("TensorArrayWriteV3")
    .Input("handle: resource")
    .Input("index: int32")
    .Input("value: T")
    .Input("flow_in: float")
    .Output("flow_out: float")
    .Attr("T: type")
    .Stateful()
    .Shape(ScalarShape)
    .Gradient(WriteGradient)
    .Cpu(TensorArrayWriteCpu)
    .Doc("Puts a tensor into an array.");

OP("TensorArrayReadV3")
    .Input("handle: resource")
    .Input("index: int32")
    .Input("flow_in: float")
    .Output("value: dtype")
    .Attr("dtype: type")
    .Stateful()
    .Shape(ReadShape)
    .Gradient(ReadGradient)
    .Cpu(TensorArrayReadCpu)
    .Doc("A tensor of an array.");

OP("TensorArraySizeV3")
    .Input("handle: resource")
    .Input("flow_in: float")
    .Output("size: int32")
    .Stateful()
    .Shape(ScalarShape)
    .NotDifferentiable()
    .Cpu(TensorArraySizeCpu)
    .Doc("The number of elements of an array.");

OP("TensorArrayCloseV3")
    .Input("handle: resource")
    .Stateful()
    .Shape(NoOutputs)
    .NotDifferentiable()
    .Cpu(TensorArrayCloseCpu)
    .Doc("Drops what is in an array.");

}  // namespace
}  // namespace millstream
