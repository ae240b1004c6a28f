// SPDX-License-Identifier: Apache-2.0
#include <zlib.h>

#include <cstring>
#include <limits>

#include "millstream/framework/op.h"
#include "millstream/ops/data/element_attrs.h"
#include "millstream/ops/data/iterator_resource.h"
#include "millstream/proto/tensor.pb.h"
#include "millstream/tensor/tensor_proto.h"

namespace millstream {
namespace {

// The components of an element with their bytes packed. It lives in this process alone, so the packing is ours: strings
// are packed as messages, handles and variants are kept as they are.
class CompressedElement final : public VariantValue {
 public:
  std::string type_name() const override { return "tensorflow::data::CompressedElement"; }

  static StatusOr<Ref<CompressedElement>> Pack(const KernelContext& ctx) {
    Ref<CompressedElement> packed = MakeRef<CompressedElement>();
    for (int i = 0; i < ctx.num_inputs(); ++i) RETURN_IF_ERROR(packed->Add(ctx.input(i)));
    return packed;
  }
  Status Unpack(Element* element) const {
    for (const Component& c : components_) {
      ASSIGN_OR_RETURN(Tensor t, Unpacked(c));
      element->push_back(std::move(t));
    }
    return OkStatus();
  }

 private:
  struct Component {
    DType dtype;
    Shape shape;
    uLongf size = 0;   // of what was packed
    std::string data;  // packed
    Tensor kept;       // in place of that
  };

  static bool IsPlain(DType dtype) { return DTypeSize(dtype) > 0; }
  static Status ZlibFailed(int code) { return errors::Internal("zlib: error ", code); }

  Status Add(const Tensor& t) {
    Component c{t.dtype(), t.shape(), 0, "", Tensor()};
    if (IsPlain(t.dtype())) {
      RETURN_IF_ERROR(PackBytes(static_cast<const char*>(t.raw()), t.ByteSize(), &c));
    } else if (t.dtype() == DType::kString) {
      proto::TensorProto message;
      RETURN_IF_ERROR(TensorToProto(t, &message));
      const std::string bytes = message.SerializeAsString();
      RETURN_IF_ERROR(PackBytes(bytes.data(), bytes.size(), &c));
    } else {
      c.kept = t;
    }
    components_.push_back(std::move(c));
    return OkStatus();
  }

  static Status PackBytes(const char* bytes, size_t size, Component* c) {
    c->size = size;
    uLongf packed = compressBound(size);
    c->data.resize(packed);
    const int code = compress2(reinterpret_cast<Bytef*>(c->data.data()), &packed, reinterpret_cast<const Bytef*>(bytes),
                               size, Z_BEST_SPEED);
    if (code != Z_OK) return ZlibFailed(code);
    c->data.resize(packed);
    c->data.shrink_to_fit();
    return OkStatus();
  }
  static Status UnpackBytes(const Component& c, char* bytes) {
    uLongf size = c.size;
    const int code = uncompress(reinterpret_cast<Bytef*>(bytes), &size, reinterpret_cast<const Bytef*>(c.data.data()),
                                c.data.size());
    return code == Z_OK && size == c.size ? OkStatus() : ZlibFailed(code);
  }

  static StatusOr<Tensor> Unpacked(const Component& c) {
    if (!IsPlain(c.dtype) && c.dtype != DType::kString) return c.kept;
    if (c.dtype != DType::kString) {
      ASSIGN_OR_RETURN(Tensor t, Tensor::Make(c.dtype, c.shape));
      if (c.size > 0) RETURN_IF_ERROR(UnpackBytes(c, static_cast<char*>(t.raw())));
      return t;
    }
    std::string bytes(c.size, '\0');
    RETURN_IF_ERROR(UnpackBytes(c, bytes.data()));
    proto::TensorProto message;
    if (!message.ParseFromString(bytes)) return errors::Internal("A compressed string tensor cannot be parsed");
    return TensorFromProto(message);
  }

  std::vector<Component> components_;
};

Status CompressCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(Ref<CompressedElement> packed, CompressedElement::Pack(ctx));
  ctx.set_output(0, Tensor::Scalar(Variant(std::move(packed))));
  return OkStatus();
}

class Uncompress final : public Kernel {
 public:
  explicit Uncompress(KernelInit& init) : types_(init.Attr<std::vector<DType>>("output_types")) {}
  Status Compute(KernelContext& ctx) override {
    const Tensor& t = ctx.input(0);
    if (t.rank() != 0) {
      return errors::InvalidArgument(
          "UncompressElement requires its input to be a scalar, but encountered an input with ", t.rank(),
          " dimensions.");
    }
    const auto* packed = t.scalar<Variant>().get<CompressedElement>();
    if (packed == nullptr) return errors::InvalidArgument("Input does not contain a compressed element.");
    Element element;
    RETURN_IF_ERROR(packed->Unpack(&element));
    if (element.size() != types_.size()) {
      return errors::FailedPrecondition("Expected ", types_.size(), " outputs from uncompress, but got ",
                                        element.size());
    }
    for (size_t i = 0; i < element.size(); ++i) {
      if (element[i].dtype() == types_[i]) continue;
      return errors::FailedPrecondition("Expected a tensor of type ", DTypeName(types_[i]),
                                        " but got a tensor of type ", DTypeName(element[i].dtype()));
    }
    return OutputElement(ctx, std::move(element));
  }

 private:
  const std::vector<DType> types_;
};

OP("CompressElement")
    .Input("components: input_types")
    .Output("compressed: variant")
    .Attr("input_types: list(type) >= 1")
    .Shape(ScalarShape)
    .Cpu(CompressCpu)
    .Doc("The components of a dataset's element, compressed.");
OP("UncompressElement")
    .Input("compressed: variant")
    .Output("components: output_types")
    .With(ElementAttrs)
    .Shape(ElementShapes)
    .Cpu<Uncompress>()
    .Doc("The components that CompressElement compressed.");

}  // namespace
}  // namespace millstream
