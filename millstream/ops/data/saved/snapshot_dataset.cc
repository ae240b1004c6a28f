// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <deque>

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "millstream/base/file.h"
#include "millstream/framework/graph_files.h"
#include "millstream/framework/op.h"
#include "millstream/math/random/random.h"
#include "millstream/ops/data/element_attrs.h"
#include "millstream/ops/data/recorded/write_graph.h"
#include "millstream/ops/data/saved/snapshot_state.h"
#include "millstream/ops/data/seed_source.h"
#include "millstream/ops/strings/fingerprint.h"

namespace millstream {
namespace {

constexpr char kFileEnd[] = ".snapshot";
constexpr int64_t kMaxPatience = int64_t{1} << 32;  // 136 years; clocks count nanoseconds

struct Options {
  explicit Options(KernelInit& init)
      : file_bytes(init.Attr<int64_t>("shard_size_bytes")),
        patience(std::clamp<int64_t>(init.Attr<int64_t>("pending_snapshot_expiry_seconds"), 0, kMaxPatience)),
        waiting(init.Attr<int64_t>("writer_buffer_size")),
        shuffle(init.Attr<bool>("shuffle_on_read")),
        seed(init.Attr<int64_t>("seed")),
        seed2(init.Attr<int64_t>("seed2")),
        mode(init.Attr<std::string>("mode")),
        name(init.Attr<std::string>("snapshot_name")),
        packing(init.Attr<std::string>("compression")),
        signature(init) {
    StatusOr<Compression> named = SnapshotCompression(packing);
    init.Check(named.status());
    if (named.ok()) compression = *named;
    if (mode != "auto" && mode != "read" && mode != "write" && mode != "passthrough") {
      init.Fail(
          errors::InvalidArgument("mode must be either 'auto', 'read', 'write' or 'passthrough', not '", mode, "'"));
    }
    if (file_bytes < 1) init.Fail(errors::InvalidArgument("shard_size_bytes must be at least 1"));
    if (name.find('/') != std::string::npos) init.Fail(errors::InvalidArgument("snapshot_name must not have a '/'"));
  }
  const int64_t file_bytes;
  const std::chrono::seconds patience;
  const int64_t waiting;
  const bool shuffle;
  const int64_t seed, seed2;
  const std::string mode, name, packing;
  const OutputSignature signature;
  Compression compression = Compression::kNone;
};

// Writes a run: FOLDER/RUN/00000000.snapshot and so on, each of about `file_bytes`. Elements wait until `waiting`
// others have come, so that one that is asked for is not held up by its file. Not thread-safe.
class RunWriter {
 public:
  static StatusOr<std::unique_ptr<RunWriter>> Create(const ResourceManager* resources, const std::string& folder,
                                                     const Options& options, const std::vector<DType>& types) {
    ASSIGN_OR_RETURN(const std::string confined, ConfinedPath(resources, folder));
    auto writer = std::unique_ptr<RunWriter>(new RunWriter(confined, options));
    writer->metadata_.version = 1;
    writer->metadata_.run = options.name.empty() ? NewRunName() : "custom";
    writer->metadata_.types = types;
    RETURN_IF_ERROR(MakeFolders(absl::StrCat(confined, "/", writer->metadata_.run)));
    RETURN_IF_ERROR(WriteSavedMetadata(confined, &writer->metadata_));
    return writer;
  }

  Status Write(const Element& element) {
    waiting_.push_back(element);
    return waiting_.size() <= static_cast<size_t>(std::max<int64_t>(options_.waiting, 0)) ? OkStatus() : WriteOldest();
  }
  Status Finish() {
    while (!waiting_.empty()) RETURN_IF_ERROR(WriteOldest());
    if (writer_ != nullptr) RETURN_IF_ERROR(writer_->Close());
    metadata_.finalized = true;
    return WriteSavedMetadata(folder_, &metadata_);
  }

 private:
  RunWriter(std::string folder, const Options& options) : folder_(std::move(folder)), options_(options) {}

  Status WriteOldest() {
    RETURN_IF_ERROR(OpenFile());
    for (const Tensor& t : waiting_.front()) bytes_ += static_cast<int64_t>(t.ByteSize());
    RETURN_IF_ERROR(WriteElement(waiting_.front(), writer_.get()));
    waiting_.pop_front();
    ++metadata_.elements;
    return OkStatus();
  }
  // The next file, if this one is large enough by what it takes on the disk.
  Status OpenFile() {
    if (writer_ != nullptr && bytes_ > options_.file_bytes) {
      RETURN_IF_ERROR(writer_->Flush());
      ASSIGN_OR_RETURN(const auto file, RandomAccessFile::Open(file_));
      if (file->size() >= options_.file_bytes) {
        RETURN_IF_ERROR(writer_->Close());
        writer_.reset();
      }
    }
    if (writer_ != nullptr) return OkStatus();
    file_ = absl::StrFormat("%s/%s/%08d%s", folder_, metadata_.run, num_files_++, kFileEnd);
    bytes_ = 0;
    ASSIGN_OR_RETURN(writer_, RecordWriter::Create(file_, options_.compression));
    return OkStatus();
  }

  const std::string folder_;
  const Options& options_;
  SavedMetadata metadata_;
  std::deque<Element> waiting_;
  std::unique_ptr<RecordWriter> writer_;
  std::string file_;
  int64_t bytes_ = 0;
  int num_files_ = 0;
};

// The elements of another dataset: written by one iterator, read by those that are made once it has come to the end,
// and passed on by those that are made while it is at it.
class LegacySnapshotDataset final : public DerivedDataset {
 public:
  LegacySnapshotDataset(Ref<Dataset> input, std::string folder, std::shared_ptr<const Options> options)
      : DerivedDataset(std::move(input), options->signature.types, options->signature.shapes),
        folder_(std::move(folder)),
        options_(std::move(options)) {}
  int64_t CountElements() const override { return input().Cardinality(); }
  StatusOr<IteratorPtr> NewIterator(const StepContext& owner) const override {
    return std::make_unique<Iterator>(Ref<const LegacySnapshotDataset>::Share(this), owner);
  }

 private:
  class Iterator final : public DatasetIterator {
   public:
    Iterator(Ref<const LegacySnapshotDataset> dataset, const StepContext& owner)
        : dataset_(std::move(dataset)), owner_(owner) {}
    Status Next(const StepContext& step, Element* element, bool* end) override {
      if (!opened_) RETURN_IF_ERROR(Open());
      if (from_ == nullptr) return NextOfFiles(step, element, end);
      RETURN_IF_ERROR(from_->GetNext(step, element, end));
      if (writer_ == nullptr) return OkStatus();
      if (!*end) return writer_->Write(*element);
      const std::unique_ptr<RunWriter> writer = std::move(writer_);
      return writer->Finish();
    }

   private:
    Status Open() {
      ASSIGN_OR_RETURN(const SnapshotState state, dataset_->State(owner_.resources));
      if (state.role == SnapshotRole::kRead) {
        ASSIGN_OR_RETURN(files_, dataset_->Files(owner_.resources, state.metadata.run));
      } else {
        ASSIGN_OR_RETURN(from_, dataset_->input().MakeIterator(owner_));
        if (state.role == SnapshotRole::kWrite) {
          ASSIGN_OR_RETURN(
              writer_, RunWriter::Create(owner_.resources, dataset_->folder_, *dataset_->options_, dataset_->types()));
        }
      }
      opened_ = true;
      return OkStatus();
    }
    Status NextOfFiles(const StepContext& step, Element* element, bool* end) {
      while (true) {
        RETURN_IF_ERROR(CheckCancelled(step));
        if (file_ == nullptr) {
          *end = next_file_ == files_.size();
          if (*end) return OkStatus();
          const Options& o = *dataset_->options_;
          ASSIGN_OR_RETURN(file_,
                           OpenElementsFile(files_[next_file_++], o.compression, o.signature)->MakeIterator(owner_));
        }
        RETURN_IF_ERROR(file_->GetNext(step, element, end));
        if (!*end) return OkStatus();
        file_.reset();
      }
    }

    const Ref<const LegacySnapshotDataset> dataset_;
    const StepContext& owner_;
    bool opened_ = false;
    IteratorPtr from_;                   // unless elements are read
    std::unique_ptr<RunWriter> writer_;  // while they are written
    std::vector<std::string> files_;
    size_t next_file_ = 0;
    IteratorPtr file_;
  };

  StatusOr<SnapshotState> State(const ResourceManager* resources) const {
    SnapshotState state;
    if (options_->mode == "write") return state;
    if (options_->mode == "passthrough") {
      state.role = SnapshotRole::kPassThrough;
      return state;
    }
    ASSIGN_OR_RETURN(state, FindSnapshot(resources, folder_, options_->patience));
    if (options_->mode == "read") {
      if (state.metadata.run.empty()) return errors::NotFound("There is no snapshot in ", folder_, " to read.");
      state.role = SnapshotRole::kRead;
    }
    return state;
  }

  StatusOr<std::vector<std::string>> Files(const ResourceManager* resources, const std::string& run) const {
    const std::string folder = absl::StrCat(folder_, "/", run);
    ASSIGN_OR_RETURN(const std::string confined, ConfinedPath(resources, folder));
    ASSIGN_OR_RETURN(const std::vector<std::string> names, ListFolder(confined));
    std::vector<std::string> files;
    for (const std::string& name : names) {
      if (absl::EndsWith(name, kFileEnd)) files.push_back(absl::StrCat(folder, "/", name));
    }
    std::sort(files.begin(), files.end());
    if (!options_->shuffle) return files;
    const Seeds seeds = OrRandom(options_->seed, options_->seed2);
    std::vector<int64_t> order(files.size());
    math::FillPermutation(math::Philox(seeds.seed, seeds.seed2), order.data(), static_cast<int64_t>(order.size()));
    std::vector<std::string> shuffled;
    for (const int64_t i : order) shuffled.push_back(files[static_cast<size_t>(i)]);
    return shuffled;
  }

  const std::string folder_;
  const std::shared_ptr<const Options> options_;
};

class MakeLegacySnapshot final : public Kernel {
 public:
  explicit MakeLegacySnapshot(KernelInit& init) : options_(std::make_shared<const Options>(init)) {}
  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(Ref<Dataset> input, DatasetInput(ctx, 0));
    ASSIGN_OR_RETURN(const std::string path, ScalarInput<std::string>(ctx, 1, "path"));
    ASSIGN_OR_RETURN(const std::string folder, Folder(*input, ctx));
    OutputDataset(ctx, MakeRef<LegacySnapshotDataset>(std::move(input), absl::StrCat(path, "/", folder), options_));
    return OkStatus();
  }

 private:
  // What is written depends on the pipeline and on how it is written, not on how it is read.
  StatusOr<std::string> Folder(const Dataset& input, const KernelContext& ctx) const {
    if (!options_->name.empty()) return absl::StrCat("custom-", options_->name);
    ASSIGN_OR_RETURN(uint64_t hash, FingerprintOf(input, LibraryOf(ctx.step())));
    hash = FingerprintCat64(hash, static_cast<uint64_t>(options_->file_bytes));
    return absl::StrCat(FingerprintCat64(hash, Fingerprint64(options_->packing)));
  }

  const std::shared_ptr<const Options> options_;
};

OP("SnapshotDataset")
    .Input("input_dataset: variant")
    .Input("path: string")
    .Output("handle: variant")
    .With(ElementAttrs)
    .Attr("compression: string = ''")
    .Attr("reader_path_prefix: string = ''")
    .Attr("writer_path_prefix: string = ''")
    .Attr("shard_size_bytes: int = 10737418240")
    .Attr("pending_snapshot_expiry_seconds: int = 86400")
    .Attr("num_reader_threads: int = 1")
    .Attr("reader_buffer_size: int = 1")
    .Attr("num_writer_threads: int = 1")
    .Attr("writer_buffer_size: int = 1")
    .Attr("shuffle_on_read: bool = false")
    .Attr("seed: int = 0")
    .Attr("seed2: int = 0")
    .Attr("mode: string = 'auto'")
    .Attr("snapshot_name: string = ''")
    .Shape(ScalarShape)
    .Cpu<MakeLegacySnapshot>()
    .Doc("The same elements; written to files the first time, and read from them from then on.");

}  // namespace
}  // namespace millstream
