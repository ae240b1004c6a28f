// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/op.h"
#include "millstream/ops/data/captured_function.h"

namespace millstream {
namespace {

// A function from (state, element) to (next state, element).
class ScanDataset final : public DerivedDataset {
 public:
  ScanDataset(Ref<Dataset> input, CapturedFunction function, Element state, OutputSignature signature)
      : DerivedDataset(std::move(input), std::move(signature.types), std::move(signature.shapes)),
        function_(std::move(function)),
        state_(std::move(state)),
        preserve_cardinality_(signature.preserve_cardinality) {}

  int64_t CountElements() const override { return preserve_cardinality_ ? input().Cardinality() : kUnknownCardinality; }
  StatusOr<IteratorPtr> NewIterator(const StepContext& owner) const override {
    std::vector<DType> args;
    for (const Tensor& t : state_) args.push_back(t.dtype());
    args.insert(args.end(), input().types().begin(), input().types().end());
    ASSIGN_OR_RETURN(CapturedFunction::Instance function, function_.Instantiate(owner, args));
    ASSIGN_OR_RETURN(IteratorPtr from, input().MakeIterator(owner));
    return std::make_unique<Iterator>(std::move(from), std::move(function), state_, types().size(),
                                      preserve_cardinality_);
  }

 private:
  class Iterator final : public DatasetIterator {
   public:
    Iterator(IteratorPtr input, CapturedFunction::Instance function, Element state, size_t outputs,
             bool preserve_cardinality)
        : input_(std::move(input)),
          function_(std::move(function)),
          state_(std::move(state)),
          outputs_(outputs),
          preserve_cardinality_(preserve_cardinality) {}
    Status Next(const StepContext& step, Element* element, bool* end) override {
      Element args = state_, next, rets;
      RETURN_IF_ERROR(input_->GetNext(step, &next, end));
      if (*end) return OkStatus();
      args.insert(args.end(), next.begin(), next.end());
      const Status status = function_.Run(step, args, &rets);
      RETURN_IF_ERROR(EndOrError(status, preserve_cardinality_, end));
      if (*end) return OkStatus();
      if (rets.size() != state_.size() + outputs_) {
        return errors::InvalidArgument("`scan_func` must return a tuple of ", state_.size() + outputs_,
                                       " components, not ", rets.size());
      }
      for (size_t i = 0; i < state_.size(); ++i) {
        if (rets[i].dtype() != state_[i].dtype()) {
          return errors::InvalidArgument("Got wrong type for scan_func return value ", i, " (expected ",
                                         DTypeName(state_[i].dtype()), ", got ", DTypeName(rets[i].dtype()), ").");
        }
        state_[i] = std::move(rets[i]);
      }
      element->assign(rets.begin() + static_cast<int64_t>(state_.size()), rets.end());
      return OkStatus();
    }

   private:
    const IteratorPtr input_;
    const CapturedFunction::Instance function_;
    Element state_;
    const size_t outputs_;
    const bool preserve_cardinality_;
  };
  const CapturedFunction function_;
  const Element state_;
  const bool preserve_cardinality_;
};

class MakeScan final : public Kernel {
 public:
  explicit MakeScan(KernelInit& init)
      : function_(init.Attr<NameAttrList>("f")),
        states_(static_cast<int>(init.Attr<std::vector<DType>>("Tstate").size())),
        signature_(init) {}
  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(Ref<Dataset> input, DatasetInput(ctx, 0));
    ASSIGN_OR_RETURN(CapturedFunction function,
                     CapturedFunction::FromInputs(ctx, function_, 1 + states_, ctx.num_inputs()));
    Element state;
    for (int i = 0; i < states_; ++i) state.push_back(ctx.input(1 + i));
    OutputDataset(ctx, MakeRef<ScanDataset>(std::move(input), std::move(function), std::move(state), signature_));
    return OkStatus();
  }

 private:
  const NameAttrList function_;
  const int states_;
  const OutputSignature signature_;
};

#define SCAN(Name)                                \
  OP(Name)                                        \
      .Input("input_dataset: variant")            \
      .Input("initial_state: Tstate")             \
      .Input("other_arguments: Targuments")       \
      .Output("handle: variant")                  \
      .Attr("f: func")                            \
      .Attr("Tstate: list(type) >= 1")            \
      .Attr("Targuments: list(type) >= 0")        \
      .Attr("output_types: list(type) >= 1")      \
      .Attr("output_shapes: list(shape) >= 1")    \
      .Attr("preserve_cardinality: bool = false") \
      .Shape(ScalarShape)                         \
      .Cpu<MakeScan>()                            \
      .Doc("Elements through a function that carries a state along.")
SCAN("ScanDataset").Attr("use_default_device: bool = true").Attr("metadata: string = ''");
SCAN("ExperimentalScanDataset");
#undef SCAN

}  // namespace
}  // namespace millstream
