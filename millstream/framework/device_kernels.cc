// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/device_kernels.h"

#include <algorithm>

#include "millstream/base/logging.h"

namespace millstream {
namespace {

constexpr char kAll[] = "*";  // every argument and result

// Ops whose kernels move tensors without looking into them, and what of them is on the host all the same. References
// have no memory of their own: it is the variable's.
struct NeutralOp {
  const char* name;
  std::vector<std::string> host_memory;
};

const std::vector<NeutralOp>& NeutralOps() {
  static const auto* ops = new std::vector<NeutralOp>{
      {"_CopyToDevice", {"input"}},
      {"_CopyToHost", {"output"}},
      {"Const", {"output"}},
      {"Placeholder", {"output"}},
      {"NoOp", {}},
      {"ControlTrigger", {}},
      {"Identity", {}},
      {"IdentityN", {}},
      {"RefIdentity", {}},
      {"Snapshot", {}},
      {"StopGradient", {}},
      {"PreventGradient", {}},
      {"Switch", {"pred"}},
      {"RefSwitch", {"pred"}},
      {"_SwitchN", {"output_index"}},
      {"RefSelect", {"index"}},
      {"Merge", {"value_index"}},
      {"RefMerge", {"value_index"}},
      {"Enter", {}},
      {"RefEnter", {}},
      {"Exit", {}},
      {"RefExit", {}},
      {"NextIteration", {}},
      {"RefNextIteration", {}},
      {"LoopCond", {kAll}},
      {"Variable", {}},
      {"VariableV2", {}},
      {"VarHandleOp", {}},
      {"ReadVariableOp", {}},
      {"VarIsInitializedOp", {kAll}},
      {"IsVariableInitialized", {"is_initialized"}},
      {"VariableShape", {kAll}},
      {"DestroyResourceOp", {}},
      {"Shape", {"output"}},
      {"ShapeN", {"output"}},
      {"Size", {"output"}},
      {"Rank", {"output"}},
      {"StackV2", {"max_size"}},
      {"StackPushV2", {}},
      {"StackPopV2", {}},
      {"StackCloseV2", {}},
      {"_Arg", {kAll}},
      {"_Retval", {kAll}},
      {"_PartialFeed", {kAll}},
      {"_PartialFetch", {kAll}},
      {"_Send", {kAll}},
      {"_LoopSend", {kAll}},
      {"_Recv", {kAll}},
      {"Assert", {kAll}},
      {"PartitionedCall", {kAll}},
      {"StatefulPartitionedCall", {kAll}},
      {"SymbolicGradient", {kAll}},
      {"If", {kAll}},
      {"StatelessIf", {kAll}},
      {"Case", {kAll}},
      {"StatelessCase", {kAll}},
      {"While", {kAll}},
      {"StatelessWhile", {kAll}},
  };
  return *ops;
}

bool StaysOnHost(DType type) { return type == DType::kString || type == DType::kResource || type == DType::kVariant; }

Status MarkHost(const std::vector<ArgDef>& args, const std::vector<std::string>& host_memory, const AttrMap& attrs,
                std::vector<bool>* host) {
  std::vector<DType> types;
  RETURN_IF_ERROR(ArgTypes(args, attrs, &types));
  const bool all = std::find(host_memory.begin(), host_memory.end(), kAll) != host_memory.end();
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
  for (const NeutralOp& neutral : NeutralOps()) {
    OpEntry& op = OpRegistry::Global().Add(neutral.name);
    MS_CHECK(!op.kernels.empty());
    const std::vector<KernelDef> kernels = op.kernels;
    for (KernelDef kernel : kernels) {
      if (kernel.device_type != "CPU") continue;
      kernel.device_type = device_type;
      kernel.host_memory.insert(kernel.host_memory.end(), neutral.host_memory.begin(), neutral.host_memory.end());
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
