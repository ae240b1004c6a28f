// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/op.h"
#include "millstream/ops/data/captured_function.h"
#include "millstream/ops/data/dataset.h"

namespace millstream {
namespace {

// Elements of several datasets that a function makes, in turn: a block from each, then the next.
class InterleaveDataset final : public DerivedDataset {
 public:
  InterleaveDataset(Ref<Dataset> input, CapturedFunction function, int64_t cycle, int64_t block, OutputSignature signature)
      : DerivedDataset(std::move(input), std::move(signature.types), std::move(signature.shapes)),
        function_(std::move(function)),
        cycle_(cycle),
        block_(block) {}

  StatusOr<IteratorPtr> MakeIterator(const StepContext& owner) const override {
    ASSIGN_OR_RETURN(CapturedFunction::Instance function, function_.Instantiate(owner, input().types()));
    ASSIGN_OR_RETURN(IteratorPtr from, input().MakeIterator(owner));
    return std::make_unique<Iterator>(owner, std::move(from), std::move(function), cycle_, block_);
  }

 private:
  class Iterator final : public DatasetIterator {
   public:
    Iterator(const StepContext& owner, IteratorPtr input, CapturedFunction::Instance function, int64_t cycle, int64_t block)
        : owner_(owner), input_(std::move(input)), function_(std::move(function)), open_(cycle), block_(block) {}

    Status GetNext(const StepContext& step, Element* element, bool* end) override {
      while (input_ != nullptr || num_open_ > 0) {
        RETURN_IF_ERROR(CheckCancelled(step));
        IteratorPtr& at = open_[position_];
        if (at == nullptr) {
          RETURN_IF_ERROR(Open(step, &at));
          if (at == nullptr) Advance();
          continue;
        }
        element->clear();
        RETURN_IF_ERROR(at->GetNext(step, element, end));
        if (!*end) {
          if (++taken_ == block_) Advance();
          return OkStatus();
        }
        at.reset();
        --num_open_;
        Advance();
      }
      *end = true;
      return OkStatus();
    }

   private:
    // A walk through the next dataset; none if there are no more.
    Status Open(const StepContext& step, IteratorPtr* out) {
      if (input_ == nullptr) return OkStatus();
      Element args, made;
      bool end = false;
      RETURN_IF_ERROR(input_->GetNext(step, &args, &end));
      if (end) {
        input_.reset();
        return OkStatus();
      }
      RETURN_IF_ERROR(function_.Run(step, args, &made));
      const bool one = made.size() == 1 && made[0].dtype() == DType::kVariant && made[0].rank() == 0;
      const Dataset* dataset = one ? made[0].scalar<Variant>().get<Dataset>() : nullptr;
      if (dataset == nullptr) return errors::InvalidArgument("Function must return a single scalar of dtype DT_VARIANT.");
      ASSIGN_OR_RETURN(*out, dataset->MakeIterator(owner_));
      ++num_open_;
      return OkStatus();
    }
    void Advance() {
      taken_ = 0;
      position_ = (position_ + 1) % open_.size();
    }

    const StepContext& owner_;
    IteratorPtr input_;  // null once it has ended
    const CapturedFunction::Instance function_;
    std::vector<IteratorPtr> open_;
    const int64_t block_;
    size_t position_ = 0;
    int64_t taken_ = 0;
    int64_t num_open_ = 0;
  };

  const CapturedFunction function_;
  const int64_t cycle_;
  const int64_t block_;
};

class MakeInterleaveDataset final : public Kernel {
 public:
  explicit MakeInterleaveDataset(KernelInit& init) : function_(init.Attr<NameAttrList>("f")), signature_(init) {}
  Status Compute(KernelContext& ctx) override {
    constexpr int64_t kMaxCycle = 1 << 20;
    const int last = ctx.num_inputs() - 1;
    ASSIGN_OR_RETURN(Ref<Dataset> input, DatasetInput(ctx, 0));
    ASSIGN_OR_RETURN(const int64_t cycle, ScalarInput<int64_t>(ctx, last - 1, "cycle_length"));
    ASSIGN_OR_RETURN(const int64_t block, ScalarInput<int64_t>(ctx, last, "block_length"));
    if (cycle <= 0 || cycle > kMaxCycle) return errors::InvalidArgument("cycle_length must be > 0");
    if (block <= 0) return errors::InvalidArgument("block_length must be > 0");
    ASSIGN_OR_RETURN(CapturedFunction function, CapturedFunction::FromInputs(ctx, function_, 1, last - 1));
    OutputDataset(ctx, MakeRef<InterleaveDataset>(std::move(input), std::move(function), cycle, block, signature_));
    return OkStatus();
  }

 private:
  const NameAttrList function_;
  const OutputSignature signature_;
};

OP("InterleaveDataset")
    .Input("input_dataset: variant")
    .Input("other_arguments: Targuments")
    .Input("cycle_length: int64")
    .Input("block_length: int64")
    .Output("handle: variant")
    .Attr("f: func")
    .Attr("Targuments: list(type) >= 0")
    .Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1")
    .Attr("metadata: string = ''")
    .Shape(ScalarShape)
    .Cpu<MakeInterleaveDataset>()
    .Doc("A dataset of blocks of elements of several datasets in turn, which a function makes of each element.");

}  // namespace
}  // namespace millstream
