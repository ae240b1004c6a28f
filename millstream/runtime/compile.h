// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_RUNTIME_COMPILE_H_
#define MILLSTREAM_RUNTIME_COMPILE_H_

#include <functional>
#include <memory>
#include <string>

#include "millstream/graph/prune.h"
#include "millstream/runtime/kernel_cache.h"
#include "millstream/runtime/plan.h"

namespace millstream {

struct CompileOptions {
  KernelCache* kernels = nullptr;
  // The device behind a full name; null if unknown.
  std::function<Device*(absl::string_view name)> find_device;
  bool has_accelerators = false;  // some devices have memory of their own: values are copied between them
  std::string owner;              // see KernelCache::Get
  int inter_op_threads = 1;       // 1: independent ops run one after the other
  // May put another kernel in the place of one, an AsyncKernel in the place of an AsyncKernel; null: nobody does.
  std::function<std::shared_ptr<Kernel>(const Node& node, std::shared_ptr<Kernel> kernel)> wrap;
};

// Turns a pruned, placed and optimized graph into a plan: every node of it runs. Linear in nodes and edges. Takes the
// graph.
StatusOr<std::shared_ptr<const Plan>> Compile(PrunedGraph pruned, const CompileOptions& options);

}  // namespace millstream

#endif  // MILLSTREAM_RUNTIME_COMPILE_H_
