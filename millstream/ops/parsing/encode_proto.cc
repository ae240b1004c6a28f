// SPDX-License-Identifier: Apache-2.0
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <limits>

#include "millstream/framework/op.h"
#include "millstream/framework/shape_context.h"
#include "millstream/ops/parsing/proto_schema.h"

namespace millstream {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedOutputStream;

// One value of a field, without its tag.
void WriteValue(const FieldDescriptor& field, const ProtoValue& v, CodedOutputStream* out) {
  switch (WireTypeOf(field)) {
    case WireFormatLite::TYPE_DOUBLE:
      return WireFormatLite::WriteDoubleNoTag(v.real, out);
    case WireFormatLite::TYPE_FLOAT:
      return WireFormatLite::WriteFloatNoTag(static_cast<float>(v.real), out);
    case WireFormatLite::TYPE_FIXED64:
    case WireFormatLite::TYPE_SFIXED64:
      return out->WriteLittleEndian64(v.integer);
    case WireFormatLite::TYPE_FIXED32:
    case WireFormatLite::TYPE_SFIXED32:
      return out->WriteLittleEndian32(static_cast<uint32_t>(v.integer));
    case WireFormatLite::TYPE_INT64:
    case WireFormatLite::TYPE_UINT64:
    case WireFormatLite::TYPE_BOOL:
      return out->WriteVarint64(v.integer);
    case WireFormatLite::TYPE_SINT64:
      return out->WriteVarint64(WireFormatLite::ZigZagEncode64(static_cast<int64_t>(v.integer)));
    case WireFormatLite::TYPE_INT32:
    case WireFormatLite::TYPE_ENUM:
      return out->WriteVarint32SignExtended(static_cast<int32_t>(v.integer));
    case WireFormatLite::TYPE_UINT32:
      return out->WriteVarint32(static_cast<uint32_t>(v.integer));
    case WireFormatLite::TYPE_SINT32:
      return out->WriteVarint32(WireFormatLite::ZigZagEncode32(static_cast<int32_t>(v.integer)));
    default:
      if (field.type() != FieldDescriptor::TYPE_GROUP) out->WriteVarint32(static_cast<uint32_t>(v.bytes.size()));
      return out->WriteRaw(v.bytes.data(), static_cast<int>(v.bytes.size()));
  }
}

// The first `count` values of `values` from element `at` on, as one field of a message.
void WriteField(const FieldDescriptor& field, const Tensor& values, int64_t at, int64_t count, CodedOutputStream* out) {
  if (field.is_packed()) {
    std::string packed;
    {
      google::protobuf::io::StringOutputStream stream(&packed);
      CodedOutputStream packed_out(&stream);
      for (int64_t i = 0; i < count; ++i) WriteValue(field, LoadValue(values, at + i), &packed_out);
    }
    WireFormatLite::WriteTag(field.number(), WireFormatLite::WIRETYPE_LENGTH_DELIMITED, out);
    out->WriteVarint32(static_cast<uint32_t>(packed.size()));
    out->WriteRaw(packed.data(), static_cast<int>(packed.size()));
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    WireFormatLite::WriteTag(field.number(), WireFormatLite::WireTypeForFieldType(WireTypeOf(field)), out);
    WriteValue(field, LoadValue(values, at + i), out);
    if (field.type() == FieldDescriptor::TYPE_GROUP) {
      WireFormatLite::WriteTag(field.number(), WireFormatLite::WIRETYPE_END_GROUP, out);
    }
  }
}

class EncodeProto final : public Kernel {
 public:
  explicit EncodeProto(KernelInit& init) : names_(init.Attr<std::vector<std::string>>("field_names")) {
    init.Check(Prepare(init));
  }

  Status Compute(KernelContext& ctx) override {
    if (static_cast<size_t>(ctx.num_inputs() - 1) != fields_.size()) {
      return errors::InvalidArgument("Length of inputs list must match field_names");
    }
    ASSIGN_OR_RETURN(const Shape shape, CommonShape(ctx));
    RETURN_IF_ERROR(CheckSizes(ctx, shape));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    const auto n = static_cast<int64_t>(fields_.size());
    for (int64_t m = 0; m < shape.num_elements(); ++m) {
      google::protobuf::io::StringOutputStream stream(&out->data<std::string>()[m]);
      CodedOutputStream coded(&stream);
      for (const int f : by_number_) {
        const Tensor& values = ctx.input(1 + f);
        const int64_t size = ctx.input(0).data<int32_t>()[m * n + f];
        if (size > 0) WriteField(*fields_[f], values, m * values.dim(values.rank() - 1), size, &coded);
      }
    }
    return OkStatus();
  }

 private:
  Status Prepare(KernelInit& init) {
    ASSIGN_OR_RETURN(schema_, ProtoSchema::Load(init.resources(), init.Attr<std::string>("descriptor_source"),
                                                init.Attr<std::string>("message_type")));
    for (const std::string& name : names_) {
      ASSIGN_OR_RETURN(const FieldDescriptor* field, schema_->Field(name));
      by_number_.push_back(static_cast<int>(fields_.size()));
      fields_.push_back(field);
    }
    std::stable_sort(by_number_.begin(), by_number_.end(),
                     [this](int a, int b) { return fields_[a]->number() < fields_[b]->number(); });
    return OkStatus();
  }

  // What all values have before their last dimension.
  StatusOr<Shape> CommonShape(const KernelContext& ctx) const {
    Shape common;
    for (size_t i = 0; i < fields_.size(); ++i) {
      const Tensor& v = ctx.input(static_cast<int>(i) + 1);
      if (!FieldFits(*fields_[i], v.dtype())) {
        return errors::InvalidArgument("Incompatible type for field ", names_[i],
                                       ".  Saw dtype: ", DTypeName(v.dtype()),
                                       " but field type is: ", fields_[i]->type_name());
      }
      if (v.rank() < 2) {
        return errors::InvalidArgument("Invalid shape for field ", names_[i], ".  Saw shape ", v.shape().ToString(),
                                       " but it should be at least a matrix.");
      }
      ASSIGN_OR_RETURN(const Shape prefix, Shape::Make(v.shape().dims().subspan(0, v.rank() - 1)));
      if (i == 0) common = prefix;
      if (!(prefix == common)) return errors::InvalidArgument("Values must match up to the last dimension");
    }
    return common;
  }

  Status CheckSizes(const KernelContext& ctx, const Shape& common) const {
    std::vector<int64_t> dims(common.dims().begin(), common.dims().end());
    dims.push_back(static_cast<int64_t>(fields_.size()));
    ASSIGN_OR_RETURN(const Shape expected, Shape::Make(dims));
    const Tensor& sizes = ctx.input(0);
    if (!(sizes.shape() == expected)) {
      return errors::InvalidArgument("sizes should be batch_size + [len(field_names)].  Saw: ",
                                     sizes.shape().ToString(), " but expected: ", expected.ToString());
    }
    for (int64_t i = 0; i < sizes.num_elements(); ++i) {
      const auto f = static_cast<size_t>(i) % fields_.size();
      const Tensor& values = ctx.input(static_cast<int>(f) + 1);
      const int64_t size = sizes.data<int32_t>()[i], most = values.dim(values.rank() - 1);
      if (size < 0 || size > most) {
        return errors::InvalidArgument(
            "Size to write must not be negative or larger than value tensor; but saw: ", size, " > ", most,
            " at message ", i / static_cast<int64_t>(fields_.size()), " field ", f);
      }
    }
    return CheckBytes(ctx);
  }

  // A message has less than 2^31 bytes: no value is larger than 10 of them, except for strings.
  Status CheckBytes(const KernelContext& ctx) const {
    double total = 0;
    for (int i = 1; i < ctx.num_inputs(); ++i) {
      total += 16.0 * static_cast<double>(ctx.input(i).num_elements());
      if (ctx.input(i).dtype() != DType::kString) continue;
      for (const std::string& s : ctx.input(i).flat<std::string>()) total += static_cast<double>(s.size());
    }
    if (total < std::numeric_limits<int32_t>::max()) return OkStatus();
    return errors::InvalidArgument("Values are too large for serialized messages");
  }

  const std::vector<std::string> names_;
  std::unique_ptr<const ProtoSchema> schema_;
  std::vector<const FieldDescriptor*> fields_;
  std::vector<int> by_number_;
};

Status EncodeProtoShape(ShapeContext& c) {
  PartialShape out;
  for (int i = c.num_inputs() - 1; i > 0; --i) {
    PartialShape values;
    RETURN_IF_ERROR(ShapeContext::WithRankAtLeast(c.input(i), 2, &values));
    if (!values.rank_known()) continue;
    if (!out.rank_known()) out = PartialShape::UnknownOfRank(values.rank() - 1);
    if (out.rank() != values.rank() - 1) return errors::InvalidArgument("Values must match up to the last dimension");
    for (int d = 0; d < out.rank(); ++d) {
      int64_t dim = -1;
      RETURN_IF_ERROR(ShapeContext::MergeDim(out.dim(d), values.dim(d), &dim));
      out.set_dim(d, dim);
    }
  }
  c.set_output(0, std::move(out));
  return OkStatus();
}

OP("EncodeProto")
    .Input("sizes: int32")
    .Input("values: Tinput_types")
    .Output("bytes: string")
    .Attr("field_names: list(string)")
    .Attr("message_type: string")
    .Attr("descriptor_source: string = 'local://'")
    .Attr("Tinput_types: list(type) >= 1")
    .Shape(EncodeProtoShape)
    .NotDifferentiable()
    .Cpu<EncodeProto>()
    .Doc("Serialized protocol buffers from the values of their fields.");

}  // namespace
}  // namespace millstream
