// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/variables/device_setter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "millstream/train/variables/global_step.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;

// The devices of variables of these sizes, made one after the other.
std::vector<std::string> Devices(const ReplicaDeviceOptions& options) {
  Scope s = Scope::Root();
  const VariableScope v = WithReplicaDevices(s, options);
  std::vector<std::string> devices;
  for (const int64_t size : {10, 1000, 20, 30}) {
    devices.emplace_back(v.Get(absl::StrCat("v", size), Shape({size})).handle.node->device());
  }
  EXPECT_TRUE(s.ok()) << s.status();
  EXPECT_EQ(v.scope().Const(1.0f).node->device(), options.worker_device);
  return devices;
}

TEST(DeviceSetterTest, Strategies) {
  EXPECT_THAT(Devices({.ps_tasks = 2, .worker_device = "/job:worker/task:1"}),
              ElementsAre("/job:ps/task:0", "/job:ps/task:1", "/job:ps/task:0", "/job:ps/task:1"));
  EXPECT_THAT(Devices({.ps_tasks = 2, .ps_strategy = BalanceByBytes(2)}),
              ElementsAre("/job:ps/task:0", "/job:ps/task:1", "/job:ps/task:0", "/job:ps/task:0"));
  EXPECT_THAT(Devices({.ps_tasks = 2, .ps_device = "/job:store/device:CPU:0"}),
              ElementsAre("/job:store/task:0/device:CPU:0", "/job:store/task:1/device:CPU:0",
                          "/job:store/task:0/device:CPU:0", "/job:store/task:1/device:CPU:0"));
  EXPECT_THAT(Devices({.ps_tasks = 0}), ElementsAre("/job:worker", "/job:worker", "/job:worker", "/job:worker"));
  EXPECT_THAT(Devices({.ps_tasks = 2, .ps_ops = {"MutableHashTableV2"}}),
              ElementsAre("/job:worker", "/job:worker", "/job:worker", "/job:worker"));
}

TEST(DeviceSetterTest, WhatIsAskedForExplicitlyWins) {
  Scope s = Scope::Root();
  const VariableScope v = WithReplicaDevices(s, {.ps_tasks = 2, .worker_device = "/job:worker/task:1"});
  EXPECT_EQ(v.WithDevice("/cpu:0").Get("a", Shape({2})).handle.node->device(), "/job:ps/task:0/device:CPU:0");
  EXPECT_EQ(v.WithDevice("/job:worker/task:0").Get("b", Shape({2})).handle.node->device(), "/job:worker/task:0");
  EXPECT_EQ(v.Get("c", Shape({2})).handle.node->device(), "/job:ps/task:1");  // "b" took no turn
  EXPECT_EQ(v.WithDevice("/gpu:0").scope().Const(1.0f).node->device(), "/job:worker/task:1/device:GPU:0");
  EXPECT_EQ(GetOrCreateGlobalStep(v).handle.node->device(), "/job:ps/task:0");
  const VariableScope apart = WithReplicaDevices(s, {.ps_tasks = 2, .merge_devices = false});
  EXPECT_EQ(apart.WithDevice("/cpu:0").Get("d", Shape({2})).handle.node->device(), "/device:CPU:0");
  EXPECT_TRUE(s.ok()) << s.status();
}

TEST(DeviceSetterTest, RefusesMalformedDevices) {
  for (const ReplicaDeviceOptions& options : {ReplicaDeviceOptions{.ps_tasks = 1, .ps_device = "ps:"},
                                              ReplicaDeviceOptions{.ps_tasks = 1, .worker_device = "/jobs:x"}}) {
    Scope s = Scope::Root();
    WithReplicaDevices(s, options).Get("w", Shape({2}));
    EXPECT_EQ(s.status().code(), absl::StatusCode::kInvalidArgument) << s.status();
  }
}

TEST(GlobalStepTest, IsFoundAndMadeOnce) {
  Scope s = Scope::Root();
  EXPECT_FALSE(GetGlobalStep(s));
  const VariableScope v = VariableScope(s).Enter("tower");
  const GraphVariable step = GetOrCreateGlobalStep(v);
  EXPECT_EQ(step.handle.name(), "global_step:0");
  EXPECT_EQ(TypeOf(step), DType::kInt64);
  EXPECT_EQ(GetOrCreateGlobalStep(s).handle, step.handle);
  EXPECT_EQ(GetGlobalStep(s).value, step.value);
  EXPECT_THAT(s.Collection("variables"), ElementsAre(step.handle));
  EXPECT_TRUE(s.ok()) << s.status();
  CreateGlobalStep(v);
  EXPECT_THAT(std::string(s.status().message()), ::testing::HasSubstr("already exists"));
}

TEST(GlobalStepTest, MustBeAScalarNumber) {
  Scope s = Scope::Root();
  VariableScope(s).Get("global_step", Shape({2}));
  GetGlobalStep(s);
  EXPECT_THAT(std::string(s.status().message()), ::testing::HasSubstr("not scalar"));
  Scope floating = Scope::Root();
  VariableScope(floating).Get("global_step", Shape(), {.initializer = ZerosInitializer()});
  EXPECT_TRUE(GetGlobalStep(floating));
  EXPECT_TRUE(floating.ok()) << floating.status();
}

TEST(DeviceFunctionTest, PlacesAllNodes) {
  const Scope root = Scope::Root();
  root.WithOpName("before").Const(1.0f);
  const Scope s = root.WithDeviceFunction(ReplicaDeviceSetter({.ps_tasks = 2, .worker_device = "/job:worker/task:1"}));
  const VariableScope v(s);
  const GraphVariable a = v.Get("a", Shape({2})), b = v.Get("b", Shape({2}));
  s.WithOpName("sum").Op("Add", {a.value, b.value});
  s.WithDevice("/job:other").WithOpName("elsewhere").Const(1.0f);
  ASSERT_TRUE(s.ok()) << s.status();
  const auto device = [&s](const char* name) { return std::string(s.graph()->Find(name)->device()); };
  EXPECT_EQ(device("before"), "");
  EXPECT_EQ(device("a"), "/job:ps/task:0");
  EXPECT_EQ(device("a/Assign"), "/job:ps/task:0");
  EXPECT_EQ(device("b/read"), "/job:ps/task:1");
  EXPECT_EQ(device("sum"), "/job:worker/task:1");
  EXPECT_EQ(device("elsewhere"), "/job:other/task:1");
}

}  // namespace
}  // namespace millstream
