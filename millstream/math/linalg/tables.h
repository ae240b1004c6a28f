// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_MATH_LINALG_TABLES_H_
#define MILLSTREAM_MATH_LINALG_TABLES_H_

#include "millstream/math/linalg/linalg.h"

namespace millstream::math {

// One table per element type and instruction set, each in a source of its own (eigen_*.cc). Below AVX2, floats are
// computed as doubles.
extern const LinalgKernels<float> kLinalgAvx2Float;
extern const LinalgKernels<double> kLinalgAvx2Double, kLinalgDouble;
extern const LinalgKernels<std::complex<double>> kLinalgAvx2Complex, kLinalgComplex;

}  // namespace millstream::math

#endif  // MILLSTREAM_MATH_LINALG_TABLES_H_
