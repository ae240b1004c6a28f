// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "millstream/framework/op.h"
#include "millstream/ops/variants/variant_math.h"
#include "millstream/tensor/dispatch.h"

namespace millstream {
namespace {

Status ZerosLike(KernelContext& ctx) {
  const Tensor& x = ctx.input(0);
  if (x.dtype() == DType::kResource) return errors::Unimplemented("ZerosLike of type ", DTypeName(x.dtype()));
  if (x.dtype() == DType::kVariant) {
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, x.shape()));
    for (int64_t i = 0; i < x.num_elements(); ++i) {
      ASSIGN_OR_RETURN(y->data<Variant>()[i], ZerosLikeVariant(x.data<Variant>()[i]));
    }
    return OkStatus();
  }
  if (x.dtype() == DType::kString) return ctx.AllocateOutput(0, x.shape()).status();
  ASSIGN_OR_RETURN(Tensor * y, ctx.ForwardOrAllocate({0}, 0, x.shape()));
  char* bytes = static_cast<char*>(y->raw());
  ctx.ParallelFor(
      static_cast<int64_t>(y->ByteSize()), 0.05,
      [=](int64_t begin, int64_t end) { std::memset(bytes + begin, 0, static_cast<size_t>(end - begin)); }, 4096);
  return OkStatus();
}

Status OnesLike(KernelContext& ctx) {
  ASSIGN_OR_RETURN(Tensor * y, ctx.ForwardOrAllocate({0}, 0, ctx.input(0).shape()));
  DispatchOver(PodTypes{}, y->dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::fill_n(y->data<T>(), y->num_elements(), T(1));
  });
  return OkStatus();
}

OP("ZerosLike")
    .Input("x: T")
    .Output("y: T")
    .Attr("T: type")
    .Shape(UnchangedShape)
    .NotDifferentiable()
    .Cpu(ZerosLike)
    .Doc("Zeros (false, empty strings) of the shape and type of x.");

OP("OnesLike")
    .Input("x: T")
    .Output("y: T")
    .Attr(
        "T: {bfloat16, half, float, double, int8, uint8, int16, uint16, int32, uint32, int64, uint64, "
        "complex64, complex128, bool}")
    .Shape(UnchangedShape)
    .NotDifferentiable()
    .Cpu(OnesLike)
    .Doc("Ones (true) of the shape and type of x.");

}  // namespace
}  // namespace millstream
