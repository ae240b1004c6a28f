// SPDX-License-Identifier: Apache-2.0
#include "cli/train/own_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millstream::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::vector<OwnFlag>& Declared() {
  static const auto* flags = new std::vector<OwnFlag>{
      {.name = "hidden_units", .type = OwnFlag::Type::kPositiveIntegers, .default_value = "100,50"},
      {.name = "filters", .type = OwnFlag::Type::kPositiveInteger},
      {.name = "decay", .type = OwnFlag::Type::kNumberFromZero, .default_value = "0.04"},
  };
  return *flags;
}

TEST(OwnFlagsTest, DefaultsWhereNothingWasGiven) {
  const StatusOr<OwnFlagValues> values = OwnFlagValues::Read(Declared(), {});
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_THAT(values->Integers("hidden_units"), ElementsAre(100, 50));
  EXPECT_EQ(values->Number("decay"), 0.04);
  EXPECT_FALSE(values->Has("filters"));
}

TEST(OwnFlagsTest, GivenValuesWin) {
  const StatusOr<OwnFlagValues> values =
      OwnFlagValues::Read(Declared(), {{"hidden_units", "7"}, {"filters", "32"}, {"decay", "0"}, {"other", "x"}});
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_THAT(values->Integers("hidden_units"), ElementsAre(7));
  EXPECT_EQ(values->Integer("filters"), 32);
  EXPECT_EQ(values->Number("decay"), 0);
  EXPECT_FALSE(values->Has("other"));
}

TEST(OwnFlagsTest, WrongValuesNameTheFlag) {
  for (const auto& [name, text] : std::vector<std::pair<std::string, std::string>>{
           {"hidden_units", "10,0"}, {"hidden_units", ""}, {"filters", "3,4"}, {"filters", "2.5"}, {"decay", "-1"}}) {
    const StatusOr<OwnFlagValues> values = OwnFlagValues::Read(Declared(), {{name, text}});
    EXPECT_TRUE(absl::IsInvalidArgument(values.status())) << name;
    EXPECT_THAT(std::string(values.status().message()), HasSubstr("--" + name + "=" + text));
  }
}

}  // namespace
}  // namespace millstream::cli
