// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <complex>

#include "millstream/ops/elements/elementwise.h"
#include "millstream/ops/gradients/gradients.h"
#include "millstream/ops/sparse/csr_matrix.h"
#include "millstream/tensor/dispatch.h"

namespace millstream {
namespace {

struct RealFn {
  template <typename R>
  R operator()(std::complex<R> x) const {
    return x.real();
  }
};
struct ImagFn {
  template <typename R>
  R operator()(std::complex<R> x) const {
    return x.imag();
  }
};
struct AbsFn {
  static constexpr double kCost = 2;
  template <typename R>
  R operator()(std::complex<R> x) const {
    return std::abs(x);
  }
};
struct AngleFn {
  static constexpr double kCost = 5;
  template <typename R>
  R operator()(std::complex<R> x) const {
    return std::arg(x);
  }
};
struct ConjFn {
  template <typename R>
  std::complex<R> operator()(std::complex<R> x) const {
    return std::conj(x);
  }
};
struct ComplexFn {
  template <typename R>
  std::complex<R> operator()(R real, R imag) const {
    return {real, imag};
  }
};

// Kernels exist for matching T and Tout only.
template <typename T, typename>
using RealKernel = Unary<RealFn, Types<T>>;
template <typename T, typename>
using ImagKernel = Unary<ImagFn, Types<T>>;
template <typename T, typename>
using AbsKernel = Unary<AbsFn, Types<T>>;
template <typename T, typename>
using AngleKernel = Unary<AngleFn, Types<T>>;
template <typename T, typename>
using ComplexKernel = Binary<ComplexFn, Types<T>>;

using C64 = Types<std::complex<float>>;
using C128 = Types<std::complex<double>>;
using F32 = Types<float>;
using F64 = Types<double>;

DType ComplexOf(Output real) { return real.dtype() == DType::kDouble ? DType::kComplex128 : DType::kComplex64; }
DType RealOf(Output z) { return z.dtype() == DType::kComplex128 ? DType::kDouble : DType::kFloat; }

Output MakeComplex(GradContext& g, Output real, Output imag) {
  if (!real || !imag) return Output();
  return g.Op("Complex", {real, imag}, {{"Tout", ComplexOf(real)}});
}
Output Part(GradContext& g, const char* op, Output z) { return z ? g.Op(op, {z}, {{"Tout", RealOf(z)}}) : Output(); }

Status RealGrad(GradContext& g) {
  const Output dy = g.dy(0);
  if (g.status().ok()) g.set_dx(0, MakeComplex(g, dy, g.ConstLike(dy, 0)));
  return g.status();
}
Status ImagGrad(GradContext& g) {
  const Output dy = g.dy(0);
  if (g.status().ok()) g.set_dx(0, MakeComplex(g, g.ConstLike(dy, 0), dy));
  return g.status();
}
Status AngleGrad(GradContext& g) {
  const GradMath m(g);
  const Output x = g.input(0), dy = g.dy(0);
  if (!g.status().ok()) return g.status();
  const Output turned = m.Inverse(MakeComplex(g, Part(g, "Imag", x), Part(g, "Real", x)));
  g.set_dx(0, m.Mul(m.Neg(MakeComplex(g, dy, g.ConstLike(dy, 0))), turned));
  return g.status();
}
Status ComplexAbsGrad(GradContext& g) {
  const GradMath m(g);
  const Output dy = g.dy(0);
  if (!g.status().ok()) return g.status();
  const Output zero = g.ConstLike(dy, 0);
  const Output scaled = m.Mul(MakeComplex(g, dy, zero), g.input(0));
  g.set_dx(0, g.Op("DivNoNan", {scaled, MakeComplex(g, g.output(0), zero)}));
  return g.status();
}
Status ComplexGrad(GradContext& g) {
  const Output dz = g.dy(0);
  BroadcastGrads(g, g.input(0), g.input(1), Part(g, "Real", dz), Part(g, "Imag", dz));
  return g.status();
}
// Of a sparse matrix: its values are conjugated.
class ConjMatrix final : public Kernel {
 public:
  explicit ConjMatrix(KernelInit&) {}

  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const CsrMatrix* in, CsrInput(ctx, 0, DType::kInvalid));
    auto out = MakeRef<CsrMatrix>();
    out->shape = in->shape;
    out->row_begins = in->row_begins;
    out->columns = in->columns;
    out->values = in->values;
    if (IsComplex(in->values.dtype())) {
      ASSIGN_OR_RETURN(out->values, ctx.AllocateTemp(in->values.dtype(), in->values.shape()));
      DispatchOver(ComplexTypes{}, in->values.dtype(), [&]<typename T>(std::type_identity<T>) {
        std::ranges::transform(in->values.flat<T>(), out->values.data<T>(), [](T x) { return std::conj(x); });
      });
    }
    return SetCsrOutput(ctx, 0, std::move(out));
  }
};

Status ConjGrad(GradContext& g) {
  g.set_dx(0, g.Op("Conj", {g.dy(0)}));
  return g.status();
}

OP("Real")
    .Input("input: T")
    .Output("output: Tout")
    .Attr("T: {complex64, complex128} = DT_COMPLEX64")
    .Attr("Tout: {float, double} = DT_FLOAT")
    .Shape(UnchangedShape)
    .Gradient(RealGrad)
    .Cpu2<RealKernel>(C64{}, "T", F32{}, "Tout")
    .Cpu2<RealKernel>(C128{}, "T", F64{}, "Tout")
    .Doc("The real part of each element.");

OP("Imag")
    .Input("input: T")
    .Output("output: Tout")
    .Attr("T: {complex64, complex128} = DT_COMPLEX64")
    .Attr("Tout: {float, double} = DT_FLOAT")
    .Shape(UnchangedShape)
    .Gradient(ImagGrad)
    .Cpu2<ImagKernel>(C64{}, "T", F32{}, "Tout")
    .Cpu2<ImagKernel>(C128{}, "T", F64{}, "Tout")
    .Doc("The imaginary part of each element.");

OP("Complex")
    .Input("real: T")
    .Input("imag: T")
    .Output("out: Tout")
    .Attr("T: {float, double} = DT_FLOAT")
    .Attr("Tout: {complex64, complex128} = DT_COMPLEX64")
    .Shape(BroadcastBinaryShape)
    .Gradient(ComplexGrad)
    .Cpu2<ComplexKernel>(F32{}, "T", C64{}, "Tout")
    .Cpu2<ComplexKernel>(F64{}, "T", C128{}, "Tout")
    .Doc("Complex numbers from their parts, with broadcasting.");

OP("ComplexAbs")
    .Input("x: T")
    .Output("y: Tout")
    .Attr("T: {complex64, complex128} = DT_COMPLEX64")
    .Attr("Tout: {float, double} = DT_FLOAT")
    .Shape(UnchangedShape)
    .Gradient(ComplexAbsGrad)
    .Cpu2<AbsKernel>(C64{}, "T", F32{}, "Tout")
    .Cpu2<AbsKernel>(C128{}, "T", F64{}, "Tout")
    .Doc("The absolute value of each complex element.");

OP("Angle")
    .Input("input: T")
    .Output("output: Tout")
    .Attr("T: {complex64, complex128} = DT_COMPLEX64")
    .Attr("Tout: {float, double} = DT_FLOAT")
    .Shape(UnchangedShape)
    .Gradient(AngleGrad)
    .Cpu2<AngleKernel>(C64{}, "T", F32{}, "Tout")
    .Cpu2<AngleKernel>(C128{}, "T", F64{}, "Tout")
    .Doc("The argument of each complex element.");

OP("Conj")
    .Input("input: T")
    .Output("output: T")
    .Attr("T: {complex64, complex128, variant} = DT_COMPLEX64")
    .Shape(UnchangedShape)
    .Gradient(ConjGrad)
    .CpuFor<Unary<ConjFn, ComplexTypes>>(ComplexTypes{})
    .CpuFor<ConjMatrix>(Types<Variant>{})
    .Doc("The complex conjugate of each element.");

}  // namespace
}  // namespace millstream
