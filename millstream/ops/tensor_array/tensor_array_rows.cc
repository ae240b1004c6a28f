// SPDX-License-Identifier: Apache-2.0
// Whole arrays at once: elements joined to one tensor, or a tensor taken apart
// into elements.
#include <algorithm>

#include "millstream/framework/op.h"
#include "millstream/ops/resources/join_tensors.h"
#include "millstream/ops/tensor_array/tensor_array_input.h"
#include "millstream/ops/tensor_array/tensor_array_kernels.h"

namespace millstream {

Status TensorArrayStack::Compute(KernelContext& ctx) {
  ASSIGN_OR_RETURN(Ref<TensorArray> array, TensorArrayInput(ctx, ctx.output_dtype(0)));
  RETURN_IF_ERROR(array->MergeElementShape(element_shape_));
  if (ctx.num_inputs() == 2) {
    ASSIGN_OR_RETURN(const std::vector<Tensor> all, array->ReadForConcat());
    return Stack(ctx, all, *array);
  }
  const Tensor& indices = ctx.input(1);
  if (indices.rank() != 1)
    return errors::InvalidArgument("Expected indices to be a vector, but received shape: ", indices.shape().ToString());
  ASSIGN_OR_RETURN(const std::vector<Tensor> values, array->ReadAll(indices.flat<int32_t>()));
  return Stack(ctx, values, *array);
}

Status TensorArrayStack::Stack(KernelContext& ctx, const std::vector<Tensor>& values, TensorArray& array) const {
  std::vector<int64_t> dims = {static_cast<int64_t>(values.size())};
  if (values.empty()) {
    ASSIGN_OR_RETURN(const PartialShape element, array.element_shape().MergeWith(element_shape_));
    if (!element.IsFullyDefined()) {
      return errors::Unimplemented("TensorArray has size zero, but element shape ", element.ToString(),
                                   " is not fully defined. Currently only static shapes are supported "
                                   "when packing "
                                   "zero-size TensorArrays.");
    }
    dims.insert(dims.end(), element.dims().begin(), element.dims().end());
  } else {
    dims.insert(dims.end(), values[0].shape().dims().begin(), values[0].shape().dims().end());
  }
  for (size_t i = 1; i < values.size(); ++i) {
    if (values[i].shape() == values[0].shape()) continue;
    return errors::InvalidArgument(
        "TensorArray has inconsistent shapes.  Index 0 has shape: ", values[0].shape().ToString(), " but index ", i,
        " has shape: ", values[i].shape().ToString());
  }
  ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
  JoinTensors(ctx, values, out);
  return OkStatus();
}

namespace {

// The shape and the rows of the elements, joined.
Status Measure(const std::vector<Tensor>& values, std::vector<int64_t>* dims, std::vector<int64_t>* lengths) {
  int64_t total = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const Shape& shape = values[i].shape();
    if (shape.rank() == 0) {
      return errors::InvalidArgument("Concat saw a scalar shape at index ", i,
                                     " but requires at least vectors.  Did you mean to call pack?");
    }
    if (i == 0) dims->assign(shape.dims().begin(), shape.dims().end());
    if (shape.rank() != static_cast<int>(dims->size()) ||
        !std::equal(shape.dims().begin() + 1, shape.dims().end(), dims->begin() + 1)) {
      return errors::InvalidArgument(
          "TensorArray has inconsistent shapes.  Index 0 has (excepting "
          "dimension 0) shape: ",
          values[0].shape().ToString(), " but index ", i, " has shape: ", shape.ToString());
    }
    lengths->push_back(shape.dim(0));
    if (__builtin_add_overflow(total, shape.dim(0), &total))
      return errors::InvalidArgument("the concatenation is too large");
  }
  (*dims)[0] = total;
  return OkStatus();
}

}  // namespace

Status TensorArrayConcat::Compute(KernelContext& ctx) {
  ASSIGN_OR_RETURN(Ref<TensorArray> array, TensorArrayInput(ctx, ctx.output_dtype(0)));
  const PartialShape element = except0_.rank_known() ? PartialShape({-1}).Concatenate(except0_) : PartialShape();
  RETURN_IF_ERROR(array->MergeElementShape(element));
  ASSIGN_OR_RETURN(const std::vector<Tensor> values, array->ReadForConcat());
  if (values.empty()) return Empty(ctx, *array);
  std::vector<int64_t> dims;
  std::vector<int64_t> lengths;
  RETURN_IF_ERROR(Measure(values, &dims, &lengths));
  ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
  JoinTensors(ctx, values, out);
  ctx.set_output(1, Tensor::Vector(lengths));
  return OkStatus();
}

Status TensorArrayConcat::Empty(KernelContext& ctx, TensorArray& array) const {
  PartialShape rest = except0_;
  const PartialShape element = array.element_shape();
  if (element.rank() > 0 && rest.rank_known()) {
    ASSIGN_OR_RETURN(rest, rest.MergeWith(element.Slice(1, element.rank())));
  } else if (element.rank() > 0) {
    rest = element.Slice(1, element.rank());
  }
  if (!rest.IsFullyDefined()) {
    return errors::Unimplemented("TensorArray has size zero, but element_shape_except0 ", rest.ToString(),
                                 " is not fully defined. Currently only static shapes are supported "
                                 "when concatenating "
                                 "zero-size TensorArrays.");
  }
  std::vector<int64_t> dims = {0};
  dims.insert(dims.end(), rest.dims().begin(), rest.dims().end());
  ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  RETURN_IF_ERROR(ctx.AllocateOutput(0, shape).status());
  ctx.set_output(1, Tensor(DType::kInt64, Shape({0})));
  return OkStatus();
}

namespace {

// Puts the rows of `value` into these elements, or the first ones. They are views of the value: nothing is copied.
Status WriteRows(TensorArray& array, const Tensor& value, std::span<const int32_t> indices) {
  Shape element = value.shape();
  element.RemoveDim(0);
  std::vector<Tensor> values;
  values.reserve(value.dim(0));
  for (int64_t i = 0; i < value.dim(0); ++i) values.push_back(value.SliceRows(i, i + 1).Reshaped(element));
  array.set_marked_size(value.dim(0));
  return array.WriteAll(indices, std::move(values));
}

Status CheckHasRows(const Tensor& value) {
  if (value.rank() >= 1) return OkStatus();
  return errors::InvalidArgument("Input value for unpack must be at least a vector but received shape: ",
                                 value.shape().ToString());
}

}  // namespace

Status TensorArrayScatterCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(Ref<TensorArray> array, TensorArrayInput(ctx, ctx.input(2).dtype(), kWrites));
  const Tensor &indices = ctx.input(1), &value = ctx.input(2);
  if (indices.rank() != 1)
    return errors::InvalidArgument("Expected indices to be a vector, but received shape: ", indices.shape().ToString());
  RETURN_IF_ERROR(CheckHasRows(value));
  if (value.dim(0) != indices.dim(0)) {
    return errors::InvalidArgument("Expected len(indices) == values.shape[0], but saw: ", indices.dim(0), " vs. ",
                                   value.dim(0));
  }
  RETURN_IF_ERROR(WriteRows(*array, value, indices.flat<int32_t>()));
  ctx.set_output(0, ctx.TakeInput(3));
  return OkStatus();
}

Status TensorArrayUnpackCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(Ref<TensorArray> array, TensorArrayInput(ctx, ctx.input(1).dtype(), kWrites));
  const Tensor& value = ctx.input(1);
  RETURN_IF_ERROR(CheckHasRows(value));
  ASSIGN_OR_RETURN(const int64_t size, array->Size());
  if (value.dim(0) < size || (value.dim(0) > size && !array->dynamic_size())) {
    return errors::InvalidArgument("Input value must have first dimension equal to the array size (", value.dim(0),
                                   " vs. ", size, ")");
  }
  if (value.dim(0) > TensorArray::kMaxSize) {
    return errors::ResourceExhausted("TensorArray of ", value.dim(0), " elements is beyond the limit of ",
                                     TensorArray::kMaxSize);
  }
  RETURN_IF_ERROR(WriteRows(*array, value, {}));
  ctx.set_output(0, ctx.TakeInput(2));
  return OkStatus();
}

Status TensorArraySplitCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(Ref<TensorArray> array, TensorArrayInput(ctx, ctx.input(1).dtype(), kWrites));
  const Tensor &value = ctx.input(1), &lengths = ctx.input(2);
  if (lengths.rank() != 1)
    return errors::InvalidArgument("Expected lengths to be a vector, received shape: ", lengths.shape().ToString());
  if (value.rank() < 1)
    return errors::InvalidArgument("Expected value to be at least a vector, but received shape: ",
                                   value.shape().ToString());
  ASSIGN_OR_RETURN(const int64_t size, array->Size());
  if (size != lengths.dim(0) && !array->dynamic_size()) {
    return errors::InvalidArgument("TensorArray's size is not equal to the size of lengths (", size, " vs. ",
                                   lengths.dim(0), "), and the TensorArray is not marked as dynamically resizeable");
  }
  std::vector<Tensor> values;
  int64_t at = 0;
  for (const int64_t length : lengths.flat<int64_t>()) {
    if (length < 0 || length > value.dim(0) - at) {
      return errors::InvalidArgument(
          "Expected sum of lengths to be equal to values.shape[0], but a "
          "length is ",
          length, " and value's shape is: ", value.shape().ToString());
    }
    values.push_back(value.SliceRows(at, at + length));
    at += length;
  }
  if (at != value.dim(0)) {
    return errors::InvalidArgument(
        "Expected sum of lengths to be equal to values.shape[0], but sum of "
        "lengths is ",
        at, " and value's shape is: ", value.shape().ToString());
  }
  array->set_marked_size(lengths.dim(0));
  RETURN_IF_ERROR(array->WriteAll({}, std::move(values)));
  ctx.set_output(0, ctx.TakeInput(3));
  return OkStatus();
}

namespace {

Status GatherShape(ShapeContext& c) {
  PartialShape indices, element;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 1, &indices));
  RETURN_IF_ERROR(c.GetAttr("element_shape", &element));
  if (c.input_handle_dtype(0) != DType::kInvalid) {
    ASSIGN_OR_RETURN(element, element.MergeWith(c.input_handle_shape(0)));
  }
  if (element.rank_known()) c.set_output(0, indices.Concatenate(element));
  return OkStatus();
}

Status ConcatShape(ShapeContext& c) {
  PartialShape rest;
  RETURN_IF_ERROR(c.GetAttr("element_shape_except0", &rest));
  if (rest.rank_known()) c.set_output(0, PartialShape({-1}).Concatenate(rest));
  c.set_output(1, PartialShape({-1}));
  return OkStatus();
}

Status GatherGradient(GradContext& g) { return ArrayReadGradient(g, "TensorArrayScatterV3"); }
Status ScatterGradient(GradContext& g) { return ArrayWriteGradient(g, "TensorArrayGatherV3"); }

Status ConcatGradient(GradContext& g) {
  const GradientArray array = MakeGradientArray(g, g.input(0), g.input(1));
  g.set_dx(1, g.Op("TensorArraySplitV3", {array.handle, g.dy(0), g.output(1), array.flow}));
  return g.status();
}

Status SplitGradient(GradContext& g) {
  const GradientArray array = MakeGradientArray(g, g.input(0), g.dy(0));
  g.set_dx(1, g.Op("TensorArrayConcatV3", {array.handle, array.flow}, {{"dtype", g.input(1).dtype()}}));
  g.set_dx(3, g.dy(0));
  return g.status();
}

OP("TensorArrayGatherV3")
    .Input("handle: resource")
    .Input("indices: int32")
    .Input("flow_in: float")
    .Output("value: dtype")
    .Attr("dtype: type")
    .Attr("element_shape: shape = { unknown_rank: true }")
    .Stateful()
    .Shape(GatherShape)
    .Gradient(GatherGradient)
    .Cpu<TensorArrayStack>()
    .Doc("Elements of an array, stacked.");

OP("TensorArrayScatterV3")
    .Input("handle: resource")
    .Input("indices: int32")
    .Input("value: T")
    .Input("flow_in: float")
    .Output("flow_out: float")
    .Attr("T: type")
    .Stateful()
    .Shape(ScalarShape)
    .Gradient(ScatterGradient)
    .Cpu(TensorArrayScatterCpu)
    .Doc("Puts the rows of a tensor into an array.");

OP("TensorArrayConcatV3")
    .Input("handle: resource")
    .Input("flow_in: float")
    .Output("value: dtype")
    .Output("lengths: int64")
    .Attr("dtype: type")
    .Attr("element_shape_except0: shape = { unknown_rank: true }")
    .Stateful()
    .Shape(ConcatShape)
    .Gradient(ConcatGradient)
    .Cpu<TensorArrayConcat>()
    .Doc("Elements of an array, joined along their first dimension.");

OP("TensorArraySplitV3")
    .Input("handle: resource")
    .Input("value: T")
    .Input("lengths: int64")
    .Input("flow_in: float")
    .Output("flow_out: float")
    .Attr("T: type")
    .Stateful()
    .Shape(ScalarShape)
    .Gradient(SplitGradient)
    .Cpu(TensorArraySplitCpu)
    .Doc("Puts pieces of a tensor into an array.");

}  // namespace
}  // namespace millstream
