// SPDX-License-Identifier: Apache-2.0
#include <deque>

#include "millstream/framework/op.h"
#include "millstream/math/random/random.h"
#include "millstream/ops/data/seed_source.h"
#include "millstream/ops/resources/handle.h"

namespace millstream {
namespace {

// Takes each element at random from the next `buffer_size` of the input.
class ShuffleDataset final : public DerivedDataset {
 public:
  ShuffleDataset(Ref<Dataset> input, int64_t buffer_size, std::shared_ptr<SeedSource> source)
      : DerivedDataset(std::move(input)), buffer_size_(buffer_size), source_(std::move(source)) {}

  int64_t CountElements() const override { return input().Cardinality(); }
  StatusOr<IteratorPtr> NewIterator(const StepContext& owner) const override {
    const Seeds seeds = source_->Next();
    ASSIGN_OR_RETURN(IteratorPtr from, input().MakeIterator(owner));
    return std::make_unique<Iterator>(std::move(from), buffer_size_, seeds);
  }
  // One order for whoever asks by number, whatever the size of the buffer.
  StatusOr<AccessPtr> NewAccess(const StepContext& owner) const override {
    const int64_t n = Cardinality();
    if (n > UINT32_MAX) return errors::InvalidArgument("Cannot shuffle ", n, " elements by their numbers");
    ASSIGN_OR_RETURN(AccessPtr from, input().MakeAccess(owner));
    ASSIGN_OR_RETURN(Tensor order, Tensor::Make(DType::kInt64, Shape({n})));
    const Seeds seeds = source_->First();
    math::FillPermutation(math::Philox(seeds.seed, seeds.seed2), order.data<int64_t>(), n);
    return MakeAccessBy([from = std::move(from), order](const StepContext& step, int64_t i, Element* element) {
      return from->Get(step, order.data<int64_t>()[i], element);
    });
  }

 private:
  class Iterator final : public DatasetIterator {
   public:
    Iterator(IteratorPtr input, int64_t buffer_size, Seeds seeds)
        : input_(std::move(input)), buffer_size_(buffer_size), sampler_(math::Philox(seeds.seed, seeds.seed2)) {}
    // The first call fills the buffer, which is not done at once.
    bool Ready() override {
      return input_ == nullptr || (static_cast<int64_t>(buffer_.size()) + 1 >= buffer_size_ && input_->Ready());
    }
    Status Next(const StepContext& step, Element* element, bool* end) override {
      while (input_ != nullptr && static_cast<int64_t>(buffer_.size()) < buffer_size_) {
        RETURN_IF_ERROR(CheckCancelled(step));
        Element next;
        RETURN_IF_ERROR(input_->GetNext(step, &next, end));
        if (*end)
          input_.reset();
        else
          buffer_.push_back(std::move(next));
      }
      *end = buffer_.empty();
      if (*end) return OkStatus();
      const size_t at = sampler_.Next() % buffer_.size();
      *element = std::move(buffer_[at]);
      if (at != 0) buffer_[at] = std::move(buffer_.front());
      buffer_.pop_front();
      return OkStatus();
    }

   private:
    IteratorPtr input_;  // null once it has ended
    const int64_t buffer_size_;
    math::PhiloxSampler sampler_;
    std::deque<Element> buffer_;
  };

  const int64_t buffer_size_;
  const std::shared_ptr<SeedSource> source_;
};

// The input over and over (-1: for ever), each time in another order.
class ShuffleAndRepeatDataset final : public DerivedDataset {
 public:
  ShuffleAndRepeatDataset(Ref<ShuffleDataset> shuffled, int64_t count)
      : DerivedDataset(std::move(shuffled)), count_(count) {}
  int64_t CountElements() const override { return RepeatedCount(input().Cardinality(), count_); }
  StatusOr<IteratorPtr> NewIterator(const StepContext& owner) const override {
    return std::make_unique<Iterator>(Ref<const ShuffleAndRepeatDataset>::Share(this), owner);
  }

 private:
  class Iterator final : public DatasetIterator {
   public:
    Iterator(Ref<const ShuffleAndRepeatDataset> dataset, const StepContext& owner)
        : dataset_(std::move(dataset)), owner_(owner) {}
    Status Next(const StepContext& step, Element* element, bool* end) override {
      *end = true;
      while (dataset_->count_ < 0 || round_ < dataset_->count_) {
        RETURN_IF_ERROR(CheckCancelled(step));
        const bool fresh = inner_ == nullptr;
        if (fresh) {
          ASSIGN_OR_RETURN(inner_, dataset_->input().MakeIterator(owner_));
        }
        RETURN_IF_ERROR(inner_->GetNext(step, element, end));
        if (!*end) return OkStatus();
        inner_.reset();
        ++round_;
        if (fresh) return OkStatus();  // nothing, however often
      }
      return OkStatus();
    }

   private:
    const Ref<const ShuffleAndRepeatDataset> dataset_;
    const StepContext& owner_;
    int64_t round_ = 0;
    IteratorPtr inner_;
  };
  const int64_t count_;
};

// Random numbers without end.
class RandomDataset final : public Dataset {
 public:
  explicit RandomDataset(std::shared_ptr<SeedSource> source)
      : Dataset({DType::kInt64}, {Shape()}), source_(std::move(source)) {}
  int64_t CountElements() const override { return kInfiniteCardinality; }
  StatusOr<IteratorPtr> NewIterator(const StepContext&) const override {
    return std::make_unique<Iterator>(source_->Next());
  }

 private:
  class Iterator final : public DatasetIterator {
   public:
    explicit Iterator(Seeds seeds) : sampler_(math::Philox(seeds.seed, seeds.seed2)) {}
    bool Ready() override { return true; }
    Status Next(const StepContext&, Element* element, bool* end) override {
      *end = false;
      element->push_back(Tensor::Scalar<int64_t>(sampler_.Next()));
      return OkStatus();
    }

   private:
    math::PhiloxSampler sampler_;
  };
  const std::shared_ptr<SeedSource> source_;
};

class MakeRandomDataset final : public Kernel {
 public:
  explicit MakeRandomDataset(KernelInit& init)
      : rerandomize_(init.HasAttr("rerandomize_each_iteration") && init.Attr<bool>("rerandomize_each_iteration")) {}
  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const int64_t seed, ScalarInput<int64_t>(ctx, 0, "seed"));
    ASSIGN_OR_RETURN(const int64_t seed2, ScalarInput<int64_t>(ctx, 1, "seed2"));
    std::shared_ptr<SeedSource> source = GivenSource(ctx, 2);
    if (source == nullptr) source = std::make_shared<SeedSource>(OrRandom(seed, seed2), !rerandomize_);
    OutputDataset(ctx, MakeRef<RandomDataset>(std::move(source)));
    return OkStatus();
  }

 private:
  const bool rerandomize_;
};

// Inputs: dataset, buffer_size, then for most ops seed and seed2, for some how often to repeat, and at the end of newer
// ones a seed generator.
class MakeShuffleDataset final : public Kernel {
 public:
  explicit MakeShuffleDataset(KernelInit& init)
      : reshuffle_(!init.HasAttr("reshuffle_each_iteration") || init.Attr<bool>("reshuffle_each_iteration")) {}
  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(Ref<Dataset> input, DatasetInput(ctx, 0));
    ASSIGN_OR_RETURN(int64_t buffer_size, ScalarInput<int64_t>(ctx, 1, "buffer_size"));
    int64_t seed = 0, seed2 = 0;
    if (ctx.num_inputs() > 3) {
      ASSIGN_OR_RETURN(seed, ScalarInput<int64_t>(ctx, 2, "seed"));
      ASSIGN_OR_RETURN(seed2, ScalarInput<int64_t>(ctx, 3, "seed2"));
    }
    if (buffer_size <= 0 && buffer_size != -2)
      return errors::InvalidArgument("buffer_size must be greater than zero or UNKNOWN_CARDINALITY");
    if (buffer_size == -2) buffer_size = INT64_MAX;  // all there is
    std::shared_ptr<SeedSource> source = GivenSource(ctx, ctx.num_inputs() - 1);
    if (source == nullptr) source = std::make_shared<SeedSource>(OrRandom(seed, seed2), !reshuffle_);
    Ref<ShuffleDataset> shuffled = MakeRef<ShuffleDataset>(std::move(input), buffer_size, std::move(source));
    if (ctx.num_inputs() > 4 && ctx.input_dtype(4) == DType::kInt64) {
      ASSIGN_OR_RETURN(const int64_t count, ScalarInput<int64_t>(ctx, 4, "count"));
      if (count <= 0 && count != -1) return errors::InvalidArgument("count must be greater than zero or equal to -1.");
      OutputDataset(ctx, MakeRef<ShuffleAndRepeatDataset>(std::move(shuffled), count));
    } else {
      OutputDataset(ctx, std::move(shuffled));
    }
    return OkStatus();
  }

 private:
  const bool reshuffle_;
};

Status SeedGeneratorCpu(KernelContext& ctx) {
  ctx.set_output(
      0, MakeHandle(*ctx.device(), "", "dummy_seed_generator", "tensorflow::data::SeedGeneratorManager", nullptr));
  return OkStatus();
}

Status AnonymousSeedGeneratorCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(const int64_t seed, ScalarInput<int64_t>(ctx, 0, "seed"));
  ASSIGN_OR_RETURN(const int64_t seed2, ScalarInput<int64_t>(ctx, 1, "seed2"));
  bool reshuffle = true;
  if (ctx.num_inputs() > 2) {
    ASSIGN_OR_RETURN(reshuffle, ScalarInput<bool>(ctx, 2, "reshuffle"));
  }
  auto generator = MakeRef<SeedGenerator>(std::make_shared<SeedSource>(OrRandom(seed, seed2), !reshuffle));
  const std::string name = ctx.resources()->UniqueName("AnonymousSeedGenerator");
  ctx.set_output(0,
                 MakeHandle(*ctx.device(), "", name, "tensorflow::data::SeedGeneratorManager", std::move(generator)));
  ctx.set_output(1, Tensor::Scalar(Variant()));
  return OkStatus();
}

Status NothingCpu(KernelContext&) { return OkStatus(); }

OP("ShuffleDataset")
    .Input("input_dataset: variant")
    .Input("buffer_size: int64")
    .Input("seed: int64")
    .Input("seed2: int64")
    .Output("handle: variant")
    .Attr("reshuffle_each_iteration: bool = true")
    .Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1")
    .Attr("metadata: string = ''")
    .Shape(ScalarShape)
    .Cpu<MakeShuffleDataset>()
    .Doc("A dataset in random order, as far as a buffer allows.");
OP("ShuffleDatasetV2")
    .Input("input_dataset: variant")
    .Input("buffer_size: int64")
    .Input("seed_generator: resource")
    .Output("handle: variant")
    .Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1")
    .Attr("metadata: string = ''")
    .Stateful()
    .Shape(ScalarShape)
    .Cpu<MakeShuffleDataset>()
    .Doc("A dataset in random order, as far as a buffer allows; a seed generator gives each walk its seeds.");
OP("ShuffleDatasetV3")
    .Input("input_dataset: variant")
    .Input("buffer_size: int64")
    .Input("seed: int64")
    .Input("seed2: int64")
    .Input("seed_generator: resource")
    .Output("handle: variant")
    .Attr("reshuffle_each_iteration: bool = true")
    .Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1")
    .Attr("metadata: string = ''")
    .Stateful()
    .Shape(ScalarShape)
    .Cpu<MakeShuffleDataset>()
    .Doc("A dataset in random order, as far as a buffer allows.");
OP("ShuffleAndRepeatDataset")
    .Input("input_dataset: variant")
    .Input("buffer_size: int64")
    .Input("seed: int64")
    .Input("seed2: int64")
    .Input("count: int64")
    .Output("handle: variant")
    .Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1")
    .Attr("reshuffle_each_iteration: bool = true")
    .Attr("metadata: string = ''")
    .Shape(ScalarShape)
    .Cpu<MakeShuffleDataset>()
    .Doc("A dataset several times (-1: for ever), each time in another random order.");
OP("ShuffleAndRepeatDatasetV2")
    .Input("input_dataset: variant")
    .Input("buffer_size: int64")
    .Input("seed: int64")
    .Input("seed2: int64")
    .Input("count: int64")
    .Input("seed_generator: resource")
    .Output("handle: variant")
    .Attr("reshuffle_each_iteration: bool = true")
    .Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1")
    .Attr("metadata: string = ''")
    .Stateful()
    .Shape(ScalarShape)
    .Cpu<MakeShuffleDataset>()
    .Doc("A dataset several times (-1: for ever), each time in another random order.");
#define RANDOM_DATASET(Name)                   \
  OP(Name)                                     \
      .Input("seed: int64")                    \
      .Input("seed2: int64")                   \
      .Output("handle: variant")               \
      .Attr("output_types: list(type) >= 1")   \
      .Attr("output_shapes: list(shape) >= 1") \
      .Stateful()                              \
      .Shape(ScalarShape)                      \
      .Cpu<MakeRandomDataset>()                \
      .Doc("Random numbers without end.")
RANDOM_DATASET("RandomDataset").Attr("metadata: string = ''");
RANDOM_DATASET("ExperimentalRandomDataset");
#undef RANDOM_DATASET
OP("RandomDatasetV2")
    .Input("seed: int64")
    .Input("seed2: int64")
    .Input("seed_generator: resource")
    .Output("handle: variant")
    .Attr("rerandomize_each_iteration: bool = false")
    .Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1")
    .Attr("metadata: string = ''")
    .Stateful()
    .Shape(ScalarShape)
    .Cpu<MakeRandomDataset>()
    .Doc("Random numbers without end.");
OP("AnonymousSeedGenerator")
    .Input("seed: int64")
    .Input("seed2: int64")
    .Input("reshuffle: bool")
    .Output("handle: resource")
    .Output("deleter: variant")
    .Stateful()
    .Shape(ScalarShape)
    .Cpu(AnonymousSeedGeneratorCpu)
    .Doc("A source of seeds for shuffling, gone with its last handle.");
OP("AnonymousRandomSeedGenerator")
    .Input("seed: int64")
    .Input("seed2: int64")
    .Output("handle: resource")
    .Output("deleter: variant")
    .Stateful()
    .Shape(ScalarShape)
    .Cpu(AnonymousSeedGeneratorCpu)
    .Doc("A source of seeds for shuffling, other ones for each walk, gone with its last handle.");
#define DELETE_GENERATOR(Name)   \
  OP(Name)                       \
      .Input("handle: resource") \
      .Input("deleter: variant") \
      .Stateful()                \
      .Shape(NoOutputs)          \
      .Cpu(NothingCpu)           \
      .Doc("Nothing: a seed generator is gone with its last handle.")
DELETE_GENERATOR("DeleteSeedGenerator");
DELETE_GENERATOR("DeleteRandomSeedGenerator");
#undef DELETE_GENERATOR
OP("DummySeedGenerator")
    .Output("handle: resource")
    .Stateful()
    .Shape(ScalarShape)
    .Cpu(SeedGeneratorCpu)
    .Doc("Stands where a seed generator may be given: the seeds come from the dataset op.");

}  // namespace
}  // namespace millstream
