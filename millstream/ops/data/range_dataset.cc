// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/op.h"
#include "millstream/ops/data/dataset.h"
#include "millstream/tensor/dispatch.h"

namespace millstream {
namespace {

class RangeDataset final : public Dataset {
 public:
  RangeDataset(int64_t start, int64_t stop, int64_t step, OutputSignature signature)
      : Dataset(std::move(signature.types), std::move(signature.shapes)), start_(start), stop_(stop), step_(step) {}

  int64_t CountElements() const override {
    if (step_ > 0 ? start_ >= stop_ : start_ <= stop_) return 0;
    const uint64_t span = step_ > 0 ? static_cast<uint64_t>(stop_) - static_cast<uint64_t>(start_)
                                    : static_cast<uint64_t>(start_) - static_cast<uint64_t>(stop_);
    const uint64_t each = step_ > 0 ? static_cast<uint64_t>(step_) : uint64_t{0} - static_cast<uint64_t>(step_);
    return static_cast<int64_t>((span - 1) / each) + 1;
  }
  StatusOr<IteratorPtr> NewIterator(const StepContext&) const override {
    return std::make_unique<Iterator>(start_, stop_, step_, types()[0]);
  }
  Status FindRandomAccess() const override { return OkStatus(); }
  StatusOr<AccessPtr> NewAccess(const StepContext&) const override {
    return MakeAccessBy(
        [start = start_, by = step_, type = types()[0]](const StepContext&, int64_t i, Element* element) {
          const uint64_t value = static_cast<uint64_t>(start) + static_cast<uint64_t>(i) * static_cast<uint64_t>(by);
          return Append(static_cast<int64_t>(value), type, element);
        });
  }

 private:
  static Status Append(int64_t number, DType dtype, Element* element) {
    ASSIGN_OR_RETURN(Tensor value, Tensor::Make(dtype, Shape()));
    DispatchOver(RealTypes{}, dtype, [&](auto type) {
      using T = typename decltype(type)::type;
      value.data<T>()[0] = static_cast<T>(Compute<T>(number));
    });
    element->push_back(std::move(value));
    return OkStatus();
  }

  class Iterator final : public DatasetIterator {
   public:
    Iterator(int64_t next, int64_t stop, int64_t step, DType type)
        : next_(next), stop_(stop), step_(step), type_(type) {}
    bool Ready() override { return true; }
    Status Next(const StepContext&, Element* element, bool* end) override {
      *end = ended_ || (step_ > 0 ? next_ >= stop_ : next_ <= stop_);
      if (*end) return OkStatus();
      RETURN_IF_ERROR(Append(next_, type_, element));
      ended_ = __builtin_add_overflow(next_, step_, &next_);
      return OkStatus();
    }

   private:
    int64_t next_;
    const int64_t stop_, step_;
    const DType type_;
    bool ended_ = false;
  };
  const int64_t start_, stop_, step_;
};

class MakeRangeDataset final : public Kernel {
 public:
  explicit MakeRangeDataset(KernelInit& init) : signature_(init) {
    if (signature_.types.size() != 1 || !(IsInteger(signature_.types[0]) || IsFloating(signature_.types[0]))) {
      init.Fail(errors::InvalidArgument("output_types must be one type of numbers"));
    }
  }
  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const int64_t start, ScalarInput<int64_t>(ctx, 0, "start"));
    ASSIGN_OR_RETURN(const int64_t stop, ScalarInput<int64_t>(ctx, 1, "stop"));
    ASSIGN_OR_RETURN(const int64_t step, ScalarInput<int64_t>(ctx, 2, "step"));
    if (step == 0) return errors::InvalidArgument("step must be a non-zero integer.");
    OutputDataset(ctx, MakeRef<RangeDataset>(start, stop, step, signature_));
    return OkStatus();
  }

 private:
  const OutputSignature signature_;
};

OP("RangeDataset")
    .Input("start: int64")
    .Input("stop: int64")
    .Input("step: int64")
    .Output("handle: variant")
    .Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1")
    .Attr("metadata: string = ''")
    .Attr("replicate_on_split: bool = false")
    .Stateful()
    .Shape(ScalarShape)
    .Cpu<MakeRangeDataset>()
    .Doc("A dataset of the numbers from start, by step, to below stop.");

}  // namespace
}  // namespace millstream
