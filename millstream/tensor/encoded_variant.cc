// SPDX-License-Identifier: Apache-2.0
#include "millstream/tensor/encoded_variant.h"

#include "millstream/proto/tensor.pb.h"

namespace millstream {

StatusOr<std::string> SerializeVariant(const Variant& variant) {
  proto::VariantTensorDataProto message;
  if (!variant.empty()) {
    const auto* encoded = variant.get<EncodedVariant>();
    if (encoded == nullptr) {
      return errors::Unimplemented("Variants of type '", variant.type_name(), "' cannot be saved");
    }
    message.set_type_name(encoded->type_name());
    message.set_metadata(encoded->metadata());
  }
  return message.SerializeAsString();
}

StatusOr<Variant> ParseVariant(absl::string_view bytes) {
  proto::VariantTensorDataProto message;
  if (bytes.size() > INT32_MAX || !message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return errors::DataLoss("malformed variant");
  }
  if (message.tensors_size() > 0) return errors::Unimplemented("Variants that hold tensors cannot be restored");
  if (message.type_name().empty()) return Variant();
  return Variant(MakeRef<EncodedVariant>(message.type_name(), message.metadata()));
}

}  // namespace millstream
