// SPDX-License-Identifier: Apache-2.0
// libmillstream_shadow.so, to be named in MILLSTREAM_DEVICE_PLUGINS. MILLSTREAM_SHADOW_GPUS says how many devices there
// are (1), MILLSTREAM_SHADOW_BYTES how much memory each has (4 GiB, taken as it is used).
#include <algorithm>
#include <cstdlib>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "millstream/base/logging.h"
#include "millstream/devices/shadow/shadow_kernel.h"
#include "millstream/framework/device_factory.h"
#include "millstream/framework/op_traits.h"

namespace millstream::shadow {
namespace {

constexpr char kType[] = "GPU";

int64_t FromEnvironment(const char* name, int64_t otherwise) {
  const char* text = std::getenv(name);
  int64_t value = 0;
  return text != nullptr && absl::SimpleAtoi(text, &value) && value >= 0 ? value : otherwise;
}

StatusOr<std::vector<std::unique_ptr<Device>>> MakeDevices(const DeviceRequest& request) {
  int64_t count = FromEnvironment("MILLSTREAM_SHADOW_GPUS", 1);
  if (request.max_devices >= 0) count = std::min<int64_t>(count, request.max_devices);
  const int64_t bytes = FromEnvironment("MILLSTREAM_SHADOW_BYTES", int64_t{4} << 30);
  std::vector<std::unique_ptr<Device>> devices;
  for (int64_t i = 0; i < count; ++i) {
    DeviceAttributes attributes;
    attributes.name = absl::StrCat(request.task, "/device:GPU:", i);
    attributes.type = kType;
    attributes.memory_limit = bytes;
    attributes.incarnation = request.incarnation + static_cast<uint64_t>(i);
    attributes.physical_desc = absl::StrCat("device: ", i, ", name: shadow of the CPU, for tests");
    ASSIGN_OR_RETURN(std::unique_ptr<Arena> arena, Arena::Make(static_cast<size_t>(bytes)));
    auto device = std::make_unique<ShadowDevice>(std::move(attributes), std::move(arena), request.pool);
    RETURN_IF_ERROR(device->Start());
    devices.push_back(std::move(device));
  }
  return devices;
}

bool IsObject(const ArgDef& arg) { return arg.type == DType::kString || arg.type == DType::kVariant; }
bool IsHandle(const ArgDef& arg) { return arg.type == DType::kResource; }

// What an accelerator may have a kernel for: ops on plain values and on variables. Queues, tables, iterators, files and
// what calls functions are the host's.
bool IsEligible(const OpEntry& op) {
  if (op.Has(OpTrait::kMayBlock)) return false;
  const auto& in = op.def.inputs;
  const auto& out = op.def.outputs;
  if (std::any_of(in.begin(), in.end(), IsObject) || std::any_of(out.begin(), out.end(), IsObject)) return false;
  if (std::any_of(out.begin(), out.end(), IsHandle)) return false;
  const bool random = absl::StrContains(op.file, "/ops/random/");
  const bool reads_variable = op.Has(OpTrait::kReadsVariable);
  const bool uses_variable = op.Has(OpTrait::kUpdates) || reads_variable;
  if (std::any_of(in.begin(), in.end(), IsHandle) && !uses_variable) return false;
  return !op.def.stateful || random || uses_variable;
}

KernelFactory Shadowed(const OpEntry* op, const KernelDef& of) {
  return [op, of](KernelInit& init) -> StatusOr<std::unique_ptr<Kernel>> {
    auto* const device = static_cast<ShadowDevice*>(init.device());
    KernelInit host(init.op(), init.node_name(), init.attrs(), device->host(), init.resources(), init.functions(),
                    init.input_types(), init.output_types());
    ASSIGN_OR_RETURN(std::unique_ptr<Kernel> kernel, of.factory(host));
    ASSIGN_OR_RETURN(ArgMemory memory, MemoryOfArgs(op->def, of, init.attrs()));
    std::vector<bool> ref_inputs;
    for (const DType type : init.input_types()) ref_inputs.push_back(IsRef(type));
    return std::unique_ptr<Kernel>(
        std::make_unique<ShadowKernel>(ShadowKernel::Node{op, init.node_name(), init.attrs(), init.output_types(),
                                                          std::move(memory), std::move(ref_inputs)},
                                       std::move(kernel)));
  };
}

void AddKernels() {
  AddNeutralKernels(kType);
  for (const OpEntry* known : OpRegistry::Global().Sorted()) {
    OpEntry& op = OpRegistry::Global().Add(known->def.name);
    const auto ours = [](const KernelDef& k) { return k.device_type == kType; };
    if (std::any_of(op.kernels.begin(), op.kernels.end(), ours) || !IsEligible(op)) continue;
    const std::vector<KernelDef> kernels = op.kernels;
    for (const KernelDef& of : kernels) {
      if (of.async) continue;
      KernelDef kernel = of;
      kernel.device_type = kType;
      kernel.factory = Shadowed(&op, of);
      const Status added = AddDeviceKernel(&op, std::move(kernel));
      if (!added.ok()) LogWarning(added.message());
    }
  }
}

[[maybe_unused]] const bool kRegistered = [] {
  AddKernels();
  RegisterDeviceFactory({kType, MakeDevices});
  return true;
}();

}  // namespace
}  // namespace millstream::shadow
