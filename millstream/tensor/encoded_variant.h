// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TENSOR_ENCODED_VARIANT_H_
#define MILLSTREAM_TENSOR_ENCODED_VARIANT_H_

#include <optional>
#include <string>
#include <utility>

#include "millstream/base/status.h"
#include "millstream/tensor/variant.h"

namespace millstream {

// A variant in the form in which it goes through files: a name for its type, and bytes that only whoever made it
// understands.
class EncodedVariant final : public VariantValue {
 public:
  EncodedVariant(std::string type, std::string metadata) : type_(std::move(type)), metadata_(std::move(metadata)) {}
  std::string type_name() const override { return type_; }
  const std::string& metadata() const { return metadata_; }

 private:
  const std::string type_, metadata_;
};

// One number as a variant ("int", "float", "double" or "bool", and its bytes): what TensorFlow knows by itself how to
// add and to show. Empty if this is not one, or has too few or too many bytes.
std::optional<double> NumberOf(const Variant& variant);
// True if the variant goes through messages as it is, without a codec: a number, or a value of ours that is all bytes,
// such as the state of an iterator.
bool MayTravel(const Variant& variant);
// The sum; InvalidArgument unless both are numbers of one type.
StatusOr<Variant> AddNumberVariants(const Variant& a, const Variant& b);
StatusOr<Variant> ZeroLikeNumber(const Variant& number);
// For people to read.
std::string ShowVariant(const Variant& variant);

// As a serialized VariantTensorDataProto. Unimplemented for variants that hold anything but an EncodedVariant.
StatusOr<std::string> SerializeVariant(const Variant& variant);
// DataLoss for bytes that are no such message, Unimplemented if it holds tensors.
StatusOr<Variant> ParseVariant(absl::string_view bytes);

}  // namespace millstream

#endif  // MILLSTREAM_TENSOR_ENCODED_VARIANT_H_
