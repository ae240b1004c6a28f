// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_VARIANTS_VARIANT_MATH_H_
#define MILLSTREAM_OPS_VARIANTS_VARIANT_MATH_H_

#include <vector>

#include "millstream/tensor/tensor.h"

namespace millstream {

// A variant that is made of tensors: what zeros and sums of variants are defined for.
class TensorsVariant : public VariantValue {
 public:
  // One of the same kind without tensors, for zeros and sums.
  virtual Ref<TensorsVariant> EmptyLike() const = 0;
  // The tensors before this one say how the others are laid out: zeros and sums keep them.
  virtual size_t first_value() const { return 0; }

  std::vector<Tensor> tensors;  // some may be missing: Tensor()
  int depth = 0;                // of variants in variants
};

// To be called before `element` becomes a tensor of `value`. InvalidArgument if variants are nested too deep.
Status NoteDepth(TensorsVariant* value, const Tensor& element);

// Zeros (false, empty strings).
StatusOr<Tensor> ZeroTensor(DType dtype, const Shape& shape);

// Zeros in place of all elements; sums element by element, where a missing element counts as zero. InvalidArgument for
// other kinds of variants, and for two that do not fit each other.
StatusOr<Variant> ZerosLikeVariant(const Variant& value);
StatusOr<Variant> AddVariants(const Variant& a, const Variant& b);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_VARIANTS_VARIANT_MATH_H_
