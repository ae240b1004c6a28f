// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "millstream/framework/op.h"
#include "millstream/ops/data/element_attrs.h"
#include "millstream/ops/data/recorded/write_graph.h"
#include "millstream/ops/data/saved/saved_shards.h"
#include "millstream/ops/data/saved/snapshot_state.h"

namespace millstream {
namespace {

// Where and how the elements are kept.
struct Snapshot {
  std::string folder;
  Compression compression = Compression::kNone;
  CapturedFunction reader;
  CapturedFunction shard;
  OutputSignature signature;
};

// The elements of another dataset: made and written by the first iterator, read by those that are made once it has
// come to the end.
class SnapshotDataset final : public DerivedDataset {
 public:
  SnapshotDataset(Ref<Dataset> input, Snapshot snapshot)
      : DerivedDataset(std::move(input), snapshot.signature.types, snapshot.signature.shapes),
        snapshot_(std::move(snapshot)) {}
  int64_t CountElements() const override { return input().Cardinality(); }
  StatusOr<IteratorPtr> NewIterator(const StepContext& owner) const override {
    return std::make_unique<Iterator>(Ref<const SnapshotDataset>::Share(this), owner);
  }

 private:
  class Iterator final : public DatasetIterator {
   public:
    Iterator(Ref<const SnapshotDataset> dataset, const StepContext& owner)
        : dataset_(std::move(dataset)), owner_(owner) {}
    Status Next(const StepContext& step, Element* element, bool* end) override {
      if (from_ == nullptr) RETURN_IF_ERROR(dataset_->Open(owner_, &from_, &saver_));
      RETURN_IF_ERROR(from_->GetNext(step, element, end));
      if (saver_ == nullptr) return OkStatus();
      if (!*end) return saver_->Save(step, *element);
      const std::unique_ptr<ElementSaver> saver = std::move(saver_);
      return saver->Finish();
    }

   private:
    const Ref<const SnapshotDataset> dataset_;
    const StepContext& owner_;
    IteratorPtr from_;
    std::unique_ptr<ElementSaver> saver_;  // null while elements are read, and once they are written
  };

  Status Open(const StepContext& owner, IteratorPtr* from, std::unique_ptr<ElementSaver>* saver) const {
    const Snapshot& s = snapshot_;
    ASSIGN_OR_RETURN(const SnapshotState state, FindSnapshot(owner.resources, s.folder, std::chrono::seconds(0)));
    if (state.role == SnapshotRole::kRead) {
      ASSIGN_OR_RETURN(Ref<Dataset> shards,
                       OpenSavedShards(owner.resources, s.folder, state.metadata, s.compression, s.signature));
      const auto load = MakeRef<LoadDataset>(std::move(shards), state.metadata.elements, s.reader, s.signature);
      ASSIGN_OR_RETURN(*from, load->MakeIterator(owner));
      return OkStatus();
    }
    ASSIGN_OR_RETURN(CapturedFunction::Instance shard, s.shard.Instantiate(owner, input().types()));
    ASSIGN_OR_RETURN(std::unique_ptr<SavedRunWriter> writer,
                     SavedRunWriter::Create(owner.resources, s.folder, s.compression, input().types()));
    *saver = std::make_unique<ElementSaver>(std::move(writer),
                                            std::make_unique<CapturedFunction::Instance>(std::move(shard)));
    ASSIGN_OR_RETURN(*from, input().MakeIterator(owner));
    return OkStatus();
  }

  const Snapshot snapshot_;
};

class MakeSnapshot final : public Kernel {
 public:
  explicit MakeSnapshot(KernelInit& init)
      : signature_(init),
        reader_(init.Attr<NameAttrList>("reader_func")),
        shard_(init.Attr<NameAttrList>("shard_func")) {
    StatusOr<Compression> compression = SnapshotCompression(init.Attr<std::string>("compression"));
    init.Check(compression.status());
    if (compression.ok()) compression_ = *compression;
    if (init.Attr<bool>("hash_valid")) hash_ = static_cast<uint64_t>(init.Attr<int64_t>("hash"));
    init.InputRange("reader_func_other_args", &reader_begin_, &reader_end_);
    init.InputRange("shard_func_other_args", &shard_begin_, &shard_end_);
  }
  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(Ref<Dataset> input, DatasetInput(ctx, 0));
    ASSIGN_OR_RETURN(const std::string path, ScalarInput<std::string>(ctx, 1, "path"));
    Snapshot snapshot;
    uint64_t hash = hash_.value_or(0);
    if (!hash_.has_value()) {
      ASSIGN_OR_RETURN(hash, FingerprintOf(*input, LibraryOf(ctx.step())));
    }
    snapshot.folder = absl::StrCat(path, "/", hash);
    snapshot.compression = compression_;
    snapshot.signature = signature_;
    ASSIGN_OR_RETURN(snapshot.reader, CapturedFunction::FromInputs(ctx, reader_, reader_begin_, reader_end_));
    ASSIGN_OR_RETURN(snapshot.shard, CapturedFunction::FromInputs(ctx, shard_, shard_begin_, shard_end_));
    OutputDataset(ctx, MakeRef<SnapshotDataset>(std::move(input), std::move(snapshot)));
    return OkStatus();
  }

 private:
  const OutputSignature signature_;
  const NameAttrList reader_, shard_;
  Compression compression_ = Compression::kNone;
  std::optional<uint64_t> hash_;
  int reader_begin_ = 0, reader_end_ = 0, shard_begin_ = 0, shard_end_ = 0;
};

OP("SnapshotDatasetV2")
    .Input("input_dataset: variant")
    .Input("path: string")
    .Input("reader_func_other_args: Treader_func_args")
    .Input("shard_func_other_args: Tshard_func_args")
    .Output("handle: variant")
    .With(ElementAttrs)
    .Attr("compression: string = ''")
    .Attr("reader_prefix: string = ''")
    .Attr("writer_prefix: string = ''")
    .Attr("hash_valid: bool = false")
    .Attr("hash: int = 0")
    .Attr("reader_func: func")
    .Attr("shard_func: func")
    .Attr("Treader_func_args: list(type) >= 0")
    .Attr("Tshard_func_args: list(type) >= 0")
    .Attr("metadata: string = ''")
    .Shape(ScalarShape)
    .Cpu<MakeSnapshot>()
    .Doc("The same elements; written to files the first time, and read from them from then on.");

}  // namespace
}  // namespace millstream
