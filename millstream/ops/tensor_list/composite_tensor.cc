// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "millstream/framework/op.h"
#include "millstream/ops/variants/variant_math.h"
#include "millstream/proto/composite_tensor_variant.pb.h"
#include "millstream/tensor/variant_codec.h"

// Values that are made of several tensors, packed into one variant.
namespace millstream {
namespace {

using Spec = proto::CompositeTensorVariantMetadata;

// What says which kind of value it is: the attribute metadata.
Spec SpecFromAttr(KernelInit& init) {
  Spec spec;
  if (!spec.ParseFromString(init.Attr<std::string>("metadata"))) {
    init.Fail(errors::InvalidArgument("Error parsing metadata"));
  }
  return spec;
}

class CompositeTensor final : public TensorsVariant {
 public:
  explicit CompositeTensor(Spec spec) : spec_(std::move(spec)) {}
  std::string type_name() const override { return "CompositeTensorVariant"; }
  Ref<TensorsVariant> EmptyLike() const override { return MakeRef<CompositeTensor>(spec_); }
  int kind() const { return spec_.type_spec_proto().type_spec_class(); }
  const Spec& spec() const { return spec_; }

 private:
  const Spec spec_;
};

Status EncodeComposite(const VariantValue& value, VariantParts* parts) {
  const auto* composite = dynamic_cast<const CompositeTensor*>(&value);
  if (composite == nullptr || !composite->spec().SerializeToString(&parts->metadata))
    return errors::InvalidArgument("Malformed variant of type ", value.type_name());
  parts->tensors = composite->tensors;
  return OkStatus();
}

StatusOr<Variant> DecodeComposite(VariantParts parts) {
  Spec spec;
  if (!spec.ParseFromString(parts.metadata))
    return errors::InvalidArgument("Malformed variant of type CompositeTensorVariant");
  Ref<CompositeTensor> value = MakeRef<CompositeTensor>(std::move(spec));
  for (Tensor& t : parts.tensors) {
    RETURN_IF_ERROR(NoteDepth(value.get(), t));
    value->tensors.push_back(std::move(t));
  }
  return Variant(std::move(value));
}

[[maybe_unused]] const bool kCompositeCodecAdded =
    AddVariantCodec("CompositeTensorVariant", {EncodeComposite, DecodeComposite});

class FromComponents final : public Kernel {
 public:
  explicit FromComponents(KernelInit& init) : spec_(SpecFromAttr(init)) {}
  Status Compute(KernelContext& ctx) override {
    Ref<CompositeTensor> value = MakeRef<CompositeTensor>(spec_);
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      RETURN_IF_ERROR(NoteDepth(value.get(), ctx.input(i)));
      value->tensors.push_back(ctx.input(i));
    }
    ctx.set_output(0, Tensor::Scalar(Variant(std::move(value))));
    return OkStatus();
  }

 private:
  const Spec spec_;
};

class ToComponents final : public Kernel {
 public:
  explicit ToComponents(KernelInit& init) : spec_(SpecFromAttr(init)) {}
  Status Compute(KernelContext& ctx) override {
    const Tensor& encoded = ctx.input(0);
    if (encoded.num_elements() == 0) {
      return errors::InvalidArgument("Input `encoded` must not be an empty variant tensor, but got ",
                                     encoded.shape().ToString());
    }
    const auto* value = encoded.data<Variant>()[0].get<CompositeTensor>();
    if (value == nullptr) {
      return errors::InvalidArgument("The input `encoded` is not a valid CompositeTensorVariant tensor, got ",
                                     encoded.data<Variant>()[0].type_name());
    }
    const int kind = spec_.type_spec_proto().type_spec_class();
    if (value->kind() != kind) {
      return errors::InvalidArgument("Expected a ", NameOf(kind), " (based on `type_spec`), but `encoded` contains a ",
                                     NameOf(value->kind()));
    }
    if (static_cast<int>(value->tensors.size()) != ctx.num_outputs()) {
      return errors::InvalidArgument("Encoded value has ", value->tensors.size(), " tensor components; expected ",
                                     ctx.num_outputs(), " components based on type_spec");
    }
    for (int i = 0; i < ctx.num_outputs(); ++i) {
      const Tensor& t = value->tensors[static_cast<size_t>(i)];
      if (t.dtype() != ctx.output_dtype(i)) {
        return errors::InvalidArgument("Tensor component ", i, " had dtype ", EnumName(t.dtype()), "; expected dtype ",
                                       EnumName(ctx.output_dtype(i)));
      }
      ctx.set_output(i, t);
    }
    return OkStatus();
  }

 private:
  static std::string EnumName(DType t) { return absl::StrCat("DT_", absl::AsciiStrToUpper(DTypeName(t))); }
  static std::string NameOf(int kind) {
    return proto::TypeSpecProto::TypeSpecClass_Name(static_cast<proto::TypeSpecProto::TypeSpecClass>(kind));
  }
  const Spec spec_;
};

OP("CompositeTensorVariantFromComponents")
    .Input("components: Tcomponents")
    .Output("encoded: variant")
    .Attr("metadata: string")
    .Attr("Tcomponents: list(type) >= 0")
    .Shape(ScalarShape)
    .Cpu<FromComponents>()
    .Doc("Several tensors as one variant.");

OP("CompositeTensorVariantToComponents")
    .Input("encoded: variant")
    .Output("components: Tcomponents")
    .Attr("metadata: string")
    .Attr("Tcomponents: list(type) >= 0")
    .Shape(UnknownShape)
    .Cpu<ToComponents>()
    .Doc("The tensors that a variant is made of.");

}  // namespace
}  // namespace millstream
