// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "millstream/graph/gradients/gradient.h"
#include "millstream/graph/shape_refiner.h"
#include "millstream/tensor/dispatch.h"

namespace millstream {
namespace {

// Larger constants would only make the graph heavy.
constexpr int64_t kMaxConstElements = 1024;

Output Filled(const Scope& scope, Output like, double value) {
  const DType dtype = like.dtype();
  const PartialShape shape = scope.ShapeOf(like);
  if (IsPlainBytes(dtype) && shape.IsFullyDefined()) {
    StatusOr<Shape> known = Shape::Make(shape.dims());
    if (known.ok() && known->num_elements() <= kMaxConstElements) {
      Tensor t(dtype, *known);
      const Tensor one = ScalarOf(dtype, value);
      const size_t size = DTypeSize(dtype);
      for (int64_t i = 0; i < t.num_elements(); ++i)
        std::memcpy(static_cast<char*>(t.raw()) + i * size, one.raw(), size);
      return scope.Const(std::move(t));
    }
    if (known.ok()) {
      const auto& dims = shape.dims();
      return scope.Op("Fill", {scope.Const(Tensor::Vector<int64_t>(dims)), scope.Const(ScalarOf(dtype, value))});
    }
  }
  // In the gradient of a loop only the shape is then kept from the forward iteration, not the value.
  if (scope.context() != nullptr && IsPlainBytes(dtype)) {
    return scope.Op("Fill", {scope.Op("Shape", {like}), scope.Const(ScalarOf(dtype, value))});
  }
  return scope.Op(value == 0 ? "ZerosLike" : "OnesLike", {like});
}

}  // namespace

Tensor ScalarOf(DType dtype, double value) {
  Tensor t;
  DispatchOver(PodTypes{}, dtype, [&]<typename T>(std::type_identity<T>) {
    if constexpr (kIsComplex<T>)
      t = Tensor::Scalar<T>(T(static_cast<typename T::value_type>(value)));
    else
      t = Tensor::Scalar<T>(static_cast<T>(value));
  });
  return t;
}

bool IsDifferentiable(DType dtype) {
  dtype = RemoveRef(dtype);
  return IsFloating(dtype) || IsComplex(dtype) || dtype == DType::kResource || dtype == DType::kVariant;
}

Output ZerosFor(const Scope& scope, Output like) {
  if (!like) return Output();
  if (like.dtype() == DType::kVariant) return scope.Op("ZerosLike", {like});
  if (like.dtype() != DType::kResource) return Filled(scope, like, 0);
  const DType dtype = scope.shapes().handle_dtype(like);
  if (dtype == DType::kInvalid) {
    scope.Fail(errors::InvalidArgument("The type of the variable behind '", like.name(), "' is not known"));
    return Output();
  }
  Output zeros = scope.Op("Fill", {scope.Op("VariableShape", {like}), scope.Const(ScalarOf(dtype, 0))});
  if (zeros) scope.Fail(scope.shapes().MergeShape(zeros, scope.shapes().handle_shape(like)));
  return zeros;
}

Output OnesFor(const Scope& scope, Output like) { return like ? Filled(scope, like, 1) : Output(); }

Output DenseGrad(const Scope& scope, const Grad& grad) {
  if (!grad.IsSparse()) return grad.dense;
  const Scope slice = scope.NameScope("strided_slice");
  const auto bound = [&](int32_t at) { return slice.WithOpName("stack").Const(Tensor::Vector<int32_t>({at})); };
  const Output begin = bound(0), end = bound(1), step = bound(1);
  const Output rows = slice.WithOpName(slice.name_prefix())
                          .Op("StridedSlice", {grad.dense_shape, begin, end, step}, {{"shrink_axis_mask", 1}});
  const Output dense = scope.Op("UnsortedSegmentSum", {grad.values, grad.indices, rows});
  if (!dense) return dense;
  const PartialShape shape = scope.shapes().ConstantAsShape(grad.dense_shape);
  if (shape.rank_known()) scope.Fail(scope.shapes().MergeShape(dense, shape));
  return dense;
}

Output GradContext::dy(int i) {
  Grad& grad = dy_[i];
  if (grad.IsNone())
    grad = Grad(ZerosFor(scope_, output(i)));
  else if (grad.IsSparse())
    grad = Grad(DenseGrad(scope_, grad));
  return grad.dense;
}

Output GradContext::ConstLike(Output like, double value) const {
  if (!like) return Output();
  Tensor t = ScalarOf(like.dtype(), value);
  if (!t.IsInitialized()) {
    scope_.Fail(errors::InvalidArgument("No constant of type ", DTypeName(like.dtype()), " in the gradient of '",
                                        node_->name(), "'"));
    return Output();
  }
  return scope_.Const(std::move(t));
}

}  // namespace millstream
