// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_PARSING_PROTO_SCHEMA_H_
#define MILLSTREAM_OPS_PARSING_PROTO_SCHEMA_H_

#include <google/protobuf/descriptor.h>
#include <google/protobuf/wire_format_lite.h>

#include <memory>
#include <string>

#include "millstream/framework/resource_manager.h"
#include "millstream/tensor/tensor.h"

// What DecodeProtoV2 and EncodeProto have in common: message types that graphs name, and values of their fields.
namespace millstream {

class ProtoSchema {
 public:
  // `source` is "local://" (or nothing) for the types of this program, where those of TensorFlow answer to their names
  // there as well; "bytes://" followed by a serialized FileDescriptorSet; or a file that holds one. InvalidArgument if
  // that cannot be read, or knows no such type.
  static StatusOr<std::unique_ptr<const ProtoSchema>> Load(const ResourceManager* resources, const std::string& source,
                                                           const std::string& message_type);

  const google::protobuf::Descriptor& message() const { return *message_; }
  // The field of that name. InvalidArgument if there is none.
  StatusOr<const google::protobuf::FieldDescriptor*> Field(const std::string& name) const;
  // The same; an extension answers to its full name.
  StatusOr<const google::protobuf::FieldDescriptor*> FieldOrExtension(const std::string& name) const;

 private:
  ProtoSchema() = default;
  std::unique_ptr<google::protobuf::DescriptorPool> own_pool_;  // null for local types
  const google::protobuf::DescriptorPool* pool_ = nullptr;
  const google::protobuf::Descriptor* message_ = nullptr;
  std::string name_;
};

// Whether tensors of `dtype` hold values of the field.
bool FieldFits(const google::protobuf::FieldDescriptor& field, DType dtype);

// One value of a field: an integer (signed ones extended to 64 bits, bools, enums), a floating-point number, or bytes.
struct ProtoValue {
  uint64_t integer = 0;
  double real = 0;
  absl::string_view bytes;
};

// Element i of a tensor that fits the field.
ProtoValue LoadValue(const Tensor& t, int64_t i);
void StoreValue(const ProtoValue& value, int64_t i, Tensor* t);
// What a field has that is not there. `bytes` lives as long as the descriptor.
ProtoValue DefaultValue(const google::protobuf::FieldDescriptor& field);

inline google::protobuf::internal::WireFormatLite::FieldType WireTypeOf(const google::protobuf::FieldDescriptor& f) {
  return static_cast<google::protobuf::internal::WireFormatLite::FieldType>(f.type());
}

}  // namespace millstream

#endif  // MILLSTREAM_OPS_PARSING_PROTO_SCHEMA_H_
