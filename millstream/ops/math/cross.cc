// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/gradients/gradient.h"

namespace millstream {
namespace {

template <typename T>
class CrossKernel : public Kernel {
 public:
  explicit CrossKernel(KernelInit&) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor &a = ctx.input(0), &b = ctx.input(1);
    if (!(a.shape() == b.shape())) {
      return errors::InvalidArgument("Both inputs must be of same shape: ", a.shape().ToString(), " vs. ",
                                     b.shape().ToString());
    }
    if (a.rank() < 1) return errors::InvalidArgument("Input must be at least 1D", a.shape().ToString());
    if (a.dim(a.rank() - 1) != 3) {
      return errors::FailedPrecondition("Cross-products are only defined for 3-element vectors.");
    }
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, a.shape()));
    const T *u = a.data<T>(), *v = b.data<T>();
    T* w = out->data<T>();
    ctx.ParallelFor(a.num_elements() / 3, 5, [=](int64_t begin, int64_t end) {
      for (int64_t i = 3 * begin; i < 3 * end; i += 3) {
        for (int k = 0; k < 3; ++k) {
          const int p = (k + 1) % 3, q = (k + 2) % 3;
          w[i + k] = Difference(u[i + p], v[i + q], u[i + q], v[i + p]);
        }
      }
    });
    return OkStatus();
  }

 private:
  // a * b - c * d; integers wrap around.
  static T Difference(T a, T b, T c, T d) {
    using W = std::conditional_t<std::is_integral_v<T>, uint64_t, millstream::Compute<T>>;
    return static_cast<T>(W(a) * W(b) - W(c) * W(d));
  }
};

Status CrossShape(ShapeContext& c) {
  PartialShape a, b;
  RETURN_IF_ERROR(ShapeContext::WithRankAtLeast(c.input(0), 1, &a));
  RETURN_IF_ERROR(ShapeContext::WithRankAtLeast(c.input(1), 1, &b));
  if (a.rank_known()) {
    for (const PartialShape* s : {&a, &b}) {
      int64_t size = 0;
      if (s->rank_known()) RETURN_IF_ERROR(ShapeContext::MergeDim(s->dim(s->rank() - 1), 3, &size));
    }
  }
  ASSIGN_OR_RETURN(PartialShape out, a.MergeWith(b));
  c.set_output(0, std::move(out));
  return OkStatus();
}

Status CrossGrad(GradContext& g) {
  g.set_dx(0, g.Op("Cross", {g.input(1), g.dy(0)}));
  g.set_dx(1, g.Op("Cross", {g.dy(0), g.input(0)}));
  return g.status();
}

OP("Cross")
    .Input("a: T")
    .Input("b: T")
    .Output("product: T")
    .Attr("T: realnumbertype")
    .Shape(CrossShape)
    .Gradient(CrossGrad)
    .Cpu<CrossKernel>(RealTypes{})
    .Doc("Cross products of the vectors of three in the last dimension.");

}  // namespace
}  // namespace millstream
