// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/parsing/feature_values.h"

#include <algorithm>

namespace millstream {

DType TypeOf(const proto::Feature& feature) {
  switch (feature.kind_case()) {
    case proto::Feature::kBytesList:
      return DType::kString;
    case proto::Feature::kFloatList:
      return DType::kFloat;
    case proto::Feature::kInt64List:
      return DType::kInt64;
    default:
      return DType::kInvalid;
  }
}

int64_t CountOf(const proto::Feature& feature) {
  switch (feature.kind_case()) {
    case proto::Feature::kBytesList:
      return feature.bytes_list().value_size();
    case proto::Feature::kFloatList:
      return feature.float_list().value_size();
    case proto::Feature::kInt64List:
      return feature.int64_list().value_size();
    default:
      return 0;
  }
}

void CopyValues(const proto::Feature& feature, Tensor* to, int64_t offset) {
  switch (feature.kind_case()) {
    case proto::Feature::kBytesList:
      std::copy(feature.bytes_list().value().begin(), feature.bytes_list().value().end(),
                to->data<std::string>() + offset);
      break;
    case proto::Feature::kFloatList:
      std::copy(feature.float_list().value().begin(), feature.float_list().value().end(), to->data<float>() + offset);
      break;
    case proto::Feature::kInt64List:
      std::copy(feature.int64_list().value().begin(), feature.int64_list().value().end(), to->data<int64_t>() + offset);
      break;
    default:
      break;
  }
}

}  // namespace millstream
