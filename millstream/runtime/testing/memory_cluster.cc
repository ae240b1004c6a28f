// SPDX-License-Identifier: Apache-2.0
#include "millstream/runtime/testing/memory_cluster.h"

#include "absl/strings/match.h"
#include "millstream/base/notification.h"
#include "millstream/graph/passes/passes.h"
#include "millstream/runtime/compile.h"
#include "millstream/runtime/executor.h"
#include "millstream/runtime/testing/memory_exchange.h"

namespace millstream {

// One part of a running step.
struct MemoryCluster::PartRun {
  std::shared_ptr<const Plan> plan;
  std::vector<int> ret_numbers;
  std::vector<Tensor> args;
  std::vector<Tensor> rets;
  std::unique_ptr<ResourceManager> step_resources = std::make_unique<ResourceManager>("step");
  std::unique_ptr<Cancellation> cancellation = std::make_unique<Cancellation>();
  std::unique_ptr<StepContext> step = std::make_unique<StepContext>();
};

MemoryCluster::MemoryCluster(const Options& options) : options_(options) {
  if (options.threads > 0) pool_ = std::make_unique<ThreadPool>(options.threads);
  for (int i = 0; i < options.tasks; ++i) {
    DeviceAttributes attributes;
    attributes.name = absl::StrCat("/job:w/replica:0/task:", i, "/device:CPU:0");
    attributes.type = "CPU";
    devices_.push_back(std::make_unique<CpuDevice>(std::move(attributes), CpuDevice::SingleThreaded()->pool()));
    resources_.push_back(std::make_unique<ResourceManager>());
    kernels_.push_back(std::make_unique<KernelCache>(resources_.back().get(), nullptr));
  }
}

MemoryCluster::~MemoryCluster() = default;

std::vector<DeviceAttributes> MemoryCluster::ListDevices() const {
  std::vector<DeviceAttributes> list;
  for (const auto& device : devices_) list.push_back(device->attributes());
  return list;
}

StatusOr<std::shared_ptr<const Plan>> MemoryCluster::Compile(GraphPart* part) {
  if (options_.rewrite) RETURN_IF_ERROR(RewriteGraph({}, &part->graph));
  for (size_t i = 0; i < devices_.size(); ++i) {
    if (!absl::StartsWith(devices_[i]->name(), part->task + "/")) continue;
    CompileOptions options;
    options.kernels = kernels_[i].get();
    options.find_device = [&, i](absl::string_view name) {
      return name == devices_[i]->name() ? devices_[i].get() : nullptr;
    };
    options.inter_op_threads = std::max(1, options_.threads);
    return millstream::Compile(std::move(part->graph), options);
  }
  return errors::NotFound("No task ", part->task);
}

Status MemoryCluster::RunParts(std::vector<PartRun>* runs) {
  MemoryExchange exchange;
  struct {
    Mutex mu;
    size_t left;
    Status first_error;
    Notification done;
  } all;
  all.left = runs->size();
  const auto end_all = [&](const Status& status) {
    exchange.Abort(status);
    for (PartRun& run : *runs) run.cancellation->StartCancel(status);
  };
  // A part that fails waits for its own transfers, too: all end with the first error.
  for (PartRun& run : *runs) {
    Cancellation* cancellation = run.cancellation.get();
    Cancellation::Token token;
    cancellation->Register([&end_all, cancellation] { end_all(cancellation->status()); }, &token);
  }
  for (PartRun& run : *runs) {
    run.step->cancellation = run.cancellation.get();
    run.step->step_resources = run.step_resources.get();
    run.step->pool = pool_.get();
    run.step->exchange = &exchange;
    RunPlanAsync(run.plan, *run.step, run.args, &run.rets, [&all, &run](const Status& status) {
      if (!status.ok()) run.cancellation->StartCancel(status);
      MutexLock lock(all.mu);
      if (all.first_error.ok()) all.first_error = status;
      if (--all.left == 0) all.done.Notify();
    });
  }
  if (!all.done.WaitUntil(std::chrono::steady_clock::now() + std::chrono::milliseconds(options_.timeout_ms))) {
    end_all(errors::DeadlineExceeded("The parts wait for each other; transfers that wait: ", exchange.num_waiting()));
    all.done.Wait();
  }
  MutexLock lock(all.mu);
  RETURN_IF_ERROR(all.first_error);
  num_transfers_ = exchange.num_transfers();
  if (exchange.num_waiting() > 0) return errors::Internal(exchange.num_waiting(), " transfers were not completed");
  return OkStatus();
}

StatusOr<std::vector<Tensor>> MemoryCluster::Run(const Graph& graph, const Feeds& feeds,
                                                 const std::vector<Output>& fetches,
                                                 const std::vector<Node*>& targets) {
  std::vector<Output> fed;
  for (const auto& feed : feeds) fed.push_back(feed.first);
  ASSIGN_OR_RETURN(PrunedGraph pruned, Prune(graph, fed, fetches, targets));
  ASSIGN_OR_RETURN(PartitionedGraph parts, PartitionByTask(std::move(pruned)));
  num_parts_ = static_cast<int>(parts.parts.size());
  std::vector<PartRun> runs(parts.parts.size());
  for (size_t i = 0; i < runs.size(); ++i) {
    GraphPart& part = parts.parts[i];
    for (const int number : part.arg_numbers) runs[i].args.push_back(feeds[number].second);
    runs[i].ret_numbers = part.ret_numbers;
    for (size_t t = 0; t < devices_.size(); ++t) {
      if (absl::StartsWith(devices_[t]->name(), part.task + "/")) runs[i].step->resources = resources_[t].get();
    }
    ASSIGN_OR_RETURN(runs[i].plan, Compile(&part));
  }
  RETURN_IF_ERROR(RunParts(&runs));
  std::vector<Tensor> results(fetches.size());
  for (PartRun& run : runs) {
    for (size_t k = 0; k < run.rets.size(); ++k) results[run.ret_numbers[k]] = run.rets[k];
  }
  return results;
}

}  // namespace millstream
