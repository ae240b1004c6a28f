// SPDX-License-Identifier: Apache-2.0
#include <thread>

#include "millstream/framework/op.h"
#include "millstream/ops/data/captured_function.h"

namespace millstream {
namespace {

// Elements of several datasets, which a function makes of the elements of one, in turn: `block` of each.
class InterleaveDataset final : public DerivedDataset {
 public:
  InterleaveDataset(Ref<Dataset> input, CapturedFunction function, int64_t cycle, int64_t block,
                    OutputSignature signature)
      : DerivedDataset(std::move(input), std::move(signature.types), std::move(signature.shapes)),
        function_(std::move(function)),
        cycle_(cycle),
        block_(block) {}

  StatusOr<IteratorPtr> NewIterator(const StepContext& owner) const override {
    ASSIGN_OR_RETURN(CapturedFunction::Instance function, function_.Instantiate(owner, input().types()));
    ASSIGN_OR_RETURN(IteratorPtr from, input().MakeIterator(owner));
    return std::make_unique<Iterator>(owner, std::move(from), std::move(function), cycle_, block_);
  }

 private:
  class Iterator final : public DatasetIterator {
   public:
    Iterator(const StepContext& owner, IteratorPtr input, CapturedFunction::Instance function, int64_t cycle,
             int64_t block)
        : owner_(owner),
          input_(std::move(input)),
          function_(std::move(function)),
          block_(block),
          open_(static_cast<size_t>(cycle)) {}

    Status Next(const StepContext& step, Element* element, bool* end) override {
      *end = false;
      size_t idle = 0;  // places in a row without a dataset
      while (input_ != nullptr || idle < open_.size()) {
        RETURN_IF_ERROR(CheckCancelled(step));
        IteratorPtr& current = open_[at_];
        if (current == nullptr && input_ != nullptr) RETURN_IF_ERROR(Open(step, &current));
        if (current == nullptr) {
          ++idle;
          Advance();
          continue;
        }
        idle = 0;
        bool over = false;
        RETURN_IF_ERROR(current->GetNext(step, element, &over));
        if (over) {
          element->clear();
          current.reset();
          Advance();
          continue;
        }
        if (++taken_ == block_) Advance();
        return OkStatus();
      }
      *end = true;
      return OkStatus();
    }

   private:
    void Advance() {
      at_ = (at_ + 1) % open_.size();
      taken_ = 0;
    }

    // Leaves *place empty at the end of the input.
    Status Open(const StepContext& step, IteratorPtr* place) {
      Element args, made;
      bool over = false;
      RETURN_IF_ERROR(input_->GetNext(step, &args, &over));
      if (over) {
        input_.reset();
        return OkStatus();
      }
      RETURN_IF_ERROR(function_.Run(step, args, &made));
      const bool one = made.size() == 1 && made[0].dtype() == DType::kVariant && made[0].rank() == 0;
      const Dataset* dataset = one ? made[0].scalar<Variant>().get<Dataset>() : nullptr;
      if (dataset == nullptr) {
        return errors::InvalidArgument("Function must return a single scalar of dtype DT_VARIANT.");
      }
      ASSIGN_OR_RETURN(*place, dataset->MakeIterator(owner_));
      return OkStatus();
    }

    const StepContext& owner_;
    IteratorPtr input_;  // null once it has ended
    const CapturedFunction::Instance function_;
    const int64_t block_;
    std::vector<IteratorPtr> open_;
    size_t at_ = 0;
    int64_t taken_ = 0;  // of the block
  };

  const CapturedFunction function_;
  const int64_t cycle_, block_;
};

// After the captured values come cycle_length, block_length and what parallel versions add. Legacy ones have no number
// of calls, but sizes of buffers at the end.
template <bool kLegacy>
class MakeInterleave final : public Kernel {
 public:
  explicit MakeInterleave(KernelInit& init)
      : function_(init.Attr<NameAttrList>("f")),
        captured_(static_cast<int>(init.Attr<std::vector<DType>>("Targuments").size())),
        signature_(init) {}

  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(Ref<Dataset> input, DatasetInput(ctx, 0));
    ASSIGN_OR_RETURN(CapturedFunction function, CapturedFunction::FromInputs(ctx, function_, 1, 1 + captured_));
    ASSIGN_OR_RETURN(int64_t cycle, ScalarInput<int64_t>(ctx, 1 + captured_, "cycle_length"));
    ASSIGN_OR_RETURN(const int64_t block, ScalarInput<int64_t>(ctx, 2 + captured_, "block_length"));
    const bool parallel = !kLegacy && ctx.num_inputs() > 3 + captured_;
    if (parallel && cycle == -1) cycle = std::max<int64_t>(std::thread::hardware_concurrency(), 1);
    if (cycle <= 0) return errors::InvalidArgument("`cycle_length` must be > 0");
    if (block <= 0) return errors::InvalidArgument("`block_length` must be > 0");
    if (cycle > kMaxCycle) return errors::InvalidArgument("`cycle_length` ", cycle, " is too large");
    if (parallel) {
      ASSIGN_OR_RETURN(const int64_t calls, ScalarInput<int64_t>(ctx, ctx.num_inputs() - 1, "num_parallel_calls"));
      if (calls != -1 && calls <= 0) return errors::InvalidArgument("num_parallel_calls must be greater than zero.");
    }
    if (kLegacy) RETURN_IF_ERROR(CheckBuffers(ctx));
    OutputDataset(ctx, MakeRef<InterleaveDataset>(std::move(input), std::move(function), cycle, block, signature_));
    return OkStatus();
  }

 private:
  static constexpr int64_t kMaxCycle = 1 << 20;
  static Status CheckBuffers(KernelContext& ctx) {
    const int last = ctx.num_inputs() - 1;
    ASSIGN_OR_RETURN(const int64_t output, ScalarInput<int64_t>(ctx, last - 1, "buffer_output_elements"));
    ASSIGN_OR_RETURN(const int64_t input, ScalarInput<int64_t>(ctx, last, "prefetch_input_elements"));
    if (output <= 0 && output != -1) return errors::InvalidArgument("`buffer_output_elements` must be > 0");
    if (input < 0 && input != -1) return errors::InvalidArgument("`prefetch_input_elements` must be >= 0");
    return OkStatus();
  }
  const NameAttrList function_;
  const int captured_;
  const OutputSignature signature_;
};

void FunctionSignature(OpBuilder& op) {
  op.Attr("Targuments: list(type) >= 0").Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1");
}
void CycleInputs(OpBuilder& op) {
  op.Input("input_dataset: variant")
      .Input("other_arguments: Targuments")
      .Input("cycle_length: int64")
      .Input("block_length: int64");
}
void InterleaveEnd(OpBuilder& op) { op.Attr("metadata: string = ''").Shape(ScalarShape).Cpu<MakeInterleave<false>>(); }
void LegacyInterleaveEnd(OpBuilder& op) {
  op.Shape(ScalarShape).Cpu<MakeInterleave<true>>().Doc("As InterleaveDataset.");
}

OP("InterleaveDataset")
    .With(CycleInputs)
    .Output("handle: variant")
    .Attr("f: func")
    .With(FunctionSignature)
    .With(InterleaveEnd)
    .Doc("Elements of the datasets that a function makes, taken from several of them in turn.");
OP("ParallelInterleaveDatasetV2")
    .With(CycleInputs)
    .Input("num_parallel_calls: int64")
    .Output("handle: variant")
    .Attr("f: func")
    .With(FunctionSignature)
    .Attr("sloppy: bool = false")
    .With(InterleaveEnd)
    .Doc("As InterleaveDataset.");
OP("ParallelInterleaveDatasetV3")
    .With(CycleInputs)
    .Input("num_parallel_calls: int64")
    .Output("handle: variant")
    .Attr("f: func")
    .Attr("deterministic: string = 'default'")
    .With(FunctionSignature)
    .With(InterleaveEnd)
    .Doc("As InterleaveDataset.");
OP("ParallelInterleaveDatasetV4")
    .With(CycleInputs)
    .Input("buffer_output_elements: int64")
    .Input("prefetch_input_elements: int64")
    .Input("num_parallel_calls: int64")
    .Output("handle: variant")
    .Attr("f: func")
    .Attr("deterministic: string = 'default'")
    .With(FunctionSignature)
    .With(InterleaveEnd)
    .Doc("As InterleaveDataset.");
#define LEGACY_PARALLEL(Name)                  \
  OP(Name)                                     \
      .With(CycleInputs)                       \
      .Input("sloppy: bool")                   \
      .Input("buffer_output_elements: int64")  \
      .Input("prefetch_input_elements: int64") \
      .Output("handle: variant")               \
      .Attr("f: func")                         \
      .With(FunctionSignature)                 \
      .With(LegacyInterleaveEnd)
LEGACY_PARALLEL("ParallelInterleaveDataset").Attr("metadata: string = ''");
LEGACY_PARALLEL("ExperimentalParallelInterleaveDataset");
#undef LEGACY_PARALLEL
OP("LegacyParallelInterleaveDatasetV2")
    .With(CycleInputs)
    .Input("buffer_output_elements: int64")
    .Input("prefetch_input_elements: int64")
    .Output("handle: variant")
    .Attr("f: func")
    .Attr("deterministic: string = 'default'")
    .With(FunctionSignature)
    .With(LegacyInterleaveEnd)
    .Attr("metadata: string = ''");

}  // namespace
}  // namespace millstream
