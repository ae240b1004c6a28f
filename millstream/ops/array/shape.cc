// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "millstream/framework/op.h"
#include "millstream/framework/op_traits.h"

namespace millstream {
namespace {

constexpr int64_t kMaxInt32 = std::numeric_limits<int32_t>::max();

template <typename T>
Status WriteShape(KernelContext& ctx, int i) {
  const Shape& shape = ctx.input(i).shape();
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(i, Shape({shape.rank()})));
  T* dims = out->data<T>();
  for (int d = 0; d < shape.rank(); ++d) {
    if (sizeof(T) == 4 && shape.dim(d) > kMaxInt32) {
      return errors::InvalidArgument("Shape output type is 32-bit but dim ", d, " is ", shape.dim(d));
    }
    dims[d] = static_cast<T>(shape.dim(d));
  }
  return OkStatus();
}

template <typename T>
class ShapeKernel : public Kernel {
 public:
  explicit ShapeKernel(KernelInit&) {}
  Status Compute(KernelContext& ctx) override {
    for (int i = 0; i < ctx.num_inputs(); ++i) RETURN_IF_ERROR(WriteShape<T>(ctx, i));
    return OkStatus();
  }
};

template <typename T>
class SizeKernel : public Kernel {
 public:
  explicit SizeKernel(KernelInit&) {}
  Status Compute(KernelContext& ctx) override {
    const int64_t size = ctx.input(0).num_elements();
    if (sizeof(T) == 4 && size > kMaxInt32) {
      return errors::InvalidArgument("Number of elements was larger than representable by 32-bit output type");
    }
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, Shape()));
    out->scalar<T>() = static_cast<T>(size);
    return OkStatus();
  }
};

Status RankCpu(KernelContext& ctx) {
  const int rank = ctx.input(0).rank();
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, Shape()));
  out->scalar<int32_t>() = rank;
  return OkStatus();
}

Status ShapeShape(ShapeContext& c) {
  for (int i = 0; i < c.num_inputs(); ++i) c.set_output(i, PartialShape({c.input(i).rank()}));
  return OkStatus();
}

OP("Shape")
    .Trait(OpTrait::kAnyDevice)
    .Trait(OpTrait::kMetadataOnly)
    .Input("input: T")
    .Output("output: out_type")
    .Attr("T: type")
    .Attr("out_type: {int32, int64} = DT_INT32")
    .Shape(ShapeShape)
    .NotDifferentiable()
    .Cpu<ShapeKernel>(IndexTypes{}, "out_type")
    .HostMemory("output")
    .Doc("The sizes of the dimensions of a tensor.");

OP("ShapeN")
    .Trait(OpTrait::kAnyDevice)
    .Trait(OpTrait::kMetadataOnly)
    .Input("input: N * T")
    .Output("output: N * out_type")
    .Attr("N: int >= 1")
    .Attr("T: type")
    .Attr("out_type: {int32, int64} = DT_INT32")
    .Shape(ShapeShape)
    .NotDifferentiable()
    .Cpu<ShapeKernel>(IndexTypes{}, "out_type")
    .HostMemory("output")
    .Doc("The shapes of several tensors.");

OP("Size")
    .Trait(OpTrait::kAnyDevice)
    .Trait(OpTrait::kMetadataOnly)
    .Input("input: T")
    .Output("output: out_type")
    .Attr("T: type")
    .Attr("out_type: {int32, int64} = DT_INT32")
    .Shape(ScalarShape)
    .NotDifferentiable()
    .Cpu<SizeKernel>(IndexTypes{}, "out_type")
    .HostMemory("output")
    .Doc("The number of elements of a tensor.");

OP("Rank")
    .Trait(OpTrait::kAnyDevice)
    .Trait(OpTrait::kMetadataOnly)
    .Input("input: T")
    .Output("output: int32")
    .Attr("T: type")
    .Shape(ScalarShape)
    .NotDifferentiable()
    .Cpu(RankCpu)
    .HostMemory("output")
    .Doc("The number of dimensions of a tensor.");

}  // namespace
}  // namespace millstream
