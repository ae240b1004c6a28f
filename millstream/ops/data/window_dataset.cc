// SPDX-License-Identifier: Apache-2.0
#include <deque>

#include "millstream/framework/op.h"
#include "millstream/ops/data/batch.h"
#include "millstream/ops/data/element_attrs.h"
#include "millstream/ops/data/memory_dataset.h"

namespace millstream {
namespace {

struct WindowOptions {
  int64_t size = 0, shift = 0, stride = 0;
  bool drop_remainder = false;
  bool stacked = false;  // each window is a batch
  // How many elements of the input a window reaches over.
  int64_t reach() const { return (size - 1) * stride + 1; }
};

// Windows over the input: each element is, for each component, a dataset of those of the elements in the window, or a
// tensor with those as rows.
class WindowDataset final : public DerivedDataset {
 public:
  WindowDataset(Ref<Dataset> input, WindowOptions options, OutputSignature signature)
      : DerivedDataset(std::move(input), std::move(signature.types), std::move(signature.shapes)), options_(options) {}

  int64_t CountElements() const override {
    const int64_t n = input().Cardinality();
    if (n < 0) return n;
    const int64_t full = n < options_.reach() ? 0 : (n - options_.reach()) / options_.shift + 1;
    return options_.drop_remainder ? full : n / options_.shift + (n % options_.shift != 0 ? 1 : 0);
  }

  StatusOr<IteratorPtr> NewIterator(const StepContext& owner) const override {
    ASSIGN_OR_RETURN(IteratorPtr from, input().MakeIterator(owner));
    return std::make_unique<Iterator>(std::move(from), options_, input().types(), input().shapes());
  }

 private:
  class Iterator final : public DatasetIterator {
   public:
    Iterator(IteratorPtr input, WindowOptions options, std::vector<DType> types, std::vector<PartialShape> shapes)
        : input_(std::move(input)), options_(options), types_(std::move(types)), shapes_(std::move(shapes)) {}

    Status Next(const StepContext& step, Element* element, bool* end) override {
      while (input_ != nullptr && static_cast<int64_t>(buffer_.size()) < options_.reach()) {
        Element next;
        RETURN_IF_ERROR(Take(step, &next));
        if (input_ != nullptr) buffer_.push_back(std::move(next));
      }
      const auto held = static_cast<int64_t>(buffer_.size());
      *end = buffer_.empty() || (options_.drop_remainder && held < options_.reach());
      if (*end) {
        buffer_.clear();
        return OkStatus();
      }
      RETURN_IF_ERROR(options_.stacked ? Stack(element) : Wrap(element));
      const int64_t gone = std::min(held, options_.shift);
      buffer_.erase(buffer_.begin(), buffer_.begin() + gone);
      for (int64_t i = gone; i < options_.shift && input_ != nullptr; ++i) {
        Element skipped;
        RETURN_IF_ERROR(Take(step, &skipped));
      }
      return OkStatus();
    }

   private:
    Status Wrap(Element* element) const {
      for (size_t c = 0; c < types_.size(); ++c) {
        MemoryDataset::Elements parts;
        for (size_t i = 0; i < buffer_.size(); i += static_cast<size_t>(options_.stride))
          parts.push_back({buffer_[i][c]});
        Ref<Dataset> window = MakeRef<MemoryDataset>(std::vector<DType>{types_[c]},
                                                     std::vector<PartialShape>{shapes_[c]}, std::move(parts));
        element->push_back(Tensor::Scalar(Variant(std::move(window))));
      }
      return OkStatus();
    }

    Status Stack(Element* element) const {
      std::vector<Element> rows;
      for (size_t i = 0; i < buffer_.size(); i += static_cast<size_t>(options_.stride)) rows.push_back(buffer_[i]);
      for (size_t c = 0; c < types_.size(); ++c) {
        ASSIGN_OR_RETURN(Tensor component, StackComponent(rows, c));
        element->push_back(std::move(component));
      }
      return OkStatus();
    }

    // Ends the input if it has no more.
    Status Take(const StepContext& step, Element* next) {
      RETURN_IF_ERROR(CheckCancelled(step));
      bool over = false;
      RETURN_IF_ERROR(input_->GetNext(step, next, &over));
      if (over) input_.reset();
      return OkStatus();
    }

    IteratorPtr input_;  // null once it has ended
    const WindowOptions options_;
    const std::vector<DType> types_;
    const std::vector<PartialShape> shapes_;
    std::deque<Element> buffer_;
  };

  const WindowOptions options_;
};

// Inputs: dataset, size, shift, stride, and whether to drop what is left at the end unless an attribute says so.
template <bool kStacked>
class MakeWindow final : public Kernel {
 public:
  explicit MakeWindow(KernelInit& init)
      : signature_(init), drop_remainder_(!init.HasAttr("drop_remainder") || init.Attr<bool>("drop_remainder")) {}
  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(Ref<Dataset> input, DatasetInput(ctx, 0));
    WindowOptions o{.drop_remainder = drop_remainder_, .stacked = kStacked};
    ASSIGN_OR_RETURN(o.size, ScalarInput<int64_t>(ctx, 1, "size"));
    ASSIGN_OR_RETURN(o.shift, ScalarInput<int64_t>(ctx, 2, "shift"));
    ASSIGN_OR_RETURN(o.stride, ScalarInput<int64_t>(ctx, 3, "stride"));
    if constexpr (!kStacked) {
      ASSIGN_OR_RETURN(o.drop_remainder, ScalarInput<bool>(ctx, 4, "drop_remainder"));
    }
    if (o.size <= 0) return errors::InvalidArgument("Window size must be greater than zero.");
    if (o.shift <= 0) return errors::InvalidArgument("Window shift must be greater than zero.");
    if (o.stride <= 0) return errors::InvalidArgument("Window stride must be greater than zero.");
    int64_t reach = 0;
    if (__builtin_mul_overflow(o.size, o.stride, &reach)) return errors::InvalidArgument("The window is too large.");
    if (signature_.types.size() != input->types().size()) {
      return errors::InvalidArgument("A window has one part for each of ", input->types().size(), " components, not ",
                                     signature_.types.size());
    }
    OutputDataset(ctx, MakeRef<WindowDataset>(std::move(input), o, signature_));
    return OkStatus();
  }

 private:
  const OutputSignature signature_;
  const bool drop_remainder_;
};

OP("WindowDataset")
    .Input("input_dataset: variant")
    .Input("size: int64")
    .Input("shift: int64")
    .Input("stride: int64")
    .Input("drop_remainder: bool")
    .Output("handle: variant")
    .Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1")
    .Attr("metadata: string = ''")
    .Shape(ScalarShape)
    .Cpu<MakeWindow<false>>()
    .Doc("Windows over a dataset, as datasets.");

void SlidingWindowOp(OpBuilder& op) {
  op.Input("input_dataset: variant")
      .Input("window_size: int64")
      .Input("window_shift: int64")
      .Input("window_stride: int64")
      .Output("handle: variant")
      .With(ElementAttrs)
      .Shape(ScalarShape)
      .Cpu<MakeWindow<true>>()
      .Doc("Windows over a dataset, as batches.");
}
OP("SlidingWindowDataset").Attr("drop_remainder: bool = true").With(SlidingWindowOp);
OP("ExperimentalSlidingWindowDataset").With(SlidingWindowOp);

}  // namespace
}  // namespace millstream
