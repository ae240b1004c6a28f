// SPDX-License-Identifier: Apache-2.0
#include "millstream/tensor/tensor_proto.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "millstream/base/memory_budget.h"
#include "millstream/base/varint.h"
#include "millstream/proto/tensor.pb.h"
#include "millstream/tensor/encoded_variant.h"
#include "millstream/tensor/proto_values.h"
#include "millstream/tensor/variant_codec.h"

namespace millstream {
namespace {

using internal::NumSmallIntegers;
using internal::ReadableValues;
using internal::WithProtoValues;
using internal::WritableValues;
using proto::TensorProto;

// Protobuf refuses to write or read messages of 2 GiB; leave room for the fields around the bytes.
constexpr size_t kMaxContentBytes = (size_t{1} << 31) - (1 << 16);

Status TooManyValues(int64_t given, const Shape& shape) {
  return errors::InvalidArgument("there are ", given, " values for a tensor of shape ", shape.ToString());
}

// Checks `bytes` against the limits and takes them from the budget.
Status Charge(int64_t elements, int64_t bytes_each, int64_t more, const TensorDecodeOptions& options) {
  int64_t bytes = 0;
  if (__builtin_mul_overflow(elements, bytes_each, &bytes) || __builtin_add_overflow(bytes, more, &bytes)) {
    bytes = std::numeric_limits<int64_t>::max();
  }
  if (bytes > options.max_bytes) {
    return errors::ResourceExhausted("the tensor would take ", bytes, " bytes, at most ", options.max_bytes,
                                     " are allowed");
  }
  if (options.budget != nullptr) {
    if (bytes > *options.budget) {
      return errors::ResourceExhausted("the tensor would take ", bytes, " bytes, but only ", *options.budget,
                                       " are left for this message");
    }
    *options.budget -= bytes;
  }
  return OkStatus();
}

StatusOr<Tensor> DecodePlainContent(DType dtype, const Shape& shape, const std::string& content,
                                    const TensorDecodeOptions& options) {
  const auto size = static_cast<int64_t>(DTypeSize(dtype));
  int64_t need = 0;
  if (__builtin_mul_overflow(shape.num_elements(), size, &need) || need != static_cast<int64_t>(content.size())) {
    return errors::InvalidArgument("tensor_content has ", content.size(), " bytes, which do not make ",
                                   shape.num_elements(), " elements of ", DTypeName(dtype));
  }
  RETURN_IF_ERROR(Charge(shape.num_elements(), size, 0, options));
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Make(dtype, shape));
  if (dtype == DType::kBool) {  // a bool that is neither 0 nor 1 is undefined behaviour
    bool* out = tensor.data<bool>();
    for (size_t i = 0; i < content.size(); ++i) out[i] = content[i] != 0;
  } else if (const int small = NumSmallIntegers(dtype); small > 0) {  // of a byte, only the low bits count
    auto* out = static_cast<uint8_t*>(tensor.raw());
    for (size_t i = 0; i < content.size(); ++i) out[i] = static_cast<uint8_t>(content[i] & (small - 1));
  } else if (!content.empty()) {
    std::memcpy(tensor.raw(), content.data(), content.size());
  }
  return tensor;
}

StatusOr<Tensor> DecodePlainValues(DType dtype, const Shape& shape, const TensorProto& proto,
                                   const TensorDecodeOptions& options) {
  const int64_t n = shape.num_elements();
  int64_t given = 0;
  WithProtoValues(dtype, ReadableValues{proto}, [&](auto values) { given = values.size(); });
  if (given > n) return TooManyValues(given, shape);
  if ((dtype == DType::kComplex64 && proto.scomplex_val_size() % 2 != 0) ||
      (dtype == DType::kComplex128 && proto.dcomplex_val_size() % 2 != 0)) {
    return errors::InvalidArgument("complex values come in pairs");
  }
  RETURN_IF_ERROR(Charge(n, static_cast<int64_t>(DTypeSize(dtype)), 0, options));
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Make(dtype, shape));
  WithProtoValues(dtype, ReadableValues{proto}, [&](auto values) {
    using T = typename decltype(values)::Element;
    T* out = static_cast<T*>(tensor.raw());
    for (int64_t i = 0; i < given; ++i) out[i] = values.get(i);
    std::fill(out + given, out + n, given > 0 ? out[given - 1] : T{});
  });
  return tensor;
}

// What `n` elements take beyond their headers when `given` of them have `bytes(i)` bytes and the last one is repeated.
template <typename Bytes>
int64_t HeapBytes(int64_t n, int64_t given, Bytes bytes) {
  int64_t total = 0, repeated = 0;
  for (int64_t i = 0; i < given; ++i) total += static_cast<int64_t>(bytes(i));
  if (given == 0) return 0;
  if (__builtin_mul_overflow(n - given, static_cast<int64_t>(bytes(given - 1)), &repeated) ||
      __builtin_add_overflow(total, repeated, &total)) {
    return std::numeric_limits<int64_t>::max();
  }
  return total;
}

StatusOr<Tensor> DecodeStringValues(const Shape& shape, const TensorProto& proto, const TensorDecodeOptions& options) {
  const int64_t n = shape.num_elements();
  const int64_t given = proto.string_val_size();
  if (given > n) return TooManyValues(given, shape);
  const auto value = [&](int64_t i) -> const std::string& { return proto.string_val(static_cast<int>(i)); };
  RETURN_IF_ERROR(
      Charge(n, sizeof(std::string), HeapBytes(n, given, [&](int64_t i) { return value(i).size(); }), options));
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Make(DType::kString, shape));
  std::string* out = tensor.data<std::string>();
  for (int64_t i = 0; i < n && given > 0; ++i) out[i] = value(std::min(i, given - 1));
  return tensor;
}

// All lengths as varints, then all bytes.
StatusOr<Tensor> DecodeStringContent(const Shape& shape, const std::string& content,
                                     const TensorDecodeOptions& options) {
  const int64_t n = shape.num_elements();
  const Status bad = errors::InvalidArgument("tensor_content does not hold ", n, " strings");
  if (n > static_cast<int64_t>(content.size())) return bad;  // every length takes a byte
  RETURN_IF_ERROR(Charge(n, sizeof(std::string), static_cast<int64_t>(content.size()), options));
  absl::string_view lengths = content;
  uint64_t total = 0;
  for (int64_t i = 0; i < n; ++i) {
    uint64_t length = 0;
    if (!ConsumeVarint(&lengths, &length) || length > content.size()) return bad;
    total += length;
    if (total > content.size()) return bad;
  }
  if (total != lengths.size()) return bad;
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Make(DType::kString, shape));
  absl::string_view bytes = lengths, again = content;
  for (std::string& s : tensor.flat<std::string>()) {
    uint64_t length = 0;
    ConsumeVarint(&again, &length);
    s.assign(bytes.data(), length);
    bytes.remove_prefix(length);
  }
  return tensor;
}

StatusOr<Tensor> DecodeHandles(const Shape& shape, const TensorProto& proto, const TensorDecodeOptions& options) {
  const int64_t n = shape.num_elements();
  const int64_t given = proto.resource_handle_val_size();
  if (given > n) return TooManyValues(given, shape);
  const auto value = [&](int64_t i) -> const proto::ResourceHandleProto& {
    return proto.resource_handle_val(static_cast<int>(i));
  };
  const auto bytes = [&](int64_t i) {
    return value(i).device().size() + value(i).container().size() + value(i).name().size() +
           value(i).maybe_type_name().size();
  };
  RETURN_IF_ERROR(Charge(n, sizeof(ResourceHandle), HeapBytes(n, given, bytes), options));
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Make(DType::kResource, shape));
  ResourceHandle* out = tensor.data<ResourceHandle>();
  for (int64_t i = 0; i < n && given > 0; ++i) {
    const proto::ResourceHandleProto& from = value(std::min(i, given - 1));
    out[i].device = from.device();
    out[i].container = from.container();
    out[i].name = from.name();
    out[i].type_name = from.maybe_type_name();
    out[i].hash_code = from.hash_code();
  }
  return tensor;
}

StatusOr<Variant> DecodeVariant(const proto::VariantTensorDataProto& from, const TensorDecodeOptions& options) {
  if (from.type_name().empty()) return Variant();
  const size_t bytes = from.type_name().size() + from.metadata().size();
  RETURN_IF_ERROR(Charge(1, sizeof(EncodedVariant), static_cast<int64_t>(bytes), options));
  if (Variant whole(MakeRef<EncodedVariant>(from.type_name(), from.metadata())); MayTravel(whole)) return whole;
  const VariantCodec* codec = FindVariantCodec(from.type_name());
  if (codec == nullptr) return errors::Unimplemented("variants of type '", from.type_name(), "' cannot be sent");
  constexpr int64_t kTensorBytes = sizeof(Tensor) + 64;  // one without elements
  const int64_t more = codec->more_bytes != nullptr ? codec->more_bytes(from.metadata()) : 0;
  RETURN_IF_ERROR(Charge(from.tensors_size(), kTensorBytes, more, options));
  VariantParts parts;
  parts.metadata = from.metadata();
  for (const TensorProto& t : from.tensors()) {
    ASSIGN_OR_RETURN(Tensor tensor, TensorFromProto(t, options));
    parts.tensors.push_back(std::move(tensor));
  }
  return codec->decode(std::move(parts));
}

constexpr int kMaxVariantDepth = 64;

// Variants hold tensors that hold variants; bytes in bytes are not seen by protobuf's own limit.
class VariantDepth {
 public:
  VariantDepth() { ++depth_; }
  ~VariantDepth() { --depth_; }
  VariantDepth(const VariantDepth&) = delete;
  VariantDepth& operator=(const VariantDepth&) = delete;
  bool too_deep() const { return depth_ > kMaxVariantDepth; }

 private:
  inline static thread_local int depth_ = 0;
};

// One message after the other, as TensorFlow serializes them, or in fields.
Status DecodeVariantsInto(const TensorProto& proto, const TensorDecodeOptions& options, Tensor* tensor) {
  Variant* out = tensor->data<Variant>();
  if (!proto.tensor_content().empty()) {
    ASSIGN_OR_RETURN(const Tensor parts, DecodeStringContent(tensor->shape(), proto.tensor_content(), options));
    for (const std::string& bytes : parts.flat<std::string>()) {
      proto::VariantTensorDataProto message;
      if (!message.ParseFromString(bytes)) return errors::InvalidArgument("tensor_content does not hold variants");
      ASSIGN_OR_RETURN(*out++, DecodeVariant(message, options));
    }
    return OkStatus();
  }
  const int given = proto.variant_val_size();
  for (int i = 0; i < given; ++i) {
    ASSIGN_OR_RETURN(out[i], DecodeVariant(proto.variant_val(i), options));
  }
  if (given > 0) std::fill(out + given, out + tensor->num_elements(), out[given - 1]);
  return OkStatus();
}

StatusOr<Tensor> DecodeVariants(const Shape& shape, const TensorProto& proto, const TensorDecodeOptions& options) {
  if (proto.variant_val_size() > shape.num_elements()) return TooManyValues(proto.variant_val_size(), shape);
  const VariantDepth depth;
  if (depth.too_deep()) return errors::InvalidArgument("too many variants in each other");
  int64_t common = options.max_bytes;  // what they hold counts, too
  TensorDecodeOptions inner = options;
  if (inner.budget == nullptr) inner.budget = &common;
  RETURN_IF_ERROR(Charge(shape.num_elements(), sizeof(Variant), 0, inner));
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Make(DType::kVariant, shape));
  RETURN_IF_ERROR(DecodeVariantsInto(proto, inner, &tensor));
  return tensor;
}

// Whether there is memory for a message with `bytes` of a tensor. Small ones are not worth the question.
Status CheckCopy(size_t bytes) {
  constexpr size_t kSmall = 1 << 20;
  return bytes < kSmall ? OkStatus() : CheckMemory(static_cast<int64_t>(bytes));
}

Status EncodeStrings(const Tensor& tensor, TensorProto* proto) {
  size_t total = 0;
  for (const std::string& s : tensor.flat<std::string>()) total += s.size() + 6;
  if (total > kMaxContentBytes)
    return errors::InvalidArgument("Tensor of ", total, " bytes is too large for a message");
  RETURN_IF_ERROR(CheckCopy(total));
  proto->mutable_string_val()->Reserve(static_cast<int>(tensor.num_elements()));
  for (const std::string& s : tensor.flat<std::string>()) proto->add_string_val(s);
  return OkStatus();
}

void EncodeHandles(const Tensor& tensor, TensorProto* proto) {
  for (const ResourceHandle& h : tensor.flat<ResourceHandle>()) {
    auto* to = proto->add_resource_handle_val();
    to->set_device(h.device);
    to->set_container(h.container);
    to->set_name(h.name);
    to->set_maybe_type_name(h.type_name);
    to->set_hash_code(h.hash_code);
  }
}

// What the variants of one message have taken so far, those within each other included: a tensor may be in many of
// them, and those in many others.
class VariantEncoding {
 public:
  VariantEncoding() {
    if (depth_++ == 0) left_ = kMaxContentBytes;
  }
  ~VariantEncoding() { --depth_; }
  VariantEncoding(const VariantEncoding&) = delete;
  VariantEncoding& operator=(const VariantEncoding&) = delete;

  static Status Charge(const Tensor& tensor) {
    constexpr int64_t kBytesPerTensor = 64;
    left_ -= kBytesPerTensor + static_cast<int64_t>(tensor.ByteSize());
    if (tensor.dtype() == DType::kString) {
      for (const std::string& s : tensor.flat<std::string>()) left_ -= static_cast<int64_t>(s.size());
    }
    if (depth_ > kMaxVariantDepth) return errors::InvalidArgument("Too many variants in each other");
    return left_ >= 0 ? OkStatus() : errors::InvalidArgument("Variants are too large for a message");
  }

 private:
  inline static thread_local int depth_ = 0;
  inline static thread_local int64_t left_ = 0;
};

Status EncodeVariant(const Variant& v, proto::VariantTensorDataProto* to) {
  if (v.empty()) return OkStatus();
  to->set_type_name(v.type_name());
  if (MayTravel(v)) {
    to->set_metadata(v.get<EncodedVariant>()->metadata());
    return OkStatus();
  }
  const VariantCodec* codec = FindVariantCodec(v.type_name());
  if (codec == nullptr) return errors::Unimplemented("Variants of type '", v.type_name(), "' cannot be sent");
  VariantParts parts;
  RETURN_IF_ERROR(codec->encode(*v.get<VariantValue>(), &parts));
  to->set_metadata(std::move(parts.metadata));
  for (const Tensor& t : parts.tensors) {
    RETURN_IF_ERROR(VariantEncoding::Charge(t));
    RETURN_IF_ERROR(TensorToProto(t, to->add_tensors()));
  }
  return OkStatus();
}

Status EncodeVariants(const Tensor& tensor, TensorProto* proto) {
  const VariantEncoding encoding;
  RETURN_IF_ERROR(VariantEncoding::Charge(tensor));
  for (const Variant& v : tensor.flat<Variant>()) RETURN_IF_ERROR(EncodeVariant(v, proto->add_variant_val()));
  if (proto->ByteSizeLong() > kMaxContentBytes)
    return errors::InvalidArgument("Variants of ", proto->ByteSizeLong(), " bytes are too large for a message");
  return OkStatus();
}

Status EncodePlain(const Tensor& tensor, TensorProto* proto, const TensorEncodeOptions& options) {
  if (tensor.ByteSize() > kMaxContentBytes) {
    return errors::InvalidArgument("Tensor of ", tensor.ByteSize(), " bytes is too large for a message");
  }
  RETURN_IF_ERROR(CheckCopy(tensor.ByteSize()));
  if (tensor.num_elements() > options.max_values) {
    proto->set_tensor_content(tensor.raw(), tensor.ByteSize());
    return OkStatus();
  }
  WithProtoValues(tensor.dtype(), WritableValues{*proto}, [&](auto values) {
    using T = typename decltype(values)::Element;
    const T* in = static_cast<const T*>(tensor.raw());
    for (int64_t i = 0; i < tensor.num_elements(); ++i) values.add(in[i]);
  });
  return OkStatus();
}

}  // namespace

DType DTypeFromProto(int number) {
  if (number <= 0 || number > std::numeric_limits<uint8_t>::max()) return DType::kInvalid;
  const auto type = static_cast<DType>(number);
  return IsKnown(RemoveRef(type)) ? type : DType::kInvalid;
}

StatusOr<Tensor> TensorFromProto(const TensorProto& proto, const TensorDecodeOptions& options) {
  const DType dtype = DTypeFromProto(proto.dtype());
  if (!IsKnown(dtype)) return errors::InvalidArgument("no tensor can hold the type ", static_cast<int>(proto.dtype()));
  ASSIGN_OR_RETURN(const Shape shape, ShapeFromProto(proto.tensor_shape()));
  const std::string& content = proto.tensor_content();
  // Without elements, values mean nothing: TensorFlow's clients send some, and its servers do not look.
  if (shape.num_elements() == 0) return Tensor::Make(dtype, shape);
  switch (dtype) {
    case DType::kString:
      return content.empty() ? DecodeStringValues(shape, proto, options) : DecodeStringContent(shape, content, options);
    case DType::kResource:
      return DecodeHandles(shape, proto, options);
    case DType::kVariant:
      return DecodeVariants(shape, proto, options);
    default:
      return content.empty() ? DecodePlainValues(dtype, shape, proto, options)
                             : DecodePlainContent(dtype, shape, content, options);
  }
}

Status TensorToProto(const Tensor& tensor, TensorProto* proto, const TensorEncodeOptions& options) {
  proto->Clear();
  if (!IsKnown(tensor.dtype()) || !tensor.IsInitialized())
    return errors::InvalidArgument("The tensor is not initialized");
  proto->set_dtype(static_cast<proto::DataType>(tensor.dtype()));
  ShapeToProto(tensor.shape(), proto->mutable_tensor_shape());
  switch (tensor.dtype()) {
    case DType::kString:
      return EncodeStrings(tensor, proto);
    case DType::kResource:
      EncodeHandles(tensor, proto);
      return OkStatus();
    case DType::kVariant:
      return EncodeVariants(tensor, proto);
    default:
      return EncodePlain(tensor, proto, options);
  }
}

}  // namespace millstream
