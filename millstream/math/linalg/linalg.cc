// SPDX-License-Identifier: Apache-2.0
#include "millstream/math/linalg/linalg.h"

#include "millstream/math/linalg/tables.h"
#include "millstream/math/simd.h"

namespace millstream::math {
namespace {

bool UseAvx2() { return simd::ActiveIsa() != simd::Isa::kSse2; }

}  // namespace

bool HasFloatLinalg() { return UseAvx2(); }

template <>
const LinalgKernels<float>& Linalg<float>() {
  return kLinalgAvx2Float;
}
template <>
const LinalgKernels<double>& Linalg<double>() {
  return UseAvx2() ? kLinalgAvx2Double : kLinalgDouble;
}
template <>
const LinalgKernels<std::complex<double>>& Linalg<std::complex<double>>() {
  return UseAvx2() ? kLinalgAvx2Complex : kLinalgComplex;
}

}  // namespace millstream::math
