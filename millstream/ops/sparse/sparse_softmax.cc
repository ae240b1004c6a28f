// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "millstream/ops/gradients/gradients.h"
#include "millstream/ops/sparse/sparse_input.h"

namespace millstream {
namespace {

// Softmax over the entries of each row; what is not stored is not there.
template <typename T>
class SparseSoftmax : public Kernel {
 public:
  explicit SparseSoftmax(KernelInit&) {}

  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const SparseInput s, ReadSparse(ctx, 0));
    if (s.rank() < 2) return errors::InvalidArgument("Input should have rank >= 2, but received shape of ", s.rank());
    RETURN_IF_ERROR(CheckOrdered(s));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, Shape({s.size()})));
    using W = millstream::Compute<T>;
    const T* x = s.values.data<T>();
    T* y = out->data<T>();
    for (int64_t begin = 0; begin < s.size();) {
      int64_t end = begin + 1;
      while (end < s.size() && CompareIndices(s.at(begin), s.at(end), s.rank() - 1) == 0) ++end;
      W high = static_cast<W>(x[begin]), sum = 0;
      for (int64_t i = begin; i < end; ++i) high = std::max(high, static_cast<W>(x[i]));
      for (int64_t i = begin; i < end; ++i) sum += std::exp(static_cast<W>(x[i]) - high);
      for (int64_t i = begin; i < end; ++i) y[i] = static_cast<T>(std::exp(static_cast<W>(x[i]) - high) / sum);
      begin = end;
    }
    return OkStatus();
  }
};

Status SparseSoftmaxShape(ShapeContext& c) {
  PartialShape indices, values, shape;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 2, &indices));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 1, &values));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(2), 1, &shape));
  c.set_output(0, values);
  return OkStatus();
}

Status SparseSoftmaxGrad(GradContext& g) {
  const GradMath m(g);
  const Output indices = g.input(0), shape = g.input(2), y = g.output(0), dy = g.dy(0);
  const Output sums =
      g.Op("SparseReduceSum", {indices, m.Mul(y, dy), shape, g.scope().Constant({-1})}, {{"keep_dims", true}});
  g.set_dx(1, m.Mul(g.Op("SparseDenseCwiseAdd", {indices, dy, shape, m.Neg(sums)}), y));
  return g.status();
}

OP("SparseSoftmax")
    .Input("sp_indices: int64")
    .Input("sp_values: T")
    .Input("sp_shape: int64")
    .Output("output: T")
    .Attr("T: {half, float, double}")
    .Shape(SparseSoftmaxShape)
    .Gradient(SparseSoftmaxGrad)
    .Cpu<SparseSoftmax>(Types<float, double, Half>{})
    .Doc("Softmax over the entries of each innermost row.");

}  // namespace
}  // namespace millstream
