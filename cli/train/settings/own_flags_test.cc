// SPDX-License-Identifier: Apache-2.0
#include "cli/train/settings/own_flags.h"

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
      {.name = "delay", .type = OwnFlag::Type::kIntegerFromZero, .default_value = "3"},
      {.name = "code", .type = OwnFlag::Type::kChoice, .choices = {"none", "fp16"}, .default_value = "none"},
  };
  return *flags;
}

TEST(OwnFlagsTest, DefaultsWhereNothingWasGiven) {
  const StatusOr<OwnFlagValues> values = OwnFlagValues::Read(Declared(), {});
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_THAT(values->Integers("hidden_units"), ElementsAre(100, 50));
  EXPECT_EQ(values->Number("decay"), 0.04);
  EXPECT_EQ(values->Integer("delay"), 3);
  EXPECT_TRUE(values->Has("code"));
  EXPECT_EQ(values->Choice("code"), "none");
  EXPECT_FALSE(values->Has("filters"));
}

TEST(OwnFlagsTest, GivenValuesWin) {
  const StatusOr<OwnFlagValues> values = OwnFlagValues::Read(
      Declared(),
      {{"hidden_units", "7"}, {"filters", "32"}, {"decay", "0"}, {"delay", "0"}, {"code", "fp16"}, {"other", "x"}});
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_THAT(values->Integers("hidden_units"), ElementsAre(7));
  EXPECT_EQ(values->Integer("filters"), 32);
  EXPECT_EQ(values->Number("decay"), 0);
  EXPECT_EQ(values->Integer("delay"), 0);
  EXPECT_EQ(values->Choice("code"), "fp16");
  EXPECT_FALSE(values->Has("other"));
}

TEST(OwnFlagsTest, WrongValuesNameTheFlag) {
  for (const auto& [name, text] : std::vector<std::pair<std::string, std::string>>{{"hidden_units", "10,0"},
                                                                                   {"hidden_units", ""},
                                                                                   {"filters", "3,4"},
                                                                                   {"filters", "2.5"},
                                                                                   {"decay", "-1"},
                                                                                   {"delay", "-1"},
                                                                                   {"delay", "1.5"},
                                                                                   {"code", "fp8"},
                                                                                   {"code", "fp16,none"}}) {
    const StatusOr<OwnFlagValues> values = OwnFlagValues::Read(Declared(), {{name, text}});
    EXPECT_TRUE(absl::IsInvalidArgument(values.status())) << name;
    EXPECT_THAT(std::string(values.status().message()), HasSubstr(absl::StrCat("--", name, "=", text)));
  }
}

}  // namespace
}  // namespace millstream::cli
