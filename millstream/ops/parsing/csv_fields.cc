// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/parsing/csv_fields.h"

#include "absl/strings/numbers.h"

namespace millstream {

bool SetCsvField(const std::string& text, int64_t i, Tensor* out) {
  switch (out->dtype()) {
    case DType::kInt32:
      return absl::SimpleAtoi(text, &out->data<int32_t>()[i]);
    case DType::kInt64:
      return absl::SimpleAtoi(text, &out->data<int64_t>()[i]);
    case DType::kFloat:
      return absl::SimpleAtof(text, &out->data<float>()[i]);
    case DType::kDouble:
      return absl::SimpleAtod(text, &out->data<double>()[i]);
    default:
      out->data<std::string>()[i] = text;
      return true;
  }
}

void SetCsvDefault(const Tensor& value, int64_t i, Tensor* out) {
  switch (out->dtype()) {
    case DType::kInt32:
      out->data<int32_t>()[i] = value.data<int32_t>()[0];
      break;
    case DType::kInt64:
      out->data<int64_t>()[i] = value.data<int64_t>()[0];
      break;
    case DType::kFloat:
      out->data<float>()[i] = value.data<float>()[0];
      break;
    case DType::kDouble:
      out->data<double>()[i] = value.data<double>()[0];
      break;
    default:
      out->data<std::string>()[i] = value.data<std::string>()[0];
      break;
  }
}

}  // namespace millstream
