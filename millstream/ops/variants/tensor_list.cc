// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/variants/tensor_list.h"

namespace millstream {

Ref<TensorList> TensorList::Copy() const {
  Ref<TensorList> copy = MakeRef<TensorList>(element_dtype, element_shape);
  copy->max_num_elements = max_num_elements;
  copy->depth = depth;
  copy->tensors = tensors;
  return copy;
}

StatusOr<TensorList*> ListInput(const KernelContext& ctx, int i, DType dtype) {
  const Tensor& t = ctx.input(i);
  if (t.dtype() != DType::kVariant || t.rank() != 0) {
    return errors::InvalidArgument("Input list must be a scalar saw: ", t.shape().ToString());
  }
  const Variant& value = t.scalar<Variant>();
  auto* list = value.get<TensorList>();
  if (list == nullptr) return errors::InvalidArgument("Input handle is not a list. Saw: '", value.type_name(), "'");
  if (dtype != DType::kInvalid && list->element_dtype != dtype) {
    return errors::InvalidArgument("Invalid data types; op elements ", DTypeName(dtype), " but list elements ",
                                   DTypeName(list->element_dtype));
  }
  return list;
}

StatusOr<Ref<TensorList>> TakeList(KernelContext& ctx, int i, DType dtype) {
  ASSIGN_OR_RETURN(TensorList * list, ListInput(ctx, i, dtype));
  const Tensor handle = ctx.TakeInput(i);
  if (handle.RefIsOne() && list->RefIsOne()) return Ref<TensorList>::Share(list);
  return list->Copy();
}

void OutputList(KernelContext& ctx, Ref<TensorList> list) {
  ctx.set_output(0, Tensor::Scalar(Variant(std::move(list))));
}

StatusOr<PartialShape> ShapeInput(const KernelContext& ctx, int i) {
  const Tensor& t = ctx.input(i);
  std::vector<int64_t> dims;
  if (t.dtype() == DType::kInt32)
    dims.assign(t.data<int32_t>(), t.data<int32_t>() + t.num_elements());
  else
    dims.assign(t.data<int64_t>(), t.data<int64_t>() + t.num_elements());
  if (t.rank() == 0) {
    if (dims[0] == -1) return PartialShape();
    return errors::InvalidArgument("The only valid scalar shape tensor is the fully unknown shape specified as -1.");
  }
  if (t.rank() > 1)
    return errors::InvalidArgument("element_shape must be at most rank 1, but has the shape of ", t.shape().ToString());
  return PartialShape::Make(std::move(dims));
}

StatusOr<PartialShape> MergeShapes(const PartialShape& a, const PartialShape& b) {
  StatusOr<PartialShape> merged = a.MergeWith(b);
  if (merged.ok()) return merged;
  if (a.rank() != b.rank()) {
    return errors::InvalidArgument("Incompatible ranks during merge: ", a.rank(), " vs. ", b.rank());
  }
  return errors::InvalidArgument("Incompatible shapes during merge: ", a.ToString(), " vs. ", b.ToString());
}

StatusOr<PartialShape> ElementShape(const KernelContext& ctx, int i, const TensorList& list) {
  ASSIGN_OR_RETURN(const PartialShape given, ShapeInput(ctx, i));
  return MergeShapes(given, list.element_shape);
}

StatusOr<int64_t> IntInput(const KernelContext& ctx, int i, absl::string_view name) {
  const Tensor& t = ctx.input(i);
  if (t.num_elements() != 1) {
    return errors::InvalidArgument(name, " must be a scalar, but got shape: ", t.shape().ToString());
  }
  return static_cast<int64_t>(t.scalar<int32_t>());
}

Status CheckListSize(int64_t size, absl::string_view name) {
  if (size < 0) return errors::InvalidArgument(name, " must be a non negative number, but got ", size);
  if (size > kMaxListSize) return errors::ResourceExhausted("a list of ", size, " elements is too long");
  return OkStatus();
}

Status CheckElement(TensorList* list, const Tensor& element) {
  if (!list->element_shape.IsCompatibleWith(element.shape())) {
    return errors::InvalidArgument("Tried to put a tensor with incompatible shape into a list. Item element shape: ",
                                   element.shape().ToString(), " list shape: ", list->element_shape.ToString());
  }
  return NoteDepth(list, element);
}

Tensor RowOf(const Tensor& t, int64_t i) {
  Shape shape = t.shape();
  shape.RemoveDim(0);
  return t.SliceRows(i, i + 1).Reshaped(shape);
}

namespace {

// The shape in input i, where -1 as a scalar says nothing.
StatusOr<PartialShape> ShapeInputOf(const ShapeContext& c, int i) {
  if (c.input(i).rank() == 0) return PartialShape();
  return c.ConstantAsShape(i);
}

Status ListShape(ShapeContext& c, int i) {
  DType dtype = DType::kInvalid;
  RETURN_IF_ERROR(c.GetAttr("element_dtype", &dtype));
  ASSIGN_OR_RETURN(PartialShape element, ShapeInputOf(c, i));
  c.set_output(0, Shape());
  c.set_output_handle(0, std::move(element), dtype);
  return OkStatus();
}

}  // namespace

Status ListShapeFrom0(ShapeContext& c) { return ListShape(c, 0); }
Status ListShapeFrom1(ShapeContext& c) { return ListShape(c, 1); }

Status ListShapeUnchanged(ShapeContext& c) {
  c.set_output(0, Shape());
  if (c.input_handle_dtype(0) != DType::kInvalid)
    c.set_output_handle(0, c.input_handle_shape(0), c.input_handle_dtype(0));
  return OkStatus();
}

StatusOr<PartialShape> KnownElementShape(const ShapeContext& c, int i) {
  PartialShape shape = c.input_handle_dtype(0) == DType::kInvalid ? PartialShape() : c.input_handle_shape(0);
  if (i < 0) return shape;
  ASSIGN_OR_RETURN(const PartialShape given, ShapeInputOf(c, i));
  return shape.MergeWith(given);
}

}  // namespace millstream
