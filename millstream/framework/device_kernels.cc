// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/device_kernels.h"

#include <algorithm>

#include "millstream/base/logging.h"
#include "millstream/framework/op_traits.h"

namespace millstream {
namespace {

bool StaysOnHost(DType type) { return type == DType::kString || type == DType::kResource || type == DType::kVariant; }

Status MarkHost(const std::vector<ArgDef>& args, const std::vector<std::string>& host_memory, const AttrMap& attrs,
                std::vector<bool>* host) {
  std::vector<DType> types;
  RETURN_IF_ERROR(ArgTypes(args, attrs, &types));
  const bool all = std::find(host_memory.begin(), host_memory.end(), kAllArgs) != host_memory.end();
  host->assign(types.size(), all);
  for (size_t i = 0; i < types.size(); ++i) {
    if (StaysOnHost(RemoveRef(types[i]))) (*host)[i] = true;
  }
  for (const ArgDef& arg : args) {
    if (std::find(host_memory.begin(), host_memory.end(), arg.name) == host_memory.end()) continue;
    int begin = 0, end = 0;
    RETURN_IF_ERROR(ArgRange(args, attrs, arg.name, &begin, &end));
    std::fill(host->begin() + begin, host->begin() + end, true);
  }
  return OkStatus();
}

}  // namespace

Status AddDeviceKernel(OpEntry* op, KernelDef kernel) {
  const auto same = [&](const KernelDef& k) {
    return k.device_type == kernel.device_type && k.constraints == kernel.constraints;
  };
  if (std::any_of(op->kernels.begin(), op->kernels.end(), same)) {
    return errors::FailedPrecondition("op ", op->def.name, " has such a kernel for ", kernel.device_type, " already");
  }
  op->kernels.push_back(std::move(kernel));
  return OkStatus();
}

void AddNeutralKernels(const std::string& device_type) {
  for (const OpEntry* neutral : OpRegistry::Global().Sorted()) {
    if (!neutral->Has(OpTrait::kAnyDevice)) continue;
    OpEntry& op = OpRegistry::Global().Add(neutral->def.name);
    const std::vector<KernelDef> kernels = op.kernels;
    for (KernelDef kernel : kernels) {
      if (kernel.device_type != "CPU") continue;
      kernel.device_type = device_type;
      const Status added = AddDeviceKernel(&op, std::move(kernel));
      MS_CHECK(added.ok());
    }
  }
}

StatusOr<ArgMemory> MemoryOfArgs(const OpDef& op, const KernelDef& kernel, const AttrMap& attrs) {
  ArgMemory memory;
  RETURN_IF_ERROR(MarkHost(op.inputs, kernel.host_memory, attrs, &memory.host_inputs));
  RETURN_IF_ERROR(MarkHost(op.outputs, kernel.host_memory, attrs, &memory.host_outputs));
  return memory;
}

}  // namespace millstream
