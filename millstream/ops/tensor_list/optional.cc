// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/variants/optional.h"

#include "millstream/framework/op.h"
#include "millstream/ops/data/dataset.h"

namespace millstream {
namespace {

StatusOr<const Optional*> OptionalInput(const KernelContext& ctx) {
  const Tensor& t = ctx.input(0);
  if (t.dtype() != DType::kVariant || t.rank() != 0) {
    return errors::InvalidArgument("Input to an op on optionals must be a scalar variant, but saw: ",
                                   t.shape().ToString());
  }
  const auto* optional = t.scalar<Variant>().get<Optional>();
  if (optional == nullptr)
    return errors::InvalidArgument("Input is not an optional: '", t.scalar<Variant>().type_name(), "'");
  return optional;
}

Status NoneCpu(KernelContext& ctx) {
  ctx.set_output(0, Tensor::Scalar(Variant(MakeRef<Optional>())));
  return OkStatus();
}

Status FromValueCpu(KernelContext& ctx) {
  Ref<Optional> optional = MakeRef<Optional>();
  for (int i = 0; i < ctx.num_inputs(); ++i) {
    RETURN_IF_ERROR(NoteDepth(optional.get(), ctx.input(i)));
    optional->tensors.push_back(ctx.input(i));
  }
  ctx.set_output(0, Tensor::Scalar(Variant(std::move(optional))));
  return OkStatus();
}

Status HasValueCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(const Optional* optional, OptionalInput(ctx));
  ctx.set_output(0, Tensor::Scalar(!optional->tensors.empty()));
  return OkStatus();
}

class GetValue final : public Kernel {
 public:
  explicit GetValue(KernelInit& init) : shapes_(init.Attr<std::vector<PartialShape>>("output_shapes")) {}
  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const Optional* optional, OptionalInput(ctx));
    if (optional->tensors.empty()) return errors::InvalidArgument("The given optional does not have a value.");
    if (static_cast<int>(optional->tensors.size()) != ctx.num_outputs() || shapes_.size() != optional->tensors.size()) {
      return errors::InvalidArgument("The given optional has ", optional->tensors.size(), " components, expected ",
                                     ctx.num_outputs());
    }
    for (int i = 0; i < ctx.num_outputs(); ++i) {
      const Tensor& t = optional->tensors[static_cast<size_t>(i)];
      if (t.dtype() != ctx.output_dtype(i)) {
        return errors::InvalidArgument("The given optional does not match the expected type for component ", i,
                                       ". Expected: ", DTypeName(ctx.output_dtype(i)),
                                       ". Actual: ", DTypeName(t.dtype()), ".");
      }
      if (!shapes_[static_cast<size_t>(i)].IsCompatibleWith(t.shape())) {
        return errors::InvalidArgument("The given optional does not match the expected shape for component ", i,
                                       ". Expected: ", shapes_[static_cast<size_t>(i)].ToString(),
                                       ". Actual: ", t.shape().ToString(), ".");
      }
      ctx.set_output(i, t);
    }
    return OkStatus();
  }

 private:
  const std::vector<PartialShape> shapes_;
};

OP("OptionalFromValue")
    .Input("components: Toutput_types")
    .Output("optional: variant")
    .Attr("Toutput_types: list(type) >= 1")
    .Shape(ScalarShape)
    .NotDifferentiable()
    .Cpu(FromValueCpu)
    .Doc("An optional that holds the components.");

OP("OptionalNone")
    .Output("optional: variant")
    .Shape(ScalarShape)
    .NotDifferentiable()
    .Cpu(NoneCpu)
    .Doc("An optional that holds nothing.");

OP("OptionalHasValue")
    .Input("optional: variant")
    .Output("has_value: bool")
    .Shape(ScalarShape)
    .NotDifferentiable()
    .Cpu(HasValueCpu)
    .Doc("True if the optional holds something.");

OP("OptionalGetValue")
    .Input("optional: variant")
    .Output("components: output_types")
    .Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1")
    .Shape(ElementShapes)
    .NotDifferentiable()
    .Cpu<GetValue>()
    .Doc("What an optional holds. InvalidArgument if that is nothing.");

}  // namespace
}  // namespace millstream
