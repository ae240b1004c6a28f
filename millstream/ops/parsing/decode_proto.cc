// SPDX-License-Identifier: Apache-2.0
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "millstream/framework/op.h"
#include "millstream/framework/shape_context.h"
#include "millstream/ops/parsing/proto_schema.h"

namespace millstream {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

constexpr int kMaxTextDepth = 100;  // as binary messages have

// A field that is asked for.
struct WantedField {
  const FieldDescriptor* descriptor;
  int number;
  WireFormatLite::FieldType type;
  bool repeated;
  int output;
};

// Finds wanted fields in a serialized message, which is not trusted.
class FieldReader {
 public:
  explicit FieldReader(absl::string_view bytes)
      : bytes_(bytes), in_(reinterpret_cast<const uint8_t*>(bytes.data()), static_cast<int>(bytes.size())) {}

  // Calls found(index in `fields`, value) for every value, in the order of the message. DataLoss if it is broken.
  // REQUIRES: `fields` are sorted by number; the message has less than 2^31 bytes.
  template <typename Found>
  Status Run(const std::vector<WantedField>& fields, Found found) {
    for (uint32_t tag = NextTag(); tag != 0; tag = NextTag()) {
      const auto kind = WireFormatLite::GetTagWireType(tag);
      if (kind == WireFormatLite::WIRETYPE_END_GROUP) break;
      const int number = WireFormatLite::GetTagFieldNumber(tag);
      const auto at = std::lower_bound(fields.begin(), fields.end(), number,
                                       [](const WantedField& f, int n) { return f.number < n; });
      const bool wanted = at != fields.end() && at->number == number;
      const auto expected = wanted ? WireFormatLite::WireTypeForFieldType(at->type) : kind;
      const auto emit = [&](const ProtoValue& v) { found(static_cast<size_t>(at - fields.begin()), v); };
      if (wanted && kind == expected) {
        ProtoValue value;
        if (!Read(*at, &value)) return Broken();
        emit(value);
      } else if (wanted && kind == WireFormatLite::WIRETYPE_LENGTH_DELIMITED) {
        RETURN_IF_ERROR(ReadPacked(*at, emit));
      } else if (!WireFormatLite::SkipField(&in_, tag)) {
        return Broken();
      }
    }
    return in_.ConsumedEntireMessage() ? OkStatus() : Broken();
  }

 private:
  static Status Broken() { return errors::DataLoss("The serialized message is broken"); }

  template <typename Emit>
  Status ReadPacked(const WantedField& field, Emit emit) {
    absl::string_view packed;
    if (!ReadBytes(&packed)) return Broken();
    if (packed.empty()) return OkStatus();
    if (field.type == WireFormatLite::TYPE_GROUP) return errors::DataLoss("TYPE_GROUP encountered as packed");
    FieldReader values(packed);
    while (values.in_.CurrentPosition() < static_cast<int>(packed.size())) {
      ProtoValue value;
      if (!values.Read(field, &value)) return Broken();
      emit(value);
    }
    return OkStatus();
  }

  bool ReadBytes(absl::string_view* out) {
    uint32_t size = 0;
    if (!in_.ReadVarint32(&size)) return false;
    const auto at = static_cast<size_t>(in_.CurrentPosition());
    if (size > bytes_.size() - at) return false;
    *out = bytes_.substr(at, size);
    return in_.Skip(static_cast<int>(size));
  }
  uint32_t NextTag() {
    tag_at_ = static_cast<size_t>(in_.CurrentPosition());
    return in_.ReadTag();
  }
  // A group whose first tag has been read; its tags belong to the value, as in TensorFlow.
  bool ReadGroup(int number, absl::string_view* out) {
    for (;;) {
      const uint32_t tag = in_.ReadTag();
      if (tag == 0) return false;
      if (WireFormatLite::GetTagWireType(tag) == WireFormatLite::WIRETYPE_END_GROUP) {
        *out = bytes_.substr(tag_at_, static_cast<size_t>(in_.CurrentPosition()) - tag_at_);
        return WireFormatLite::GetTagFieldNumber(tag) == number;
      }
      if (!WireFormatLite::SkipField(&in_, tag)) return false;
    }
  }

  bool Read(const WantedField& field, ProtoValue* v) {
    uint32_t small = 0;
    bool ok = true;
    switch (field.type) {
      case WireFormatLite::TYPE_DOUBLE:
        ok = in_.ReadLittleEndian64(&v->integer);
        v->real = std::bit_cast<double>(v->integer);
        return ok;
      case WireFormatLite::TYPE_FLOAT:
        ok = in_.ReadLittleEndian32(&small);
        v->real = std::bit_cast<float>(small);
        return ok;
      case WireFormatLite::TYPE_FIXED64:
      case WireFormatLite::TYPE_SFIXED64:
        return in_.ReadLittleEndian64(&v->integer);
      case WireFormatLite::TYPE_FIXED32:
        ok = in_.ReadLittleEndian32(&small);
        v->integer = small;
        return ok;
      case WireFormatLite::TYPE_SFIXED32:
        ok = in_.ReadLittleEndian32(&small);
        v->integer = Extended(static_cast<int32_t>(small));
        return ok;
      case WireFormatLite::TYPE_INT64:
      case WireFormatLite::TYPE_UINT64:
      case WireFormatLite::TYPE_BOOL:
        return in_.ReadVarint64(&v->integer);
      case WireFormatLite::TYPE_SINT64:
        ok = in_.ReadVarint64(&v->integer);
        v->integer = static_cast<uint64_t>(WireFormatLite::ZigZagDecode64(v->integer));
        return ok;
      case WireFormatLite::TYPE_INT32:
      case WireFormatLite::TYPE_ENUM:
        ok = in_.ReadVarint32(&small);
        v->integer = Extended(static_cast<int32_t>(small));
        return ok;
      case WireFormatLite::TYPE_UINT32:
        ok = in_.ReadVarint32(&small);
        v->integer = small;
        return ok;
      case WireFormatLite::TYPE_SINT32:
        ok = in_.ReadVarint32(&small);
        v->integer = Extended(WireFormatLite::ZigZagDecode32(small));
        return ok;
      case WireFormatLite::TYPE_GROUP:
        return ReadGroup(field.number, &v->bytes);
      default:
        return ReadBytes(&v->bytes);
    }
  }
  static uint64_t Extended(int32_t x) { return static_cast<uint64_t>(int64_t{x}); }

  const absl::string_view bytes_;
  CodedInputStream in_;
  size_t tag_at_ = 0;
};

// Packed int32 values keep their sign as int64, as others do (TensorFlow 2.21 forgets it).
class DecodeProto final : public Kernel {
 public:
  explicit DecodeProto(KernelInit& init) : sanitize_(init.Attr<bool>("sanitize")) { init.Check(Prepare(init)); }

  Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    if (input.num_elements() < 1) return errors::InvalidArgument("Bufs argument must contain at least one value");
    ASSIGN_OR_RETURN(const Tensor messages, Messages(input));
    ASSIGN_OR_RETURN(const Shape sizes_shape, WithLast(input.shape(), static_cast<int64_t>(fields_.size())));
    ASSIGN_OR_RETURN(Tensor * sizes, ctx.AllocateOutput(0, sizes_shape));
    std::vector<int64_t> most(fields_.size(), 1);  // there is room for a default
    RETURN_IF_ERROR(Count(messages, sizes, &most));
    std::vector<Tensor*> outputs(fields_.size());
    for (size_t i = 0; i < fields_.size(); ++i) {
      ASSIGN_OR_RETURN(const Shape shape, WithLast(input.shape(), most[i]));
      ASSIGN_OR_RETURN(outputs[i], ctx.AllocateOutput(1 + fields_[i].output, shape));
    }
    return Fill(messages, most, outputs);
  }

 private:
  Status Prepare(KernelInit& init) {
    const auto names = init.Attr<std::vector<std::string>>("field_names");
    const auto types = init.Attr<std::vector<DType>>("output_types");
    const auto format = init.Attr<std::string>("message_format");
    ASSIGN_OR_RETURN(schema_, ProtoSchema::Load(init.resources(), init.Attr<std::string>("descriptor_source"),
                                                init.Attr<std::string>("message_type")));
    if (names.size() != types.size()) {
      return errors::InvalidArgument("field_names and output_types attributes must have the same length");
    }
    for (size_t i = 0; i < names.size(); ++i) {
      ASSIGN_OR_RETURN(const FieldDescriptor* f, schema_->FieldOrExtension(names[i]));
      if (!FieldFits(*f, types[i])) {
        return errors::InvalidArgument("Unexpected output type for ", f->full_name(), ": ", f->cpp_type_name(), " to ",
                                       DTypeName(types[i]));
      }
      fields_.push_back({f, f->number(), WireTypeOf(*f), f->is_repeated(), static_cast<int>(i)});
    }
    std::stable_sort(fields_.begin(), fields_.end(),
                     [](const WantedField& a, const WantedField& b) { return a.number < b.number; });
    if (format != "binary" && format != "text") return errors::InvalidArgument("format must be one of binary or text");
    text_ = format == "text";
    return OkStatus();
  }

  static StatusOr<Shape> WithLast(const Shape& shape, int64_t last) {
    std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
    dims.push_back(last);
    return Shape::Make(dims);
  }

  // The input, or what the protocol buffer library makes of it.
  StatusOr<Tensor> Messages(const Tensor& input) const {
    Tensor out = input;
    if (text_ || sanitize_) {
      out = Tensor(DType::kString, input.shape());
      google::protobuf::DynamicMessageFactory factory;
      const google::protobuf::Message* prototype = factory.GetPrototype(&schema_->message());
      for (int64_t i = 0; i < input.num_elements(); ++i) {
        const std::unique_ptr<google::protobuf::Message> message(prototype->New());
        RETURN_IF_ERROR(Parse(input.data<std::string>()[i], message.get()));
        if (!message->SerializeToString(&out.data<std::string>()[i])) {
          return errors::DataLoss("Unable to reserialize text proto as binary");
        }
      }
    }
    for (const std::string& bytes : out.flat<std::string>()) {
      if (bytes.size() >= static_cast<size_t>(std::numeric_limits<int32_t>::max())) {
        return errors::InvalidArgument("Serialized message too large: ", bytes.size(), " bytes");
      }
    }
    return out;
  }
  Status Parse(const std::string& bytes, google::protobuf::Message* message) const {
    if (!text_) {
      return message->ParseFromString(bytes) ? OkStatus() : errors::DataLoss("Unable to parse binary protobuf");
    }
    google::protobuf::TextFormat::Parser parser;
    parser.SetRecursionLimit(kMaxTextDepth);
    return parser.ParseFromString(bytes, message) ? OkStatus() : errors::DataLoss("Unable to parse text protobuf");
  }

  Status Count(const Tensor& messages, Tensor* sizes, std::vector<int64_t>* most) const {
    for (int64_t m = 0; m < messages.num_elements(); ++m) {
      std::vector<int64_t> counts(fields_.size(), 0);
      RETURN_IF_ERROR(FieldReader(messages.data<std::string>()[m]).Run(fields_, [&](size_t f, const ProtoValue&) {
        counts[f] = fields_[f].repeated ? counts[f] + 1 : 1;
      }));
      for (size_t f = 0; f < fields_.size(); ++f) {
        sizes->data<int32_t>()[m * static_cast<int64_t>(fields_.size()) + fields_[f].output] =
            static_cast<int32_t>(counts[f]);
        (*most)[f] = std::max((*most)[f], counts[f]);
      }
    }
    return OkStatus();
  }

  Status Fill(const Tensor& messages, const std::vector<int64_t>& most, const std::vector<Tensor*>& outputs) const {
    for (int64_t m = 0; m < messages.num_elements(); ++m) {
      std::vector<int64_t> counts(fields_.size(), 0);
      RETURN_IF_ERROR(FieldReader(messages.data<std::string>()[m]).Run(fields_, [&](size_t f, const ProtoValue& v) {
        // The last value of a field that is not repeated counts.
        const int64_t at = fields_[f].repeated ? counts[f] : 0;
        counts[f] = at + 1;
        StoreValue(v, m * most[f] + at, outputs[f]);
      }));
      for (size_t f = 0; f < fields_.size(); ++f) {
        const ProtoValue missing = DefaultValue(*fields_[f].descriptor);
        for (int64_t i = counts[f]; i < most[f]; ++i) StoreValue(missing, m * most[f] + i, outputs[f]);
      }
    }
    return OkStatus();
  }

  std::unique_ptr<const ProtoSchema> schema_;
  std::vector<WantedField> fields_;  // by number
  bool text_ = false;
  const bool sanitize_;
};

Status DecodeProtoShape(ShapeContext& c) {
  std::vector<DType> types;
  RETURN_IF_ERROR(c.GetAttr("output_types", &types));
  if (!c.input(0).rank_known()) return OkStatus();
  std::vector<int64_t> dims;
  for (int d = 0; d < c.input(0).rank(); ++d) dims.push_back(c.input(0).dim(d));
  dims.push_back(static_cast<int64_t>(types.size()));
  for (int i = 0; i < c.num_outputs(); ++i) {
    ASSIGN_OR_RETURN(PartialShape shape, PartialShape::Make(dims));
    c.set_output(i, std::move(shape));
    dims.back() = -1;
  }
  return OkStatus();
}

OP("DecodeProtoV2")
    .Input("bytes: string")
    .Output("sizes: int32")
    .Output("values: output_types")
    .Attr("message_type: string")
    .Attr("field_names: list(string)")
    .Attr("output_types: list(type) >= 0")
    .Attr("descriptor_source: string = 'local://'")
    .Attr("message_format: string = 'binary'")
    .Attr("sanitize: bool = false")
    .Shape(DecodeProtoShape)
    .NotDifferentiable()
    .Cpu<DecodeProto>()
    .Doc(
        "Fields of serialized protocol buffers: how many values each message has, and the values, padded with "
        "defaults.");

}  // namespace
}  // namespace millstream
