// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "millstream/framework/no_kernel.h"
#include "millstream/ops/elements/elementwise.h"

namespace millstream {
namespace {

struct EqualFn {
  static constexpr bool kModular = true;
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE bool operator()(const T& x, const T& y) const {
    return x == y;
  }
};
struct NotEqualFn {
  static constexpr bool kModular = true;
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE bool operator()(const T& x, const T& y) const {
    return x != y;
  }
};

using EqualTypes = Join<NumberAndBoolTypes, Types<std::string>>;

elementwise::LoopInfo<elementwise::BinaryLoop> SelectByType(DType dtype, bool not_equal) {
  // Quantized values are compared as the integers they are stored as.
  if (IsQuantized(dtype)) {
    dtype = DTypeSize(dtype) == 1 ? DType::kUint8 : DTypeSize(dtype) == 2 ? DType::kUint16 : DType::kUint32;
  }
  return not_equal ? elementwise::SelectBinary<NotEqualFn>(EqualTypes{}, dtype)
                   : elementwise::SelectBinary<EqualFn>(EqualTypes{}, dtype);
}

// With incompatible_shape_error = false, tensors of shapes that do not broadcast are simply not equal.
template <bool not_equal>
class EqualKernel final : public BinaryKernel {
 public:
  explicit EqualKernel(KernelInit& init)
      : BinaryKernel(SelectByType(RemoveRef(init.input_types()[0]), not_equal)),
        is_error_(init.Attr<bool>("incompatible_shape_error")) {
    const DType dtype = RemoveRef(init.input_types()[0]);
    if (dtype == DType::kResource || dtype == DType::kVariant) {
      init.Fail(NoKernel(init, "T is ", DTypeName(dtype)));
    }
  }

 protected:
  Status Incompatible(KernelContext& ctx, Status error) override {
    if (is_error_) return error;
    ASSIGN_OR_RETURN(Tensor * z, ctx.AllocateOutput(0, Shape()));
    z->scalar<bool>() = not_equal;
    return OkStatus();
  }

 private:
  const bool is_error_;
};

Status EqualShape(ShapeContext& c) {
  bool is_error = true;
  RETURN_IF_ERROR(c.GetAttr("incompatible_shape_error", &is_error));
  if (is_error) return BroadcastBinaryShape(c);
  const PartialShape &x = c.input(0), &y = c.input(1);
  if (!x.rank_known() || !y.rank_known()) return OkStatus();
  StatusOr<PartialShape> shape = ShapeContext::Broadcast(x, y);
  if (!shape.ok())
    c.set_output(0, Shape());
  else if (x.IsFullyDefined() && y.IsFullyDefined())
    c.set_output(0, *std::move(shape));
  return OkStatus();
}

OP("Equal")
    .Input("x: T")
    .Input("y: T")
    .Output("z: bool")
    .Attr("T: type")
    .Attr("incompatible_shape_error: bool = true")
    .Commutative()
    .Shape(EqualShape)
    .NotDifferentiable()
    .Cpu<EqualKernel<false>>()
    .Doc("Returns whether x == y, element by element with broadcasting.");

OP("NotEqual")
    .Input("x: T")
    .Input("y: T")
    .Output("z: bool")
    .Attr("T: type")
    .Attr("incompatible_shape_error: bool = true")
    .Commutative()
    .Shape(EqualShape)
    .NotDifferentiable()
    .Cpu<EqualKernel<true>>()
    .Doc("x != y, element by element with broadcasting.");

template <typename T>
bool Near(T x, T y, double tolerance) {
  if constexpr (kIsComplex<T>)
    return std::abs(x - y) < static_cast<typename T::value_type>(tolerance);
  else if constexpr (std::is_integral_v<T>)
    return static_cast<double>(x > y ? x - y : y - x) < tolerance;
  else
    return std::fabs(x - y) < static_cast<Compute<T>>(tolerance);
}

template <typename T>
class ApproximateEqualKernel final : public Kernel {
 public:
  explicit ApproximateEqualKernel(KernelInit& init) : tolerance_(init.Attr<float>("tolerance")) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor &x = ctx.input(0), &y = ctx.input(1);
    if (!(x.shape() == y.shape())) {
      return errors::InvalidArgument("x and y must be of the same shape. x shape: ", x.shape().ToString(),
                                     ". y shape: ", y.shape().ToString());
    }
    ASSIGN_OR_RETURN(Tensor * z, ctx.AllocateOutput(0, x.shape()));
    const T *a = x.data<T>(), *b = y.data<T>();
    for (int64_t i = 0; i < x.num_elements(); ++i) z->data<bool>()[i] = Near(a[i], b[i], tolerance_);
    return OkStatus();
  }

 private:
  const float tolerance_;
};

OP("ApproximateEqual")
    .Input("x: T")
    .Input("y: T")
    .Output("z: bool")
    .Attr("T: numbertype")
    .Attr("tolerance: float = 1e-05")
    .Commutative()
    .Shape(MergeBothShapes)
    .NotDifferentiable()
    .Cpu<ApproximateEqualKernel>(NumberTypes{})
    .Doc("|x - y| < tolerance, element by element; the shapes must be equal.");

}  // namespace
}  // namespace millstream
