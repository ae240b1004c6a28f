// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TESTS_GOLDEN_COMPARE_H_
#define MILLSTREAM_TESTS_GOLDEN_COMPARE_H_

#include <gtest/gtest.h>

#include "millstream/tensor/tensor.h"
#include "tests/golden_case.h"

namespace millstream {

// |got - want| <= absolute + relative * |want|. Integers, booleans and strings must be equal.
struct Tolerance {
  double relative = 0;
  double absolute = 0;
};

// What a case allows for elements of `dtype`: its own tolerance (meant for float) or the usual one, as the type's
// precision permits.
Tolerance ToleranceFor(const GoldenCase& c, DType dtype);

// Type, shape and elements; NaNs equal each other. Says where the first difference is.
::testing::AssertionResult SameTensor(const Tensor& got, const Tensor& want, Tolerance tolerance);

// Scalars that hold Summary messages: equal but for rounding, and for the bytes of encoded images.
::testing::AssertionResult SameSummary(const Tensor& got, const Tensor& want);

// The elements of a real tensor; {re, im, re, im...} of a complex one. REQUIRES: a numeric type.
std::vector<double> ToDoubles(const Tensor& tensor);

}  // namespace millstream

#endif  // MILLSTREAM_TESTS_GOLDEN_COMPARE_H_
