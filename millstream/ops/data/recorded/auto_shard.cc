// SPDX-License-Identifier: Apache-2.0
#include <google/protobuf/io/coded_stream.h>

#include <map>

#include "millstream/base/stack_guard.h"
#include "millstream/framework/op.h"
#include "millstream/ops/data/dataset_record.h"
#include "millstream/ops/data/element_attrs.h"
#include "millstream/ops/data/recorded/shard_files.h"

namespace millstream {
namespace {

enum Policy : int64_t { kOff = -1, kAuto = 0, kFile = 1, kData = 2, kHint = 3 };
constexpr int64_t kShardHint = -1;  // in place of a number of shards: sharded here under kHint

using Coded = google::protobuf::io::CodedInputStream;

// The policy in a message of type DistributeOptions; `otherwise` if it has none.
int64_t PolicyOfDistributeOptions(Coded& in, int64_t otherwise) {
  while (const uint32_t tag = in.ReadTag()) {
    uint64_t value = 0;
    if ((tag & 7) != 0 || !in.ReadVarint64(&value)) return otherwise;
    if (tag >> 3 == 1) otherwise = static_cast<int64_t>(value);
  }
  return otherwise;
}

// The policy that messages of type tf.data.Options, one after the other, ask for; kAuto if none does.
int64_t PolicyOfOptions(const std::string& options) {
  int64_t policy = kAuto;
  Coded in(reinterpret_cast<const uint8_t*>(options.data()), static_cast<int>(options.size()));
  while (const uint32_t tag = in.ReadTag()) {
    uint32_t size = 0;
    uint64_t number = 0;
    if ((tag & 7) == 0) {
      if (!in.ReadVarint64(&number)) break;
    } else if ((tag & 7) != 2 || !in.ReadVarint32(&size) || size > INT32_MAX) {
      break;
    } else if (tag >> 3 == 2) {
      const Coded::Limit limit = in.PushLimit(static_cast<int>(size));
      policy = PolicyOfDistributeOptions(in, policy);
      in.Skip(in.BytesUntilLimit());  // what could not be read
      in.PopLimit(limit);
    } else if (!in.Skip(static_cast<int>(size))) {
      break;
    }
  }
  return policy;
}

constexpr std::array<absl::string_view, 3> kAfterShards = {"PrefetchDataset", "OptionsDataset", "FinalizeDataset"};
constexpr std::array<absl::string_view, 1> kShard = {"ShardDataset"};

Tensor AsTensor(const Dataset& dataset) {
  return Tensor::Scalar(Variant(Ref<Dataset>::Share(const_cast<Dataset*>(&dataset))));
}

// RebatchDatasetV2 makes batches for one worker of several, which are given to each in turn; elements that are sharded
// after it must be as many for each, as RebatchDataset makes them.
StatusOr<Ref<Dataset>> RebatchForReplicas(const Dataset& dataset, int64_t replicas, const KernelContext& ctx) {
  if (dataset.record() == nullptr || dataset.record()->op->name != "RebatchDatasetV2") {
    return Ref<Dataset>::Share(const_cast<Dataset*>(&dataset));
  }
  if (replicas < 1) {
    return errors::InvalidArgument(
        "Cannot rewrite RebatchDatasetV2 to legacy RebatchDataset with invalid num_replicas argument. "
        "`num_replicas` is ",
        replicas, ", but expected to be >= 1.");
  }
  AttrMap attrs;
  std::vector<PartialShape> shapes;
  for (const PartialShape& shape : dataset.shapes()) {
    if (!shape.rank_known() || shape.rank() == 0) {
      shapes.push_back(shape);
      continue;
    }
    std::vector<int64_t> dims = shape.dims();
    dims[0] = -1;
    shapes.emplace_back(std::move(dims));
  }
  attrs.Set("output_types", dataset.types());
  attrs.Set("output_shapes", std::move(shapes));
  return MakeByOp("RebatchDataset", std::move(attrs), {dataset.record()->inputs[0], Tensor::Scalar(replicas)}, ctx);
}

// Shards where the pipeline says shard(SHARD_HINT, ...); looks at each dataset once, since many may be made from one.
class HintSharder {
 public:
  HintSharder(WorkerPart part, const KernelContext& ctx) : part_(part), ctx_(ctx) {}

  StatusOr<Ref<Dataset>> Shard(const Dataset& dataset) {
    if (StackIsLow()) return NestedTooDeeply("datasets");
    if (const auto known = made_.find(&dataset); known != made_.end()) return known->second;
    ASSIGN_OR_RETURN(Ref<Dataset> made, NewShard(dataset));
    made_.emplace(&dataset, made);
    return made;
  }

 private:
  StatusOr<Ref<Dataset>> NewShard(const Dataset& dataset) {
    if (dataset.record() == nullptr) return Ref<Dataset>::Share(const_cast<Dataset*>(&dataset));
    std::vector<Tensor> inputs = dataset.record()->inputs;
    bool changed = false;
    for (Tensor& input : inputs) {
      const std::vector<const Dataset*> from = input.rank() == 0 ? DatasetsOf(input) : std::vector<const Dataset*>();
      if (from.empty()) continue;
      ASSIGN_OR_RETURN(const Ref<Dataset> made, Shard(*from[0]));
      changed |= made.get() != from[0];
      input = AsTensor(*made);
    }
    if (IsOneOf(dataset, kShard) && inputs[1].scalar<int64_t>() == kShardHint) {
      return ShardElements(*DatasetsOf(inputs[0])[0], part_, true, ctx_);
    }
    if (!changed) return Ref<Dataset>::Share(const_cast<Dataset*>(&dataset));
    return Remake(*dataset.record(), std::move(inputs), ctx_);
  }

  const WorkerPart part_;
  const KernelContext& ctx_;
  std::map<const Dataset*, Ref<Dataset>> made_;
};

class MakeAutoShard final : public Kernel {
 public:
  explicit MakeAutoShard(KernelInit& init) : policy_(init.Attr<int64_t>("auto_shard_policy")) {
    if (init.HasAttr("num_replicas")) replicas_ = init.Attr<int64_t>("num_replicas");
    if (policy_ < kOff || policy_ > kHint) init.Fail(errors::InvalidArgument(policy_, " is no policy of sharding."));
  }
  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(Ref<Dataset> input, DatasetInput(ctx, 0));
    WorkerPart part;
    ASSIGN_OR_RETURN(part.workers, ScalarInput<int64_t>(ctx, 1, "num_workers"));
    ASSIGN_OR_RETURN(part.index, ScalarInput<int64_t>(ctx, 2, "index"));
    if (part.workers <= 0) return errors::InvalidArgument("num_workers must be greater than zero.");
    if (part.index < 0 || part.index >= part.workers) {
      return errors::InvalidArgument("index must be between 0 and ", part.workers - 1);
    }
    const int64_t asked = PolicyOfOptions(input->options());
    ASSIGN_OR_RETURN(input, Sharded(*input, asked == kAuto ? policy_ : asked, part, ctx));
    OutputDataset(ctx, std::move(input));
    return OkStatus();
  }

 private:
  StatusOr<Ref<Dataset>> Sharded(Dataset& dataset, int64_t policy, WorkerPart part, const KernelContext& ctx) const {
    switch (policy) {
      case kOff:
        return Ref<Dataset>::Share(&dataset);
      case kFile:
        return ShardFiles(dataset, part, ctx);
      case kData:
        return ByData(dataset, part, ctx);
      case kHint:
        return HintSharder(part, ctx).Shard(dataset);
      default: {
        StatusOr<Ref<Dataset>> by_file = ShardFiles(dataset, part, ctx);
        return absl::IsNotFound(by_file.status()) ? ByData(dataset, part, ctx) : std::move(by_file);
      }
    }
  }

  // Before what only prefetches, so that nothing is prefetched for others.
  StatusOr<Ref<Dataset>> ByData(const Dataset& dataset, WorkerPart part, const KernelContext& ctx) const {
    std::vector<const Dataset*> after;
    const Dataset* at = &dataset;
    while (IsOneOf(*at, kAfterShards)) {
      after.push_back(at);
      at = InputsOf(*at)[0];
    }
    ASSIGN_OR_RETURN(Ref<Dataset> made, RebatchForReplicas(*at, replicas_, ctx));
    ASSIGN_OR_RETURN(made, ShardElements(*made, part, true, ctx));
    for (; !after.empty(); after.pop_back()) {
      std::vector<Tensor> inputs = after.back()->record()->inputs;
      inputs[0] = AsTensor(*made);
      ASSIGN_OR_RETURN(made, Remake(*after.back()->record(), std::move(inputs), ctx));
    }
    return made;
  }

  const int64_t policy_;
  int64_t replicas_ = 0;
};

void AutoShardOp(OpBuilder& op) {
  op.Input("input_dataset: variant")
      .Input("num_workers: int64")
      .Input("index: int64")
      .Output("handle: variant")
      .Attr("auto_shard_policy: int = 0")
      .With(ElementAttrs)
      .Shape(ScalarShape)
      .Cpu<MakeAutoShard>()
      .Doc("The part of a dataset that is for one worker: by files, by elements, or where the pipeline has marks.");
}
OP("AutoShardDataset").With(AutoShardOp).Attr("num_replicas: int = 0");
OP("ExperimentalAutoShardDataset").With(AutoShardOp);

}  // namespace
}  // namespace millstream
