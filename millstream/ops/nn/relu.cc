// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/nn/activation.h"

namespace millstream {
namespace {

// The comparisons are such that NaN stays NaN.
struct ReluFn {
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE T operator()(T x) const {
    return x < T(0) ? T(0) : x;
  }
};
struct Relu6Fn {
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE T operator()(T x) const {
    const T low = x < T(0) ? T(0) : x;
    return low > T(6) ? T(6) : low;
  }
};
// Multiplies, so that infinite and undefined gradients do not vanish silently.
struct ReluGradFn : PairFn {
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE T operator()(T dy, T x) const {
    return static_cast<T>(dy * (x > T(0) ? T(1) : T(0)));
  }
};
struct Relu6GradFn : PairFn {
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE T operator()(T dy, T x) const {
    const T below = x < T(6) ? T(1) : T(0);
    return static_cast<T>(dy * (x > T(0) ? below : T(0)));
  }
};

Status ReluGradient(GradContext& g) {
  g.set_dx(0, g.Op("ReluGrad", {g.dy(0), g.output(0)}));
  return g.status();
}
Status Relu6Gradient(GradContext& g) {
  g.set_dx(0, g.Op("Relu6Grad", {g.dy(0), g.output(0)}));
  return g.status();
}
Status ReluGradGradient(GradContext& g) {
  g.set_dx(0, g.Op("ReluGrad", {g.dy(0), g.input(1)}));
  g.set_dx(1, ZerosFor(g.scope(), g.input(1)));
  return g.status();
}
Status Relu6GradGradient(GradContext& g) {
  g.set_dx(0, g.Op("Relu6Grad", {g.dy(0), g.input(1)}));
  g.set_dx(1, ZerosFor(g.scope(), g.input(1)));
  return g.status();
}

OP("Relu")
    .Input("features: T")
    .Output("activations: T")
    .Attr("T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64, qint8}")
    .Shape(UnchangedShape)
    .Gradient(ReluGradient)
    .CpuFor<Unary<ReluFn, RealTypes>>(RealTypes{})
    .Doc("Returns max(features, 0), element by element.");

OP("ReluGrad")
    .Input("gradients: T")
    .Input("features: T")
    .Output("backprops: T")
    .Attr("T: realnumbertype")
    .Shape(MergeBothShapes)
    .Gradient(ReluGradGradient)
    .CpuFor<ActivationGrad<ReluGradFn, RealTypes>>(RealTypes{})
    .Doc("The gradient of Relu, from its features or from its outputs: gradients where they are positive, else 0.");

OP("Relu6")
    .Input("features: T")
    .Output("activations: T")
    .Attr("T: realnumbertype")
    .Shape(UnchangedShape)
    .Gradient(Relu6Gradient)
    .CpuFor<Unary<Relu6Fn, RealTypes>>(RealTypes{})
    .Doc("Returns min(max(features, 0), 6), element by element.");

OP("Relu6Grad")
    .Input("gradients: T")
    .Input("features: T")
    .Output("backprops: T")
    .Attr("T: realnumbertype")
    .Shape(MergeBothShapes)
    .Gradient(Relu6GradGradient)
    .CpuFor<ActivationGrad<Relu6GradFn, RealTypes>>(RealTypes{})
    .Doc("The gradient of Relu6, from its features or from its outputs.");

}  // namespace
}  // namespace millstream
