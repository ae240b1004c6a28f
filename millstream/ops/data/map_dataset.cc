// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/op.h"
#include "millstream/ops/data/captured_function.h"

namespace millstream {
namespace {

// Elements through a function, one at a time.
class MapDataset final : public DerivedDataset {
 public:
  MapDataset(Ref<Dataset> input, CapturedFunction function, OutputSignature signature)
      : DerivedDataset(std::move(input), std::move(signature.types), std::move(signature.shapes)),
        function_(std::move(function)),
        preserve_cardinality_(signature.preserve_cardinality) {}

  int64_t CountElements() const override { return preserve_cardinality_ ? input().Cardinality() : kUnknownCardinality; }
  StatusOr<IteratorPtr> NewIterator(const StepContext& owner) const override {
    ASSIGN_OR_RETURN(CapturedFunction::Instance function, function_.Instantiate(owner, input().types()));
    ASSIGN_OR_RETURN(IteratorPtr from, input().MakeIterator(owner));
    return std::make_unique<Iterator>(std::move(from), std::move(function), preserve_cardinality_);
  }
  Status FindRandomAccess() const override { return input().CheckRandomAccess(); }
  StatusOr<AccessPtr> NewAccess(const StepContext& owner) const override {
    return function_.MakeAccess(input(), owner);
  }

 private:
  class Iterator final : public DatasetIterator {
   public:
    Iterator(IteratorPtr input, CapturedFunction::Instance function, bool preserve_cardinality)
        : input_(std::move(input)), function_(std::move(function)), preserve_cardinality_(preserve_cardinality) {}
    Status Next(const StepContext& step, Element* element, bool* end) override {
      Element args;
      RETURN_IF_ERROR(input_->GetNext(step, &args, end));
      if (*end) return OkStatus();
      return EndOrError(function_.Run(step, args, element), preserve_cardinality_, end);
    }

   private:
    const IteratorPtr input_;
    const CapturedFunction::Instance function_;
    const bool preserve_cardinality_;
  };
  const CapturedFunction function_;
  const bool preserve_cardinality_;
};

// Puts the elements of its input to a function.
class FunctionIterator : public DatasetIterator {
 public:
  FunctionIterator(const StepContext& owner, IteratorPtr input, CapturedFunction::Instance function)
      : owner_(owner), input_(std::move(input)), function_(std::move(function)) {}

 protected:
  // Whether the function says yes to an element; InvalidArgument with `error` if it says neither yes nor no.
  StatusOr<bool> Holds(const StepContext& step, const Element& element, const char* error) const {
    Element answer;
    RETURN_IF_ERROR(function_.Run(step, element, &answer));
    if (answer.size() != 1 || answer[0].dtype() != DType::kBool || answer[0].num_elements() != 1) {
      return errors::InvalidArgument(error);
    }
    return answer[0].scalar<bool>();
  }

  const StepContext& owner_;
  IteratorPtr input_;
  const CapturedFunction::Instance function_;
};

template <typename Iterator>
class FunctionDataset final : public DerivedDataset {
 public:
  FunctionDataset(Ref<Dataset> input, CapturedFunction function, OutputSignature signature)
      : DerivedDataset(std::move(input), std::move(signature.types), std::move(signature.shapes)),
        function_(std::move(function)) {}

  StatusOr<IteratorPtr> NewIterator(const StepContext& owner) const override {
    ASSIGN_OR_RETURN(CapturedFunction::Instance function, function_.Instantiate(owner, input().types()));
    ASSIGN_OR_RETURN(IteratorPtr from, input().MakeIterator(owner));
    return std::make_unique<Iterator>(owner, std::move(from), std::move(function));
  }

 private:
  const CapturedFunction function_;
};

// The elements that the function says yes to.
class FilterIterator final : public FunctionIterator {
 public:
  using FunctionIterator::FunctionIterator;
  Status Next(const StepContext& step, Element* element, bool* end) override {
    while (true) {
      RETURN_IF_ERROR(CheckCancelled(step));
      element->clear();
      RETURN_IF_ERROR(input_->GetNext(step, element, end));
      if (*end) return OkStatus();
      ASSIGN_OR_RETURN(const bool keep, Holds(step, *element, "Filter predicate `f` must return a scalar bool."));
      if (keep) return OkStatus();
    }
  }
};

// The elements before the first that the function says no to.
class TakeWhileIterator final : public FunctionIterator {
 public:
  using FunctionIterator::FunctionIterator;
  Status Next(const StepContext& step, Element* element, bool* end) override {
    *end = input_ == nullptr;
    if (*end) return OkStatus();
    RETURN_IF_ERROR(input_->GetNext(step, element, end));
    if (*end) return OkStatus();
    ASSIGN_OR_RETURN(const bool more, Holds(step, *element, "`predicate` must returns a scalar bool tensor."));
    *end = !more;
    if (*end) {
      element->clear();
      input_.reset();
    }
    return OkStatus();
  }
};

// The elements of the datasets that the function makes of each element.
class FlatMapIterator final : public FunctionIterator {
 public:
  using FunctionIterator::FunctionIterator;
  Status Next(const StepContext& step, Element* element, bool* end) override {
    while (true) {
      RETURN_IF_ERROR(CheckCancelled(step));
      if (inner_ != nullptr) {
        RETURN_IF_ERROR(inner_->GetNext(step, element, end));
        if (!*end) return OkStatus();
        element->clear();
        inner_.reset();
      }
      Element args, made;
      RETURN_IF_ERROR(input_->GetNext(step, &args, end));
      if (*end) return OkStatus();
      RETURN_IF_ERROR(function_.Run(step, args, &made));
      const bool one = made.size() == 1 && made[0].dtype() == DType::kVariant && made[0].rank() == 0;
      const Dataset* dataset = one ? made[0].scalar<Variant>().get<Dataset>() : nullptr;
      if (dataset == nullptr)
        return errors::InvalidArgument("Function must return a single scalar of dtype DT_VARIANT.");
      ASSIGN_OR_RETURN(inner_, dataset->MakeIterator(owner_));
    }
  }

 private:
  IteratorPtr inner_;
};

template <typename D>
class MakeWithFunction final : public Kernel {
 public:
  explicit MakeWithFunction(KernelInit& init)
      : function_(init.Attr<NameAttrList>(init.HasAttr("predicate") ? "predicate" : "f")), signature_(init) {}
  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(Ref<Dataset> input, DatasetInput(ctx, 0));
    ASSIGN_OR_RETURN(CapturedFunction function, CapturedFunction::FromInputs(ctx, function_, 1, ctx.num_inputs()));
    OutputDataset(ctx, MakeRef<D>(std::move(input), std::move(function), signature_));
    return OkStatus();
  }

 private:
  const NameAttrList function_;
  const OutputSignature signature_;
};

#define WITH_FUNCTION(Name, attr)              \
  OP(Name)                                     \
      .Input("input_dataset: variant")         \
      .Input("other_arguments: Targuments")    \
      .Output("handle: variant")               \
      .Attr(attr)                              \
      .Attr("Targuments: list(type) >= 0")     \
      .Attr("output_types: list(type) >= 1")   \
      .Attr("output_shapes: list(shape) >= 1") \
      .Shape(ScalarShape)
WITH_FUNCTION("MapDataset", "f: func")
    .Attr("use_inter_op_parallelism: bool = true")
    .Attr("preserve_cardinality: bool = false")
    .Attr("force_synchronous: bool = false")
    .Attr("metadata: string = ''")
    .Cpu<MakeWithFunction<MapDataset>>()
    .Doc("A dataset of what a function makes of each element.");
WITH_FUNCTION("FilterDataset", "predicate: func")
    .Attr("metadata: string = ''")
    .Cpu<MakeWithFunction<FunctionDataset<FilterIterator>>>()
    .Doc("A dataset of the elements for which a function gives true.");
WITH_FUNCTION("TakeWhileDataset", "predicate: func")
    .Attr("metadata: string = ''")
    .Cpu<MakeWithFunction<FunctionDataset<TakeWhileIterator>>>()
    .Doc("The elements before the first that does not pass a test.");
WITH_FUNCTION("ExperimentalTakeWhileDataset", "predicate: func")
    .Cpu<MakeWithFunction<FunctionDataset<TakeWhileIterator>>>()
    .Doc("The elements before the first that does not pass a test.");
WITH_FUNCTION("FlatMapDataset", "f: func")
    .Attr("metadata: string = ''")
    .Cpu<MakeWithFunction<FunctionDataset<FlatMapIterator>>>()
    .Doc("A dataset of the elements of the datasets that a function makes of each element.");
#undef WITH_FUNCTION

}  // namespace
}  // namespace millstream
