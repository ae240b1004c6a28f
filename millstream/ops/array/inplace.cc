// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/op.h"
#include "millstream/ops/elements/axes.h"
#include "millstream/ops/elements/blob.h"

namespace millstream {
namespace {

Status CopyInput(KernelContext& ctx, Tensor** out) {
  const Tensor& in = ctx.input(0);
  ASSIGN_OR_RETURN(*out, ctx.ForwardOrAllocate({0}, 0, in.shape()));
  if ((*out)->raw() == in.raw()) return OkStatus();
  DispatchBlob(in.dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    ParallelCopy(ctx, BlobData<T>(in), in.num_elements(), BlobData<T>(*out));
  });
  return OkStatus();
}

enum class RowUpdate { kAssign, kAdd, kSub };

// Row i of v goes to row i[k] of a copy of x, counted modulo the number of rows.
template <RowUpdate update>
class UpdateRows : public Kernel {
 public:
  explicit UpdateRows(KernelInit&) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor &x = ctx.input(0), &i = ctx.input(1), &v = ctx.input(2);
    if (i.rank() != 1) return errors::InvalidArgument("i must be a vector. ", i.shape().ToString());
    if (x.rank() != v.rank()) {
      return errors::InvalidArgument("x and v shape doesn't match (ranks differ): ", x.shape().ToString(), " vs. ",
                                     v.shape().ToString());
    }
    if (x.rank() == 0) return errors::InvalidArgument("x must be at least 1-dimensional");
    for (int d = 1; d < x.rank(); ++d) {
      if (x.dim(d) == v.dim(d)) continue;
      return errors::InvalidArgument("x and v shape doesn't match at index ", d, " : ", x.shape().ToString(), " vs. ",
                                     v.shape().ToString());
    }
    if (i.dim(0) != v.dim(0)) {
      return errors::InvalidArgument("i and x shape doesn't match at index 0: ", i.shape().ToString(), " vs. ",
                                     v.shape().ToString());
    }
    Tensor* out = nullptr;
    RETURN_IF_ERROR(CopyInput(ctx, &out));
    if (v.num_elements() == 0 || x.num_elements() == 0) return OkStatus();
    const int64_t row = x.shape().Product(1, x.rank()), rows = x.dim(0);
    const auto place = [&](int64_t k) {
      const int64_t at = i.data<int32_t>()[k] % rows;
      return at < 0 ? at + rows : at;
    };
    if constexpr (update == RowUpdate::kAssign) {
      DispatchBlob(x.dtype(), [&](auto type) {
        using T = typename decltype(type)::type;
        for (int64_t k = 0; k < i.num_elements(); ++k) {
          CopyRun(BlobData<T>(v) + k * row, row, BlobData<T>(out) + place(k) * row);
        }
      });
    } else {
      const bool known = DispatchOver(NumberTypes{}, x.dtype(), [&](auto type) {
        using T = typename decltype(type)::type;
        using W = Wide<T>;
        for (int64_t k = 0; k < i.num_elements(); ++k) {
          T* to = out->data<T>() + place(k) * row;
          const T* from = v.data<T>() + k * row;
          for (int64_t j = 0; j < row; ++j) {
            to[j] = static_cast<T>(update == RowUpdate::kAdd ? W(to[j]) + W(from[j]) : W(to[j]) - W(from[j]));
          }
        }
      });
      if (!known) return errors::InvalidArgument("Unsupported data type: ", DTypeName(x.dtype()));
    }
    return OkStatus();
  }

 private:
  template <typename T>
  using Wide = std::conditional_t<std::is_integral_v<T>, uint64_t, millstream::Compute<T>>;
};

Status DeepCopyCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(Tensor copy, ctx.input(0).Clone());
  ctx.set_output(0, std::move(copy));
  return OkStatus();
}

class EmptyKernel : public Kernel {
 public:
  explicit EmptyKernel(KernelInit& init) : init_(init.Attr<bool>("init")) {}
  Status Compute(KernelContext& ctx) override {
    Dims dims;
    RETURN_IF_ERROR(ReadIntVector(ctx.input(0), "shape", &dims));
    ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (init_) FillZero(ctx, out);
    return OkStatus();
  }

 private:
  const bool init_;
};

Status EmptyShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(PartialShape out, c.ConstantAsShape(0));
  c.set_output(0, std::move(out));
  return OkStatus();
}

// Stacks values with a first dimension of one. TensorFlow writes each as it arrives; the result is the same.
class ParallelConcatKernel : public Kernel {
 public:
  explicit ParallelConcatKernel(KernelInit& init) : shape_(init.Attr<PartialShape>("shape")) {
    if (!shape_.IsFullyDefined()) init.Fail(errors::InvalidArgument("shape must be fully defined"));
  }
  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(shape_.dims()));
    const int n = ctx.num_inputs();
    if (shape.rank() < 1 || shape.dim(0) != n) {
      return errors::InvalidArgument("shape must have ", n, " rows, got ", shape.ToString());
    }
    const int64_t row = shape.Product(1, shape.rank());
    for (int i = 0; i < n; ++i) {
      const Shape& in = ctx.input(i).shape();
      bool fits = in.rank() == shape.rank() && in.dim(0) == 1;
      for (int d = 1; fits && d < in.rank(); ++d) fits = in.dim(d) == shape.dim(d);
      if (!fits) return errors::InvalidArgument("Input ", i, " of shape ", in.ToString(), " is no row of the output");
    }
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    DispatchBlob(out->dtype(), [&](auto type) {
      using T = typename decltype(type)::type;
      for (int i = 0; i < n; ++i) ParallelCopy(ctx, BlobData<T>(ctx.input(i)), row, BlobData<T>(out) + i * row);
    });
    return OkStatus();
  }

 private:
  const PartialShape shape_;
};

Status ParallelConcatShape(ShapeContext& c) {
  PartialShape shape;
  RETURN_IF_ERROR(c.GetAttr("shape", &shape));
  if (!shape.IsFullyDefined()) return errors::InvalidArgument("shape attr must be fully defined.");
  if (shape.rank() < 1) return errors::InvalidArgument("shape must have at least one dimension");
  PartialShape row = shape;
  row.set_dim(0, 1);
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (!c.input(i).IsFullyDefined()) return errors::InvalidArgument("All input shapes must be fully defined.");
    RETURN_IF_ERROR(row.MergeWith(c.input(i)).status());
  }
  c.set_output(0, std::move(shape));
  return OkStatus();
}

#define INPLACE(Name, kind, doc)          \
  OP("Inplace" Name)                      \
      .Input("x: T")                      \
      .Input("i: int32")                  \
      .Input("v: T")                      \
      .Output("y: T")                     \
      .Attr("T: type")                    \
      .Shape(UnchangedShape)              \
      .Cpu<UpdateRows<RowUpdate::kind>>() \
      .Doc(doc)

INPLACE("Update", kAssign, "x with the rows that i names replaced by those of v.");
INPLACE("Add", kAdd, "x with the rows of v added to those that i names.");
INPLACE("Sub", kSub, "x with the rows of v subtracted from those that i names.");
#undef INPLACE

OP("DeepCopy")
    .Input("x: T")
    .Output("y: T")
    .Attr("T: type")
    .Stateful()
    .Shape(UnchangedShape)
    .Cpu(DeepCopyCpu)
    .Doc("A copy with memory of its own.");

OP("Empty")
    .Input("shape: int32")
    .Output("output: dtype")
    .Attr("dtype: type")
    .Attr("init: bool = false")
    .Stateful()
    .Shape(EmptyShape)
    .Cpu<EmptyKernel>()
    .HostMemory("shape")
    .Doc("A tensor of the given shape whose elements mean nothing, unless they are asked to be zero.");

OP("ParallelConcat")
    .Input("values: N * T")
    .Output("output: T")
    .Attr("N: int >= 1")
    .Attr("T: type")
    .Attr("shape: shape")
    .Shape(ParallelConcatShape)
    .Cpu<ParallelConcatKernel>()
    .Doc("Values, each of one row, as the rows of one tensor.");

OP("GuaranteeConst")
    .Input("input: T")
    .Output("output: T")
    .Attr("T: type")
    .Stateful()
    .Shape(UnchangedShape)
    .Cpu([](KernelContext& ctx) -> Status {
      if (ctx.input_dtype(0) == DType::kResource) {
        return errors::InvalidArgument("Input tensor cannot be a resource variable handle.");
      }
      ctx.set_output(0, ctx.TakeInput(0));
      return OkStatus();
    })
    .Doc("Its input, which the caller promises never to change.");

}  // namespace
}  // namespace millstream
