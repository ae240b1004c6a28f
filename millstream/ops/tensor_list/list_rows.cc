// SPDX-License-Identifier: Apache-2.0
// Lists of tensors and tensors whose rows are their elements.
#include "millstream/framework/op.h"
#include "millstream/graph/gradients/gradient.h"
#include "millstream/ops/resources/join_tensors.h"
#include "millstream/ops/variants/tensor_list.h"

namespace millstream {
namespace {

// What is said if the shape of elements cannot be told: of no elements, and of such as are not set.
struct NoShape {
  const char *none, *unset;
};
constexpr NoShape kNoShapeToStack = {
    "Tried to stack elements of an empty list with non-fully-defined element_shape: ",
    "Tried to stack list which only contains uninitialized tensors and has a non-fully-defined element_shape: "};
constexpr NoShape kNoShapeToGather = {
    "Tried to gather 0-elements from a list with non-fully-defined shape: ",
    "Tried to gather uninitialized tensors from a list with non-fully-defined element_shape: "};

// Stacks `values`, all of which fit `element`; zeros stand for missing ones.
Status OutputStacked(KernelContext& ctx, PartialShape element, std::vector<Tensor> values, const NoShape& no_shape) {
  bool missing = false;
  for (const Tensor& t : values) {
    missing |= !t.IsInitialized();
    if (!t.IsInitialized()) continue;
    ASSIGN_OR_RETURN(element, MergeShapes(element, t.shape()));
  }
  if (!element.IsFullyDefined()) {
    return errors::InvalidArgument(values.empty() ? no_shape.none : no_shape.unset, element.ToString());
  }
  std::vector<int64_t> dims = {static_cast<int64_t>(values.size())};
  dims.insert(dims.end(), element.dims().begin(), element.dims().end());
  ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
  if (shape.num_elements() == 0) return OkStatus();
  if (missing) {
    ASSIGN_OR_RETURN(const Tensor zeros, ZeroTensor(out->dtype(), element.ToShape()));
    for (Tensor& t : values) {
      if (!t.IsInitialized()) t = zeros;
    }
  }
  JoinTensors(ctx, values, out);
  return OkStatus();
}

class Stack final : public Kernel {
 public:
  explicit Stack(KernelInit& init) : num_elements_(init.Attr<int64_t>("num_elements")) {}
  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const TensorList* list, ListInput(ctx, 0, ctx.output_dtype(0)));
    if (num_elements_ != -1 && static_cast<int64_t>(list->tensors.size()) != num_elements_) {
      return errors::InvalidArgument("Operation expected a list with ", num_elements_, " elements but got a list with ",
                                     list->tensors.size(), " elements.");
    }
    ASSIGN_OR_RETURN(PartialShape element, ElementShape(ctx, 1, *list));
    return OutputStacked(ctx, std::move(element), list->tensors, kNoShapeToStack);
  }

 private:
  const int64_t num_elements_;
};

Status GatherCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(const TensorList* list, ListInput(ctx, 0, ctx.output_dtype(0)));
  ASSIGN_OR_RETURN(PartialShape element, ElementShape(ctx, 2, *list));
  std::vector<Tensor> values;
  for (const int32_t i : ctx.input(1).flat<int32_t>()) {
    if (i < 0 || static_cast<size_t>(i) >= list->tensors.size()) {
      return errors::InvalidArgument("Trying to gather element ", i, " in a list with ", list->tensors.size(),
                                     " elements.");
    }
    values.push_back(list->tensors[static_cast<size_t>(i)]);
  }
  return OutputStacked(ctx, std::move(element), std::move(values), kNoShapeToGather);
}

Status CheckRows(const Tensor& t, const PartialShape& element) {
  if (t.rank() < 1)
    return errors::InvalidArgument("Tensor must be at least a vector, but saw shape: ", t.shape().ToString());
  Shape row = t.shape();
  row.RemoveDim(0);
  if (element.IsCompatibleWith(row)) return OkStatus();
  return errors::InvalidArgument("Specified a list with shape ", element.ToString(), " from a tensor with shape ",
                                 row.ToString());
}

Status FromTensorCpu(KernelContext& ctx) {
  const Tensor& t = ctx.input(0);
  ASSIGN_OR_RETURN(PartialShape element, ShapeInput(ctx, 1));
  RETURN_IF_ERROR(CheckRows(t, element));
  RETURN_IF_ERROR(CheckListSize(t.dim(0), "the size of a list"));
  Ref<TensorList> list = MakeRef<TensorList>(t.dtype(), std::move(element));
  for (int64_t i = 0; i < t.dim(0); ++i) {
    list->tensors.push_back(RowOf(t, i));
    RETURN_IF_ERROR(CheckElement(list.get(), list->tensors.back()));
  }
  OutputList(ctx, std::move(list));
  return OkStatus();
}

// Rows of `t` to the places `indices` of the list, which grows where it must.
Status ScatterRows(const Tensor& t, const Tensor& indices, absl::string_view op, TensorList* list) {
  if (indices.rank() != 1) {
    return errors::InvalidArgument("Expected indices to be a vector, but received shape: ", indices.shape().ToString());
  }
  if (t.dim(0) != indices.num_elements()) {
    return errors::InvalidArgument("Invalid number of rows in input tensor. Expected: ", indices.num_elements(),
                                   " Actual: ", t.dim(0));
  }
  int64_t size = static_cast<int64_t>(list->tensors.size());
  for (const int32_t i : indices.flat<int32_t>()) {
    if (i < 0) return errors::InvalidArgument("Indices in ", op, " must all be non-negative; got ", i);
    size = std::max<int64_t>(size, int64_t{i} + 1);
  }
  RETURN_IF_ERROR(CheckListSize(size, "the size of a list"));
  list->tensors.resize(static_cast<size_t>(size));
  for (int64_t k = 0; k < indices.num_elements(); ++k) {
    Tensor row = RowOf(t, k);
    RETURN_IF_ERROR(CheckElement(list, row));
    list->tensors[static_cast<size_t>(indices.data<int32_t>()[k])] = std::move(row);
  }
  return OkStatus();
}

Status ScatterCpu(KernelContext& ctx) {
  const Tensor& t = ctx.input(0);
  ASSIGN_OR_RETURN(PartialShape element, ShapeInput(ctx, 2));
  int64_t size = -1;
  if (ctx.num_inputs() > 3) {
    ASSIGN_OR_RETURN(size, IntInput(ctx, 3, "num_elements"));
    if (size < -1) return errors::InvalidArgument("TensorListScatter expects num_elements >= -1, found: ", size);
    RETURN_IF_ERROR(CheckListSize(std::max<int64_t>(size, 0), "num_elements"));
  }
  RETURN_IF_ERROR(CheckRows(t, element));
  Ref<TensorList> list = MakeRef<TensorList>(t.dtype(), std::move(element));
  list->tensors.resize(static_cast<size_t>(std::max<int64_t>(size, 0)));
  RETURN_IF_ERROR(ScatterRows(t, ctx.input(1), "TensorListScatter", list.get()));
  if (size >= 0 && static_cast<int64_t>(list->tensors.size()) > size) {
    return errors::InvalidArgument("TensorListScatter: Trying to scatter at index ", list->tensors.size() - 1,
                                   " in list with size ", size);
  }
  OutputList(ctx, std::move(list));
  return OkStatus();
}

Status ScatterIntoCpu(KernelContext& ctx) {
  const Tensor t = ctx.input(1), indices = ctx.input(2);
  ASSIGN_OR_RETURN(const TensorList* seen, ListInput(ctx, 0, t.dtype()));
  RETURN_IF_ERROR(CheckRows(t, seen->element_shape));
  ASSIGN_OR_RETURN(Ref<TensorList> list, TakeList(ctx, 0, t.dtype()));
  RETURN_IF_ERROR(ScatterRows(t, indices, "TensorListScatterIntoExistingList", list.get()));
  OutputList(ctx, std::move(list));
  return OkStatus();
}

// Appends row i of a tensor to list i of a batch.
Status PushBackBatchCpu(KernelContext& ctx) {
  const Tensor &lists = ctx.input(0), &t = ctx.input(1);
  if (t.rank() < 1)
    return errors::InvalidArgument("Expected tensor to be at least a vector, but saw shape: ", t.shape().ToString());
  if (lists.rank() != 1)
    return errors::InvalidArgument("Expected input_handles to be a vector, but saw shape: ", lists.shape().ToString());
  if (lists.dim(0) != t.dim(0)) {
    return errors::InvalidArgument("Expected tensor.shape[0] == input_handles.size, but saw ", t.dim(0), " vs. ",
                                   lists.dim(0));
  }
  ASSIGN_OR_RETURN(Tensor out, Tensor::Make(DType::kVariant, lists.shape()));
  for (int64_t i = 0; i < lists.dim(0); ++i) {
    const auto* list = lists.data<Variant>()[i].get<TensorList>();
    if (list == nullptr) return errors::InvalidArgument("Input handle at index ", i, " is not a list.");
    if (list->element_dtype != t.dtype()) return errors::InvalidArgument("Invalid data type at index ", i);
    Tensor row = RowOf(t, i);
    if (!list->element_shape.IsCompatibleWith(row.shape())) {
      return errors::InvalidArgument("Tried to append a tensor with incompatible shape to a list at index ", i,
                                     ". Op element shape: ", row.shape().ToString(),
                                     " list shape: ", list->element_shape.ToString());
    }
    Ref<TensorList> longer = list->Copy();
    longer->tensors.push_back(std::move(row));
    RETURN_IF_ERROR(CheckListSize(static_cast<int64_t>(longer->tensors.size()), "the size of a list"));
    RETURN_IF_ERROR(CheckElement(longer.get(), longer->tensors.back()));
    out.data<Variant>()[i] = Variant(std::move(longer));
  }
  ctx.set_output(0, std::move(out));
  return OkStatus();
}

Status StackShape(ShapeContext& c) {
  int64_t size = -1;
  if (c.attrs().Has("num_elements")) RETURN_IF_ERROR(c.GetAttr("num_elements", &size));
  ASSIGN_OR_RETURN(const PartialShape element, KnownElementShape(c, 1));
  if (element.rank_known()) c.set_output(0, PartialShape({size}).Concatenate(element));
  return OkStatus();
}

Status GatherShape(ShapeContext& c) {
  PartialShape indices;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 1, &indices));
  ASSIGN_OR_RETURN(const PartialShape element, KnownElementShape(c, 2));
  if (element.rank_known()) c.set_output(0, indices.Concatenate(element));
  return OkStatus();
}

Status FromTensorShape(ShapeContext& c) {
  PartialShape tensor;
  RETURN_IF_ERROR(ShapeContext::WithRankAtLeast(c.input(0), 1, &tensor));
  return ListShapeFrom1(c);
}

Status ScatterShape(ShapeContext& c) {
  DType dtype = DType::kInvalid;
  RETURN_IF_ERROR(c.GetAttr("element_dtype", &dtype));
  c.set_output(0, Shape());
  if (c.input(2).rank() == 0) {
    c.set_output_handle(0, PartialShape(), dtype);
    return OkStatus();
  }
  ASSIGN_OR_RETURN(PartialShape element, c.ConstantAsShape(2));
  c.set_output_handle(0, std::move(element), dtype);
  return OkStatus();
}

// The shape of a row of `t`, as a vector.
Output RowShape(GradContext& g, Output t) {
  return g.Op("Slice", {g.Op("Shape", {t}), g.scope().Constant({1}), g.scope().Constant({-1})});
}

Output ElementShapeOf(GradContext& g, Output list) {
  return g.Op("TensorListElementShape", {list}, {{"shape_type", DType::kInt32}});
}

Status StackGradient(GradContext& g) {
  const Output dy = g.dy(0);
  g.set_dx(0, g.Op("TensorListFromTensor", {dy, RowShape(g, dy)}));
  return g.status();
}

Status FromTensorGradient(GradContext& g) {
  const PartialShape shape = g.scope().ShapeOf(g.input(0));
  const int64_t size = shape.rank() > 0 ? shape.dim(0) : -1;
  g.set_dx(0, g.Op("TensorListStack", {g.dy(0), RowShape(g, g.input(0))},
                   {{"element_dtype", g.input(0).dtype()}, {"num_elements", size}}));
  return g.status();
}

Status GatherGradient(GradContext& g) {
  g.set_dx(0, g.Op("TensorListScatterV2",
                   {g.dy(0), g.input(1), ElementShapeOf(g, g.input(0)), g.Op("TensorListLength", {g.input(0)})}));
  return g.status();
}

Output GatherOf(GradContext& g, Output list, Output indices, Output like) {
  return g.Op("TensorListGather", {list, indices, RowShape(g, like)}, {{"element_dtype", like.dtype()}});
}

Status ScatterGradient(GradContext& g) {
  g.set_dx(0, GatherOf(g, g.dy(0), g.input(1), g.input(0)));
  return g.status();
}

Status ScatterIntoGradient(GradContext& g) {
  const Output zeros = g.Op("ZerosLike", {g.input(1)});
  g.set_dx(0, g.Op("TensorListScatterIntoExistingList", {g.dy(0), zeros, g.input(2)}));
  g.set_dx(1, GatherOf(g, g.dy(0), g.input(2), g.input(1)));
  return g.status();
}

OP("TensorListStack")
    .Input("input_handle: variant")
    .Input("element_shape: int32")
    .Output("tensor: element_dtype")
    .Attr("element_dtype: type")
    .Attr("num_elements: int = -1")
    .Shape(StackShape)
    .Gradient(StackGradient)
    .Cpu<Stack>()
    .Doc("The elements of a list as rows of one tensor.");

OP("TensorListFromTensor")
    .Input("tensor: element_dtype")
    .Input("element_shape: shape_type")
    .Output("output_handle: variant")
    .Attr("element_dtype: type")
    .Attr("shape_type: {int32, int64}")
    .Shape(FromTensorShape)
    .Gradient(FromTensorGradient)
    .Cpu(FromTensorCpu)
    .Doc("The rows of a tensor as a list.");

OP("TensorListGather")
    .Input("input_handle: variant")
    .Input("indices: int32")
    .Input("element_shape: int32")
    .Output("values: element_dtype")
    .Attr("element_dtype: type")
    .Shape(GatherShape)
    .Gradient(GatherGradient)
    .Cpu(GatherCpu)
    .Doc("Some elements of a list as rows of one tensor.");

void ScatterOp(OpBuilder& op) {
  op.Input("tensor: element_dtype")
      .Input("indices: int32")
      .Input("element_shape: shape_type")
      .Output("output_handle: variant")
      .Attr("element_dtype: type")
      .Attr("shape_type: {int32, int64}")
      .Shape(ScatterShape)
      .Gradient(ScatterGradient)
      .Cpu(ScatterCpu)
      .Doc("A list with the rows of a tensor in given places.");
}
OP("TensorListScatter").With(ScatterOp);
OP("TensorListScatterV2").With(ScatterOp).Input("num_elements: int32");

OP("TensorListScatterIntoExistingList")
    .Input("input_handle: variant")
    .Input("tensor: element_dtype")
    .Input("indices: int32")
    .Output("output_handle: variant")
    .Attr("element_dtype: type")
    .Shape(ListShapeUnchanged)
    .Gradient(ScatterIntoGradient)
    .Cpu(ScatterIntoCpu)
    .Doc("The list with the rows of a tensor in given places.");

OP("TensorListPushBackBatch")
    .Input("input_handles: variant")
    .Input("tensor: element_dtype")
    .Output("output_handles: variant")
    .Attr("element_dtype: type")
    .Shape(UnchangedShape)
    .NotDifferentiable()
    .Cpu(PushBackBatchCpu)
    .Doc("Each list of a batch with a row of the tensor at its end.");

}  // namespace
}  // namespace millstream
