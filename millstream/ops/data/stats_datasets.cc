// SPDX-License-Identifier: Apache-2.0
// Datasets that report about their elements, and who collects that.
#include <chrono>
#include <map>

#include "absl/container/flat_hash_map.h"
#include "millstream/framework/op.h"
#include "millstream/ops/data/dataset.h"
#include "millstream/ops/data/element_attrs.h"
#include "millstream/ops/resources/named_resource.h"
#include "millstream/ops/summary/histogram.h"
#include "millstream/ops/summary/summary_output.h"
#include "millstream/proto/summary.pb.h"

namespace millstream {
namespace {

// Histograms by name. Thread-safe.
class StatsAggregator final : public Resource {
 public:
  std::string DebugString() const override { return "StatsAggregator"; }
  void Add(const std::string& name, double value) {
    MutexLock lock(mu_);
    histograms_[name].Add(value);
  }
  void Write(proto::Summary* out) const {
    MutexLock lock(mu_);
    for (const auto& [name, histogram] : histograms_) {
      proto::Summary::Value* value = out->add_value();
      value->set_tag(name);
      histogram.Write(value->mutable_histo());
    }
  }

 private:
  mutable Mutex mu_;
  std::map<std::string, Histogram> histograms_ ABSL_GUARDED_BY(mu_);
};

// Where iterators report to.
struct StatsTarget {
  Ref<StatsAggregator> aggregator;  // null: nowhere
  std::string prefix;

  void Add(const std::string& name, double value) const {
    if (aggregator) aggregator->Add(prefix.empty() ? name : prefix + "::" + name, value);
  }
};

// An owner of iterators that has a target: iterators find it by the address of the owner they are made with, since
// every dataset hands that one down to its input, at whatever time it makes an iterator of it.
class OwnerWithStats {
 public:
  OwnerWithStats(const StepContext& owner, StatsTarget target) : owner_(owner), target_(std::move(target)) {
    Targets& all = Registry();
    MutexLock lock(all.mu);
    all.targets.emplace(&owner_, &target_);
  }
  ~OwnerWithStats() {
    Targets& all = Registry();
    MutexLock lock(all.mu);
    all.targets.erase(&owner_);
  }
  OwnerWithStats(const OwnerWithStats&) = delete;
  OwnerWithStats& operator=(const OwnerWithStats&) = delete;

  const StepContext& owner() const { return owner_; }
  static StatsTarget TargetOf(const StepContext& owner) {
    Targets& all = Registry();
    MutexLock lock(all.mu);
    const auto at = all.targets.find(&owner);
    return at == all.targets.end() ? StatsTarget() : *at->second;
  }

 private:
  struct Targets {
    Mutex mu;
    absl::flat_hash_map<const StepContext*, const StatsTarget*> targets ABSL_GUARDED_BY(mu);
  };
  static Targets& Registry() {
    static auto* targets = new Targets;
    return *targets;
  }
  const StepContext owner_;
  const StatsTarget target_;
};

// The input; what reports below it reports to a target.
class SetStatsAggregatorDataset final : public DerivedDataset {
 public:
  SetStatsAggregatorDataset(Ref<Dataset> input, StatsTarget target)
      : DerivedDataset(std::move(input)), target_(std::move(target)) {}
  int64_t CountElements() const override { return input().Cardinality(); }
  StatusOr<IteratorPtr> NewIterator(const StepContext& owner) const override {
    auto with_stats = std::make_unique<OwnerWithStats>(owner, target_);
    ASSIGN_OR_RETURN(IteratorPtr from, input().MakeIterator(with_stats->owner()));
    return std::make_unique<Iterator>(std::move(with_stats), std::move(from));
  }

 private:
  class Iterator final : public DatasetIterator {
   public:
    Iterator(std::unique_ptr<OwnerWithStats> owner, IteratorPtr input)
        : owner_(std::move(owner)), input_(std::move(input)) {}
    bool Ready() override { return input_->Ready(); }
    Status Next(const StepContext& step, Element* element, bool* end) override {
      return input_->GetNext(step, element, end);
    }

   private:
    const std::unique_ptr<OwnerWithStats> owner_;  // outlives input_
    const IteratorPtr input_;
  };
  const StatsTarget target_;
};

Status SetStatsAggregatorCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(Ref<Dataset> input, DatasetInput(ctx, 0));
  StatsTarget target;
  ASSIGN_OR_RETURN(target.aggregator, ctx.ResourceInput<StatsAggregator>(1));
  ASSIGN_OR_RETURN(target.prefix, ScalarInput<std::string>(ctx, 2, "tag"));
  RETURN_IF_ERROR(ScalarInput<std::string>(ctx, 3, "counter_prefix").status());
  OutputDataset(ctx, MakeRef<SetStatsAggregatorDataset>(std::move(input), std::move(target)));
  return OkStatus();
}

// Microseconds that an element takes.
struct Latency {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  double Of(const Element&) const {
    return static_cast<double>(std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start).count());
  }
};

// Bytes of an element; a string counts with the 24 bytes of its place in TensorFlow's tensors.
struct BytesProduced {
  double Of(const Element& element) const {
    constexpr double kStringPlace = 24;
    double bytes = 0;
    for (const Tensor& t : element) {
      if (t.dtype() == DType::kString) {
        for (const std::string& s : t.flat<std::string>()) bytes += kStringPlace + static_cast<double>(s.size());
      } else {
        bytes += static_cast<double>(t.ByteSize());
      }
    }
    return bytes;
  }
};

// The input; each element is measured.
template <typename Measure>
class StatsDataset final : public DerivedDataset {
 public:
  StatsDataset(Ref<Dataset> input, std::string tag) : DerivedDataset(std::move(input)), tag_(std::move(tag)) {}
  int64_t CountElements() const override { return input().Cardinality(); }
  StatusOr<IteratorPtr> NewIterator(const StepContext& owner) const override {
    ASSIGN_OR_RETURN(IteratorPtr from, input().MakeIterator(owner));
    return std::make_unique<Iterator>(std::move(from), OwnerWithStats::TargetOf(owner), tag_);
  }

 private:
  class Iterator final : public DatasetIterator {
   public:
    Iterator(IteratorPtr input, StatsTarget target, std::string tag)
        : input_(std::move(input)), target_(std::move(target)), tag_(std::move(tag)) {}
    bool Ready() override { return input_->Ready(); }
    Status Next(const StepContext& step, Element* element, bool* end) override {
      const Measure measure;
      RETURN_IF_ERROR(input_->GetNext(step, element, end));
      if (!*end && target_.aggregator) target_.Add(tag_, measure.Of(*element));
      return OkStatus();
    }

   private:
    const IteratorPtr input_;
    const StatsTarget target_;
    const std::string tag_;
  };
  const std::string tag_;
};

template <typename Measure>
Status StatsCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(Ref<Dataset> input, DatasetInput(ctx, 0));
  ASSIGN_OR_RETURN(std::string tag, ScalarInput<std::string>(ctx, 1, "tag"));
  OutputDataset(ctx, MakeRef<StatsDataset<Measure>>(std::move(input), std::move(tag)));
  return OkStatus();
}

class StatsAggregatorHandle final : public Kernel {
 public:
  explicit StatsAggregatorHandle(KernelInit& init) : resource_(init, "tensorflow::data::StatsAggregatorResource") {}
  Status Compute(KernelContext& ctx) override {
    return resource_.Output(
        ctx, [] { return MakeRef<StatsAggregator>(); }, [](const StatsAggregator&) { return OkStatus(); });
  }

 private:
  NamedResource<StatsAggregator> resource_;
};

Status StatsAggregatorSummaryCpu(KernelContext& ctx) {
  if (ctx.input(0).rank() != 0) return errors::InvalidArgument("resource_handle must be a scalar");
  ASSIGN_OR_RETURN(Ref<StatsAggregator> aggregator, ctx.ResourceInput<StatsAggregator>(0));
  proto::Summary summary;
  aggregator->Write(&summary);
  return OutputSummary(ctx, summary);
}

void StatsArgs(OpBuilder& op) {
  op.Input("input_dataset: variant").Output("handle: variant").With(ElementAttrs).Shape(ScalarShape);
}

void LatencyStatsOp(OpBuilder& op) {
  op.With(StatsArgs)
      .Input("tag: string")
      .Cpu(StatsCpu<Latency>)
      .Doc("The same dataset; how long each element takes is reported to the stats aggregator above it.");
}
OP("LatencyStatsDataset").With(LatencyStatsOp);
OP("ExperimentalLatencyStatsDataset").With(LatencyStatsOp);

void BytesProducedStatsOp(OpBuilder& op) {
  op.With(StatsArgs)
      .Input("tag: string")
      .Cpu(StatsCpu<BytesProduced>)
      .Doc("The same dataset; the bytes of each element are reported to the stats aggregator above it.");
}
OP("BytesProducedStatsDataset").With(BytesProducedStatsOp);
OP("ExperimentalBytesProducedStatsDataset").With(BytesProducedStatsOp);

void SetStatsAggregatorOp(OpBuilder& op) {
  op.With(StatsArgs)
      .Input("stats_aggregator: resource")
      .Input("tag: string")
      .Input("counter_prefix: string")
      .Cpu(SetStatsAggregatorCpu)
      .Doc("The same dataset; what it reports goes to a stats aggregator.")
      .Stateful();
}
OP("SetStatsAggregatorDataset").With(SetStatsAggregatorOp);
OP("ExperimentalSetStatsAggregatorDataset").With(SetStatsAggregatorOp);

void StatsHandleOp(OpBuilder& op) {
  op.Output("handle: resource")
      .Attr("container: string = ''")
      .Attr("shared_name: string = ''")
      .Stateful()
      .Shape(ScalarShape)
      .Cpu<StatsAggregatorHandle>()
      .Doc("Collects what datasets report.");
}
OP("StatsAggregatorHandle").With(StatsHandleOp);
OP("ExperimentalStatsAggregatorHandle").With(StatsHandleOp);

void StatsSummaryOp(OpBuilder& op) {
  op.Input("iterator: resource")
      .Output("summary: string")
      .Stateful()
      .Shape(ScalarShape)
      .Cpu(StatsAggregatorSummaryCpu)
      .Doc("A summary with the histograms that a stats aggregator has.");
}
OP("StatsAggregatorSummary").With(StatsSummaryOp);
OP("ExperimentalStatsAggregatorSummary").With(StatsSummaryOp);

}  // namespace
}  // namespace millstream
