// SPDX-License-Identifier: Apache-2.0
// Lists of tensors: making them, one element at a time.
#include "millstream/framework/op.h"
#include "millstream/graph/gradients/gradient.h"
#include "millstream/ops/variants/tensor_list.h"

namespace millstream {
namespace {

class EmptyList final : public Kernel {
 public:
  explicit EmptyList(KernelInit& init) : dtype_(init.Attr<DType>("element_dtype")) {}
  Status Compute(KernelContext& ctx) override {
    if (ctx.input(1).rank() != 0) {
      return errors::InvalidArgument("max_num_elements expected to be a scalar but got shape: ",
                                     ctx.input(1).shape().ToString());
    }
    ASSIGN_OR_RETURN(PartialShape shape, ShapeInput(ctx, 0));
    Ref<TensorList> list = MakeRef<TensorList>(dtype_, std::move(shape));
    list->max_num_elements = ctx.input(1).scalar<int32_t>();
    OutputList(ctx, std::move(list));
    return OkStatus();
  }

 private:
  const DType dtype_;
};

class Reserve final : public Kernel {
 public:
  explicit Reserve(KernelInit& init) : dtype_(init.Attr<DType>("element_dtype")) {}
  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(PartialShape shape, ShapeInput(ctx, 0));
    ASSIGN_OR_RETURN(const int64_t size, IntInput(ctx, 1, "num_elements"));
    RETURN_IF_ERROR(CheckListSize(size, "num_elements"));
    Ref<TensorList> list = MakeRef<TensorList>(dtype_, std::move(shape));
    list->tensors.resize(static_cast<size_t>(size));
    OutputList(ctx, std::move(list));
    return OkStatus();
  }

 private:
  const DType dtype_;
};

Status LengthCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(const TensorList* list, ListInput(ctx, 0, DType::kInvalid));
  ctx.set_output(0, Tensor::Scalar(static_cast<int32_t>(list->tensors.size())));
  return OkStatus();
}

template <typename T>
class ElementShapeOp final : public Kernel {
 public:
  explicit ElementShapeOp(KernelInit&) {}
  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const TensorList* list, ListInput(ctx, 0, DType::kInvalid));
    const PartialShape& shape = list->element_shape;
    if (shape.rank_known())
      ctx.set_output(0, Tensor::Vector(std::vector<T>(shape.dims().begin(), shape.dims().end())));
    else
      ctx.set_output(0, Tensor::Scalar<T>(-1));
    return OkStatus();
  }
};

Status PushBackCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(const TensorList* seen, ListInput(ctx, 0, ctx.input(1).dtype()));
  const auto size = static_cast<int64_t>(seen->tensors.size());
  if (seen->max_num_elements != -1 && size >= seen->max_num_elements) {
    return errors::InvalidArgument("Tried to push item into a full list list size: ", size,
                                   " max_num_elements: ", seen->max_num_elements);
  }
  RETURN_IF_ERROR(CheckListSize(size + 1, "the size of a list"));
  ASSIGN_OR_RETURN(Ref<TensorList> list, TakeList(ctx, 0, ctx.input(1).dtype()));
  RETURN_IF_ERROR(CheckElement(list.get(), ctx.input(1)));
  list->tensors.push_back(ctx.TakeInput(1));
  OutputList(ctx, std::move(list));
  return OkStatus();
}

// The shape of an element that was never set: from the list, the request (input i), and the other elements if `look`.
StatusOr<Tensor> MissingElement(const KernelContext& ctx, int i, const TensorList& list, bool look) {
  ASSIGN_OR_RETURN(PartialShape shape, ElementShape(ctx, i, list));
  look &= !shape.IsFullyDefined();
  for (const Tensor& t : list.tensors) {
    if (!look || !t.IsInitialized()) continue;
    ASSIGN_OR_RETURN(shape, MergeShapes(shape, t.shape()));
  }
  if (!shape.IsFullyDefined()) {
    return errors::InvalidArgument("Trying to read an uninitialized tensor but element_shape is not fully defined: ",
                                   shape.ToString(), " and no list element is set.");
  }
  ASSIGN_OR_RETURN(const Shape full, Shape::Make(shape.dims()));
  return ZeroTensor(list.element_dtype, full);
}

Status PopBackCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(const TensorList* seen, ListInput(ctx, 0, ctx.output_dtype(1)));
  if (seen->tensors.empty()) return errors::InvalidArgument("Trying to pop from an empty list.");
  Tensor last = seen->tensors.back();
  if (!last.IsInitialized()) {
    ASSIGN_OR_RETURN(last, MissingElement(ctx, 1, *seen, false));
  }
  ASSIGN_OR_RETURN(Ref<TensorList> list, TakeList(ctx, 0, DType::kInvalid));
  list->tensors.pop_back();
  OutputList(ctx, std::move(list));
  ctx.set_output(1, std::move(last));
  return OkStatus();
}

Status GetItemCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(const TensorList* list, ListInput(ctx, 0, ctx.output_dtype(0)));
  ASSIGN_OR_RETURN(const int64_t index, IntInput(ctx, 1, "index"));
  if (index < 0 || index >= static_cast<int64_t>(list->tensors.size())) {
    return errors::InvalidArgument("Trying to access element ", index, " in a list with ", list->tensors.size(),
                                   " elements.");
  }
  Tensor item = list->tensors[static_cast<size_t>(index)];
  if (!item.IsInitialized()) {
    ASSIGN_OR_RETURN(item, MissingElement(ctx, 2, *list, true));
  }
  ctx.set_output(0, std::move(item));
  return OkStatus();
}

class SetItem final : public Kernel {
 public:
  explicit SetItem(KernelInit& init) : grow_(init.Attr<bool>("resize_if_index_out_of_bounds")) {}
  Status Compute(KernelContext& ctx) override {
    const DType dtype = ctx.input(2).dtype();
    ASSIGN_OR_RETURN(const TensorList* seen, ListInput(ctx, 0, dtype));
    ASSIGN_OR_RETURN(const int64_t index, IntInput(ctx, 1, "index"));
    const auto size = static_cast<int64_t>(seen->tensors.size());
    if (index < 0 || (index >= size && !grow_)) {
      return errors::InvalidArgument("Trying to modify element ", index, " in a list with ", size, " elements.");
    }
    RETURN_IF_ERROR(CheckListSize(index + 1, "the size of a list"));
    ASSIGN_OR_RETURN(Ref<TensorList> list, TakeList(ctx, 0, dtype));
    RETURN_IF_ERROR(CheckElement(list.get(), ctx.input(2)));
    if (index >= size) list->tensors.resize(static_cast<size_t>(index) + 1);
    list->tensors[static_cast<size_t>(index)] = ctx.TakeInput(2);
    OutputList(ctx, std::move(list));
    return OkStatus();
  }

 private:
  const bool grow_;
};

Status ResizeCpu(KernelContext& ctx) {
  RETURN_IF_ERROR(ListInput(ctx, 0, DType::kInvalid).status());
  ASSIGN_OR_RETURN(const int64_t size, IntInput(ctx, 1, "size"));
  if (size < 0) return errors::InvalidArgument("TensorListSlice expects size to be non-negative. Got: ", size);
  RETURN_IF_ERROR(CheckListSize(size, "size"));
  ASSIGN_OR_RETURN(Ref<TensorList> list, TakeList(ctx, 0, DType::kInvalid));
  list->tensors.resize(static_cast<size_t>(size));
  OutputList(ctx, std::move(list));
  return OkStatus();
}

Status ElementShapeShape(ShapeContext& c) {
  if (c.input_handle_dtype(0) != DType::kInvalid && c.input_handle_shape(0).rank_known()) {
    c.set_output(0, PartialShape({c.input_handle_shape(0).rank()}));
  }
  return OkStatus();
}

Status PushBackShape(ShapeContext& c) {
  DType dtype = DType::kInvalid;
  RETURN_IF_ERROR(c.GetAttr("element_dtype", &dtype));
  ASSIGN_OR_RETURN(const PartialShape element, KnownElementShape(c, -1));
  RETURN_IF_ERROR(element.MergeWith(c.input(c.num_inputs() - 1)).status());
  c.set_output(0, Shape());
  c.set_output_handle(0, element, dtype);
  return OkStatus();
}

Status PopBackShape(ShapeContext& c) {
  RETURN_IF_ERROR(ListShapeUnchanged(c));
  ASSIGN_OR_RETURN(PartialShape element, KnownElementShape(c, 1));
  c.set_output(1, std::move(element));
  return OkStatus();
}

Status GetItemShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(PartialShape element, KnownElementShape(c, 2));
  c.set_output(0, std::move(element));
  return OkStatus();
}

Status PushBackGradient(GradContext& g) {
  Node* pop =
      g.Add("TensorListPopBack", {g.dy(0), g.Op("Shape", {g.input(1)})}, {{"element_dtype", g.input(1).dtype()}});
  if (pop == nullptr) return g.status();
  g.set_dx(0, Output(pop, 0));
  g.set_dx(1, Output(pop, 1));
  return g.status();
}

Output ElementShapeOf(GradContext& g, Output list) {
  return g.Op("TensorListElementShape", {list}, {{"shape_type", DType::kInt32}});
}

Status PopBackGradient(GradContext& g) {
  g.set_dx(0, g.Op("TensorListPushBack", {g.dy(0), g.dy(1)}));
  return g.status();
}

Status GetItemGradient(GradContext& g) {
  const Output list = g.Op("TensorListReserve", {ElementShapeOf(g, g.input(0)), g.Op("TensorListLength", {g.input(0)})},
                           {{"element_dtype", g.output(0).dtype()}});
  g.set_dx(0, g.Op("TensorListSetItem", {list, g.input(1), g.dy(0)}));
  return g.status();
}

Status SetItemGradient(GradContext& g) {
  g.set_dx(0, g.Op("TensorListSetItem", {g.dy(0), g.input(1), g.Op("ZerosLike", {g.input(2)})}));
  g.set_dx(2, g.Op("TensorListGetItem", {g.dy(0), g.input(1), g.Op("Shape", {g.input(2)})},
                   {{"element_dtype", g.input(2).dtype()}}));
  return g.status();
}

Status ResizeGradient(GradContext& g) {
  g.set_dx(0, g.Op("TensorListResize", {g.dy(0), g.Op("TensorListLength", {g.input(0)})}));
  return g.status();
}

OP("EmptyTensorList")
    .Input("element_shape: shape_type")
    .Input("max_num_elements: int32")
    .Output("handle: variant")
    .Attr("element_dtype: type")
    .Attr("shape_type: {int32, int64}")
    .Shape(ListShapeFrom0)
    .NotDifferentiable()
    .Cpu<EmptyList>()
    .Doc("A list without elements.");

OP("TensorListReserve")
    .Input("element_shape: shape_type")
    .Input("num_elements: int32")
    .Output("handle: variant")
    .Attr("element_dtype: type")
    .Attr("shape_type: {int32, int64}")
    .Shape(ListShapeFrom0)
    .NotDifferentiable()
    .Cpu<Reserve>()
    .Doc("A list of elements that are still to be set.");

OP("TensorListLength")
    .Input("input_handle: variant")
    .Output("length: int32")
    .Shape(ScalarShape)
    .NotDifferentiable()
    .Cpu(LengthCpu)
    .Doc("The number of elements of a list.");

OP("TensorListElementShape")
    .Input("input_handle: variant")
    .Output("element_shape: shape_type")
    .Attr("shape_type: {int32, int64}")
    .Shape(ElementShapeShape)
    .NotDifferentiable()
    .Cpu<ElementShapeOp>(IndexTypes{}, "shape_type")
    .Doc("The shape that elements of a list must have, as far as it is fixed.");

OP("TensorListPushBack")
    .Input("input_handle: variant")
    .Input("tensor: element_dtype")
    .Output("output_handle: variant")
    .Attr("element_dtype: type")
    .Shape(PushBackShape)
    .Gradient(PushBackGradient)
    .Cpu(PushBackCpu)
    .Doc("The list with one more element at its end.");

OP("TensorListPopBack")
    .Input("input_handle: variant")
    .Input("element_shape: int32")
    .Output("output_handle: variant")
    .Output("tensor: element_dtype")
    .Attr("element_dtype: type")
    .Shape(PopBackShape)
    .Gradient(PopBackGradient)
    .Cpu(PopBackCpu)
    .Doc("The list without its last element, and that element.");

OP("TensorListGetItem")
    .Input("input_handle: variant")
    .Input("index: int32")
    .Input("element_shape: Tshape")
    .Output("item: element_dtype")
    .Attr("element_dtype: type")
    .Attr("Tshape: {int32, int64} = DT_INT32")
    .Shape(GetItemShape)
    .Gradient(GetItemGradient)
    .Cpu(GetItemCpu)
    .Doc("One element of a list; zeros if it was never set.");

OP("TensorListSetItem")
    .Input("input_handle: variant")
    .Input("index: int32")
    .Input("item: element_dtype")
    .Output("output_handle: variant")
    .Attr("element_dtype: type")
    .Attr("resize_if_index_out_of_bounds: bool = false")
    .Shape(PushBackShape)
    .Gradient(SetItemGradient)
    .Cpu<SetItem>()
    .Doc("The list with another element in one place.");

OP("TensorListResize")
    .Input("input_handle: variant")
    .Input("size: int32")
    .Output("output_handle: variant")
    .Shape(ListShapeUnchanged)
    .Gradient(ResizeGradient)
    .Cpu(ResizeCpu)
    .Doc("The list cut, or filled up with elements that are not set, to a size.");

}  // namespace
}  // namespace millstream
