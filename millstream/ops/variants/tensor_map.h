// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_VARIANTS_TENSOR_MAP_H_
#define MILLSTREAM_OPS_VARIANTS_TENSOR_MAP_H_

#include <map>
#include <string>

#include "millstream/ops/variants/variant_math.h"

namespace millstream {

// A value, as tensors are: tensors by tensors. Whoever changes one is its only holder.
class TensorMap final : public VariantValue {
 public:
  struct Item {
    Tensor key, value;
  };
  std::string type_name() const override { return "tensorflow::TensorMap"; }
  Ref<TensorMap> Copy() const;

  std::map<std::string, Item> items;  // by KeyOf()
};

// The same for two tensors if and only if they are equal in type, shape and value. InvalidArgument for handles and
// variants.
StatusOr<std::string> KeyOf(const Tensor& t);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_VARIANTS_TENSOR_MAP_H_
