// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/census.h"

#include <gtest/gtest.h>

namespace millstream {
namespace {

constexpr char kTask[] = "/job:census/replica:0/task:1";

TEST(CensusTest, EntriesBelongToATaskAndGoWithTheirOwner) {
  Census census;
  auto here = std::make_shared<ObservedQueue>();
  here->device = std::string(kTask) + "/device:CPU:0";
  auto there = std::make_shared<ObservedQueue>();
  there->device = std::string(kTask) + "0/device:CPU:0";  // task 10
  census.Add(here);
  census.Add(there);
  here->size = 3;
  ASSERT_EQ(census.Queues(kTask).size(), 1u);
  EXPECT_EQ(census.Queues(kTask)[0]->size, 3);
  here.reset();
  EXPECT_TRUE(census.Queues(kTask).empty());
  EXPECT_EQ(census.Queues(std::string(kTask) + "0").size(), 1u);
}

TEST(CensusTest, TheNewestScalarsOfFewTags) {
  Census census;
  const std::string device = std::string(kTask) + "/device:CPU:0";
  for (int i = 0; i < 1000; ++i) census.Report(device, "tag" + std::to_string(i), i);
  census.Report(device, "tag7", 70);
  const std::vector<ObservedScalar> scalars = census.Scalars(kTask);
  EXPECT_EQ(scalars.size(), Census::kMaxScalars);
  for (const ObservedScalar& scalar : scalars) {
    if (scalar.tag != "tag7") continue;
    EXPECT_TRUE(scalar.value == 70 && scalar.count == 2);
  }
  EXPECT_TRUE(census.Scalars("/job:other/replica:0/task:1").empty());
}

}  // namespace
}  // namespace millstream
