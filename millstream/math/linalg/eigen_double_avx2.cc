// SPDX-License-Identifier: Apache-2.0
#define MILLSTREAM_EIGEN_AVX2
#include "millstream/math/linalg/eigen_inl.h"
// After eigen_inl.h.
#include "millstream/math/linalg/linalg_inl.h"
#include "millstream/math/linalg/tables.h"

namespace millstream::math {

constexpr LinalgKernels<double> kLinalgAvx2Double = EigenKernels<double>::Make();

}  // namespace millstream::math
