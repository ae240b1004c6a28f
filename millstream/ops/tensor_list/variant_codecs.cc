// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "millstream/base/varint.h"
#include "millstream/ops/ragged/ragged.h"
#include "millstream/ops/variants/optional.h"
#include "millstream/ops/variants/tensor_list.h"
#include "millstream/proto/tensor_shape.pb.h"
#include "millstream/tensor/tensor_proto.h"
#include "millstream/tensor/variant_codec.h"

// Lists, optionals and ragged tensors in messages, in TensorFlow's form.
namespace millstream {
namespace {

constexpr uint64_t kNoLimit = ~uint64_t{0};

Status MalformedVariant(absl::string_view type) { return errors::InvalidArgument("Malformed variant of type ", type); }

// Numbers in front say which elements are missing, their type and how many there may be; a shape follows.
Status EncodeList(const VariantValue& value, VariantParts* parts) {
  const auto* list = dynamic_cast<const TensorList*>(&value);
  if (list == nullptr) return MalformedVariant(value.type_name());
  std::vector<size_t> missing;
  for (size_t i = 0; i < list->tensors.size(); ++i) {
    if (list->tensors[i].IsInitialized())
      parts->tensors.push_back(list->tensors[i]);
    else
      missing.push_back(i);
  }
  AppendVarint(missing.size(), &parts->metadata);
  for (const size_t i : missing) AppendVarint(i, &parts->metadata);
  AppendVarint(static_cast<uint64_t>(list->element_dtype), &parts->metadata);
  AppendVarint(list->max_num_elements < 0 ? kNoLimit : static_cast<uint64_t>(list->max_num_elements), &parts->metadata);
  proto::TensorShapeProto shape;
  ShapeToProto(list->element_shape, &shape);
  return shape.AppendToString(&parts->metadata) ? OkStatus() : MalformedVariant(value.type_name());
}

// Puts the tensors where none is missing.
Status FillList(const std::vector<uint64_t>& missing, std::vector<Tensor> given, TensorList* list) {
  const size_t total = missing.size() + given.size();
  list->tensors.reserve(total);
  size_t next_missing = 0, next_given = 0;
  for (size_t i = 0; i < total; ++i) {
    if (next_missing < missing.size() && missing[next_missing] == i) {
      ++next_missing;
      list->tensors.emplace_back();
      continue;
    }
    if (next_given == given.size()) return MalformedVariant(list->type_name());
    Tensor& element = given[next_given++];
    if (element.dtype() != list->element_dtype) return MalformedVariant(list->type_name());
    RETURN_IF_ERROR(CheckElement(list, element));
    list->tensors.push_back(std::move(element));
  }
  return OkStatus();
}

StatusOr<Variant> DecodeList(VariantParts parts) {
  constexpr char kType[] = "tensorflow::TensorList";
  absl::string_view in = parts.metadata;
  uint64_t count = 0, number = 0, limit = 0;
  if (!ConsumeVarint(&in, &count) || count > static_cast<uint64_t>(kMaxListSize) ||
      parts.tensors.size() + count > static_cast<uint64_t>(kMaxListSize)) {
    return MalformedVariant(kType);
  }
  std::vector<uint64_t> missing;
  missing.reserve(std::min<uint64_t>(count, in.size()));  // they take a byte at least
  for (uint64_t i = 0; i < count; ++i) {
    if (!ConsumeVarint(&in, &number) || (i > 0 && number <= missing.back())) return MalformedVariant(kType);
    missing.push_back(number);
  }
  if (!ConsumeVarint(&in, &number) || number > INT32_MAX || !ConsumeVarint(&in, &limit)) return MalformedVariant(kType);
  const DType dtype = DTypeFromProto(static_cast<int>(number));
  proto::TensorShapeProto shape_proto;
  if (dtype == DType::kInvalid || (limit != kNoLimit && limit > INT32_MAX) ||
      !shape_proto.ParseFromArray(in.data(), static_cast<int>(in.size()))) {
    return MalformedVariant(kType);
  }
  ASSIGN_OR_RETURN(PartialShape shape, PartialShapeFromProto(shape_proto));
  Ref<TensorList> list = MakeRef<TensorList>(dtype, std::move(shape));
  list->max_num_elements = limit == kNoLimit ? -1 : static_cast<int64_t>(limit);
  RETURN_IF_ERROR(FillList(missing, std::move(parts.tensors), list.get()));
  return Variant(std::move(list));
}

// Missing elements take a few bytes in a message, and a tensor in a list.
int64_t BytesOfMissing(absl::string_view metadata) {
  uint64_t count = 0;
  if (!ConsumeVarint(&metadata, &count)) return 0;
  const uint64_t at_most = std::min<uint64_t>(count, metadata.size());
  return static_cast<int64_t>(at_most * (sizeof(Tensor) + sizeof(uint64_t)));
}

// Takes over all tensors.
template <typename T>
StatusOr<Variant> WithTensors(Ref<T> value, std::vector<Tensor> tensors) {
  for (Tensor& t : tensors) {
    RETURN_IF_ERROR(NoteDepth(value.get(), t));
    value->tensors.push_back(std::move(t));
  }
  return Variant(std::move(value));
}

// One byte says whether there is a value.
Status EncodeOptional(const VariantValue& value, VariantParts* parts) {
  const auto* optional = dynamic_cast<const Optional*>(&value);
  if (optional == nullptr) return MalformedVariant(value.type_name());
  parts->metadata = std::string(1, optional->tensors.empty() ? 0 : 1);
  parts->tensors = optional->tensors;
  return OkStatus();
}

StatusOr<Variant> DecodeOptional(VariantParts parts) {
  const bool holds = !parts.tensors.empty();
  if (parts.metadata != std::string(1, holds ? 1 : 0)) return MalformedVariant("tensorflow::data::Optional");
  return WithTensors(MakeRef<Optional>(), std::move(parts.tensors));
}

Status EncodeRagged(const VariantValue& value, VariantParts* parts) {
  const auto* ragged = dynamic_cast<const RaggedVariant*>(&value);
  if (ragged == nullptr || ragged->tensors.empty()) return MalformedVariant(value.type_name());
  parts->tensors = ragged->tensors;
  return OkStatus();
}

StatusOr<Variant> DecodeRagged(VariantParts parts) {
  if (parts.tensors.empty()) return MalformedVariant("RaggedTensorVariant");
  for (size_t i = 0; i + 1 < parts.tensors.size(); ++i) {
    const Tensor& splits = parts.tensors[i];
    if (splits.rank() != 1 || (splits.dtype() != DType::kInt32 && splits.dtype() != DType::kInt64))
      return MalformedVariant("RaggedTensorVariant");
  }
  return WithTensors(MakeRef<RaggedVariant>(), std::move(parts.tensors));
}

[[maybe_unused]] const bool kVariantCodecsAdded =
    AddVariantCodec("tensorflow::TensorList", {EncodeList, DecodeList, BytesOfMissing}) &&
    AddVariantCodec("tensorflow::data::Optional", {EncodeOptional, DecodeOptional}) &&
    AddVariantCodec("RaggedTensorVariant", {EncodeRagged, DecodeRagged});

}  // namespace
}  // namespace millstream
