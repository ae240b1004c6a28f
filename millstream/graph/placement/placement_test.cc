// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/placement/placement.h"

#include <gtest/gtest.h>

#include "millstream/framework/device_name.h"
#include "millstream/graph/scope.h"

namespace millstream {
namespace {

std::vector<DeviceAttributes> Cluster() {
  std::vector<DeviceAttributes> devices;
  for (const char* name : {"/job:worker/replica:0/task:0/device:CPU:0", "/job:ps/replica:0/task:0/device:CPU:0",
                           "/job:ps/replica:0/task:1/device:CPU:0"}) {
    DeviceAttributes device;
    device.name = name;
    device.type = "CPU";
    devices.push_back(device);
  }
  return devices;
}

TEST(DeviceNameTest, ParsesFullAndPartialNames) {
  auto full = DeviceName::Parse("/job:ps/replica:0/task:3/device:cpu:1");
  ASSERT_TRUE(full.ok()) << full.status();
  EXPECT_EQ(full->ToString(), "/job:ps/replica:0/task:3/device:CPU:1");
  EXPECT_TRUE(DeviceName::Parse("/cpu:1")->Matches(*full));
  EXPECT_TRUE(DeviceName::Parse("/job:ps/device:CPU:*")->Matches(*full));
  EXPECT_FALSE(DeviceName::Parse("/job:worker")->Matches(*full));
  EXPECT_TRUE(DeviceName::Parse("")->Matches(*full));
  for (const char* bad :
       {"/job", "/job:", "/task:x", "/device", "/nonsense:0", "/job:a:b", "/task:-1", "//", "/cpu:0:1"}) {
    EXPECT_FALSE(DeviceName::Parse(bad).ok()) << bad;
  }
}

TEST(PlacementTest, FollowsTheUserAndTheDefault) {
  Scope s = Scope::Root();
  Node* a = s.WithDevice("/job:ps/task:1").Const(1.f).node;
  Node* b = s.Const(2.f).node;
  ASSERT_TRUE(PlaceGraph(Cluster(), {}, s.graph().get()).ok());
  EXPECT_EQ(a->assigned_device(), "/job:ps/replica:0/task:1/device:CPU:0");
  EXPECT_EQ(b->assigned_device(), "/job:worker/replica:0/task:0/device:CPU:0");
}

TEST(PlacementTest, CallsGoToTheDeviceThatAConstantNames) {
  Scope s = Scope::Root();
  const auto call = [&](const std::string& target) {
    return s.WithDevice("/job:worker/task:0")
        .Add("RemoteCall", {s.Const(Tensor::Scalar<std::string>(target)), s.Const(1.f)},
             {{"f", NameAttrList{"f", {}}}, {"Tout", AttrValue::DTypes{DType::kFloat}}});
  };
  Node* there = call("/job:ps/replica:0/task:1/cpu:0");
  Node* absent = call("/job:ps/replica:0/task:9/cpu:0");
  Node* here = call("/cpu:0");
  ASSERT_TRUE(s.ok()) << s.status();
  ASSERT_TRUE(PlaceGraph(Cluster(), {}, s.graph().get()).ok());
  EXPECT_EQ(there->assigned_device(), "/job:ps/replica:0/task:1/device:CPU:0");
  EXPECT_EQ(absent->assigned_device(), "/job:worker/replica:0/task:0/device:CPU:0");
  EXPECT_EQ(here->assigned_device(), "/job:worker/replica:0/task:0/device:CPU:0");
}

TEST(PlacementTest, KeepsColocatedNodesTogether) {
  Scope s = Scope::Root();
  Node* a = s.WithDevice("/job:ps/task:1").Const(1.f).node;
  Node* b = s.ColocateWith(a).Const(2.f).node;
  ASSERT_TRUE(PlaceGraph(Cluster(), {}, s.graph().get()).ok());
  EXPECT_EQ(b->assigned_device(), a->assigned_device());
}

TEST(PlacementTest, WhoUsesAVariableGoesWhereItIs) {
  Scope s = Scope::Root();
  const Scope worker = s.WithDevice("/job:worker/task:0");
  const Scope ps = s.WithDevice("/job:ps/task:1");
  Output handle = ps.Op("VarHandleOp", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape(Shape())}});
  Node* add = worker.Add("AssignAddVariableOp", {handle, worker.Const(1.f)});
  Output v = ps.Op("VariableV2", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape(Shape())}});
  Node* assign = worker.Add("Assign", {v, worker.Const(1.f)});
  Node* read = worker.Op("Identity", {v}).node;
  ASSERT_TRUE(s.ok()) << s.status();
  ASSERT_TRUE(PlaceGraph(Cluster(), {}, s.graph().get()).ok());
  EXPECT_EQ(add->assigned_device(), "/job:ps/replica:0/task:1/device:CPU:0");
  EXPECT_EQ(assign->assigned_device(), "/job:ps/replica:0/task:1/device:CPU:0");
  EXPECT_EQ(read->assigned_device(), "/job:worker/replica:0/task:0/device:CPU:0");
}

TEST(PlacementTest, ExplainsWhatItCannotDo) {
  Scope s = Scope::Root();
  s.WithDevice("/job:ps/task:7").WithOpName("lost").Const(1.f);
  const Status status = PlaceGraph(Cluster(), {}, s.graph().get());
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("lost"), absl::string_view::npos);
  EXPECT_NE(status.message().find("/job:ps/replica:0/task:1"), absl::string_view::npos) << status;
}

TEST(PlacementTest, SoftPlacementMovesWhatHasNoDevice) {
  Scope s = Scope::Root();
  Node* a = s.WithDevice("/job:ps/task:0/device:GPU:0").Const(1.f).node;
  EXPECT_FALSE(PlaceGraph(Cluster(), {}, s.graph().get()).ok());
  ASSERT_TRUE(PlaceGraph(Cluster(), {.allow_soft_placement = true}, s.graph().get()).ok());
  EXPECT_EQ(a->assigned_device(), "/job:ps/replica:0/task:0/device:CPU:0");
}

}  // namespace
}  // namespace millstream
