// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/op.h"
#include "millstream/ops/data/batch.h"
#include "millstream/ops/data/captured_function.h"

namespace millstream {
namespace {

// Batches of what a function makes of elements; the calls for one batch run at once.
class MapAndBatchDataset final : public DerivedDataset {
 public:
  MapAndBatchDataset(Ref<Dataset> input, CapturedFunction function, int64_t size, bool drop, OutputSignature signature)
      : DerivedDataset(std::move(input), std::move(signature.types), std::move(signature.shapes)),
        function_(std::move(function)),
        size_(size),
        drop_remainder_(drop),
        preserve_cardinality_(signature.preserve_cardinality) {}

  int64_t CountElements() const override {
    return preserve_cardinality_ ? BatchCount(input().Cardinality(), size_, drop_remainder_) : kUnknownCardinality;
  }
  StatusOr<IteratorPtr> NewIterator(const StepContext& owner) const override {
    ASSIGN_OR_RETURN(CapturedFunction::Instance function, function_.Instantiate(owner, input().types()));
    ASSIGN_OR_RETURN(IteratorPtr from, input().MakeIterator(owner));
    return std::make_unique<Iterator>(std::move(from), std::move(function), size_, drop_remainder_);
  }

 private:
  // The calls of one batch. They may outlive the step that waits for them, but not the iterator.
  struct Calls {
    Mutex mu;
    CondVar changed;
    size_t running ABSL_GUARDED_BY(mu) = 0;
    std::vector<Status> statuses ABSL_GUARDED_BY(mu);
    std::vector<Element> results;
  };

  class Iterator final : public DatasetIterator {
   public:
    Iterator(IteratorPtr input, CapturedFunction::Instance function, int64_t size, bool drop)
        : input_(std::move(input)), function_(std::move(function)), size_(size), drop_remainder_(drop) {}
    ~Iterator() override {
      if (calls_ != nullptr)
        (void)WaitUntilReady(StepContext(), calls_->mu, calls_->changed, [this] { return Idle(); });
    }

    Status Next(const StepContext& step, Element* batch, bool* end) override {
      // A step that gave up may have left calls behind.
      if (calls_ != nullptr) RETURN_IF_ERROR(Wait(step));
      std::vector<Element> args;
      while (input_ != nullptr && static_cast<int64_t>(args.size()) < size_) {
        RETURN_IF_ERROR(CheckCancelled(step));
        Element element;
        bool over = false;
        RETURN_IF_ERROR(input_->GetNext(step, &element, &over));
        if (over)
          input_.reset();
        else
          args.push_back(std::move(element));
      }
      Start(args);
      RETURN_IF_ERROR(Wait(step));
      return Collect(batch, end);
    }

   private:
    // REQUIRES: calls_->mu is held.
    bool Idle() const ABSL_NO_THREAD_SAFETY_ANALYSIS { return calls_->running == 0; }
    Status Wait(const StepContext& step) {
      return WaitUntilReady(step, calls_->mu, calls_->changed, [this] { return Idle(); });
    }

    void Start(const std::vector<Element>& args) {
      calls_ = std::make_shared<Calls>();
      calls_->results.resize(args.size());
      {
        MutexLock lock(calls_->mu);
        calls_->running = args.size();
        calls_->statuses.resize(args.size());
      }
      for (size_t i = 0; i < args.size(); ++i) {
        function_.RunAsync(args[i], &calls_->results[i], [calls = calls_, i](Status status) {
          MutexLock lock(calls->mu);
          calls->statuses[i] = std::move(status);
          if (--calls->running == 0) calls->changed.NotifyAll();
        });
      }
    }

    // The batch, up to the first call that says that the data ends.
    Status Collect(Element* batch, bool* end) {
      std::vector<Element> elements;
      {
        MutexLock lock(calls_->mu);
        for (size_t i = 0; i < calls_->statuses.size(); ++i) {
          if (absl::IsOutOfRange(calls_->statuses[i])) {
            input_.reset();
            break;
          }
          RETURN_IF_ERROR(calls_->statuses[i]);
          elements.push_back(std::move(calls_->results[i]));
        }
      }
      *end = elements.empty() || (drop_remainder_ && static_cast<int64_t>(elements.size()) < size_);
      if (*end) return OkStatus();
      for (size_t i = 0; i < elements[0].size(); ++i) {
        ASSIGN_OR_RETURN(Tensor component, StackComponent(elements, i));
        batch->push_back(std::move(component));
      }
      return OkStatus();
    }

    IteratorPtr input_;  // null once it has ended
    const CapturedFunction::Instance function_;
    const int64_t size_;
    const bool drop_remainder_;
    std::shared_ptr<Calls> calls_;
  };

  const CapturedFunction function_;
  const int64_t size_;
  const bool drop_remainder_;
  const bool preserve_cardinality_;
};

class MakeMapAndBatch final : public Kernel {
 public:
  explicit MakeMapAndBatch(KernelInit& init)
      : function_(init.Attr<NameAttrList>("f")),
        captured_(static_cast<int>(init.Attr<std::vector<DType>>("Targuments").size())),
        signature_(init) {}
  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(Ref<Dataset> input, DatasetInput(ctx, 0));
    ASSIGN_OR_RETURN(CapturedFunction function, CapturedFunction::FromInputs(ctx, function_, 1, 1 + captured_));
    ASSIGN_OR_RETURN(const int64_t size, ScalarInput<int64_t>(ctx, 1 + captured_, "batch_size"));
    ASSIGN_OR_RETURN(const int64_t calls, ScalarInput<int64_t>(ctx, 2 + captured_, "num_parallel_calls"));
    ASSIGN_OR_RETURN(const bool drop, ScalarInput<bool>(ctx, 3 + captured_, "drop_remainder"));
    if (size <= 0) return errors::InvalidArgument("batch_size must be greater than zero.");
    if (calls <= 0 && calls != -1) return errors::InvalidArgument("num_parallel_calls must be greater than zero.");
    OutputDataset(ctx, MakeRef<MapAndBatchDataset>(std::move(input), std::move(function), size, drop, signature_));
    return OkStatus();
  }

 private:
  const NameAttrList function_;
  const int captured_;
  const OutputSignature signature_;
};

#define MAP_AND_BATCH(Name)                       \
  OP(Name)                                        \
      .Input("input_dataset: variant")            \
      .Input("other_arguments: Targuments")       \
      .Input("batch_size: int64")                 \
      .Input("num_parallel_calls: int64")         \
      .Input("drop_remainder: bool")              \
      .Output("handle: variant")                  \
      .Attr("f: func")                            \
      .Attr("Targuments: list(type) >= 0")        \
      .Attr("output_types: list(type) >= 1")      \
      .Attr("output_shapes: list(shape) >= 1")    \
      .Attr("preserve_cardinality: bool = false") \
      .Shape(ScalarShape)                         \
      .Cpu<MakeMapAndBatch>()                     \
      .Doc("Batches of what a function makes of each element.")
MAP_AND_BATCH("MapAndBatchDataset").Attr("metadata: string = ''");
MAP_AND_BATCH("ExperimentalMapAndBatchDataset");
#undef MAP_AND_BATCH

}  // namespace
}  // namespace millstream
