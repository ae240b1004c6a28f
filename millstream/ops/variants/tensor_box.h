// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_VARIANTS_TENSOR_BOX_H_
#define MILLSTREAM_OPS_VARIANTS_TENSOR_BOX_H_

#include <string>

#include "millstream/tensor/tensor.h"

namespace millstream {

// A tensor as a variant: what sparse tensors are serialized to.
class TensorBox final : public VariantValue {
 public:
  explicit TensorBox(Tensor t) : tensor(std::move(t)) {}
  std::string type_name() const override { return "tensorflow::Tensor"; }
  const Tensor tensor;
};

}  // namespace millstream

#endif  // MILLSTREAM_OPS_VARIANTS_TENSOR_BOX_H_
