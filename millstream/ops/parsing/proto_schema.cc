// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/parsing/proto_schema.h"

#include <google/protobuf/descriptor.pb.h>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "millstream/base/file.h"
#include "millstream/framework/graph_files.h"

namespace millstream {
namespace {

using google::protobuf::DescriptorPool;
using google::protobuf::FieldDescriptor;

constexpr char kBytesSource[] = "bytes://";
constexpr int64_t kMaxSchemaBytes = int64_t{64} << 20;

Status NoSchema(const std::string& source) {
  return errors::InvalidArgument("descriptor_source is no FileDescriptorSet: ", source.substr(0, 100));
}

StatusOr<std::string> SchemaBytes(const ResourceManager* resources, const std::string& source) {
  if (absl::StartsWith(source, kBytesSource)) return std::string(absl::StripPrefix(source, kBytesSource));
  ASSIGN_OR_RETURN(const std::string path, ConfinedPath(resources, source));
  StatusOr<std::string> bytes = ReadFile(path, kMaxSchemaBytes);
  if (!bytes.ok()) return errors::InvalidArgument(NoSchema(source).message(), ": ", bytes.status().message());
  return bytes;
}

StatusOr<std::unique_ptr<DescriptorPool>> LoadPool(const ResourceManager* resources, const std::string& source) {
  ASSIGN_OR_RETURN(const std::string bytes, SchemaBytes(resources, source));
  google::protobuf::FileDescriptorSet set;
  if (!set.ParseFromString(bytes)) return NoSchema(source);
  auto pool = std::make_unique<DescriptorPool>();
  for (const auto& file : set.file()) {
    if (pool->BuildFile(file) == nullptr) {
      return errors::InvalidArgument("Failed to load FileDescriptorProto: ", file.name());
    }
  }
  return pool;
}

}  // namespace

StatusOr<std::unique_ptr<const ProtoSchema>> ProtoSchema::Load(const ResourceManager* resources,
                                                               const std::string& source,
                                                               const std::string& message_type) {
  std::unique_ptr<ProtoSchema> schema(new ProtoSchema);
  schema->name_ = message_type;
  if (source.empty() || source == "local://") {
    schema->pool_ = DescriptorPool::generated_pool();
    // TensorFlow's messages are in a package of our own here.
    constexpr char kTheirs[] = "tensorflow.";
    if (absl::StartsWith(message_type, kTheirs)) {
      schema->message_ = schema->pool_->FindMessageTypeByName(
          absl::StrCat("millstream.proto.", absl::StripPrefix(message_type, kTheirs)));
    }
  } else {
    ASSIGN_OR_RETURN(schema->own_pool_, LoadPool(resources, source));
    schema->pool_ = schema->own_pool_.get();
  }
  if (schema->message_ == nullptr) schema->message_ = schema->pool_->FindMessageTypeByName(message_type);
  if (schema->message_ == nullptr) {
    return errors::InvalidArgument("No descriptor found for message type ", message_type);
  }
  return std::unique_ptr<const ProtoSchema>(std::move(schema));
}

StatusOr<const FieldDescriptor*> ProtoSchema::Field(const std::string& name) const {
  const FieldDescriptor* field = message_->FindFieldByName(name);
  if (field == nullptr) return errors::InvalidArgument("Unknown field: ", name, " in message type ", name_);
  return field;
}

StatusOr<const FieldDescriptor*> ProtoSchema::FieldOrExtension(const std::string& name) const {
  const FieldDescriptor* extension = pool_->FindExtensionByName(name);
  const bool has_field = message_->FindFieldByName(name) != nullptr;
  if (has_field || extension == nullptr || extension->containing_type() != message_) return Field(name);
  return extension;
}

bool FieldFits(const FieldDescriptor& field, DType dtype) {
  switch (field.type()) {
    case FieldDescriptor::TYPE_DOUBLE:
      return dtype == DType::kDouble;
    case FieldDescriptor::TYPE_FLOAT:
      return dtype == DType::kFloat || dtype == DType::kDouble;
    case FieldDescriptor::TYPE_INT64:
    case FieldDescriptor::TYPE_SINT64:
    case FieldDescriptor::TYPE_SFIXED64:
      return dtype == DType::kInt64;
    case FieldDescriptor::TYPE_UINT64:
    case FieldDescriptor::TYPE_FIXED64:
      return dtype == DType::kUint64;
    case FieldDescriptor::TYPE_INT32:
    case FieldDescriptor::TYPE_SINT32:
    case FieldDescriptor::TYPE_SFIXED32:
      return dtype == DType::kInt32 || dtype == DType::kInt64;
    case FieldDescriptor::TYPE_UINT32:
    case FieldDescriptor::TYPE_FIXED32:
      return dtype == DType::kUint32 || dtype == DType::kUint64;
    case FieldDescriptor::TYPE_BOOL:
      return dtype == DType::kBool;
    case FieldDescriptor::TYPE_ENUM:
      return dtype == DType::kInt32;
    default:  // strings, bytes, messages and groups
      return dtype == DType::kString;
  }
}

ProtoValue LoadValue(const Tensor& t, int64_t i) {
  ProtoValue v;
  switch (t.dtype()) {
    case DType::kDouble:
      v.real = t.data<double>()[i];
      break;
    case DType::kFloat:
      v.real = t.data<float>()[i];
      break;
    case DType::kInt64:
      v.integer = static_cast<uint64_t>(t.data<int64_t>()[i]);
      break;
    case DType::kInt32:
      v.integer = static_cast<uint64_t>(int64_t{t.data<int32_t>()[i]});
      break;
    case DType::kUint64:
      v.integer = t.data<uint64_t>()[i];
      break;
    case DType::kUint32:
      v.integer = t.data<uint32_t>()[i];
      break;
    case DType::kBool:
      v.integer = t.data<bool>()[i] ? 1 : 0;
      break;
    default:
      v.bytes = t.data<std::string>()[i];
      break;
  }
  return v;
}

void StoreValue(const ProtoValue& v, int64_t i, Tensor* t) {
  switch (t->dtype()) {
    case DType::kDouble:
      t->data<double>()[i] = v.real;
      break;
    case DType::kFloat:
      t->data<float>()[i] = static_cast<float>(v.real);
      break;
    case DType::kInt64:
      t->data<int64_t>()[i] = static_cast<int64_t>(v.integer);
      break;
    case DType::kInt32:
      t->data<int32_t>()[i] = static_cast<int32_t>(v.integer);
      break;
    case DType::kUint64:
      t->data<uint64_t>()[i] = v.integer;
      break;
    case DType::kUint32:
      t->data<uint32_t>()[i] = static_cast<uint32_t>(v.integer);
      break;
    case DType::kBool:
      t->data<bool>()[i] = v.integer != 0;
      break;
    default:
      t->data<std::string>()[i] = std::string(v.bytes);
      break;
  }
}

ProtoValue DefaultValue(const FieldDescriptor& field) {
  ProtoValue v;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_DOUBLE:
      v.real = field.default_value_double();
      break;
    case FieldDescriptor::CPPTYPE_FLOAT:
      v.real = field.default_value_float();
      break;
    case FieldDescriptor::CPPTYPE_INT64:
      v.integer = static_cast<uint64_t>(field.default_value_int64());
      break;
    case FieldDescriptor::CPPTYPE_INT32:
      v.integer = static_cast<uint64_t>(int64_t{field.default_value_int32()});
      break;
    case FieldDescriptor::CPPTYPE_UINT64:
      v.integer = field.default_value_uint64();
      break;
    case FieldDescriptor::CPPTYPE_UINT32:
      v.integer = field.default_value_uint32();
      break;
    case FieldDescriptor::CPPTYPE_BOOL:
      v.integer = field.default_value_bool() ? 1 : 0;
      break;
    case FieldDescriptor::CPPTYPE_ENUM:
      v.integer = static_cast<uint64_t>(int64_t{field.default_value_enum()->number()});
      break;
    case FieldDescriptor::CPPTYPE_STRING:
      v.bytes = field.default_value_string();
      break;
    default:
      break;
  }
  return v;
}

}  // namespace millstream
