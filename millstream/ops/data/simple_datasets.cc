// SPDX-License-Identifier: Apache-2.0
// Datasets that pass elements of another one on: some of them, or parts of them.
#include <set>

#include "millstream/framework/op.h"
#include "millstream/ops/data/dataset.h"
#include "millstream/ops/data/element_attrs.h"
#include "millstream/ops/elements/copy_rows.h"

namespace millstream {
namespace {

// Element `index` of every `shards`.
class ShardDataset final : public DerivedDataset {
 public:
  ShardDataset(Ref<Dataset> input, int64_t shards, int64_t index, bool needed)
      : DerivedDataset(std::move(input)), shards_(shards), index_(index), needed_(needed) {}

  int64_t CountElements() const override {
    const int64_t n = input().Cardinality();
    return n < 0 ? n : n / shards_ + (index_ < n % shards_ ? 1 : 0);
  }
  StatusOr<IteratorPtr> NewIterator(const StepContext& owner) const override {
    ASSIGN_OR_RETURN(IteratorPtr from, input().MakeIterator(owner));
    return std::make_unique<Iterator>(std::move(from), shards_, index_, needed_);
  }
  Status FindRandomAccess() const override { return input().CheckRandomAccess(); }
  StatusOr<AccessPtr> NewAccess(const StepContext& owner) const override {
    ASSIGN_OR_RETURN(AccessPtr from, input().MakeAccess(owner));
    return MakeAccessBy([from = std::move(from), shards = shards_, index = index_](const StepContext& step, int64_t i,
                                                                                   Element* element) {
      return from->Get(step, i * shards + index, element);
    });
  }

 private:
  class Iterator final : public DatasetIterator {
   public:
    Iterator(IteratorPtr input, int64_t shards, int64_t index, bool needed)
        : input_(std::move(input)), shards_(shards), index_(index), needed_(needed) {}
    Status Next(const StepContext& step, Element* element, bool* end) override {
      for (;; ++next_) {
        RETURN_IF_ERROR(CheckCancelled(step));
        element->clear();
        RETURN_IF_ERROR(input_->GetNext(step, element, end));
        if (*end) return OkStatus();
        if (next_ % shards_ == index_) {
          ++next_;
          return needed_ && next_ < shards_ ? CheckOthers(step) : OkStatus();
        }
      }
    }

   private:
    // InvalidArgument unless there is an element for every shard.
    Status CheckOthers(const StepContext& step) {
      for (; next_ < shards_; ++next_) {
        Element other;
        bool end = false;
        RETURN_IF_ERROR(CheckCancelled(step));
        RETURN_IF_ERROR(input_->GetNext(step, &other, &end));
        if (end) {
          return errors::InvalidArgument("Could not apply FILE based sharding: the dataset only has ", next_,
                                         " file(s), which is not enough for the required ", shards_,
                                         " shards/workers.");
        }
      }
      return OkStatus();
    }

    const IteratorPtr input_;
    const int64_t shards_, index_;
    const bool needed_;
    int64_t next_ = 0;
  };
  const int64_t shards_, index_;
  const bool needed_;
};

// In place of a number of shards: the whole dataset, until AutoShardDataset puts the workers' shards in its place.
constexpr int64_t kShardHint = -1;

class MakeShard final : public Kernel {
 public:
  explicit MakeShard(KernelInit& init) : needed_(init.Attr<bool>("require_non_empty")) {}
  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(Ref<Dataset> input, DatasetInput(ctx, 0));
    ASSIGN_OR_RETURN(const int64_t shards, ScalarInput<int64_t>(ctx, 1, "num_shards"));
    ASSIGN_OR_RETURN(const int64_t index, ScalarInput<int64_t>(ctx, 2, "index"));
    if (shards == kShardHint) {
      OutputDataset(ctx, MakeRef<ShardDataset>(std::move(input), 1, 0, false));
      return OkStatus();
    }
    if (shards <= 0) {
      return errors::InvalidArgument("Number of shards must be greater than zero (currently num_shards = ", shards,
                                     ").");
    }
    if (index < 0 || index >= shards) {
      return errors::InvalidArgument("Index must be between 0 and ", shards - 1, " (currently index = ", index, ").");
    }
    OutputDataset(ctx, MakeRef<ShardDataset>(std::move(input), shards, index, needed_));
    return OkStatus();
  }

 private:
  const bool needed_;
};

// Rows of the components as elements.
class UnbatchDataset final : public DerivedDataset {
 public:
  UnbatchDataset(Ref<Dataset> input, OutputSignature signature)
      : DerivedDataset(std::move(input), std::move(signature.types), std::move(signature.shapes)) {}
  int64_t CountElements() const override {
    const int64_t n = input().Cardinality();
    if (n <= 0 || input().shapes().empty()) return n;
    const PartialShape& batch = input().shapes()[0];
    int64_t all = 0;
    if (!batch.rank_known() || batch.rank() == 0 || batch.dim(0) < 0) return kUnknownCardinality;
    return __builtin_mul_overflow(n, batch.dim(0), &all) ? kUnknownCardinality : all;
  }
  StatusOr<IteratorPtr> NewIterator(const StepContext& owner) const override {
    ASSIGN_OR_RETURN(IteratorPtr from, input().MakeIterator(owner));
    return std::make_unique<Iterator>(std::move(from));
  }

 private:
  class Iterator final : public DatasetIterator {
   public:
    explicit Iterator(IteratorPtr input) : input_(std::move(input)) {}
    Status Next(const StepContext& step, Element* element, bool* end) override {
      *end = false;
      while (row_ == rows_) {
        RETURN_IF_ERROR(CheckCancelled(step));
        batch_.clear();
        RETURN_IF_ERROR(input_->GetNext(step, &batch_, end));
        if (*end) return OkStatus();
        row_ = 0;
        for (size_t i = 0; i < batch_.size(); ++i) {
          if (batch_[i].rank() == 0)
            return errors::InvalidArgument("Input element must have a non-scalar value in each component.");
          if (i > 0 && batch_[i].dim(0) != rows_) {
            return errors::InvalidArgument(
                "Input element must have the same batch size in each component. Component 0 had size ", rows_,
                " but component ", i, " had size, ", batch_[i].dim(0), ".");
          }
          rows_ = batch_[i].dim(0);
        }
      }
      for (const Tensor& t : batch_) {
        ASSIGN_OR_RETURN(Tensor row, CopyRow(t, row_));
        element->push_back(std::move(row));
      }
      ++row_;
      return OkStatus();
    }

   private:
    const IteratorPtr input_;
    Element batch_;
    int64_t row_ = 0, rows_ = 0;
  };
};

class MakeUnbatch final : public Kernel {
 public:
  explicit MakeUnbatch(KernelInit& init) : signature_(init) {}
  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(Ref<Dataset> input, DatasetInput(ctx, 0));
    OutputDataset(ctx, MakeRef<UnbatchDataset>(std::move(input), signature_));
    return OkStatus();
  }

 private:
  const OutputSignature signature_;
};

// Some of the elements of the input: those that the iterator lets through.
template <typename Iterator>
class SiftedDataset final : public DerivedDataset {
 public:
  using DerivedDataset::DerivedDataset;
  StatusOr<IteratorPtr> NewIterator(const StepContext& owner) const override {
    ASSIGN_OR_RETURN(IteratorPtr from, input().MakeIterator(owner));
    return std::make_unique<Iterator>(std::move(from));
  }
};

// Scalars that did not come before.
class UniqueIterator final : public DatasetIterator {
 public:
  explicit UniqueIterator(IteratorPtr input) : input_(std::move(input)) {}
  Status Next(const StepContext& step, Element* element, bool* end) override {
    do {
      RETURN_IF_ERROR(CheckCancelled(step));
      element->clear();
      RETURN_IF_ERROR(input_->GetNext(step, element, end));
      if (*end) return OkStatus();
    } while (!seen_.insert(KeyOf((*element)[0])).second);
    return OkStatus();
  }

 private:
  static std::string KeyOf(const Tensor& t) {
    std::string key = t.shape().ToString();
    if (t.dtype() == DType::kString) {
      for (const std::string& s : t.flat<std::string>()) absl::StrAppend(&key, s.size(), ":", s);
    } else {
      key.append(static_cast<const char*>(t.raw()), t.ByteSize());
    }
    return key;
  }
  const IteratorPtr input_;
  std::set<std::string> seen_;
};

Status MakeUnique(KernelContext& ctx) {
  ASSIGN_OR_RETURN(Ref<Dataset> input, DatasetInput(ctx, 0));
  if (input->types().size() != 1) {
    return errors::InvalidArgument("UniqueDataset only supports inputs with a single component.");
  }
  const DType t = input->types()[0];
  if (t != DType::kInt32 && t != DType::kInt64 && t != DType::kString) {
    return errors::InvalidArgument(
        "UniqueDataset only supports inputs with a single `tf.int32`, `tf.int64`, or "
        "`tf.string` component.");
  }
  OutputDataset(ctx, MakeRef<SiftedDataset<UniqueIterator>>(std::move(input)));
  return OkStatus();
}

// Elements whose making fails are left out.
class IgnoreErrorsIterator final : public DatasetIterator {
 public:
  explicit IgnoreErrorsIterator(IteratorPtr input) : input_(std::move(input)) {}
  Status Next(const StepContext& step, Element* element, bool* end) override {
    for (;;) {
      RETURN_IF_ERROR(CheckCancelled(step));
      element->clear();
      if (input_->GetNext(step, element, end).ok()) return OkStatus();
    }
  }

 private:
  const IteratorPtr input_;
};

Status MakeIgnoreErrors(KernelContext& ctx) {
  ASSIGN_OR_RETURN(Ref<Dataset> input, DatasetInput(ctx, 0));
  OutputDataset(ctx, MakeRef<SiftedDataset<IgnoreErrorsIterator>>(std::move(input)));
  return OkStatus();
}

void MetadataAttr(OpBuilder& op) { op.Attr("metadata: string = ''"); }

OP("ShardDataset")
    .Input("input_dataset: variant")
    .Input("num_shards: int64")
    .Input("index: int64")
    .Output("handle: variant")
    .Attr("require_non_empty: bool = false")
    .With(ElementAttrs)
    .With(MetadataAttr)
    .Shape(ScalarShape)
    .Cpu<MakeShard>()
    .Doc("One of every num_shards elements.");

#define UNBATCH(Name)                  \
  OP(Name)                             \
      .Input("input_dataset: variant") \
      .Output("handle: variant")       \
      .With(ElementAttrs)              \
      .Shape(ScalarShape)              \
      .Cpu<MakeUnbatch>()              \
      .Doc("The rows of each element as elements.")
UNBATCH("UnbatchDataset").With(MetadataAttr);
UNBATCH("ExperimentalUnbatchDataset");

#define UNIQUE(Name)                   \
  OP(Name)                             \
      .Input("input_dataset: variant") \
      .Output("handle: variant")       \
      .With(ElementAttrs)              \
      .Shape(ScalarShape)              \
      .Cpu(MakeUnique)                 \
      .Doc("The elements that did not come before.")
UNIQUE("UniqueDataset").With(MetadataAttr);
UNIQUE("ExperimentalUniqueDataset");

#define IGNORE_ERRORS(Name)              \
  OP(Name)                               \
      .Input("input_dataset: variant")   \
      .Output("handle: variant")         \
      .With(ElementAttrs)                \
      .Attr("log_warning: bool = false") \
      .Shape(ScalarShape)                \
      .Cpu(MakeIgnoreErrors)             \
      .Doc("The elements that can be made; those that fail are left out.")
IGNORE_ERRORS("IgnoreErrorsDataset");
IGNORE_ERRORS("ExperimentalIgnoreErrorsDataset");

#undef IGNORE_ERRORS
#undef UNIQUE
#undef UNBATCH

}  // namespace
}  // namespace millstream
