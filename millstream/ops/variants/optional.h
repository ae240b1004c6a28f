// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_VARIANTS_OPTIONAL_H_
#define MILLSTREAM_OPS_VARIANTS_OPTIONAL_H_

#include <string>

#include "millstream/ops/variants/variant_math.h"

namespace millstream {

// A tuple of tensors, or nothing (no tensors): what branches of conditionals hand to their gradients.
class Optional final : public TensorsVariant {
 public:
  std::string type_name() const override { return "tensorflow::data::Optional"; }
  Ref<TensorsVariant> EmptyLike() const override { return MakeRef<Optional>(); }
};

}  // namespace millstream

#endif  // MILLSTREAM_OPS_VARIANTS_OPTIONAL_H_
