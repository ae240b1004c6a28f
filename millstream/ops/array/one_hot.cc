// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/op.h"
#include "millstream/ops/elements/axes.h"
#include "millstream/ops/elements/blob.h"

namespace millstream {
namespace {

using OneHotIndexTypes = Types<uint8_t, int8_t, int32_t, int64_t>;

// Sets out[p, index[p, s], s] for output [prefix, depth, suffix]; indices outside of [0, depth) leave their line alone.
template <typename T, typename Index>
void SetOn(const Index* index, int64_t prefix, int64_t depth, int64_t suffix, const T& on, T* out) {
  for (int64_t p = 0; p < prefix; ++p, out += depth * suffix) {
    for (int64_t s = 0; s < suffix; ++s) {
      const int64_t i = static_cast<int64_t>(*index++);
      if (i >= 0 && i < depth) out[i * suffix + s] = on;
    }
  }
}

class OneHotKernel : public Kernel {
 public:
  explicit OneHotKernel(KernelInit& init) : axis_(init.Attr<int64_t>("axis")) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor& indices = ctx.input(0);
    const Tensor& on = ctx.input(2);
    const Tensor& off = ctx.input(3);
    if (axis_ < -1 || axis_ > indices.rank()) {
      return errors::InvalidArgument("Expected axis to be -1 or between [0, ", indices.rank(),
                                     "].  But received: ", axis_);
    }
    if (ctx.input(1).rank() != 0 || on.rank() != 0 || off.rank() != 0) {
      return errors::InvalidArgument("depth, on_value and off_value must be scalars");
    }
    int64_t depth = 0;
    RETURN_IF_ERROR(ReadIntScalar(ctx.input(1), "depth", &depth));
    if (depth < 0) return errors::InvalidArgument("depth must be non-negative, got: ", depth);
    const int axis = axis_ == -1 ? indices.rank() : static_cast<int>(axis_);
    Dims dims(indices.shape().dims().begin(), indices.shape().dims().end());
    dims.insert(dims.begin() + axis, depth);
    ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return OkStatus();
    const int64_t prefix = indices.shape().Product(0, axis), suffix = indices.num_elements() / prefix;
    DispatchBlob(on.dtype(), [&](auto type) {
      using T = typename decltype(type)::type;
      T* to = BlobData<T>(out);
      ParallelFill(ctx, *BlobData<T>(off), shape.num_elements(), to);
      DispatchOver(OneHotIndexTypes{}, indices.dtype(), [&](auto index) {
        SetOn(indices.data<typename decltype(index)::type>(), prefix, depth, suffix, *BlobData<T>(on), to);
      });
    });
    return OkStatus();
  }

 private:
  const int64_t axis_;
};

Status OneHotShape(ShapeContext& c) {
  int64_t axis = 0, depth = -1;
  RETURN_IF_ERROR(c.GetAttr("axis", &axis));
  if (axis < -1) return errors::InvalidArgument("axis must be >= -1");
  for (int i = 1; i <= 3; ++i) {
    PartialShape scalar;
    RETURN_IF_ERROR(ShapeContext::WithRank(c.input(i), 0, &scalar));
  }
  if (c.ConstantInt(1, &depth) && depth < 0) return errors::InvalidArgument("depth must be non-negative, got: ", depth);
  const PartialShape& in = c.input(0);
  if (!in.rank_known()) return OkStatus();
  if (axis > in.rank())
    return errors::InvalidArgument("axis ", axis, " is greater than the rank of indices, ", in.rank());
  std::vector<int64_t> dims = in.dims();
  dims.insert(axis == -1 ? dims.end() : dims.begin() + axis, depth);
  c.set_output(0, PartialShape(std::move(dims)));
  return OkStatus();
}

OP("OneHot")
    .Input("indices: TI")
    .Input("depth: int32")
    .Input("on_value: T")
    .Input("off_value: T")
    .Output("output: T")
    .Attr("axis: int = -1")
    .Attr("T: type")
    .Attr("TI: {uint8, int8, int32, int64} = DT_INT64")
    .Shape(OneHotShape)
    .NotDifferentiable()
    .Cpu<OneHotKernel>()
    .HostMemory("depth")
    .Doc("on_value at the place each index names along a new axis, off_value elsewhere.");

}  // namespace
}  // namespace millstream
