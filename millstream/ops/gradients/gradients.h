// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_GRADIENTS_GRADIENTS_H_
#define MILLSTREAM_OPS_GRADIENTS_GRADIENTS_H_

#include "millstream/graph/gradients/gradient.h"

namespace millstream {

// Short names for what gradient functions write most.
class GradMath {
 public:
  explicit GradMath(GradContext& g) : g_(g) {}
  Output Mul(Output a, Output b) const { return g_.Op("Mul", {a, b}); }
  Output Mul(Output a, double b) const { return Mul(a, g_.ConstLike(a, b)); }
  Output Add(Output a, Output b) const { return g_.Op("AddV2", {a, b}); }
  Output Add(Output a, double b) const { return Add(a, g_.ConstLike(a, b)); }
  Output Sub(Output a, Output b) const { return g_.Op("Sub", {a, b}); }
  Output Sub(double a, Output b) const { return Sub(g_.ConstLike(b, a), b); }
  Output Div(Output a, Output b) const { return g_.Op("RealDiv", {a, b}); }
  Output Neg(Output a) const { return g_.Op("Neg", {a}); }
  Output Square(Output a) const { return g_.Op("Square", {a}); }
  Output Inverse(Output a) const { return g_.Op("Reciprocal", {a}); }
  Output ZerosLike(Output a) const { return g_.Op("ZerosLike", {a}); }
  Output Shape(Output a) const { return g_.Op("Shape", {a}); }
  // The complex conjugate; real values as they are.
  Output Conj(Output a) const { return a && IsComplex(a.dtype()) ? g_.Op("Conj", {a}) : a; }

 private:
  GradContext& g_;
};

}  // namespace millstream

#endif  // MILLSTREAM_OPS_GRADIENTS_GRADIENTS_H_
