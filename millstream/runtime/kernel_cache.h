// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_RUNTIME_KERNEL_CACHE_H_
#define MILLSTREAM_RUNTIME_KERNEL_CACHE_H_

#include <memory>
#include <string>
#include <unordered_map>

#include "millstream/base/mutex.h"
#include "millstream/graph/graph.h"

namespace millstream {

// Makes kernels for plans. Kernels of stateful ops belong to the session: every plan gets the same one for the same
// node, so two signatures share one random generator, one iterator, one queue. Thread-safe.
class KernelCache {
 public:
  KernelCache(ResourceManager* resources, FunctionRunner* functions) : resources_(resources), functions_(functions) {}

  // `owner` distinguishes nodes of different function instances ("" for the graph itself).
  StatusOr<std::shared_ptr<Kernel>> Get(const Node& node, Device* device, const KernelDef& def,
                                        const std::string& owner);
  void set_functions(FunctionRunner* functions) { functions_ = functions; }

 private:
  StatusOr<std::shared_ptr<Kernel>> Make(const Node& node, Device* device, const KernelDef& def) const;

  ResourceManager* const resources_;
  FunctionRunner* functions_;
  Mutex mu_;
  std::unordered_map<std::string, std::shared_ptr<Kernel>> stateful_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millstream

#endif  // MILLSTREAM_RUNTIME_KERNEL_CACHE_H_
