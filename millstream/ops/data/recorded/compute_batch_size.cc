// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/op.h"
#include "millstream/ops/data/dataset_record.h"

namespace millstream {
namespace {

constexpr std::array<absl::string_view, 3> kBatches = {"BatchDataset", "PaddedBatchDataset", "ParallelBatchDataset"};
constexpr std::array<absl::string_view, 1> kMapAndBatch = {"MapAndBatchDataset"};
constexpr std::array<absl::string_view, 2> kJoins = {"ConcatenateDataset", "ZipDataset"};
// They pass elements on, whole.
constexpr std::array<absl::string_view, 15> kPassThrough = {"AssertCardinalityDataset",
                                                            "CacheDataset",
                                                            "FilterDataset",
                                                            "FinalizeDataset",
                                                            "ModelDataset",
                                                            "OptimizeDataset",
                                                            "OptionsDataset",
                                                            "ParseExampleDataset",
                                                            "PrefetchDataset",
                                                            "RepeatDataset",
                                                            "ShardDataset",
                                                            "ShuffleDataset",
                                                            "ShuffleAndRepeatDataset",
                                                            "SkipDataset",
                                                            "TakeDataset"};

// How many rows the components of each element have, apart from those at the end; -1 if that is not known.
int64_t BatchSize(const Dataset& dataset) {
  const Dataset* at = &dataset;
  while (IsOneOf(*at, kPassThrough)) {
    const std::vector<const Dataset*> inputs = InputsOf(*at);
    if (inputs.empty()) return -1;
    at = inputs[0];
  }
  if (at->record() == nullptr) return -1;
  const std::vector<Tensor>& inputs = at->record()->inputs;
  const bool mapped = IsOneOf(*at, kMapAndBatch);
  if (mapped || IsOneOf(*at, kBatches)) {
    const size_t i = mapped ? inputs.size() - 3 : 1;  // batch_size, num_parallel_calls and drop_remainder come last
    return i < inputs.size() && inputs[i].dtype() == DType::kInt64 && inputs[i].rank() == 0
               ? inputs[i].scalar<int64_t>()
               : -1;
  }
  if (!IsOneOf(*at, kJoins)) return -1;
  int64_t size = -1;
  bool first = true;
  for (const Dataset* joined : InputsOf(*at)) {
    const int64_t one = BatchSize(*joined);
    if (!first && one != size) return -1;
    size = one;
    first = false;
  }
  return size;
}

Status ComputeBatchSizeCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(const Ref<Dataset> input, DatasetInput(ctx, 0));
  ctx.set_output(0, Tensor::Scalar(BatchSize(*input)));
  return OkStatus();
}

OP("ComputeBatchSize")
    .Input("input_dataset: variant")
    .Output("batch_size: int64")
    .Shape(ScalarShape)
    .Cpu(ComputeBatchSizeCpu)
    .Doc("The size of the batches that a dataset makes; -1 if its pipeline does not tell.");

}  // namespace
}  // namespace millstream
