// SPDX-License-Identifier: Apache-2.0
// Datasets that give the elements of another one as they are: settings of a dataset runtime, checks, and delays.
#include <chrono>
#include <thread>

#include "millstream/framework/op.h"
#include "millstream/ops/data/dataset.h"
#include "millstream/ops/data/element_attrs.h"

namespace millstream {
namespace {

// For settings of which our runtime needs none.
Status SameDatasetCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(Ref<Dataset> input, DatasetInput(ctx, 0));
  OutputDataset(ctx, std::move(input));
  return OkStatus();
}

// The elements of another dataset, which has options now.
class OptionsDataset final : public DerivedDataset {
 public:
  explicit OptionsDataset(Ref<Dataset> input) : DerivedDataset(std::move(input)) {}
  int64_t CountElements() const override { return input().Cardinality(); }
  StatusOr<IteratorPtr> NewIterator(const StepContext& owner) const override { return input().MakeIterator(owner); }
  Status FindRandomAccess() const override { return input().CheckRandomAccess(); }
  StatusOr<AccessPtr> NewAccess(const StepContext& owner) const override { return input().MakeAccess(owner); }
};

// Our runtime obeys none of them; GetOptions tells them.
class MakeOptions final : public Kernel {
 public:
  explicit MakeOptions(KernelInit& init) : options_(init.Attr<std::string>("serialized_options")) {}
  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(Ref<Dataset> input, DatasetInput(ctx, 0));
    Ref<Dataset> dataset = MakeRef<OptionsDataset>(std::move(input));
    dataset->set_options(options_);
    OutputDataset(ctx, std::move(dataset));
    return OkStatus();
  }

 private:
  const std::string options_;
};

Status GetOptionsCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(const Ref<Dataset> input, DatasetInput(ctx, 0));
  ctx.set_output(0, Tensor::Scalar(input->options()));
  return OkStatus();
}

Status MaxIntraOpParallelismCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(const int64_t threads, ScalarInput<int64_t>(ctx, 1, "max_intra_op_parallelism"));
  if (threads < 0) return errors::InvalidArgument("`max_intra_op_parallelism` must be >= 0");
  return SameDatasetCpu(ctx);
}

Status PrivateThreadPoolCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(const int64_t threads, ScalarInput<int64_t>(ctx, 1, "num_threads"));
  if (threads < 0) return errors::InvalidArgument("`num_threads` must be >= 0");
  return SameDatasetCpu(ctx);
}

// FailedPrecondition unless the input has as many elements as it should; -1: it must not end.
class AssertCardinalityDataset final : public DerivedDataset {
 public:
  AssertCardinalityDataset(Ref<Dataset> input, int64_t count) : DerivedDataset(std::move(input)), count_(count) {}
  int64_t CountElements() const override { return count_; }
  StatusOr<IteratorPtr> NewIterator(const StepContext& owner) const override {
    ASSIGN_OR_RETURN(IteratorPtr from, input().MakeIterator(owner));
    return std::make_unique<Iterator>(std::move(from), count_);
  }
  Status FindRandomAccess() const override { return input().CheckRandomAccess(); }
  StatusOr<AccessPtr> NewAccess(const StepContext& owner) const override {
    const int64_t there = input().Cardinality();
    if (there < 0) return Dataset::MakeAccess(owner);
    ASSIGN_OR_RETURN(AccessPtr from, input().MakeAccess(owner));
    return MakeAccessBy(
        [from = std::move(from), there, count = count_](const StepContext& step, int64_t i, Element* element) {
          return i < there ? from->Get(step, i, element) : TooFew(count, there);
        });
  }

 private:
  static std::string Elements(int64_t n) {
    if (n == kInfiniteCardinality) return "an infinite number of elements";
    return absl::StrCat(n, n == 1 ? " element" : " elements");
  }
  static Status TooFew(int64_t wanted, int64_t seen) {
    return errors::FailedPrecondition("Input dataset was expected to contain ", Elements(wanted),
                                      " but contained only ", Elements(seen), ".");
  }

  class Iterator final : public DatasetIterator {
   public:
    Iterator(IteratorPtr input, int64_t count) : input_(std::move(input)), count_(count) {}
    bool Ready() override { return input_->Ready(); }
    Status Next(const StepContext& step, Element* element, bool* end) override {
      RETURN_IF_ERROR(input_->GetNext(step, element, end));
      if (!*end) ++seen_;
      if (*end && seen_ != count_) return TooFew(count_, seen_);
      if (count_ != kInfiniteCardinality && seen_ > count_) {
        return errors::FailedPrecondition("Input dataset was expected to contain ", Elements(count_),
                                          " but contained at least ", Elements(seen_), ".");
      }
      return OkStatus();
    }

   private:
    const IteratorPtr input_;
    const int64_t count_;
    int64_t seen_ = 0;
  };
  const int64_t count_;
};

Status AssertCardinalityCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(Ref<Dataset> input, DatasetInput(ctx, 0));
  ASSIGN_OR_RETURN(const int64_t count, ScalarInput<int64_t>(ctx, 1, "cardinality"));
  OutputDataset(ctx, MakeRef<AssertCardinalityDataset>(std::move(input), count));
  return OkStatus();
}

// Waits a while before each element.
class SleepDataset final : public DerivedDataset {
 public:
  SleepDataset(Ref<Dataset> input, std::chrono::microseconds pause) : DerivedDataset(std::move(input)), pause_(pause) {}
  int64_t CountElements() const override { return input().Cardinality(); }
  StatusOr<IteratorPtr> NewIterator(const StepContext& owner) const override {
    ASSIGN_OR_RETURN(IteratorPtr from, input().MakeIterator(owner));
    return std::make_unique<Iterator>(std::move(from), pause_);
  }

 private:
  class Iterator final : public DatasetIterator {
   public:
    Iterator(IteratorPtr input, std::chrono::microseconds pause) : input_(std::move(input)), pause_(pause) {}
    Status Next(const StepContext& step, Element* element, bool* end) override {
      constexpr std::chrono::microseconds kSlice(20'000);  // how soon a cancelled step is let go
      for (auto left = pause_; left.count() > 0; left -= kSlice) {
        RETURN_IF_ERROR(CheckCancelled(step));
        std::this_thread::sleep_for(std::min(left, kSlice));
      }
      return input_->GetNext(step, element, end);
    }

   private:
    const IteratorPtr input_;
    const std::chrono::microseconds pause_;
  };
  const std::chrono::microseconds pause_;
};

Status SleepCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(Ref<Dataset> input, DatasetInput(ctx, 0));
  ASSIGN_OR_RETURN(const int64_t pause, ScalarInput<int64_t>(ctx, 1, "sleep_microseconds"));
  OutputDataset(ctx, MakeRef<SleepDataset>(std::move(input), std::chrono::microseconds(pause)));
  return OkStatus();
}

void SettingArgs(OpBuilder& op) {
  op.Input("input_dataset: variant").Output("handle: variant").Shape(ScalarShape).Doc("The same dataset.");
}
void IgnoredSetting(OpBuilder& op) { op.With(SettingArgs).Cpu(SameDatasetCpu); }

OP("OptionsDataset")
    .With(SettingArgs)
    .Attr("serialized_options: string")
    .Attr("metadata: string = ''")
    .With(ElementAttrs)
    .Cpu<MakeOptions>();
OP("GetOptions")
    .Input("input_dataset: variant")
    .Output("serialized_options: string")
    .Shape(ScalarShape)
    .Cpu(GetOptionsCpu)
    .Doc(
        "The options that OptionsDataset gave a dataset and those it is made from, as a message of type "
        "tf.data.Options.");
OP("ModelDataset")
    .With(IgnoredSetting)
    .Attr("algorithm: int = 0")
    .Attr("cpu_budget: int = 0")
    .Attr("ram_budget: int = 0")
    .With(ElementAttrs);
OP("FinalizeDataset").With(IgnoredSetting).Attr("has_captured_ref: bool = false").With(ElementAttrs);
OP("RewriteDataset").With(IgnoredSetting).Input("rewrite_name: string").With(ElementAttrs);
OP("NonSerializableDataset").With(IgnoredSetting).With(ElementAttrs);
OP("ExperimentalNonSerializableDataset").With(IgnoredSetting).With(ElementAttrs);
OP("OptimizeDataset")
    .With(IgnoredSetting)
    .Input("optimizations: string")
    .Attr("optimization_configs: list(string) = []")
    .With(ElementAttrs);
OP("OptimizeDatasetV2")
    .With(IgnoredSetting)
    .Input("optimizations_enabled: string")
    .Input("optimizations_disabled: string")
    .Input("optimizations_default: string")
    .Attr("optimization_configs: list(string) = []")
    .With(ElementAttrs);

void MaxIntraOpParallelismOp(OpBuilder& op) {
  op.With(SettingArgs).Input("max_intra_op_parallelism: int64").With(ElementAttrs).Cpu(MaxIntraOpParallelismCpu);
}
OP("MaxIntraOpParallelismDataset").With(MaxIntraOpParallelismOp);
OP("ExperimentalMaxIntraOpParallelismDataset").With(MaxIntraOpParallelismOp);

void PrivateThreadPoolOp(OpBuilder& op) {
  op.With(SettingArgs).Input("num_threads: int64").With(ElementAttrs).Cpu(PrivateThreadPoolCpu);
}
OP("PrivateThreadPoolDataset").With(PrivateThreadPoolOp);
OP("ExperimentalPrivateThreadPoolDataset").With(PrivateThreadPoolOp);

OP("AssertCardinalityDataset")
    .With(SettingArgs)
    .Input("cardinality: int64")
    .With(ElementAttrs)
    .Cpu(AssertCardinalityCpu)
    .Doc("The same dataset. FailedPrecondition if it has another number of elements.");

void SleepOp(OpBuilder& op) {
  op.With(SettingArgs)
      .Input("sleep_microseconds: int64")
      .With(ElementAttrs)
      .Cpu(SleepCpu)
      .Doc("The same dataset, with a pause before each element.");
}
OP("SleepDataset").With(SleepOp);
OP("ExperimentalSleepDataset").With(SleepOp);

}  // namespace
}  // namespace millstream
