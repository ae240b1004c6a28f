// SPDX-License-Identifier: Apache-2.0
// The ops that may become part of a kernel that is written at run time, and how their elements are computed there. What
// a formula says must be what the op's own kernel for the device does (devices/cuda/kernels).
#include "millstream/framework/element_ops.h"

namespace millstream {
namespace {

struct Formula {
  const char* op;
  const char* text;
};

constexpr Formula kUnary[] = {
    {"Abs", "fabs(x0)"},
    {"Acos", "acos(x0)"},
    {"Asin", "asin(x0)"},
    {"Atan", "atan(x0)"},
    {"Cast", "x0"},
    {"Ceil", "ceil(x0)"},
    {"Cos", "cos(x0)"},
    {"Cosh", "cosh(x0)"},
    {"Elu", "x0 < T(0) ? expm1(x0) : x0"},
    {"Erf", "erf(x0)"},
    {"Erfc", "erfc(x0)"},
    {"Exp", "exp(x0)"},
    {"Expm1", "expm1(x0)"},
    {"Floor", "floor(x0)"},
    {"Inv", "T(1) / x0"},
    {"LeakyRelu", "x0 > T(0) ? x0 : x0 * T({alpha})"},
    {"Log", "log(x0)"},
    {"Log1p", "log1p(x0)"},
    {"LogicalNot", "!x0"},
    {"Neg", "-x0"},
    {"Reciprocal", "T(1) / x0"},
    {"Relu", "x0 < T(0) ? T(0) : x0"},
    {"Relu6", "x0 < T(0) ? T(0) : x0 > T(6) ? T(6) : x0"},
    {"Rint", "rint(x0)"},
    {"Round", "rint(x0)"},
    {"Rsqrt", "rsqrt(x0)"},
    {"Selu",
     "x0 < T(0) ? T(1.7580993408473768599402175208123) * expm1(x0) : T(1.0507009873554804934193349852946) * x0"},
    {"Sigmoid", "T(1) / (T(1) + exp(-x0))"},
    {"Sign", "x0 != x0 ? x0 : T((x0 > T(0)) - (x0 < T(0)))"},
    {"Sin", "sin(x0)"},
    {"Sinh", "sinh(x0)"},
    {"Softplus", "(x0 < T(0) ? T(0) : x0) + log1p(exp(-fabs(x0)))"},
    {"Softsign", "x0 / (fabs(x0) + T(1))"},
    {"Sqrt", "sqrt(x0)"},
    {"Square", "x0 * x0"},
    {"Tan", "tan(x0)"},
    {"Tanh", "tanh(x0)"},
};

constexpr Formula kBroadcasting[] = {
    {"Add", "x0 + x1"},
    {"AddV2", "x0 + x1"},
    {"Atan2", "atan2(x0, x1)"},
    {"Div", "x0 / x1"},
    {"DivNoNan", "x1 == T(0) ? T(0) : x0 / x1"},
    {"Equal", "x0 == x1"},
    {"Greater", "x0 > x1"},
    {"GreaterEqual", "x0 >= x1"},
    {"Less", "x0 < x1"},
    {"LessEqual", "x0 <= x1"},
    {"LogicalAnd", "x0 && x1"},
    {"LogicalOr", "x0 || x1"},
    {"Maximum", "x0 != x0 ? x0 : x0 > x1 ? x0 : x1"},
    {"Minimum", "x0 != x0 ? x0 : x0 < x1 ? x0 : x1"},
    {"Mul", "x0 * x1"},
    {"MulNoNan", "x1 == T(0) ? T(0) : x0 * x1"},
    {"NotEqual", "x0 != x1"},
    {"Pow", "x1 == T(2) ? x0 * x0 : pow(x0, x1)"},
    {"RealDiv", "x0 / x1"},
    {"SelectV2", "x0 ? x1 : x2"},
    {"SquaredDifference", "(x0 - x1) * (x0 - x1)"},
    {"Sub", "x0 - x1"},
    {"Xlogy", "x0 == T(0) ? T(0) : x0 * log(x1)"},
};

// Gradients are of the result, or of the operand, as the op says.
constexpr Formula kOfOneShape[] = {
    {"EluGrad", "x1 < T(0) ? (x1 + T(1)) * x0 : x0"},
    {"InvGrad", "x1 == T(0) ? T(0) : -x1 * (x0 * x0)"},
    {"LeakyReluGrad", "x1 > T(0) ? x0 : x0 * T({alpha})"},
    {"ReciprocalGrad", "x1 == T(0) ? T(0) : -x1 * (x0 * x0)"},
    {"Relu6Grad", "x0 * (x1 > T(0) && x1 < T(6) ? T(1) : T(0))"},
    {"ReluGrad", "x0 * (x1 > T(0) ? T(1) : T(0))"},
    {"RsqrtGrad", "x1 == T(0) ? T(0) : T(-0.5) * (x1 * x0) * (x0 * x0)"},
    {"Select", "x0 ? x1 : x2"},
    {"SeluGrad", "x0 * (x1 < T(0) ? x1 + T(1.7580993408473768599402175208123) : T(1.0507009873554804934193349852946))"},
    {"SigmoidGrad", "x1 * x0 * (T(1) - x0)"},
    {"SoftplusGrad", "x0 / (exp(-x1) + T(1))"},
    {"SoftsignGrad", "x0 / ((fabs(x1) + T(1)) * (fabs(x1) + T(1)))"},
    {"SqrtGrad", "x1 == T(0) ? T(0) : x1 * T(0.5) / x0"},
    {"TanhGrad", "x1 * (T(1) - x0 * x0)"},
};

[[maybe_unused]] const bool kElementOpsRegistered = [] {
  for (const Formula& f : kUnary) AddElementOp(f.op, {ElementRole::kFormula, false, f.text});
  for (const Formula& f : kBroadcasting) AddElementOp(f.op, {ElementRole::kFormula, true, f.text});
  for (const Formula& f : kOfOneShape) AddElementOp(f.op, {ElementRole::kFormula, false, f.text});
  AddElementOp("AddN", {ElementRole::kSum, false, ""});
  AddElementOp("Split", {ElementRole::kSplit, false, ""});
  AddElementOp("Slice", {ElementRole::kSlice, false, ""});
  AddElementOp("ConcatV2", {ElementRole::kConcat, false, ""});
  return true;
}();

}  // namespace
}  // namespace millstream
