// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "millstream/framework/op.h"
#include "millstream/ops/data/dataset.h"

namespace millstream {
namespace {

// The input again and again; -1: for ever.
class RepeatDataset final : public DerivedDataset {
 public:
  RepeatDataset(Ref<Dataset> input, int64_t count) : DerivedDataset(std::move(input)), count_(count) {}
  int64_t CountElements() const override { return RepeatedCount(input().Cardinality(), count_); }
  StatusOr<IteratorPtr> NewIterator(const StepContext& owner) const override {
    return std::make_unique<Iterator>(Ref<Dataset>::Share(const_cast<RepeatDataset*>(this)), owner, count_);
  }
  Status FindRandomAccess() const override {
    if (count_ <= 0) {
      return errors::FailedPrecondition("`repeat(", count_, ")` does not support random access of tf.data datasets.");
    }
    return input().CheckRandomAccess();
  }
  StatusOr<AccessPtr> NewAccess(const StepContext& owner) const override {
    ASSIGN_OR_RETURN(AccessPtr from, input().MakeAccess(owner));
    return MakeAccessBy(
        [from = std::move(from), n = input().Cardinality()](const StepContext& step, int64_t i, Element* element) {
          return from->Get(step, i % n, element);
        });
  }

 private:
  class Iterator final : public DatasetIterator {
   public:
    Iterator(Ref<Dataset> dataset, const StepContext& owner, int64_t count)
        : dataset_(std::move(dataset)), owner_(owner), count_(count) {}
    bool Ready() override { return inner_ != nullptr && inner_->Ready(); }
    Status Next(const StepContext& step, Element* element, bool* end) override {
      *end = true;
      while (count_ < 0 || round_ < count_) {
        RETURN_IF_ERROR(CheckCancelled(step));
        const bool fresh = inner_ == nullptr;
        if (fresh) {
          ASSIGN_OR_RETURN(inner_, static_cast<const RepeatDataset&>(*dataset_).input().MakeIterator(owner_));
        }
        RETURN_IF_ERROR(inner_->GetNext(step, element, end));
        if (!*end) return OkStatus();
        element->clear();
        inner_.reset();
        ++round_;
        if (fresh && count_ < 0) return OkStatus();  // nothing for ever
      }
      return OkStatus();
    }

   private:
    const Ref<Dataset> dataset_;  // keeps the input alive
    const StepContext& owner_;
    const int64_t count_;
    int64_t round_ = 0;
    IteratorPtr inner_;
  };
  const int64_t count_;
};

// Elements [skip, skip + take) of the input; take -1: to its end.
class RangeOfDataset final : public DerivedDataset {
 public:
  RangeOfDataset(Ref<Dataset> input, int64_t skip, int64_t take)
      : DerivedDataset(std::move(input)), skip_(skip), take_(take) {}
  int64_t CountElements() const override {
    const int64_t n = input().Cardinality();
    if (take_ == 0) return 0;
    if (n == kUnknownCardinality || take_ < 0) return n < 0 ? n : std::max<int64_t>(n - skip_, 0);
    return n == kInfiniteCardinality ? take_ : std::min(n, take_);
  }
  StatusOr<IteratorPtr> NewIterator(const StepContext& owner) const override {
    ASSIGN_OR_RETURN(IteratorPtr from, input().MakeIterator(owner));
    return std::make_unique<Iterator>(std::move(from), skip_, take_);
  }
  Status FindRandomAccess() const override { return input().CheckRandomAccess(); }
  StatusOr<AccessPtr> NewAccess(const StepContext& owner) const override {
    if (input().Cardinality() < 0) return Dataset::MakeAccess(owner);  // the first of an endless one
    ASSIGN_OR_RETURN(AccessPtr from, input().MakeAccess(owner));
    return MakeAccessBy([from = std::move(from), skip = skip_](const StepContext& step, int64_t i, Element* element) {
      return from->Get(step, skip + i, element);
    });
  }

 private:
  class Iterator final : public DatasetIterator {
   public:
    Iterator(IteratorPtr input, int64_t skip, int64_t take) : input_(std::move(input)), skip_(skip), take_(take) {}
    bool Ready() override { return take_ == 0 || (skip_ == 0 && input_->Ready()); }
    Status Next(const StepContext& step, Element* element, bool* end) override {
      *end = take_ == 0;
      for (; skip_ > 0 && !*end; --skip_) {
        RETURN_IF_ERROR(CheckCancelled(step));
        Element skipped;
        RETURN_IF_ERROR(input_->GetNext(step, &skipped, end));
      }
      if (!*end) RETURN_IF_ERROR(input_->GetNext(step, element, end));
      if (*end)
        take_ = 0;
      else if (take_ > 0)
        --take_;
      return OkStatus();
    }

   private:
    const IteratorPtr input_;
    int64_t skip_;
    int64_t take_;
  };
  const int64_t skip_, take_;
};

Status RepeatCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(Ref<Dataset> input, DatasetInput(ctx, 0));
  ASSIGN_OR_RETURN(const int64_t count, ScalarInput<int64_t>(ctx, 1, "count"));
  OutputDataset(ctx, MakeRef<RepeatDataset>(std::move(input), count));
  return OkStatus();
}

Status TakeCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(Ref<Dataset> input, DatasetInput(ctx, 0));
  ASSIGN_OR_RETURN(const int64_t count, ScalarInput<int64_t>(ctx, 1, "count"));
  OutputDataset(ctx, MakeRef<RangeOfDataset>(std::move(input), 0, count < 0 ? -1 : count));
  return OkStatus();
}

Status SkipCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(Ref<Dataset> input, DatasetInput(ctx, 0));
  ASSIGN_OR_RETURN(const int64_t count, ScalarInput<int64_t>(ctx, 1, "count"));
  OutputDataset(ctx, MakeRef<RangeOfDataset>(std::move(input), count < 0 ? 0 : count, count < 0 ? 0 : -1));
  return OkStatus();
}

#define COUNTED(Name, kernel, doc)             \
  OP(Name)                                     \
      .Input("input_dataset: variant")         \
      .Input("count: int64")                   \
      .Output("handle: variant")               \
      .Attr("output_types: list(type) >= 1")   \
      .Attr("output_shapes: list(shape) >= 1") \
      .Attr("metadata: string = ''")           \
      .Shape(ScalarShape)                      \
      .Cpu(kernel)                             \
      .Doc(doc)
COUNTED("RepeatDataset", RepeatCpu, "A dataset repeated; -1: for ever.");
COUNTED("TakeDataset", TakeCpu, "The first elements of a dataset; -1: all.");
COUNTED("SkipDataset", SkipCpu, "A dataset without its first elements; -1: without any.");
#undef COUNTED

}  // namespace
}  // namespace millstream
