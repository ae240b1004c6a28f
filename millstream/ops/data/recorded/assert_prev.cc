// SPDX-License-Identifier: Apache-2.0
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>

#include "millstream/framework/op.h"
#include "millstream/graph/attr_proto.h"
#include "millstream/ops/data/dataset_record.h"
#include "millstream/ops/data/element_attrs.h"
#include "millstream/proto/attr_value.pb.h"

namespace millstream {
namespace {

// InvalidArgument unless `dataset` was made by the op and with the attributes that `wanted` names.
Status CheckMade(const Dataset& dataset, const proto::NameAttrList& wanted) {
  const absl::string_view op = dataset.record() == nullptr ? absl::string_view() : dataset.record()->op->name;
  if (wanted.name() != op && wanted.name() != BaseName(op)) {
    return errors::InvalidArgument("Asserted transformation matching '", wanted.name(), "', but found '", op, "'.");
  }
  for (const auto& [name, value] : wanted.attr()) {
    const AttrValue* found = dataset.record()->attrs->Find(name);
    if (found == nullptr) {
      return errors::InvalidArgument("Asserted attribute '", name, "' having a value of '", value.DebugString(),
                                     "', but found no such attribute defined.");
    }
    proto::AttrValue message;
    RETURN_IF_ERROR(AttrToProto(*found, &message));
    if (google::protobuf::util::MessageDifferencer::Equivalent(message, value)) continue;
    return errors::InvalidArgument("Asserted attribute '", name, "' having a value of '", value.DebugString(),
                                   "', but found value of '", message.DebugString(), "'.");
  }
  return OkStatus();
}

// InvalidArgument unless `dataset` was made by the transformations, the last one first.
Status CheckPipeline(const Dataset& dataset, const std::vector<proto::NameAttrList>& wanted) {
  const Dataset* at = &dataset;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (at == nullptr) {
      return errors::InvalidArgument("Asserted previous ", wanted.size(), " transformations but encountered only ", i,
                                     ".");
    }
    if (const Status status = CheckMade(*at, wanted[i]); !status.ok()) {
      return errors::InvalidArgument("Failure checking transformations at offset ", i, ": ", status.message());
    }
    const std::vector<const Dataset*> inputs = InputsOf(*at);
    at = inputs.empty() ? nullptr : inputs.back();
  }
  return OkStatus();
}

// The elements of another dataset. Making an iterator fails with `error`, if that is one.
class AssertPrevDataset final : public DerivedDataset {
 public:
  AssertPrevDataset(Ref<Dataset> input, Status error) : DerivedDataset(std::move(input)), error_(std::move(error)) {}
  int64_t CountElements() const override { return input().Cardinality(); }
  StatusOr<IteratorPtr> NewIterator(const StepContext& owner) const override {
    RETURN_IF_ERROR(error_);
    return input().MakeIterator(owner);
  }

 private:
  const Status error_;
};

Status AssertPrevCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(Ref<Dataset> input, DatasetInput(ctx, 0));
  if (ctx.input(1).rank() != 1) return errors::InvalidArgument("transformations must be a vector");
  std::vector<proto::NameAttrList> wanted;
  for (const std::string& text : ctx.input(1).flat<std::string>()) {
    if (!google::protobuf::TextFormat::ParseFromString(text, &wanted.emplace_back())) {
      return errors::InvalidArgument("Couldn't parse transformation '", text, "'.");
    }
  }
  Status checked = CheckPipeline(*input, wanted);
  OutputDataset(ctx, MakeRef<AssertPrevDataset>(std::move(input), std::move(checked)));
  return OkStatus();
}

OP("AssertPrevDataset")
    .Input("input_dataset: variant")
    .Input("transformations: string")
    .Output("handle: variant")
    .With(ElementAttrs)
    .Shape(ScalarShape)
    .Cpu(AssertPrevCpu)
    .Doc("The same dataset. InvalidArgument unless it was made by the transformations that the texts describe.");

}  // namespace
}  // namespace millstream
