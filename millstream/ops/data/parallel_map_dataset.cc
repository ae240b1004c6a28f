// SPDX-License-Identifier: Apache-2.0
#include <deque>

#include "millstream/framework/op.h"
#include "millstream/ops/data/captured_function.h"

namespace millstream {
namespace {

constexpr int64_t kMaxCalls = 1 << 16;

// Elements through a function, several calls at a time; results come in the order of the elements.
class ParallelMapDataset final : public DerivedDataset {
 public:
  ParallelMapDataset(Ref<Dataset> input, CapturedFunction function, int64_t parallel_calls, OutputSignature signature)
      : DerivedDataset(std::move(input), std::move(signature.types), std::move(signature.shapes)),
        function_(std::move(function)),
        parallel_calls_(parallel_calls),
        preserve_cardinality_(signature.preserve_cardinality) {}

  int64_t Cardinality() const override { return preserve_cardinality_ ? input().Cardinality() : kUnknownCardinality; }
  StatusOr<IteratorPtr> MakeIterator(const StepContext& owner) const override {
    ASSIGN_OR_RETURN(CapturedFunction::Instance function, function_.Instantiate(owner, input().types()));
    ASSIGN_OR_RETURN(IteratorPtr from, input().MakeIterator(owner));
    return std::make_unique<Iterator>(std::move(from), std::move(function), parallel_calls_, preserve_cardinality_);
  }
  Status CheckRandomAccess() const override { return input().CheckRandomAccess(); }
  StatusOr<AccessPtr> MakeAccess(const StepContext& owner) const override {
    return function_.MakeAccess(input(), owner);
  }

 private:
  class Iterator final : public DatasetIterator {
   public:
    Iterator(IteratorPtr input, CapturedFunction::Instance function, int64_t parallel_calls, bool preserve_cardinality)
        : input_(std::move(input)),
          function_(std::move(function)),
          parallel_calls_(parallel_calls),
          preserve_cardinality_(preserve_cardinality) {}
    // The calls use this object; the owner's cancellation, if it has begun, makes them end soon.
    ~Iterator() override {
      MutexLock lock(mu_);
      while (running_ > 0) changed_.Wait(mu_);
    }

    Status GetNext(const StepContext& step, Element* element, bool* end) override {
      RETURN_IF_ERROR(StartCalls(step));
      if (calls_.empty()) {
        *end = true;
        return OkStatus();
      }
      RETURN_IF_ERROR(WaitUntilReady(step, mu_, changed_, [this] { return calls_.front()->done; }));
      const std::shared_ptr<Call> call = std::move(calls_.front());
      calls_.pop_front();
      *element = std::move(call->rets);
      // What the input reports is no word of the function.
      return call->called ? EndOrError(call->status, preserve_cardinality_, end) : call->status;
    }

   private:
    struct Call {
      Element rets;
      Status status;
      bool called = false;
      bool done = false;  // guarded by mu_
    };

    Status StartCalls(const StepContext& step) {
      while (!ended_ && static_cast<int64_t>(calls_.size()) < parallel_calls_) {
        Element args;
        auto call = std::make_shared<Call>();
        bool end = false;
        call->status = input_->GetNext(step, &args, &end);
        RETURN_IF_ERROR(CheckCancelled(step));
        if (end) {
          ended_ = true;
          break;
        }
        calls_.push_back(call);
        if (call->status.ok())
          Start(args, std::move(call));
        else
          call->done = true;  // reported in its turn
      }
      return OkStatus();
    }

    void Start(const Element& args, std::shared_ptr<Call> call) {
      {
        MutexLock lock(mu_);
        ++running_;
      }
      call->called = true;
      Element* const rets = &call->rets;
      function_.RunAsync(args, rets, [this, call = std::move(call)](const Status& status) {
        MutexLock lock(mu_);
        call->status = status;
        call->done = true;
        --running_;
        changed_.NotifyAll();
      });
    }

    const IteratorPtr input_;
    const CapturedFunction::Instance function_;
    const int64_t parallel_calls_;
    const bool preserve_cardinality_;
    bool ended_ = false;
    std::deque<std::shared_ptr<Call>> calls_;  // in the order of the elements; only the consumer changes it
    Mutex mu_;
    CondVar changed_;
    int64_t running_ ABSL_GUARDED_BY(mu_) = 0;
  };

  const CapturedFunction function_;
  const int64_t parallel_calls_;
  const bool preserve_cardinality_;
};

template <typename T>
class MakeParallelMap final : public Kernel {
 public:
  explicit MakeParallelMap(KernelInit& init) : function_(init.Attr<NameAttrList>("f")), signature_(init) {}
  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(Ref<Dataset> input, DatasetInput(ctx, 0));
    const int last = ctx.num_inputs() - 1;
    ASSIGN_OR_RETURN(int64_t calls, ScalarInput<T>(ctx, last, "num_parallel_calls"));
    if (calls == -1) calls = NumCores();  // "as many as is good"
    if (calls < 1 || calls > kMaxCalls) return errors::InvalidArgument("num_parallel_calls must be greater than zero.");
    ASSIGN_OR_RETURN(CapturedFunction function, CapturedFunction::FromInputs(ctx, function_, 1, last));
    OutputDataset(ctx, MakeRef<ParallelMapDataset>(std::move(input), std::move(function), calls, signature_));
    return OkStatus();
  }

 private:
  const NameAttrList function_;
  const OutputSignature signature_;
};

OP("ParallelMapDatasetV2")
    .Input("input_dataset: variant")
    .Input("other_arguments: Targuments")
    .Input("num_parallel_calls: int64")
    .Output("handle: variant")
    .Attr("f: func")
    .Attr("Targuments: list(type) >= 0")
    .Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1")
    .Attr("use_inter_op_parallelism: bool = true")
    .Attr("deterministic: string = 'default'")
    .Attr("preserve_cardinality: bool = false")
    .Attr("use_unbounded_threadpool: bool = false")
    .Attr("metadata: string = ''")
    .Shape(ScalarShape)
    .Cpu<MakeParallelMap<int64_t>>()
    .Doc("A dataset of what a function makes of each element, by calls in parallel.");
OP("ParallelMapDataset")
    .Input("input_dataset: variant")
    .Input("other_arguments: Targuments")
    .Input("num_parallel_calls: int32")
    .Output("handle: variant")
    .Attr("f: func")
    .Attr("Targuments: list(type) >= 0")
    .Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1")
    .Attr("use_inter_op_parallelism: bool = true")
    .Attr("sloppy: bool = false")
    .Attr("preserve_cardinality: bool = false")
    .Attr("metadata: string = ''")
    .Shape(ScalarShape)
    .Cpu<MakeParallelMap<int32_t>>()
    .Doc("A dataset of what a function makes of each element, by calls in parallel.");

}  // namespace
}  // namespace millstream
