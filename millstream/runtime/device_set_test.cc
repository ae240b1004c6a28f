// SPDX-License-Identifier: Apache-2.0
#include "millstream/runtime/device_set.h"

#include <gtest/gtest.h>

namespace millstream {
namespace {

constexpr char kTask[] = "/job:ps/replica:0/task:1";

TEST(DeviceSetTest, HasOneCpuUnlessOptionsAskForMore) {
  ThreadPool pool(1);
  SessionOptions options;
  EXPECT_EQ(DeviceSet(kTask, options, 7, &pool).size(), 1u);
  options.device_count["CPU"] = 0;
  EXPECT_EQ(DeviceSet(kTask, options, 7, &pool).size(), 1u);
  options.device_count["CPU"] = 3;
  const DeviceSet devices(kTask, options, 7, &pool);
  ASSERT_EQ(devices.attributes().size(), 3u);
  EXPECT_EQ(devices.attributes()[2].name, "/job:ps/replica:0/task:1/device:CPU:2");
}

TEST(DeviceSetTest, FindsDevicesByFullNameOnly) {
  ThreadPool pool(1);
  const DeviceSet devices(kTask, SessionOptions(), 7, &pool);
  const Device* device = devices.Find("/job:ps/replica:0/task:1/device:CPU:0");
  ASSERT_NE(device, nullptr);
  EXPECT_EQ(device->attributes().incarnation, 7u);
  EXPECT_EQ(devices.Find("/device:CPU:0"), nullptr);
  EXPECT_EQ(devices.Find("/job:ps/replica:0/task:1/device:CPU:1"), nullptr);
}

TEST(DeviceSetTest, RenamedDevicesKeepPoolAndIncarnation) {
  ThreadPool pool(1);
  SessionOptions options;
  options.device_count["CPU"] = 2;
  const DeviceSet devices(kTask, options, 7, &pool);
  const DeviceSet renamed("/job:worker/replica:0/task:0", devices);
  EXPECT_EQ(renamed.size(), 2u);
  Device* device = renamed.Find("/job:worker/replica:0/task:0/device:CPU:0");
  ASSERT_NE(device, nullptr);
  EXPECT_EQ(device->pool(), &pool);
  EXPECT_EQ(device->attributes().incarnation, 7u);
  EXPECT_EQ(renamed.Find("/job:ps/replica:0/task:1/device:CPU:0"), nullptr);
}

}  // namespace
}  // namespace millstream
