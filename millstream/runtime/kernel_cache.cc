// SPDX-License-Identifier: Apache-2.0
#include "millstream/runtime/kernel_cache.h"

namespace millstream {

StatusOr<std::shared_ptr<Kernel>> KernelCache::Make(const Node& node, Device* device, const KernelDef& def) const {
  ASSIGN_OR_RETURN(std::vector<DType> input_types, node.InputTypes());
  KernelInit init(node.op().def, node.name(), node.attrs(), device, resources_, functions_, std::move(input_types),
                  node.output_types());
  StatusOr<std::unique_ptr<Kernel>> kernel = def.factory(init);
  if (!kernel.ok()) {
    return Status(kernel.status().code(),
                  absl::StrCat(kernel.status().message(), "\n\t [[{{node ", node.name(), "}}]]"));
  }
  return std::shared_ptr<Kernel>(*std::move(kernel));
}

StatusOr<std::shared_ptr<Kernel>> KernelCache::Get(const Node& node, Device* device, const KernelDef& def,
                                                   const std::string& owner) {
  // Transfers belong to one plan: their edge numbers do. So do inlined nodes: their names do.
  if (!node.IsStateful() || node.IsTransfer() || node.attrs().Has("_inlined")) return Make(node, device, def);
  const std::string key = absl::StrCat(owner, "\n", node.name());
  {
    MutexLock lock(mu_);
    auto it = stateful_.find(key);
    if (it != stateful_.end()) return it->second;
  }
  // Made outside the lock: a kernel may instantiate functions, which asks for kernels again.
  ASSIGN_OR_RETURN(std::shared_ptr<Kernel> made, Make(node, device, def));
  MutexLock lock(mu_);
  return stateful_.emplace(key, std::move(made)).first->second;
}

}  // namespace millstream
