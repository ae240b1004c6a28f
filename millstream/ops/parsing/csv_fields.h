// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_PARSING_CSV_FIELDS_H_
#define MILLSTREAM_OPS_PARSING_CSV_FIELDS_H_

#include <string>

#include "millstream/tensor/tensor.h"

namespace millstream {

// Sets element i of *out, a float, double, int32, int64 or string, to what the text says. False if it says no such
// number.
bool SetCsvField(const std::string& text, int64_t i, Tensor* out);
// Sets element i of *out to the first of `value`. REQUIRES: the same type; there is one.
void SetCsvDefault(const Tensor& value, int64_t i, Tensor* out);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_PARSING_CSV_FIELDS_H_
