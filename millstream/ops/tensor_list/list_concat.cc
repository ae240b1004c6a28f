// SPDX-License-Identifier: Apache-2.0
// Lists of tensors joined along their first dimension, and tensors cut into lists.
#include "millstream/framework/op.h"
#include "millstream/graph/gradients/gradient.h"
#include "millstream/ops/resources/join_tensors.h"
#include "millstream/ops/variants/tensor_list.h"

namespace millstream {
namespace {

// What elements that are joined must look like.
struct Joined {
  int64_t first = -1;  // the first size of elements that are not set; -1: not known
  PartialShape rest;   // all other sizes
};

class Concat final : public Kernel {
 public:
  explicit Concat(KernelInit& init) : v2_(init.input_types().size() > 1) {
    if (v2_) return;
    const auto shape = init.Attr<PartialShape>("element_shape");
    if (shape.rank() == 0) init.Fail(errors::InvalidArgument("element_shape must not be empty"));
    if (shape.rank() > 0) rest_ = shape.Slice(1, shape.rank());
  }

  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const TensorList* list, ListInput(ctx, 0, ctx.output_dtype(0)));
    Joined joined{-1, rest_};
    if (v2_) {
      ASSIGN_OR_RETURN(const PartialShape element, ElementShape(ctx, 1, *list));
      if (element.rank() == 0) {
        return errors::InvalidArgument("Concat requires elements to be at least vectors, found scalars instead.");
      }
      joined.first = element.rank_known() ? element.dim(0) : -1;
      joined.rest = element.rank_known() ? element.Slice(1, element.rank()) : PartialShape();
    }
    if (list->tensors.empty() && !joined.rest.IsFullyDefined()) {
      return errors::InvalidArgument(
          "All except the first dimension must be fully defined when concating an empty tensor list. element_shape: ",
          joined.rest.ToString());
    }
    RETURN_IF_ERROR(Look(*list, &joined));
    if (!joined.rest.IsFullyDefined()) {
      return errors::InvalidArgument(
          "Trying to concat list with only uninitialized tensors but element_shape_except_first_dim is not fully "
          "defined: ",
          joined.rest.ToString());
    }
    return Join(ctx, *list, joined);
  }

 private:
  // What the elements say.
  static Status Look(const TensorList& list, Joined* joined) {
    int64_t common = -1;
    bool same = true;
    for (size_t i = 0; i < list.tensors.size(); ++i) {
      const Tensor& t = list.tensors[i];
      if (!t.IsInitialized()) continue;
      if (t.rank() < 1) {
        return errors::InvalidArgument("Concat saw a scalar shape at index ", i, " but requires at least vectors.");
      }
      ASSIGN_OR_RETURN(joined->rest, MergeShapes(joined->rest, PartialShape(t.shape()).Slice(1, t.rank())));
      if (joined->first != -1 && joined->first != t.dim(0)) {
        return errors::InvalidArgument(
            "First entry of element_shape input does not match the first dim of list element "
            "at index: ",
            i, " Expected: ", joined->first, " Actual: ", t.dim(0));
      }
      same &= common == -1 || common == t.dim(0);
      common = t.dim(0);
    }
    if (joined->first == -1 && same) joined->first = common;
    return OkStatus();
  }

  StatusOr<int64_t> Length(const KernelContext& ctx, const TensorList& list, size_t i, int64_t first) const {
    if (list.tensors[i].IsInitialized()) return list.tensors[i].dim(0);
    const bool given = v2_ && static_cast<int64_t>(i) < ctx.input(2).num_elements();
    if (!given && first != -1) return first;
    if (!given) {
      return errors::InvalidArgument("List contains uninitialized tensor at index ", i, " but leading_dims has only ",
                                     v2_ ? ctx.input(2).num_elements() : 0, " elements.");
    }
    const int64_t length = ctx.input(2).data<int64_t>()[i];
    if (length < 0) return errors::InvalidArgument("leading_dims must not be negative, but is ", length);
    return length;
  }

  Status Join(KernelContext& ctx, const TensorList& list, const Joined& joined) const {
    std::vector<int64_t> lengths;
    std::vector<Tensor> values = list.tensors;
    int64_t total = 0;
    std::vector<int64_t> dims = {0};
    dims.insert(dims.end(), joined.rest.dims().begin(), joined.rest.dims().end());
    for (size_t i = 0; i < values.size(); ++i) {
      ASSIGN_OR_RETURN(const int64_t length, Length(ctx, list, i, joined.first));
      if (__builtin_add_overflow(total, length, &total))
        return errors::InvalidArgument("the concatenation is too large");
      lengths.push_back(length);
      if (values[i].IsInitialized()) continue;
      dims[0] = length;
      ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
      ASSIGN_OR_RETURN(values[i], ZeroTensor(list.element_dtype, shape));
    }
    dims[0] = total;
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (shape.num_elements() > 0) JoinTensors(ctx, values, out);
    ctx.set_output(1, Tensor::Vector(lengths));
    return OkStatus();
  }

  const bool v2_;
  PartialShape rest_;
};

Status SplitCpu(KernelContext& ctx) {
  const Tensor &t = ctx.input(0), &lengths = ctx.input(2);
  ASSIGN_OR_RETURN(PartialShape element, ShapeInput(ctx, 1));
  if (element.rank() == 0) {
    return errors::InvalidArgument("TensorListSplit requires element_shape to be at least of rank 1, but saw: ",
                                   element.ToString());
  }
  if (t.rank() < 1)
    return errors::InvalidArgument("Tensor must be at least a vector, but saw shape: ", t.shape().ToString());
  if (element.rank_known() &&
      !element.Slice(1, element.rank()).IsCompatibleWith(PartialShape(t.shape()).Slice(1, t.rank()))) {
    return errors::InvalidArgument("tensor shape ", t.shape().ToString(), " is not compatible with element_shape ",
                                   element.ToString());
  }
  if (lengths.rank() != 1) {
    return errors::InvalidArgument("Expected lengths to be a vector, received shape: ", lengths.shape().ToString());
  }
  RETURN_IF_ERROR(CheckListSize(lengths.num_elements(), "the size of a list"));
  Ref<TensorList> list = MakeRef<TensorList>(t.dtype(), std::move(element));
  int64_t at = 0;
  for (const int64_t length : lengths.flat<int64_t>()) {
    if (length < 0) return errors::InvalidArgument("Invalid value in lengths: ", length);
    if (length > t.dim(0) - at) {
      return errors::InvalidArgument("Attempting to slice [", at, ", ", at + static_cast<uint64_t>(length),
                                     "] from tensor with length ", t.dim(0));
    }
    list->tensors.push_back(t.SliceRows(at, at + length));
    RETURN_IF_ERROR(CheckElement(list.get(), list->tensors.back()));
    at += length;
  }
  if (at != t.dim(0)) {
    return errors::InvalidArgument("Unused values in tensor. Length of tensor: ", t.dim(0), " Values used: ", at);
  }
  OutputList(ctx, std::move(list));
  return OkStatus();
}

// Pairs of lists, the second behind the first.
class ConcatLists final : public Kernel {
 public:
  explicit ConcatLists(KernelInit& init) : dtype_(init.Attr<DType>("element_dtype")) {}
  Status Compute(KernelContext& ctx) override {
    const Tensor &as = ctx.input(0), &bs = ctx.input(1);
    if (!(as.shape() == bs.shape())) {
      return errors::InvalidArgument("Shapes of input_a and input_b must match, but saw: ", as.shape().ToString(),
                                     " and ", bs.shape().ToString());
    }
    ASSIGN_OR_RETURN(Tensor out, Tensor::Make(DType::kVariant, as.shape()));
    for (int64_t i = 0; i < as.num_elements(); ++i) {
      const auto *a = as.data<Variant>()[i].get<TensorList>(), *b = bs.data<Variant>()[i].get<TensorList>();
      if (a == nullptr || b == nullptr) return errors::InvalidArgument("input_a or input_b is not a list at index ", i);
      if (a->element_dtype != dtype_ || b->element_dtype != dtype_) {
        return errors::InvalidArgument("element_dtype != list.element_dtype at index ", i);
      }
      ASSIGN_OR_RETURN(PartialShape shape, a->element_shape.MergeWith(b->element_shape));
      RETURN_IF_ERROR(CheckListSize(static_cast<int64_t>(a->tensors.size() + b->tensors.size()), "the size of a list"));
      Ref<TensorList> both = MakeRef<TensorList>(dtype_, std::move(shape));
      both->depth = std::max(a->depth, b->depth);
      both->tensors = a->tensors;
      both->tensors.insert(both->tensors.end(), b->tensors.begin(), b->tensors.end());
      out.data<Variant>()[i] = Variant(std::move(both));
    }
    ctx.set_output(0, std::move(out));
    return OkStatus();
  }

 private:
  const DType dtype_;
};

Status ConcatShape(ShapeContext& c) {
  PartialShape element;
  if (c.num_inputs() > 1) {
    ASSIGN_OR_RETURN(element, KnownElementShape(c, 1));
  } else {
    RETURN_IF_ERROR(c.GetAttr("element_shape", &element));
    ASSIGN_OR_RETURN(const PartialShape known, KnownElementShape(c, -1));
    ASSIGN_OR_RETURN(element, element.MergeWith(known));
  }
  if (element.rank() == 0) return errors::InvalidArgument("element_shape must be at least a vector");
  if (element.rank_known()) c.set_output(0, PartialShape({-1}).Concatenate(element.Slice(1, element.rank())));
  c.set_output(1, PartialShape({-1}));
  return OkStatus();
}

Status SplitShape(ShapeContext& c) {
  PartialShape unused;
  RETURN_IF_ERROR(ShapeContext::WithRankAtLeast(c.input(0), 1, &unused));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(2), 1, &unused));
  return ListShapeFrom1(c);
}

Status ConcatGradient(GradContext& g) {
  const Output shape = g.Op("TensorListElementShape", {g.input(0)}, {{"shape_type", DType::kInt32}});
  g.set_dx(0, g.Op("TensorListSplit", {g.dy(0), shape, g.output(1)}));
  return g.status();
}

Status SplitGradient(GradContext& g) {
  const Output rest = g.Op("Slice", {g.Op("Shape", {g.input(0)}), g.scope().Constant({1}), g.scope().Constant({-1})});
  const Output shape = g.Op("ConcatV2", {g.scope().Constant({-1}), rest, g.scope().Const<int32_t>(0)});
  g.set_dx(0, g.Op("TensorListConcatV2", {g.dy(0), shape, g.input(2)}, {{"element_dtype", g.input(0).dtype()}}));
  return g.status();
}

OP("TensorListConcat")
    .Input("input_handle: variant")
    .Output("tensor: element_dtype")
    .Output("lengths: int64")
    .Attr("element_dtype: type")
    .Attr("element_shape: shape = { unknown_rank: true }")
    .Shape(ConcatShape)
    .Gradient(ConcatGradient)
    .Cpu<Concat>()
    .Doc("The elements of a list joined along their first dimension, and their lengths.");

OP("TensorListConcatV2")
    .Input("input_handle: variant")
    .Input("element_shape: shape_type")
    .Input("leading_dims: int64")
    .Output("tensor: element_dtype")
    .Output("lengths: int64")
    .Attr("element_dtype: type")
    .Attr("shape_type: {int32, int64}")
    .Shape(ConcatShape)
    .Gradient(ConcatGradient)
    .Cpu<Concat>()
    .Doc("The elements of a list joined along their first dimension, and their lengths.");

OP("TensorListSplit")
    .Input("tensor: element_dtype")
    .Input("element_shape: shape_type")
    .Input("lengths: int64")
    .Output("output_handle: variant")
    .Attr("element_dtype: type")
    .Attr("shape_type: {int32, int64}")
    .Shape(SplitShape)
    .Gradient(SplitGradient)
    .Cpu(SplitCpu)
    .Doc("A tensor cut along its first dimension into the elements of a list.");

OP("TensorListConcatLists")
    .Input("input_a: variant")
    .Input("input_b: variant")
    .Output("output: variant")
    .Attr("element_dtype: type")
    .Shape(UnchangedShape)
    .NotDifferentiable()
    .Cpu<ConcatLists>()
    .Doc("Lists, each with the elements of another at its end.");

}  // namespace
}  // namespace millstream
