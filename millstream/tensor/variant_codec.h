// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TENSOR_VARIANT_CODEC_H_
#define MILLSTREAM_TENSOR_VARIANT_CODEC_H_

#include <string>
#include <vector>

#include "millstream/base/status.h"
#include "millstream/tensor/tensor.h"

namespace millstream {

// A variant taken apart, as it goes through messages.
struct VariantParts {
  std::string metadata;
  std::vector<Tensor> tensors;
};

// How variants of one kind go through messages; in TensorFlow's form where it has the kind.
struct VariantCodec {
  Status (*encode)(const VariantValue& value, VariantParts* parts);
  // Parts are not trusted: InvalidArgument if they are no such variant.
  StatusOr<Variant> (*decode)(VariantParts parts);
  // What decode() takes in memory for what this metadata says, beyond its own bytes and those of the tensors; asked
  // before. Null: nothing.
  int64_t (*more_bytes)(absl::string_view metadata) = nullptr;
};

// While the program starts. False if there is one of that name.
bool AddVariantCodec(const std::string& type_name, VariantCodec codec);
// Null if variants of that kind stay where they are (and for those that need none: MayTravel()).
const VariantCodec* FindVariantCodec(const std::string& type_name);

}  // namespace millstream

#endif  // MILLSTREAM_TENSOR_VARIANT_CODEC_H_
