// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/op.h"
#include "millstream/ops/data/saved/saved_shards.h"
#include "millstream/ops/data/walk.h"

namespace millstream {
namespace {

// What both ops have: where and how to save.
class SaveOptions {
 public:
  explicit SaveOptions(KernelInit& init)
      : compression_(init.Attr<std::string>("compression")),
        function_(init.Attr<NameAttrList>("shard_func")),
        use_function_(init.Attr<bool>("use_shard_func")) {}

  StatusOr<CapturedFunction> Function(KernelContext& ctx) const {
    return CapturedFunction::FromInputs(ctx, function_, 2, ctx.num_inputs());
  }
  StatusOr<std::unique_ptr<ElementSaver>> Start(const std::string& path, const Dataset& dataset,
                                                const CapturedFunction& function, const StepContext& owner) const {
    ASSIGN_OR_RETURN(const Compression compression, CompressionFromName(compression_));
    std::unique_ptr<CapturedFunction::Instance> shard;
    if (use_function_) {
      ASSIGN_OR_RETURN(CapturedFunction::Instance instance, function.Instantiate(owner, dataset.types()));
      shard = std::make_unique<CapturedFunction::Instance>(std::move(instance));
    }
    ASSIGN_OR_RETURN(std::unique_ptr<SavedRunWriter> writer,
                     SavedRunWriter::Create(owner.resources, path, compression, dataset.types()));
    return std::make_unique<ElementSaver>(std::move(writer), std::move(shard));
  }

 private:
  const std::string compression_;
  const NameAttrList function_;
  const bool use_function_;
};

class SaveDataset final : public AsyncKernel {
 public:
  explicit SaveDataset(KernelInit& init) : options_(init) {}
  void ComputeAsync(KernelContext& ctx, Done done) override {
    WalkInBackground(ctx, std::move(done), [this, &ctx](const StepContext& owner) { return Save(ctx, owner); });
  }

 private:
  Status Save(KernelContext& ctx, const StepContext& owner) const {
    ASSIGN_OR_RETURN(const Ref<Dataset> input, DatasetInput(ctx, 0));
    ASSIGN_OR_RETURN(const std::string path, ScalarInput<std::string>(ctx, 1, "path"));
    ASSIGN_OR_RETURN(const CapturedFunction function, options_.Function(ctx));
    ASSIGN_OR_RETURN(const std::unique_ptr<ElementSaver> saver, options_.Start(path, *input, function, owner));
    RETURN_IF_ERROR(ForEachElement(*input, owner, [&](Element element) { return saver->Save(owner, element); }));
    return saver->Finish();
  }

  const SaveOptions options_;
};

// The elements of another dataset, which are saved as they pass.
class SavingDataset final : public DerivedDataset {
 public:
  SavingDataset(Ref<Dataset> input, std::string path, SaveOptions options, CapturedFunction function)
      : DerivedDataset(std::move(input)),
        path_(std::move(path)),
        options_(std::move(options)),
        function_(std::move(function)) {}
  int64_t CountElements() const override { return input().Cardinality(); }
  StatusOr<IteratorPtr> NewIterator(const StepContext& owner) const override {
    ASSIGN_OR_RETURN(IteratorPtr from, input().MakeIterator(owner));
    ASSIGN_OR_RETURN(std::unique_ptr<ElementSaver> saver, options_.Start(path_, input(), function_, owner));
    return std::make_unique<Iterator>(std::move(from), std::move(saver));
  }

 private:
  class Iterator final : public DatasetIterator {
   public:
    Iterator(IteratorPtr input, std::unique_ptr<ElementSaver> saver)
        : input_(std::move(input)), saver_(std::move(saver)) {}
    Status Next(const StepContext& step, Element* element, bool* end) override {
      RETURN_IF_ERROR(input_->GetNext(step, element, end));
      if (!*end) return saver_->Save(step, *element);
      if (finished_) return OkStatus();
      finished_ = true;
      return saver_->Finish();
    }

   private:
    const IteratorPtr input_;
    const std::unique_ptr<ElementSaver> saver_;
    bool finished_ = false;
  };
  const std::string path_;
  const SaveOptions options_;
  const CapturedFunction function_;
};

class MakeSavingDataset final : public Kernel {
 public:
  explicit MakeSavingDataset(KernelInit& init) : options_(init) {}
  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(Ref<Dataset> input, DatasetInput(ctx, 0));
    ASSIGN_OR_RETURN(std::string path, ScalarInput<std::string>(ctx, 1, "path"));
    ASSIGN_OR_RETURN(CapturedFunction function, options_.Function(ctx));
    OutputDataset(ctx, MakeRef<SavingDataset>(std::move(input), std::move(path), options_, std::move(function)));
    return OkStatus();
  }

 private:
  const SaveOptions options_;
};

class MakeLoadDataset final : public Kernel {
 public:
  explicit MakeLoadDataset(KernelInit& init)
      : compression_(init.Attr<std::string>("compression")),
        reader_(init.Attr<NameAttrList>("reader_func")),
        signature_(init) {}
  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const std::string path, ScalarInput<std::string>(ctx, 0, "path"));
    ASSIGN_OR_RETURN(const Compression compression, CompressionFromName(compression_));
    ASSIGN_OR_RETURN(CapturedFunction reader, CapturedFunction::FromInputs(ctx, reader_, 1, ctx.num_inputs()));
    const StatusOr<SavedMetadata> metadata = ReadSavedMetadata(ctx.resources(), path);
    if (absl::IsNotFound(metadata.status())) {
      return errors::NotFound("Could not find metadata file [", path, "]");
    }
    RETURN_IF_ERROR(metadata.status());
    ASSIGN_OR_RETURN(Ref<Dataset> shards, OpenSavedShards(ctx.resources(), path, *metadata, compression, signature_));
    OutputDataset(ctx, MakeRef<LoadDataset>(std::move(shards), metadata->elements, std::move(reader), signature_));
    return OkStatus();
  }

 private:
  const std::string compression_;
  const NameAttrList reader_;
  const OutputSignature signature_;
};

OP("SaveDataset")
    .Input("input_dataset: variant")
    .Input("path: string")
    .Input("shard_func_other_args: Tshard_func_args")
    .Attr("compression: string = ''")
    .Attr("shard_func: func")
    .Attr("use_shard_func: bool = true")
    .Attr("Tshard_func_args: list(type) >= 0")
    .Stateful()
    .Shape(NoOutputs)
    .Cpu<SaveDataset>()
    .Doc("Writes the elements of a dataset to files, in shards that a function chooses.");
OP("SaveDatasetV2")
    .Input("input_dataset: variant")
    .Input("path: string")
    .Input("shard_func_other_args: Tshard_func_args")
    .Output("handle: variant")
    .Attr("compression: string = ''")
    .Attr("shard_func: func")
    .Attr("use_shard_func: bool = true")
    .Attr("Tshard_func_args: list(type) >= 0")
    .Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1")
    .Stateful()
    .Shape(ScalarShape)
    .Cpu<MakeSavingDataset>()
    .Doc("A dataset whose elements are written to files as they are made.");
OP("LoadDataset")
    .Input("path: string")
    .Input("reader_func_other_args: Treader_func_args")
    .Output("handle: variant")
    .Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1")
    .Attr("compression: string = ''")
    .Attr("reader_func: func")
    .Attr("Treader_func_args: list(type) >= 0")
    .Stateful()
    .Shape(ScalarShape)
    .Cpu<MakeLoadDataset>()
    .Doc("A dataset from the files that SaveDataset wrote.");

}  // namespace
}  // namespace millstream
