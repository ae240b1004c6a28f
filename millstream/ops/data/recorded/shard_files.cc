// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/data/recorded/shard_files.h"

#include <algorithm>
#include <map>
#include <set>

#include "millstream/base/stack_guard.h"
#include "millstream/ops/data/dataset_record.h"
#include "millstream/ops/data/recorded/write_graph.h"
#include "millstream/proto/function.pb.h"

namespace millstream {
namespace {

constexpr std::array<absl::string_view, 3> kReaders = {"FixedLengthRecordDataset", "TextLineDataset",
                                                       "TFRecordDataset"};
constexpr std::array<absl::string_view, 2> kJoins = {"ConcatenateDataset", "ZipDataset"};
constexpr std::array<absl::string_view, 4> kCallers = {"FlatMapDataset", "InterleaveDataset",
                                                       "LegacyParallelInterleaveDataset", "ParallelInterleaveDataset"};
constexpr std::array<absl::string_view, 5> kSources = {"GeneratorDataset", "RangeDataset", "SparseTensorSliceDataset",
                                                       "TensorDataset", "TensorSliceDataset"};
constexpr std::array<absl::string_view, 2> kMemorySources = {"TensorDataset", "TensorSliceDataset"};
constexpr std::array<absl::string_view, 1> kShuffles = {"ShuffleDataset"};
constexpr std::array<absl::string_view, 1> kDropped = {"AssertCardinalityDataset"};
// What may be between the files and the end of the pipeline.
constexpr std::array<absl::string_view, 28> kPassThrough = {"AssertNextDataset",
                                                            "BatchDataset",
                                                            "CacheDataset",
                                                            "FilterDataset",
                                                            "FinalizeDataset",
                                                            "MapAndBatchDataset",
                                                            "MapDataset",
                                                            "MaxIntraOpParallelismDataset",
                                                            "ModelDataset",
                                                            "OptimizeDataset",
                                                            "OptionsDataset",
                                                            "PaddedBatchDataset",
                                                            "ParallelBatchDataset",
                                                            "ParallelMapDataset",
                                                            "ParseExampleDataset",
                                                            "PrefetchDataset",
                                                            "PrivateThreadPoolDataset",
                                                            "RebatchDataset",
                                                            "RepeatDataset",
                                                            "ShardDataset",
                                                            "ShuffleAndRepeatDataset",
                                                            "ShuffleDataset",
                                                            "SkipDataset",
                                                            "TakeDataset",
                                                            "UnbatchDataset",
                                                            "WindowDataset",
                                                            "AssertPrevDataset",
                                                            "ParallelFilterDataset"};

bool IsReader(absl::string_view op) {
  return std::find(kReaders.begin(), kReaders.end(), BaseName(op)) != kReaders.end();
}
bool IsCaller(absl::string_view op) {
  return std::find(kCallers.begin(), kCallers.end(), BaseName(op)) != kCallers.end();
}

Tensor AsTensor(Ref<Dataset> dataset) { return Tensor::Scalar(Variant(std::move(dataset))); }

class FileSharder {
 public:
  FileSharder(WorkerPart part, const KernelContext& ctx) : part_(part), ctx_(ctx), library_(LibraryOf(ctx.step())) {}

  // Once for each dataset, since many may be made from one.
  StatusOr<Ref<Dataset>> Shard(const Dataset& dataset) {
    if (StackIsLow()) return NestedTooDeeply("datasets");
    if (const auto known = sharded_.find(&dataset); known != sharded_.end()) return known->second;
    ASSIGN_OR_RETURN(Ref<Dataset> sharded, NewShard(dataset));
    sharded_.emplace(&dataset, sharded);
    return sharded;
  }

 private:
  StatusOr<Ref<Dataset>> NewShard(const Dataset& dataset) {
    if (IsOneOf(dataset, kDropped)) return ShardInput(dataset, 0);
    if (IsOneOf(dataset, kSources) || dataset.record() == nullptr) {
      return errors::NotFound("Found an unshardable source dataset: ", BaseName(dataset));
    }
    if (IsOneOf(dataset, kJoins)) return ShardAllInputs(dataset);
    const bool caller = IsOneOf(dataset, kCallers);
    if (caller) {
      if (const Dataset* behind = BehindDatasetsInMemory(dataset); behind != nullptr) {
        return Replaced(dataset, *behind);
      }
    }
    const bool pass = IsOneOf(dataset, kPassThrough);
    if (IsReader(dataset.record()->op->name) || ((caller || pass) && CallsReader(*dataset.record()))) {
      return WithShardedInput(dataset);
    }
    if (!caller && !pass) {
      return errors::NotFound(
          "Did not find a shardable source, walked to a node which is not a dataset of files: ", BaseName(dataset),
          ". Consider either turning off auto-sharding or switching the auto_shard_policy to DATA "
          "to shard this dataset.");
    }
    ASSIGN_OR_RETURN(Ref<Dataset> input, ShardInput(dataset, 0));
    return WithInput(dataset, 0, std::move(input));
  }
  StatusOr<const Dataset*> Input(const Dataset& dataset, size_t i) const {
    const auto& inputs = dataset.record()->inputs;
    const std::vector<const Dataset*> datasets =
        i < inputs.size() && inputs[i].rank() == 0 ? DatasetsOf(inputs[i]) : std::vector<const Dataset*>();
    if (datasets.empty()) {
      return errors::NotFound(
          "Unable to shard this input. You may need to wrap the inputs to your reader dataset in a "
          "TensorSliceDataset. It is the input of ",
          BaseName(dataset));
    }
    return datasets[0];
  }
  StatusOr<Ref<Dataset>> ShardInput(const Dataset& dataset, size_t i) {
    ASSIGN_OR_RETURN(const Dataset* input, Input(dataset, i));
    return Shard(*input);
  }
  StatusOr<Ref<Dataset>> WithInput(const Dataset& dataset, size_t i, Ref<Dataset> input) const {
    std::vector<Tensor> inputs = dataset.record()->inputs;
    inputs[i] = AsTensor(std::move(input));
    return Remake(*dataset.record(), std::move(inputs), ctx_);
  }
  StatusOr<Ref<Dataset>> ShardAllInputs(const Dataset& dataset) {
    std::vector<Tensor> inputs = dataset.record()->inputs;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (DatasetsOf(inputs[i]).empty()) continue;
      ASSIGN_OR_RETURN(Ref<Dataset> sharded, ShardInput(dataset, i));
      inputs[i] = AsTensor(std::move(sharded));
    }
    return Remake(*dataset.record(), std::move(inputs), ctx_);
  }

  // The dataset below `dataset` that makes one of datasets that were given as values: these are what is sharded. Null
  // if there is none.
  const Dataset* BehindDatasetsInMemory(const Dataset& dataset) const {
    for (auto at = Input(dataset, 0); at.ok(); at = Input(**at, 0)) {
      if ((*at)->record() == nullptr) return nullptr;
      if (IsOneOf(**at, kCallers)) {
        const auto below = Input(**at, 0);
        if (!below.ok() || (*below)->record() == nullptr || !IsOneOf(**below, kMemorySources)) return nullptr;
        const auto& values = (*below)->record()->inputs;
        return !values.empty() && !DatasetsOf(values[0]).empty() ? *at : nullptr;
      }
      if (!IsOneOf(**at, kPassThrough)) return nullptr;
    }
    return nullptr;
  }
  // `dataset` with the elements of `below`, somewhere under it, sharded.
  StatusOr<Ref<Dataset>> Replaced(const Dataset& dataset, const Dataset& below) {
    ASSIGN_OR_RETURN(const Dataset* input, Input(dataset, 0));
    if (input == &below) return WithShardedInput(dataset);
    ASSIGN_OR_RETURN(Ref<Dataset> replaced, Replaced(*input, below));
    return WithInput(dataset, 0, std::move(replaced));
  }

  bool CallsReader(const NodeRecord& record) const {
    NameAttrList function;
    std::set<std::string> seen;
    return record.attrs->Has("f") && record.attrs->Get("f", &function).ok() && HasReader(function.name, &seen);
  }
  // `seen`: functions that were looked at, which may call each other.
  bool HasReader(const std::string& function, std::set<std::string>* seen) const {
    const bool again = StackIsLow() || !seen->insert(function).second;
    const auto found = library_ == nullptr || again ? nullptr : library_->Find(function);
    if (found == nullptr) return false;
    for (const proto::NodeDef& node : found->def->node_def()) {
      if (IsReader(node.op()) && node.input_size() > 0) return true;
      const auto f = node.attr().find("f");
      if (IsCaller(node.op()) && f != node.attr().end() && HasReader(f->second.func().name(), seen)) return true;
    }
    return false;
  }

  // Names are sharded first and shuffled then, so that all workers agree on whose they are.
  StatusOr<Ref<Dataset>> WithShardedInput(const Dataset& dataset) {
    ASSIGN_OR_RETURN(const Dataset* input, Input(dataset, 0));
    const NodeRecord* shuffle = nullptr;
    ASSIGN_OR_RETURN(const Ref<const Dataset> in_order, WithoutShuffles(*input, &shuffle));
    ASSIGN_OR_RETURN(Ref<Dataset> sharded, ShardElements(*in_order, part_, true, ctx_));
    if (shuffle != nullptr) {
      std::vector<Tensor> inputs = shuffle->inputs;
      inputs[0] = AsTensor(std::move(sharded));
      ASSIGN_OR_RETURN(sharded, Remake(*shuffle, std::move(inputs), ctx_));
    }
    return WithInput(dataset, 0, std::move(sharded));
  }
  StatusOr<Ref<const Dataset>> WithoutShuffles(const Dataset& dataset, const NodeRecord** shuffle) {
    if (StackIsLow()) return NestedTooDeeply("datasets");
    const auto input = dataset.record() == nullptr ? StatusOr<const Dataset*>(nullptr) : Input(dataset, 0);
    if (!input.ok() || *input == nullptr) return Ref<const Dataset>::Share(&dataset);
    ASSIGN_OR_RETURN(Ref<const Dataset> below, WithoutShuffles(**input, shuffle));
    if (IsOneOf(dataset, kShuffles)) {
      *shuffle = dataset.record().get();
      return below;
    }
    if (below.get() == *input) return Ref<const Dataset>::Share(&dataset);
    ASSIGN_OR_RETURN(Ref<Dataset> made, WithInput(dataset, 0, Ref<Dataset>::Share(const_cast<Dataset*>(below.get()))));
    return Ref<const Dataset>(std::move(made));
  }

  const WorkerPart part_;
  const KernelContext& ctx_;
  const FunctionLibrary* const library_;
  std::map<const Dataset*, Ref<Dataset>> sharded_;
};

}  // namespace

StatusOr<Ref<Dataset>> ShardElements(const Dataset& dataset, WorkerPart part, bool needed, const KernelContext& ctx) {
  AttrMap attrs;
  attrs.Set("require_non_empty", needed);
  attrs.Set("output_types", dataset.types());
  attrs.Set("output_shapes", dataset.shapes());
  Tensor input = Tensor::Scalar(Variant(Ref<Dataset>::Share(const_cast<Dataset*>(&dataset))));
  return MakeByOp("ShardDataset", std::move(attrs),
                  {std::move(input), Tensor::Scalar(part.workers), Tensor::Scalar(part.index)}, ctx);
}

StatusOr<Ref<Dataset>> ShardFiles(const Dataset& dataset, WorkerPart part, const KernelContext& ctx) {
  return FileSharder(part, ctx).Shard(dataset);
}

}  // namespace millstream
