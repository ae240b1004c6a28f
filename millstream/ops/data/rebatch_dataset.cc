// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "millstream/framework/op.h"
#include "millstream/ops/data/dataset.h"
#include "millstream/ops/elements/copy_rows.h"

namespace millstream {
namespace {

// Each batch of the input cut into as many as there are replicas. The last ones may be smaller, or empty.
class SplitBatchDataset final : public DerivedDataset {
 public:
  SplitBatchDataset(Ref<Dataset> input, int64_t replicas, OutputSignature signature)
      : DerivedDataset(std::move(input), std::move(signature.types), std::move(signature.shapes)),
        replicas_(replicas) {}
  StatusOr<IteratorPtr> NewIterator(const StepContext& owner) const override {
    ASSIGN_OR_RETURN(IteratorPtr from, input().MakeIterator(owner));
    return std::make_unique<Iterator>(std::move(from), replicas_);
  }

 private:
  class Iterator final : public DatasetIterator {
   public:
    Iterator(IteratorPtr input, int64_t replicas) : input_(std::move(input)), replicas_(replicas) {}
    Status Next(const StepContext& step, Element* element, bool* end) override {
      if (next_ == 0) {
        batch_.clear();
        RETURN_IF_ERROR(input_->GetNext(step, &batch_, end));
        if (*end) return OkStatus();
        for (size_t i = 0; i < batch_.size(); ++i) {
          if (batch_[i].rank() > 0) continue;
          return errors::InvalidArgument(
              "Cannot rebatch dataset: All components must have at least one dimension. Perhaps your "
              "input dataset is not batched? Component ",
              i, " is scalar.");
        }
      }
      *end = false;
      for (const Tensor& t : batch_) {
        const int64_t rows = t.dim(0), each = rows / replicas_ + (rows % replicas_ != 0 ? 1 : 0);
        const int64_t begin = std::min(each * next_, rows);
        ASSIGN_OR_RETURN(Tensor part, CopyRows(t, begin, std::min(begin + each, rows)));
        element->push_back(std::move(part));
      }
      next_ = (next_ + 1) % replicas_;
      return OkStatus();
    }

   private:
    const IteratorPtr input_;
    const int64_t replicas_;
    Element batch_;
    int64_t next_ = 0;
  };
  const int64_t replicas_;
};

// The rows of the batches of the input, in batches of the given sizes, over and over.
class RebatchDataset final : public DerivedDataset {
 public:
  RebatchDataset(Ref<Dataset> input, std::vector<int64_t> sizes, bool drop, OutputSignature signature)
      : DerivedDataset(std::move(input), std::move(signature.types), std::move(signature.shapes)),
        sizes_(std::move(sizes)),
        drop_(drop) {}
  StatusOr<IteratorPtr> NewIterator(const StepContext& owner) const override {
    ASSIGN_OR_RETURN(IteratorPtr from, input().MakeIterator(owner));
    return std::make_unique<Iterator>(std::move(from), sizes_, drop_, types(), shapes());
  }

 private:
  class Iterator final : public DatasetIterator {
   public:
    Iterator(IteratorPtr input, std::vector<int64_t> sizes, bool drop, std::vector<DType> types,
             std::vector<PartialShape> shapes)
        : input_(std::move(input)),
          sizes_(std::move(sizes)),
          drop_(drop),
          types_(std::move(types)),
          shapes_(std::move(shapes)) {}

    Status Next(const StepContext& step, Element* element, bool* end) override {
      *end = true;
      if (input_ == nullptr && row_ == rows_) return OkStatus();
      const int64_t wanted = sizes_[at_];
      std::vector<Element> parts;
      int64_t have = 0;
      while (have < wanted) {
        RETURN_IF_ERROR(CheckCancelled(step));
        if (row_ == rows_) {
          RETURN_IF_ERROR(Fetch(step));
          if (input_ == nullptr) break;
          continue;
        }
        const int64_t n = std::min(wanted - have, rows_ - row_);
        Element part;
        for (const Tensor& t : batch_) {
          ASSIGN_OR_RETURN(Tensor rows, CopyRows(t, row_, row_ + n));
          part.push_back(std::move(rows));
        }
        parts.push_back(std::move(part));
        row_ += n;
        have += n;
      }
      if (have < wanted && (have == 0 || drop_)) return OkStatus();
      at_ = (at_ + 1) % sizes_.size();
      *end = false;
      return Join(parts, have, element);
    }

   private:
    Status Fetch(const StepContext& step) {
      if (input_ == nullptr) return OkStatus();
      batch_.clear();
      bool over = false;
      RETURN_IF_ERROR(input_->GetNext(step, &batch_, &over));
      row_ = rows_ = 0;
      if (over) {
        input_.reset();
        return OkStatus();
      }
      for (size_t i = 0; i < batch_.size(); ++i) {
        if (batch_[i].rank() == 0)
          return errors::InvalidArgument("Input element must have a non-scalar value in each component.");
        if (batch_[i].dim(0) == batch_[0].dim(0)) continue;
        return errors::InvalidArgument(
            "Input element must have the same batch size in each component. Component 0 had size ", batch_[0].dim(0),
            " but component ", i, " had size, ", batch_[i].dim(0), ".");
      }
      rows_ = batch_[0].dim(0);
      return OkStatus();
    }

    Status Join(const std::vector<Element>& parts, int64_t rows, Element* element) const {
      for (size_t c = 0; c < types_.size(); ++c) {
        Shape shape;
        if (!parts.empty()) {
          shape = parts[0][c].shape();
        } else {  // a batch size of zero
          if (!shapes_[c].rank_known() || shapes_[c].rank() == 0)
            return errors::InvalidArgument("Cannot make an empty batch of unknown rank");
          std::vector<int64_t> dims = shapes_[c].dims();
          for (int64_t& d : dims) d = std::max<int64_t>(d, 0);
          ASSIGN_OR_RETURN(shape, Shape::Make(dims));
        }
        shape.set_dim(0, rows);
        ASSIGN_OR_RETURN(Tensor joined, Tensor::Make(types_[c], shape));
        int64_t at = 0;
        for (const Element& part : parts) {
          const Tensor& t = part[c];
          bool fits = t.rank() == shape.rank();
          for (int d = 1; d < shape.rank(); ++d) fits = fits && t.dim(d) == shape.dim(d);
          if (!fits) {
            return errors::InvalidArgument("Cannot rebatch elements of different shapes: ", t.shape().ToString(),
                                           " and ", shape.ToString());
          }
          CopyElements(t, 0, t.num_elements(), &joined, at);
          at += t.num_elements();
        }
        element->push_back(std::move(joined));
      }
      return OkStatus();
    }

    IteratorPtr input_;  // null once it has ended
    const std::vector<int64_t> sizes_;
    const bool drop_;
    const std::vector<DType> types_;
    const std::vector<PartialShape> shapes_;
    Element batch_;
    int64_t row_ = 0, rows_ = 0;
    size_t at_ = 0;
  };
  const std::vector<int64_t> sizes_;
  const bool drop_;
};

class MakeSplitBatch final : public Kernel {
 public:
  explicit MakeSplitBatch(KernelInit& init) : signature_(init) {}
  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(Ref<Dataset> input, DatasetInput(ctx, 0));
    ASSIGN_OR_RETURN(const int64_t replicas, ScalarInput<int64_t>(ctx, 1, "num_replicas"));
    if (replicas <= 0) return errors::InvalidArgument("num_replicas must be greater than zero.");
    OutputDataset(ctx, MakeRef<SplitBatchDataset>(std::move(input), replicas, signature_));
    return OkStatus();
  }

 private:
  const OutputSignature signature_;
};

class MakeRebatch final : public Kernel {
 public:
  explicit MakeRebatch(KernelInit& init) : signature_(init) {}
  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(Ref<Dataset> input, DatasetInput(ctx, 0));
    const Tensor& sizes = ctx.input(1);
    if (sizes.rank() > 1) return errors::InvalidArgument("`batch_sizes` must be a scalar or a vector.");
    if (sizes.num_elements() == 0) return errors::InvalidArgument("`batch_sizes` must not be empty.");
    if (signature_.types != input->types())
      return errors::InvalidArgument("output_types are not the types of the components of the input dataset.");
    bool some = false;
    for (const int64_t size : sizes.flat<int64_t>()) {
      if (size < 0) return errors::InvalidArgument("A batch size must not be negative: ", size);
      some = some || size > 0;
    }
    if (!some) return errors::InvalidArgument("One of `batch_sizes` must be greater than zero.");
    ASSIGN_OR_RETURN(const bool drop, ScalarInput<bool>(ctx, 2, "drop_remainder"));
    OutputDataset(
        ctx, MakeRef<RebatchDataset>(std::move(input),
                                     std::vector<int64_t>(sizes.flat<int64_t>().begin(), sizes.flat<int64_t>().end()),
                                     drop, signature_));
    return OkStatus();
  }

 private:
  const OutputSignature signature_;
};

#define REBATCH(Name)                          \
  OP(Name)                                     \
      .Input("input_dataset: variant")         \
      .Input("num_replicas: int64")            \
      .Output("handle: variant")               \
      .Attr("output_types: list(type) >= 1")   \
      .Attr("output_shapes: list(shape) >= 1") \
      .Attr("use_fallback: bool = true")       \
      .Shape(ScalarShape)                      \
      .Cpu<MakeSplitBatch>()                   \
      .Doc("Each batch cut into one for each replica.")
REBATCH("RebatchDataset");
REBATCH("ExperimentalRebatchDataset");
#undef REBATCH

OP("RebatchDatasetV2")
    .Input("input_dataset: variant")
    .Input("batch_sizes: int64")
    .Input("drop_remainder: bool")
    .Output("handle: variant")
    .Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1")
    .Shape(ScalarShape)
    .Cpu<MakeRebatch>()
    .Doc("The rows of batches in batches of other sizes.");

}  // namespace
}  // namespace millstream
