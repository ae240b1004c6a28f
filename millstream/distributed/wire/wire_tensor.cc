// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/wire/wire_tensor.h"

#include <algorithm>
#include <cstring>

#include "millstream/framework/peer_link.h"
#include "millstream/proto/tensor.pb.h"
#include "millstream/tensor/tensor_proto.h"

namespace millstream {
namespace {

enum class Kind : char { kDead = 0, kInline = 1, kPayload = 2, kProto = 3, kProtoPayload = 4 };

bool ConsumeByte(absl::string_view* body, uint8_t* byte) {
  if (body->empty()) return false;
  *byte = static_cast<uint8_t>(body->front());
  body->remove_prefix(1);
  return true;
}

Status Malformed() { return errors::InvalidArgument("Malformed tensor in a frame"); }

// A bool that is neither 0 nor 1 is undefined behaviour wherever it is read.
Status CheckBools(const Tensor& tensor) {
  if (tensor.dtype() != DType::kBool) return OkStatus();
  const auto* bytes = static_cast<const uint8_t*>(tensor.raw());
  return std::all_of(bytes, bytes + tensor.ByteSize(), [](uint8_t byte) { return byte <= 1; }) ? OkStatus()
                                                                                               : Malformed();
}

void AppendHeader(const Tensor& tensor, Kind kind, std::string* body) {
  body->push_back(static_cast<char>(kind));
  body->push_back(static_cast<char>(tensor.dtype()));
  body->push_back(static_cast<char>(tensor.rank()));
  for (const int64_t size : tensor.shape().dims()) AppendVarint(static_cast<uint64_t>(size), body);
}

// Type and shape of a plain tensor; checked, nothing allocated.
Status ConsumeHeader(absl::string_view* body, int64_t max_bytes, DType* dtype, Shape* shape) {
  uint8_t type, rank;
  if (!ConsumeByte(body, &type) || !ConsumeByte(body, &rank)) return Malformed();
  *dtype = DTypeFromProto(type);
  if (*dtype == DType::kInvalid || !IsPlainBytes(*dtype)) return Malformed();
  std::vector<int64_t> sizes(rank);
  for (int64_t& size : sizes) {
    uint64_t value;
    if (!ConsumeVarint(body, &value)) return Malformed();
    size = static_cast<int64_t>(value);
  }
  ASSIGN_OR_RETURN(*shape, Shape::Make(sizes));
  const auto element = static_cast<int64_t>(DTypeSize(*dtype));
  if (shape->num_elements() > max_bytes / element) {
    return errors::ResourceExhausted("A tensor of shape ", shape->ToString(), " and type ", DTypeName(*dtype),
                                     " is larger than ", max_bytes, " bytes");
  }
  return OkStatus();
}

// Type and shape of the payload of `bytes` bytes that the value at the front of `body` announces; nothing allocated.
Status DescribePayload(absl::string_view body, uint64_t bytes, int64_t max_bytes, DType* dtype, Shape* shape) {
  uint8_t kind;
  if (!ConsumeByte(&body, &kind)) return Malformed();
  if (bytes > static_cast<uint64_t>(max_bytes)) {
    return errors::ResourceExhausted("A payload of ", bytes, " bytes is larger than the limit of ", max_bytes);
  }
  if (kind == static_cast<uint8_t>(Kind::kProtoPayload)) {
    uint64_t size;
    if (!ConsumeVarint(&body, &size) || size != bytes) return Malformed();
    *dtype = DType::kUint8;
    *shape = Shape({static_cast<int64_t>(bytes)});
    return OkStatus();
  }
  if (kind != static_cast<uint8_t>(Kind::kPayload)) return Malformed();
  RETURN_IF_ERROR(ConsumeHeader(&body, max_bytes, dtype, shape));
  return static_cast<uint64_t>(shape->num_elements()) * DTypeSize(*dtype) == bytes ? OkStatus() : Malformed();
}

Status EncodeAsProto(const Tensor& tensor, std::string* body, Tensor* payload) {
  proto::TensorProto message;
  RETURN_IF_ERROR(TensorToProto(tensor, &message));
  const size_t bytes = message.ByteSizeLong();
  if (bytes <= kInlineTensorBytes) {
    body->push_back(static_cast<char>(Kind::kProto));
    AppendBytes(message.SerializeAsString(), body);
    return OkStatus();
  }
  body->push_back(static_cast<char>(Kind::kProtoPayload));
  AppendVarint(bytes, body);
  ASSIGN_OR_RETURN(*payload, Tensor::Make(DType::kUint8, Shape({static_cast<int64_t>(bytes)})));
  if (!message.SerializeToArray(payload->raw(), static_cast<int>(bytes)))
    return errors::Internal("Cannot serialize a tensor");
  return OkStatus();
}

Status ParseProto(const void* data, size_t size, int64_t max_bytes, Tensor* tensor) {
  proto::TensorProto message;
  if (size > INT32_MAX || !message.ParseFromArray(data, static_cast<int>(size))) return Malformed();
  TensorDecodeOptions options;
  options.max_bytes = max_bytes;
  ASSIGN_OR_RETURN(*tensor, TensorFromProto(message, options));
  return OkStatus();
}

}  // namespace

void AppendBytes(absl::string_view bytes, std::string* body) {
  AppendVarint(bytes.size(), body);
  body->append(bytes.data(), bytes.size());
}

bool ConsumeBytes(absl::string_view* body, absl::string_view* bytes) {
  uint64_t size;
  if (!ConsumeVarint(body, &size) || size > body->size()) return false;
  *bytes = body->substr(0, size);
  body->remove_prefix(size);
  return true;
}

Status EncodeTensor(const Tensor* tensor, std::string* body, Tensor* payload) {
  if (tensor == nullptr) {
    body->push_back(static_cast<char>(Kind::kDead));
    return OkStatus();
  }
  if (!IsPlainBytes(tensor->dtype())) return EncodeAsProto(*tensor, body, payload);
  const size_t bytes = tensor->ByteSize();
  if (bytes > kInlineTensorBytes) {
    AppendHeader(*tensor, Kind::kPayload, body);
    *payload = *tensor;
    return OkStatus();
  }
  AppendHeader(*tensor, Kind::kInline, body);
  body->append(static_cast<const char*>(tensor->raw()), bytes);
  return OkStatus();
}

Status EncodeNumbered(uint64_t number, const Tensor& tensor, std::string* body, std::string* own_body,
                      Tensor* payload) {
  const size_t before = body->size();
  AppendVarint(number, body);
  const size_t value = body->size();
  RETURN_IF_ERROR(EncodeTensor(&tensor, body, payload));
  if (payload->IsInitialized()) {
    own_body->assign(*body, value);
    body->resize(before);
  }
  return OkStatus();
}

StatusOr<Tensor> AllocatePayload(absl::string_view body, uint64_t bytes, int64_t max_bytes) {
  DType dtype;
  Shape shape;
  RETURN_IF_ERROR(DescribePayload(body, bytes, max_bytes, &dtype, &shape));
  return Tensor::Make(dtype, shape);
}

StatusOr<Tensor> BorrowPayload(absl::string_view body, const Tensor& memory, int64_t max_bytes) {
  DType dtype;
  Shape shape;
  RETURN_IF_ERROR(DescribePayload(body, memory.ByteSize(), max_bytes, &dtype, &shape));
  if (IsFloating(dtype) || IsComplex(dtype)) return memory.Bitcast(dtype, shape);
  return CopyOfPayload(Tensor::Make(dtype, shape), memory);
}

Status DecodeTensor(absl::string_view* body, Tensor payload, int64_t max_bytes, Tensor* tensor, bool* dead) {
  uint8_t kind;
  if (!ConsumeByte(body, &kind)) return Malformed();
  *dead = kind == static_cast<uint8_t>(Kind::kDead);
  switch (static_cast<Kind>(kind)) {
    case Kind::kDead:
      return OkStatus();
    case Kind::kInline: {
      DType dtype;
      Shape shape;
      RETURN_IF_ERROR(ConsumeHeader(body, max_bytes, &dtype, &shape));
      const size_t bytes = static_cast<size_t>(shape.num_elements()) * DTypeSize(dtype);
      if (bytes > body->size()) return Malformed();
      ASSIGN_OR_RETURN(*tensor, Tensor::Make(dtype, shape));
      if (bytes > 0) std::memcpy(tensor->raw(), body->data(), bytes);
      body->remove_prefix(bytes);
      return CheckBools(*tensor);
    }
    case Kind::kPayload: {
      // In one process the sender's own tensor arrives; over other links what AllocatePayload() gave.
      DType dtype;
      Shape shape;
      RETURN_IF_ERROR(ConsumeHeader(body, max_bytes, &dtype, &shape));
      if (!payload.IsInitialized() || payload.dtype() != dtype || !(payload.shape() == shape)) return Malformed();
      *tensor = std::move(payload);
      return CheckBools(*tensor);
    }
    case Kind::kProto: {
      absl::string_view bytes;
      if (!ConsumeBytes(body, &bytes)) return Malformed();
      return ParseProto(bytes.data(), bytes.size(), max_bytes, tensor);
    }
    case Kind::kProtoPayload: {
      uint64_t size;
      if (!ConsumeVarint(body, &size) || !payload.IsInitialized() || payload.dtype() != DType::kUint8 ||
          payload.ByteSize() != size) {
        return Malformed();
      }
      return ParseProto(payload.raw(), size, max_bytes, tensor);
    }
  }
  return Malformed();
}

}  // namespace millstream
