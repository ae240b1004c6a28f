// SPDX-License-Identifier: Apache-2.0
// What ops declare of themselves for devices other than the CPU.
#include <gtest/gtest.h>

#include <algorithm>

#include "millstream/framework/device_kernels.h"
#include "millstream/framework/device_op_role.h"
#include "millstream/framework/op_traits.h"

namespace millstream {
namespace {

const OpEntry& Entry(const char* name) { return **OpRegistry::Global().Lookup(name); }

bool Names(const std::vector<ArgDef>& args, const std::string& name) {
  return std::any_of(args.begin(), args.end(), [&](const ArgDef& arg) { return arg.name == name; });
}

TEST(DeviceTraitsTest, HostMemoryNamesArguments) {
  for (const OpEntry* op : OpRegistry::Global().Sorted()) {
    for (const KernelDef& kernel : op->kernels) {
      for (const std::string& name : kernel.host_memory) {
        EXPECT_TRUE(name == kAllArgs || Names(op->def.inputs, name) || Names(op->def.outputs, name))
            << op->def.name << " " << name;
      }
    }
  }
}

TEST(DeviceTraitsTest, MetadataOpsHaveNoEffects) {
  for (const OpEntry* op : OpRegistry::Global().Sorted()) {
    if (!op->Has(OpTrait::kMetadataOnly)) continue;
    EXPECT_FALSE(op->Has(OpTrait::kUpdates) || op->Has(OpTrait::kMayBlock)) << op->def.name;
    EXPECT_EQ(RoleOnDevice(*op), DeviceOpRole::kPassesOn) << op->def.name;
  }
}

TEST(DeviceTraitsTest, Roles) {
  const std::pair<const char*, DeviceOpRole> expected[] = {{"_CopyToDevice", DeviceOpRole::kCopyToDevice},
                                                           {"_CopyToHost", DeviceOpRole::kCopyToHost},
                                                           {"Variable", DeviceOpRole::kVariable},
                                                           {"VariableV2", DeviceOpRole::kVariable},
                                                           {"VarHandleOp", DeviceOpRole::kVariable},
                                                           {"Identity", DeviceOpRole::kPassesOn},
                                                           {"ReadVariableOp", DeviceOpRole::kPassesOn},
                                                           {"Reshape", DeviceOpRole::kPassesOn},
                                                           {"Bitcast", DeviceOpRole::kPassesOn},
                                                           {"NoOp", DeviceOpRole::kPassesOn},
                                                           {"Add", DeviceOpRole::kOther},
                                                           {"Assign", DeviceOpRole::kOther},
                                                           {"Switch", DeviceOpRole::kOther},
                                                           {"_Send", DeviceOpRole::kOther}};
  for (const auto& [name, role] : expected) EXPECT_EQ(RoleOnDevice(Entry(name)), role) << name;
}

TEST(DeviceTraitsTest, NeutralKernels) {
  AddNeutralKernels("TRAITS");
  const auto kernel = [](const char* name) -> const KernelDef* {
    const std::vector<KernelDef>& all = Entry(name).kernels;
    const auto found = std::find_if(all.begin(), all.end(), [](const auto& k) { return k.device_type == "TRAITS"; });
    return found == all.end() ? nullptr : &*found;
  };
  for (const char* name :
       {"Const", "NoOp", "Identity", "VariableV2", "StackPushV2", "While", "_Arg", "Rank", "_Recv"}) {
    EXPECT_NE(kernel(name), nullptr) << name;
  }
  for (const char* name : {"Add", "Assign", "Reshape", "ReadFile", "QueueEnqueueV2", "ResourceGather"}) {
    EXPECT_EQ(kernel(name), nullptr) << name;
  }
  EXPECT_EQ(kernel("Switch")->host_memory, std::vector<std::string>{"pred"});
  EXPECT_EQ(kernel("If")->host_memory, std::vector<std::string>{kAllArgs});
  EXPECT_EQ(kernel("Enter")->host_memory, std::vector<std::string>{});
}

}  // namespace
}  // namespace millstream
