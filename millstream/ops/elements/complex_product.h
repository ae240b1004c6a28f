// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_ELEMENTS_COMPLEX_PRODUCT_H_
#define MILLSTREAM_OPS_ELEMENTS_COMPLEX_PRODUCT_H_

#include <complex>

#include "millstream/math/gemm/gemm.h"

namespace millstream {

// One complex matrix product, by four real ones where it is large enough to pay. REQUIRES: dense operands; no bias, no
// activation, no factor.
void MultiplyComplex(const math::GemmArgs<std::complex<float>>& args, ThreadPool* pool);
void MultiplyComplex(const math::GemmArgs<std::complex<double>>& args, ThreadPool* pool);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_ELEMENTS_COMPLEX_PRODUCT_H_
