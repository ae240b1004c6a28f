// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_RUNTIME_TESTING_MEMORY_CLUSTER_H_
#define MILLSTREAM_RUNTIME_TESTING_MEMORY_CLUSTER_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "millstream/base/thread_pool.h"
#include "millstream/framework/cpu_device.h"
#include "millstream/graph/placement/partition.h"
#include "millstream/runtime/kernel_cache.h"

namespace millstream {

class Plan;

// Tasks "/job:w/replica:0/task:<i>" in one process, for tests of how parts of a graph run together.
class MemoryCluster {
 public:
  struct Options {
    int tasks = 3;
    int threads = 2;      // 0: no pool, everything runs on the calling threads
    bool rewrite = true;  // run graph/passes on each part
    int64_t timeout_ms = 60'000;
  };
  explicit MemoryCluster(const Options& options);
  ~MemoryCluster();

  std::string DeviceOf(int task) const { return devices_[task]->name(); }
  std::vector<DeviceAttributes> ListDevices() const;

  using Feeds = std::vector<std::pair<Output, Tensor>>;
  // Prunes, cuts and runs one step. Errors are those of the part that failed first; DeadlineExceeded if the parts wait
  // for each other; Internal if something was sent that nobody received.
  StatusOr<std::vector<Tensor>> Run(const Graph& graph, const Feeds& feeds, const std::vector<Output>& fetches,
                                    const std::vector<Node*>& targets = {});

  // Of the last run.
  int num_transfers() const { return num_transfers_; }
  int num_parts() const { return num_parts_; }

 private:
  struct PartRun;
  StatusOr<std::shared_ptr<const Plan>> Compile(GraphPart* part);
  Status RunParts(std::vector<PartRun>* runs);

  const Options options_;
  std::unique_ptr<ThreadPool> pool_;
  std::vector<std::unique_ptr<CpuDevice>> devices_;
  std::vector<std::unique_ptr<ResourceManager>> resources_;
  std::vector<std::unique_ptr<KernelCache>> kernels_;
  int num_transfers_ = 0;
  int num_parts_ = 0;
};

}  // namespace millstream

#endif  // MILLSTREAM_RUNTIME_TESTING_MEMORY_CLUSTER_H_
