// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/resource_manager.h"

#include "gtest/gtest.h"
#include "millstream/framework/permanent_resource.h"

namespace millstream {
namespace {

struct Thing final : Resource {
  std::string DebugString() const override { return "thing"; }
};

TEST(ResourceManagerTest, SaysWhatIsMissing) {
  ResourceManager resources;
  EXPECT_EQ(resources.Lookup<Thing>("", "a").status().message(),
            "Container localhost does not exist. (Could not find resource: localhost/a)");
  EXPECT_EQ(resources.Delete<Thing>("c", "a").message(), "Container c does not exist.");
  EXPECT_EQ(resources.DeleteAnyType("c", "a").message(), "Container c does not exist.");

  ASSERT_TRUE(resources.Create<Thing>("c", "a", MakeRef<Thing>()).ok());
  EXPECT_TRUE(resources.Lookup<Thing>("c", "a").ok());
  EXPECT_EQ(resources.Lookup<Thing>("c", "b").status().message(), "Resource c/b does not exist.");
  EXPECT_EQ(resources.Lookup<Thing>("", "a").status().message(),
            "Container localhost does not exist. (Could not find resource: localhost/a)");

  // An empty container is still there; a cleared one is not.
  ASSERT_TRUE(resources.Delete<Thing>("c", "a").ok());
  EXPECT_EQ(resources.DeleteAnyType("c", "a").message(), "Resource c/a does not exist.");
  EXPECT_EQ(resources.DeleteAnyType("c", "").message(), "Resource c/ does not exist.");
  resources.ClearContainer("c");
  EXPECT_EQ(resources.DeleteAnyType("c", "a").message(), "Container c does not exist.");
}

struct Fixture final : PermanentResource {
  std::string DebugString() const override { return "fixture"; }
};

TEST(ResourceManagerTest, PermanentResourcesStay) {
  ResourceManager resources;
  ASSERT_TRUE(resources.Create<Fixture>("c", "a", MakeRef<Fixture>()).ok());
  ASSERT_TRUE(resources.Create<Thing>("c", "a", MakeRef<Thing>()).ok());
  const Ref<Thing> thing = resources.Lookup<Thing>("c", "a").value();
  EXPECT_TRUE(resources.DeleteAnyType("c", "a").ok());  // the other one
  EXPECT_FALSE(thing->alive());
  EXPECT_FALSE(resources.DeleteAnyType("c", "a").ok());
  resources.ClearContainer("c");
  resources.ClearAll();
  EXPECT_FALSE(resources.Lookup<Thing>("c", "a").ok());
  const StatusOr<Ref<Fixture>> found = resources.Lookup<Fixture>("c", "a");
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_TRUE((*found)->alive());
}

TEST(ResourceManagerTest, WhatIsClearedIsDead) {
  ResourceManager resources;
  const Ref<Thing> a = MakeRef<Thing>(), b = MakeRef<Thing>();
  ASSERT_TRUE(resources.Create<Thing>("", "a", a).ok());
  ASSERT_TRUE(resources.Create<Thing>("c", "b", b).ok());
  EXPECT_TRUE(absl::IsAlreadyExists(resources.Create<Thing>("c", "b", b)));
  resources.ClearContainer("c");
  EXPECT_TRUE(a->alive());
  EXPECT_FALSE(b->alive());
  resources.ClearAll();
  EXPECT_FALSE(a->alive());
}

}  // namespace
}  // namespace millstream
