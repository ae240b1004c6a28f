// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "millstream/framework/op.h"
#include "millstream/ops/elements/axes.h"

namespace millstream {
namespace {

template <typename T>
class UnravelIndexKernel : public Kernel {
 public:
  explicit UnravelIndexKernel(KernelInit&) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor& indices = ctx.input(0);
    if (indices.rank() > 1) return errors::InvalidArgument("The indices can only be scalar or vector.");
    Dims dims;
    RETURN_IF_ERROR(ReadIntVector(ctx.input(1), "The dims", &dims));
    for (const int64_t d : dims) {
      if (d == 0) return errors::InvalidArgument("Input dims cannot contain a dim of zero");
    }
    int64_t cells = 1;
    for (const int64_t d : dims) {
      if (__builtin_mul_overflow(cells, d, &cells) || cells > std::numeric_limits<T>::max()) {
        return errors::InvalidArgument("Input dims product is causing integer overflow: (",
                                       ctx.input(1).SummarizeValue(), ")");
      }
    }
    ASSIGN_OR_RETURN(const Shape grid, MakeShape(dims));
    const int64_t n = indices.num_elements();
    for (const T index : indices.flat<T>()) {
      if (index < 0 || index >= grid.num_elements())
        return errors::InvalidArgument("index is out of bound as with dims");
    }
    const int rank = grid.rank();
    Shape shape({rank});
    if (indices.rank() == 1) shape.AddDim(n);
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    for (int64_t i = 0; i < n; ++i) {
      int64_t rest = indices.data<T>()[i];
      for (int d = rank - 1; d >= 0; --d) {
        out->data<T>()[d * n + i] = static_cast<T>(rest % grid.dim(d));
        rest /= grid.dim(d);
      }
    }
    return OkStatus();
  }
};

Status UnravelIndexShape(ShapeContext& c) {
  const PartialShape& indices = c.input(0);
  PartialShape dims;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 1, &dims));
  if (indices.rank() == 0) {
    c.set_output(0, dims);
  } else if (indices.rank() == 1) {
    c.set_output(0, PartialShape({dims.dim(0), indices.dim(0)}));
  }
  return OkStatus();
}

OP("UnravelIndex")
    .Input("indices: Tidx")
    .Input("dims: Tidx")
    .Output("output: Tidx")
    .Attr("Tidx: {int32, int64} = DT_INT32")
    .Shape(UnravelIndexShape)
    .Cpu<UnravelIndexKernel>(IndexTypes{}, "Tidx")
    .Doc("The coordinates of flat positions in an array of the given sizes.");

}  // namespace
}  // namespace millstream
