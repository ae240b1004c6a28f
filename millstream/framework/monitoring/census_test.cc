// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/monitoring/census.h"

#include <gtest/gtest.h>

namespace millstream {
namespace {

TEST(CensusTest, EntriesGoWithTheirOwner) {
  const auto census = MakeRef<Census>();
  auto first = std::make_shared<ObservedQueue>();
  const auto second = std::make_shared<ObservedQueue>();
  census->Add(first);
  census->Add(second);
  first->size = 3;
  ASSERT_EQ(census->Queues().size(), 2u);
  EXPECT_EQ(census->Queues()[0]->size, 3);
  first.reset();
  ASSERT_EQ(census->Queues().size(), 1u);
  EXPECT_EQ(census->Queues()[0], second);
}

TEST(CensusTest, TheNewestScalarsOfFewTags) {
  const auto census = MakeRef<Census>();
  for (int i = 0; i < 1000; ++i) census->Report("tag" + std::to_string(i), i);
  census->Report("tag7", 70);
  const std::vector<ObservedScalar> scalars = census->Scalars();
  EXPECT_EQ(scalars.size(), Census::kMaxScalars);
  for (const ObservedScalar& scalar : scalars) {
    if (scalar.tag != "tag7") continue;
    EXPECT_TRUE(scalar.value == 70 && scalar.count == 2);
  }
}

TEST(CensusTest, IsFoundAmongTheResourcesOfItsTaskAlone) {
  ResourceManager task, isolated_session, other_task;
  const auto census = MakeRef<Census>();
  census->AttachTo(&task);
  census->AttachTo(&isolated_session);
  EXPECT_EQ(Census::Of(&task).get(), census.get());
  EXPECT_EQ(Census::Of(&isolated_session).get(), census.get());
  EXPECT_EQ(Census::Of(&other_task).get(), nullptr);
  EXPECT_EQ(Census::Of(nullptr).get(), nullptr);
  task.ClearContainer(task.default_container());  // Session.reset()
  EXPECT_EQ(Census::Of(&task).get(), census.get());
}

}  // namespace
}  // namespace millstream
