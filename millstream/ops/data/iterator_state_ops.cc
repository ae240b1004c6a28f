// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/numbers.h"
#include "millstream/framework/op.h"
#include "millstream/ops/data/iterator_resource.h"
#include "millstream/tensor/encoded_variant.h"

// States of iterators. A state is a position: an iterator that goes back to it makes the elements before it again,
// which gives what it gave then if the dataset is one that always gives the same.
namespace millstream {
namespace {

constexpr char kStateType[] = "millstream::IteratorPosition";

Status SerializeIteratorCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(Ref<IteratorResource> iterator, ctx.ResourceInput<IteratorResource>(0));
  ASSIGN_OR_RETURN(const int64_t position, iterator->Position());
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, Shape({1})));
  out->data<Variant>()[0] = Variant(MakeRef<EncodedVariant>(kStateType, absl::StrCat(position)));
  return OkStatus();
}

Status DeserializeIteratorCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(Ref<IteratorResource> iterator, ctx.ResourceInput<IteratorResource>(0));
  const Tensor& state = ctx.input(1);
  const auto* encoded = state.num_elements() == 1 ? state.data<Variant>()[0].get<EncodedVariant>() : nullptr;
  int64_t position = 0;
  if (encoded == nullptr || encoded->type_name() != kStateType || !absl::SimpleAtoi(encoded->metadata(), &position) ||
      position < 0) {
    return errors::InvalidArgument(
        "Failed to restore dataset iterator from checkpoint: `serialized` is not the state "
        "of an iterator of this program");
  }
  return iterator->Restore(position, ctx.step());
}

Status SerializeShape(ShapeContext& c) {
  c.set_output(0, PartialShape({-1}));
  return OkStatus();
}

OP("SerializeIterator")
    .Input("resource_handle: resource")
    .Output("serialized: variant")
    .Attr("external_state_policy: int = 0")
    .Stateful()
    .Shape(SerializeShape)
    .Cpu(SerializeIteratorCpu)
    .Doc("How far an iterator has come.");

OP("DeserializeIterator")
    .Input("resource_handle: resource")
    .Input("serialized: variant")
    .Stateful()
    .Shape(NoOutputs)
    .Cpu(DeserializeIteratorCpu)
    .Doc("Takes an iterator to where another one was; what lies before is made again and left out.");

}  // namespace
}  // namespace millstream
