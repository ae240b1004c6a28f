// SPDX-License-Identifier: Apache-2.0
#include <deque>
#include <memory>

#include "millstream/framework/op.h"
#include "millstream/ops/data/captured_function.h"

namespace millstream {
namespace {

constexpr int64_t kMaxCalls = 1 << 16;

// Calls of a function with the elements of an iterator, several at a time; they come back in the order of the elements.
class ParallelCalls {
 public:
  // With `keep_args`, a call comes back with the element it was made with.
  ParallelCalls(IteratorPtr input, CapturedFunction::Instance function, int64_t parallel_calls, bool keep_args)
      : input_(std::move(input)),
        function_(std::move(function)),
        parallel_calls_(parallel_calls),
        keep_args_(keep_args) {}
  // The calls use this object; the owner's cancellation, if it has begun, makes them end soon.
  ~ParallelCalls() {
    MutexLock lock(mu_);
    while (running_ > 0) changed_.Wait(mu_);
  }

  struct Call {
    Element args;
    Element rets;
    Status status;
    bool called = false;  // what the input reports is no word of the function
    bool done = false;    // guarded by mu_
  };

  // The next call, which is done; null at the end of the input.
  StatusOr<std::shared_ptr<Call>> Next(const StepContext& step) {
    RETURN_IF_ERROR(StartCalls(step));
    if (calls_.empty()) return std::shared_ptr<Call>();
    RETURN_IF_ERROR(WaitUntilReady(step, mu_, changed_, [this] { return calls_.front()->done; }));
    std::shared_ptr<Call> call = std::move(calls_.front());
    calls_.pop_front();
    return call;
  }

 private:
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
    if (keep_args_) call->args = args;
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
  const bool keep_args_;
  bool ended_ = false;
  std::deque<std::shared_ptr<Call>> calls_;  // in the order of the elements; only the consumer changes it
  Mutex mu_;
  CondVar changed_;
  int64_t running_ ABSL_GUARDED_BY(mu_) = 0;
};

// A dataset that calls a function with each element.
class ParallelCallsDataset : public DerivedDataset {
 public:
  ParallelCallsDataset(Ref<Dataset> input, CapturedFunction function, int64_t parallel_calls, OutputSignature signature)
      : DerivedDataset(std::move(input), std::move(signature.types), std::move(signature.shapes)),
        function_(std::move(function)),
        parallel_calls_(parallel_calls) {}

 protected:
  StatusOr<std::unique_ptr<ParallelCalls>> MakeCalls(const StepContext& owner, bool keep_args) const {
    ASSIGN_OR_RETURN(CapturedFunction::Instance function, function_.Instantiate(owner, input().types()));
    ASSIGN_OR_RETURN(IteratorPtr from, input().MakeIterator(owner));
    return std::make_unique<ParallelCalls>(std::move(from), std::move(function), parallel_calls_, keep_args);
  }
  const CapturedFunction& function() const { return function_; }

 private:
  const CapturedFunction function_;
  const int64_t parallel_calls_;
};

// What the function makes of each element.
class ParallelMapDataset final : public ParallelCallsDataset {
 public:
  ParallelMapDataset(Ref<Dataset> input, CapturedFunction function, int64_t parallel_calls,
                     const OutputSignature& signature)
      : ParallelCallsDataset(std::move(input), std::move(function), parallel_calls, signature),
        preserve_cardinality_(signature.preserve_cardinality) {}

  int64_t CountElements() const override { return preserve_cardinality_ ? input().Cardinality() : kUnknownCardinality; }
  StatusOr<IteratorPtr> NewIterator(const StepContext& owner) const override {
    ASSIGN_OR_RETURN(std::unique_ptr<ParallelCalls> calls, MakeCalls(owner, false));
    return std::make_unique<Iterator>(std::move(calls), preserve_cardinality_);
  }
  Status FindRandomAccess() const override { return input().CheckRandomAccess(); }
  StatusOr<AccessPtr> NewAccess(const StepContext& owner) const override {
    return function().MakeAccess(input(), owner);
  }

 private:
  class Iterator final : public DatasetIterator {
   public:
    Iterator(std::unique_ptr<ParallelCalls> calls, bool preserve_cardinality)
        : calls_(std::move(calls)), preserve_cardinality_(preserve_cardinality) {}
    Status Next(const StepContext& step, Element* element, bool* end) override {
      ASSIGN_OR_RETURN(const std::shared_ptr<ParallelCalls::Call> call, calls_->Next(step));
      *end = call == nullptr;
      if (*end) return OkStatus();
      *element = std::move(call->rets);
      return call->called ? EndOrError(call->status, preserve_cardinality_, end) : call->status;
    }

   private:
    const std::unique_ptr<ParallelCalls> calls_;
    const bool preserve_cardinality_;
  };

  const bool preserve_cardinality_;
};

// The elements that the function says yes to.
class ParallelFilterDataset final : public ParallelCallsDataset {
 public:
  using ParallelCallsDataset::ParallelCallsDataset;
  StatusOr<IteratorPtr> NewIterator(const StepContext& owner) const override {
    ASSIGN_OR_RETURN(std::unique_ptr<ParallelCalls> calls, MakeCalls(owner, true));
    return std::make_unique<Iterator>(std::move(calls));
  }

 private:
  class Iterator final : public DatasetIterator {
   public:
    explicit Iterator(std::unique_ptr<ParallelCalls> calls) : calls_(std::move(calls)) {}
    Status Next(const StepContext& step, Element* element, bool* end) override {
      while (true) {
        RETURN_IF_ERROR(CheckCancelled(step));
        ASSIGN_OR_RETURN(const std::shared_ptr<ParallelCalls::Call> call, calls_->Next(step));
        *end = call == nullptr;
        if (*end) return OkStatus();
        // A test has no way to end the dataset.
        RETURN_IF_ERROR(call->called ? EndOrError(call->status, true, end) : call->status);
        const Element& answer = call->rets;
        if (answer.size() != 1 || answer[0].dtype() != DType::kBool || answer[0].num_elements() != 1) {
          return errors::InvalidArgument("Filter predicate `predicate` must return a scalar bool.");
        }
        if (!answer[0].scalar<bool>()) continue;
        *element = std::move(call->args);
        return OkStatus();
      }
    }

   private:
    const std::unique_ptr<ParallelCalls> calls_;
  };
};

template <typename T, typename D, const char* function_attr>
class MakeParallel final : public Kernel {
 public:
  explicit MakeParallel(KernelInit& init) : function_(init.Attr<NameAttrList>(function_attr)), signature_(init) {}
  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(Ref<Dataset> input, DatasetInput(ctx, 0));
    const int last = ctx.num_inputs() - 1;
    ASSIGN_OR_RETURN(int64_t calls, ScalarInput<T>(ctx, last, "num_parallel_calls"));
    if (calls == -1) calls = NumCores();  // "as many as is good"
    if (calls < 1 || calls > kMaxCalls) return errors::InvalidArgument("num_parallel_calls must be greater than zero.");
    ASSIGN_OR_RETURN(CapturedFunction function, CapturedFunction::FromInputs(ctx, function_, 1, last));
    OutputDataset(ctx, MakeRef<D>(std::move(input), std::move(function), calls, signature_));
    return OkStatus();
  }

 private:
  const NameAttrList function_;
  const OutputSignature signature_;
};
constexpr char kMapFunction[] = "f";
constexpr char kFilterFunction[] = "predicate";

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
    .Cpu<MakeParallel<int64_t, ParallelMapDataset, kMapFunction>>()
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
    .Cpu<MakeParallel<int32_t, ParallelMapDataset, kMapFunction>>()
    .Doc("A dataset of what a function makes of each element, by calls in parallel.");
OP("ParallelFilterDataset")
    .Input("input_dataset: variant")
    .Input("other_arguments: Targuments")
    .Input("num_parallel_calls: int64")
    .Output("handle: variant")
    .Attr("predicate: func")
    .Attr("deterministic: string = 'default'")
    .Attr("Targuments: list(type) >= 0")
    .Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1")
    .Attr("metadata: string = ''")
    .Shape(ScalarShape)
    .Cpu<MakeParallel<int64_t, ParallelFilterDataset, kFilterFunction>>()
    .Doc("A dataset of the elements for which a function gives true, by calls in parallel.");

}  // namespace
}  // namespace millstream
