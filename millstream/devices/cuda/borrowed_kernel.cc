// SPDX-License-Identifier: Apache-2.0
#include "millstream/devices/cuda/borrowed_kernel.h"

#include <cstdlib>

#include "millstream/base/logging.h"
#include "millstream/framework/device_kernels.h"

namespace millstream::cuda {
namespace {

// A mistake in our source.
[[noreturn]] void RefuseToBorrow(const std::string& why) {
  LogError(why);
  std::abort();
}

OpEntry& EntryOf(const char* op) {
  if (OpRegistry::Global().Find(op) == nullptr) RefuseToBorrow(absl::StrCat("a CUDA kernel for an unknown op: ", op));
  return OpRegistry::Global().Add(op);
}

void AddForGpu(OpEntry* op, KernelDef kernel, const std::vector<std::string>& host_memory) {
  kernel.device_type = "GPU";
  kernel.host_memory.insert(kernel.host_memory.end(), host_memory.begin(), host_memory.end());
  const Status added = AddDeviceKernel(op, std::move(kernel));
  if (!added.ok()) RefuseToBorrow(std::string(added.message()));
}

// Whether the kernel serves this type of the attribute.
bool Serves(const KernelDef& kernel, const std::string& attr, DType type) {
  for (const auto& [name, wanted] : kernel.constraints) {
    if (name == attr && wanted != type) return false;
  }
  return true;
}

bool Constrains(const KernelDef& kernel, const std::string& attr) {
  for (const auto& constraint : kernel.constraints) {
    if (constraint.first == attr) return true;
  }
  return false;
}

}  // namespace

BorrowedKernel& BorrowedKernel::ForAll() {
  OpEntry& op = EntryOf(op_);
  const std::vector<KernelDef> kernels = op.kernels;
  for (const KernelDef& kernel : kernels) {
    if (kernel.device_type == "CPU") AddForGpu(&op, kernel, host_memory_);
  }
  return *this;
}

void BorrowedKernel::Add(const char* attr, DType type) {
  OpEntry& op = EntryOf(op_);
  const std::vector<KernelDef> kernels = op.kernels;
  bool found = false;
  for (KernelDef kernel : kernels) {
    if (kernel.device_type != "CPU" || !Serves(kernel, attr, type)) continue;
    if (!Constrains(kernel, attr)) kernel.constraints.emplace_back(attr, type);
    AddForGpu(&op, std::move(kernel), host_memory_);
    found = true;
  }
  if (!found) RefuseToBorrow(absl::StrCat("the CPU has no kernel of ", op_, " for ", attr, " = ", DTypeName(type)));
}

}  // namespace millstream::cuda
