// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "millstream/ops/elements/axes.h"
#include "millstream/ops/gradients/gradients.h"
#include "millstream/tensor/dispatch.h"

namespace millstream {
namespace {

// The n-th smallest (or largest) of each row.
template <typename T>
class NthElementKernel : public Kernel {
 public:
  explicit NthElementKernel(KernelInit& init) : reverse_(init.Attr<bool>("reverse")) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor &in = ctx.input(0), &n_tensor = ctx.input(1);
    if (n_tensor.rank() != 0) return errors::InvalidArgument("N must be scalar but has rank ", n_tensor.rank());
    const int64_t n = n_tensor.scalar<int32_t>();
    if (n < 0) return errors::InvalidArgument("n must be non-negative but is ", n);
    if (in.rank() < 1) return errors::InvalidArgument("Input must be at least rank 1 but is rank ", in.rank());
    const int64_t size = in.dim(in.rank() - 1);
    if (size <= n) return errors::InvalidArgument("Input must have last dimension > n = ", n);
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, Shape(in.shape().dims().first(in.rank() - 1))));
    const T* x = in.data<T>();
    T* y = out->data<T>();
    const int64_t place = reverse_ ? size - 1 - n : n;
    ctx.ParallelFor(out->num_elements(), 5.0 * static_cast<double>(size), [&](int64_t begin, int64_t end) {
      std::vector<T> row(static_cast<size_t>(size));
      for (int64_t i = begin; i < end; ++i) {
        std::copy_n(x + i * size, size, row.begin());
        std::nth_element(row.begin(), row.begin() + place, row.end());
        y[i] = row[place];
      }
    });
    return OkStatus();
  }

 private:
  const bool reverse_;
};

Status NthElementShape(ShapeContext& c) {
  PartialShape in, n;
  RETURN_IF_ERROR(ShapeContext::WithRankAtLeast(c.input(0), 1, &in));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 0, &n));
  int64_t value = 0;
  const bool known = c.ConstantInt(1, &value);
  if (known && value < 0) return errors::InvalidArgument("n must be non-negative but is ", value);
  if (!in.rank_known()) return OkStatus();
  const int64_t last = in.dim(in.rank() - 1);
  if (known && last >= 0 && last <= value) {
    return errors::InvalidArgument("Input must have last dimension > n = ", value, " but is ", last);
  }
  c.set_output(0, in.Slice(0, in.rank() - 1));
  return OkStatus();
}

// Shared by the elements that equal the result.
Status NthElementGrad(GradContext& g) {
  const GradMath m(g);
  const Output last = g.scope().Const<int32_t>(-1);
  const auto column = [&](Output x) { return g.Op("ExpandDims", {x, last}); };
  const Output same = g.Op("Cast", {g.Op("Equal", {column(g.output(0)), g.input(0)})}, {{"DstT", g.dy(0).dtype()}});
  const Output count = column(g.Op("Sum", {same, last}));
  g.set_dx(0, m.Mul(m.Div(same, count), column(g.dy(0))));
  return g.status();
}

OP("NthElement")
    .Input("input: T")
    .Input("n: int32")
    .Output("values: T")
    .Attr("reverse: bool = false")
    .Attr("T: realnumbertype")
    .Shape(NthElementShape)
    .Gradient(NthElementGrad)
    .Cpu<NthElementKernel>(RealTypes{})
    .HostMemory("n")
    .Doc("The n-th smallest element of each row, counted from 0; with reverse the n-th largest.");

}  // namespace
}  // namespace millstream
