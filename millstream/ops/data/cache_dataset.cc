// SPDX-License-Identifier: Apache-2.0
// Datasets that are made once and then come from memory or from files.
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_format.h"
#include "millstream/framework/graph_files.h"
#include "millstream/framework/op.h"
#include "millstream/io/bundle_reader.h"
#include "millstream/io/bundle_writer.h"
#include "millstream/ops/data/memory_dataset.h"
#include "millstream/ops/resources/handle.h"

namespace millstream {
namespace {

// What a memory cache holds.
struct MemoryCache {
  Mutex mu;
  std::shared_ptr<const MemoryDataset::Elements> elements ABSL_GUARDED_BY(mu);  // null until they are complete
  absl::flat_hash_map<int64_t, Element> by_index ABSL_GUARDED_BY(mu);  // of those that were asked for one by one
  std::vector<DType> types ABSL_GUARDED_BY(mu);  // of its elements; empty before the first dataset

  // InvalidArgument if the cache is used for elements of other types.
  Status UseFor(const std::vector<DType>& wanted) {
    MutexLock lock(mu);
    if (types.empty()) types = wanted;
    if (types != wanted) return errors::InvalidArgument("The memory cache is that of a dataset of other types");
    return OkStatus();
  }
};

// A cache that outlives datasets: its owner is the handle.
class MemoryCacheResource final : public Resource {
 public:
  std::string DebugString() const override { return "MemoryCache"; }
  const std::shared_ptr<MemoryCache> cache = std::make_shared<MemoryCache>();
};

// In memory, after the first whole pass.
class MemoryCacheDataset final : public DerivedDataset {
 public:
  MemoryCacheDataset(Ref<Dataset> input, std::shared_ptr<MemoryCache> cache)
      : DerivedDataset(std::move(input)), cache_(std::move(cache)) {}
  int64_t CountElements() const override { return input().Cardinality(); }
  StatusOr<IteratorPtr> NewIterator(const StepContext& owner) const override {
    {
      MutexLock lock(cache_->mu);
      if (cache_->elements != nullptr) return std::make_unique<MemoryDataset::Iterator>(cache_->elements);
    }
    ASSIGN_OR_RETURN(IteratorPtr from, input().MakeIterator(owner));
    return std::make_unique<Writer>(std::move(from), cache_);
  }
  Status FindRandomAccess() const override { return input().CheckRandomAccess(); }
  StatusOr<AccessPtr> NewAccess(const StepContext& owner) const override {
    ASSIGN_OR_RETURN(AccessPtr from, input().MakeAccess(owner));
    return MakeAccessBy([from = std::move(from), cache = cache_](const StepContext& step, int64_t i, Element* element) {
      {
        MutexLock lock(cache->mu);
        if (const auto known = cache->by_index.find(i); known != cache->by_index.end()) {
          *element = known->second;
          return OkStatus();
        }
      }
      RETURN_IF_ERROR(from->Get(step, i, element));
      MutexLock lock(cache->mu);
      cache->by_index.emplace(i, *element);
      return OkStatus();
    });
  }

 private:
  using Elements = MemoryDataset::Elements;

  class Writer final : public DatasetIterator {
   public:
    Writer(IteratorPtr input, std::shared_ptr<MemoryCache> cache)
        : input_(std::move(input)), cache_(std::move(cache)) {}
    Status Next(const StepContext& step, Element* element, bool* end) override {
      *end = input_ == nullptr;
      if (*end) return OkStatus();
      RETURN_IF_ERROR(input_->GetNext(step, element, end));
      if (!*end) {
        elements_.push_back(*element);
        return OkStatus();
      }
      input_.reset();
      MutexLock lock(cache_->mu);
      if (cache_->elements == nullptr) cache_->elements = std::make_shared<const Elements>(std::move(elements_));
      return OkStatus();
    }

   private:
    IteratorPtr input_;
    const std::shared_ptr<MemoryCache> cache_;
    Elements elements_;
  };

  const std::shared_ptr<MemoryCache> cache_;
};

// In a checkpoint of that name, as TensorFlow writes it: tensors are called by the numbers of element and component. It
// appears, whole, at the end of the first pass; a dataset that finds it there does not ask its input.
class FileCacheDataset final : public DerivedDataset {
 public:
  FileCacheDataset(Ref<Dataset> input, std::string file) : DerivedDataset(std::move(input)), file_(std::move(file)) {}
  int64_t CountElements() const override { return input().Cardinality(); }
  StatusOr<IteratorPtr> NewIterator(const StepContext& owner) const override {
    StatusOr<std::unique_ptr<BundleReader>> reader = BundleReader::Open(file_);
    if (reader.ok()) return std::make_unique<Reader>(*std::move(reader), types());
    if (!absl::IsNotFound(reader.status())) return reader.status();
    ASSIGN_OR_RETURN(IteratorPtr from, input().MakeIterator(owner));
    ASSIGN_OR_RETURN(std::unique_ptr<BundleWriter> writer, BundleWriter::Create(file_));
    return std::make_unique<Writer>(std::move(from), std::move(writer));
  }

 private:
  static std::string Key(int64_t element, size_t component, size_t components) {
    const int digits = static_cast<int>(std::to_string(components - 1).size());
    return absl::StrFormat("%7d_%*d", element, digits, component);
  }

  class Writer final : public DatasetIterator {
   public:
    Writer(IteratorPtr input, std::unique_ptr<BundleWriter> writer)
        : input_(std::move(input)), writer_(std::move(writer)) {}
    Status Next(const StepContext& step, Element* element, bool* end) override {
      *end = input_ == nullptr;
      if (*end) return OkStatus();
      RETURN_IF_ERROR(input_->GetNext(step, element, end));
      if (*end) {
        input_.reset();
        return writer_->Finish();
      }
      for (size_t i = 0; i < element->size(); ++i) {
        RETURN_IF_ERROR(writer_->Add(Key(next_, i, element->size()), (*element)[i]));
      }
      ++next_;
      return OkStatus();
    }

   private:
    IteratorPtr input_;
    const std::unique_ptr<BundleWriter> writer_;
    int64_t next_ = 0;
  };

  class Reader final : public DatasetIterator {
   public:
    Reader(std::unique_ptr<BundleReader> reader, std::vector<DType> types)
        : reader_(std::move(reader)), types_(std::move(types)) {}
    Status Next(const StepContext&, Element* element, bool* end) override {
      *end = !reader_->Has(Key(next_, 0, types_.size()));
      if (*end) return OkStatus();
      for (size_t i = 0; i < types_.size(); ++i) {
        ASSIGN_OR_RETURN(Tensor t, reader_->Read(Key(next_, i, types_.size())));
        if (t.dtype() != types_[i]) {
          return errors::InvalidArgument("The cache has ", DTypeName(t.dtype()), " where the dataset has ",
                                         DTypeName(types_[i]));
        }
        element->push_back(std::move(t));
      }
      ++next_;
      return OkStatus();
    }

   private:
    const std::unique_ptr<BundleReader> reader_;
    const std::vector<DType> types_;
    int64_t next_ = 0;
  };

  const std::string file_;
};

Status MakeCache(KernelContext& ctx) {
  ASSIGN_OR_RETURN(Ref<Dataset> input, DatasetInput(ctx, 0));
  ASSIGN_OR_RETURN(std::string file, ScalarInput<std::string>(ctx, 1, "filename"));
  if (file.empty()) {
    const auto* given = GivenResource<MemoryCacheResource>(ctx, 2);
    std::shared_ptr<MemoryCache> cache = given != nullptr ? given->cache : std::make_shared<MemoryCache>();
    RETURN_IF_ERROR(cache->UseFor(input->types()));
    OutputDataset(ctx, MakeRef<MemoryCacheDataset>(std::move(input), std::move(cache)));
    return OkStatus();
  }
  RETURN_IF_ERROR(ConfinedPath(ctx.resources(), file + ".index").status());
  ASSIGN_OR_RETURN(file, ConfinedPath(ctx.resources(), file));
  OutputDataset(ctx, MakeRef<FileCacheDataset>(std::move(input), std::move(file)));
  return OkStatus();
}

Status AnonymousCacheCpu(KernelContext& ctx) {
  const std::string name = ctx.resources()->UniqueName("MemoryCache");
  ctx.set_output(
      0, MakeHandle(*ctx.device(), "", name, "tensorflow::data::MemoryCacheManager", MakeRef<MemoryCacheResource>()));
  ctx.set_output(1, Tensor::Scalar(Variant()));
  return OkStatus();
}

Status DummyCacheCpu(KernelContext& ctx) {
  ctx.set_output(0, MakeHandle(*ctx.device(), "", "dummy_memory_cache", "tensorflow::data::MemoryCache", nullptr));
  return OkStatus();
}

Status DeleteCacheCpu(KernelContext&) { return OkStatus(); }

OP("CacheDataset")
    .Input("input_dataset: variant")
    .Input("filename: string")
    .Output("handle: variant")
    .Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1")
    .Attr("metadata: string = ''")
    .Shape(ScalarShape)
    .Cpu(MakeCache)
    .Doc("A dataset that is made once and then comes from memory, or from a file if one is named.");
OP("CacheDatasetV2")
    .Input("input_dataset: variant")
    .Input("filename: string")
    .Input("cache: resource")
    .Output("handle: variant")
    .Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1")
    .Attr("metadata: string = ''")
    .Stateful()
    .Shape(ScalarShape)
    .Cpu(MakeCache)
    .Doc("A dataset that is made once and then comes from a memory cache, or from a file if one is named.");
OP("AnonymousMemoryCache")
    .Output("handle: resource")
    .Output("deleter: variant")
    .Stateful()
    .Shape(ScalarShape)
    .Cpu(AnonymousCacheCpu)
    .Doc("Memory for the elements of a dataset, gone with its last handle.");
OP("DummyMemoryCache")
    .Output("handle: resource")
    .Stateful()
    .Shape(ScalarShape)
    .Cpu(DummyCacheCpu)
    .Doc("Stands where a memory cache may be given: the dataset has one of its own.");
OP("DeleteMemoryCache")
    .Input("handle: resource")
    .Input("deleter: variant")
    .Stateful()
    .Shape(NoOutputs)
    .Cpu(DeleteCacheCpu)
    .Doc("Nothing: a memory cache is gone with its last handle.");

}  // namespace
}  // namespace millstream
