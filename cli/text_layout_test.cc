// SPDX-License-Identifier: Apache-2.0
#include "cli/text_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millstream::cli {
namespace {

using ::testing::ElementsAre;

TEST(WrapFieldsTest, OneLineWhereItFits) {
  EXPECT_THAT(WrapFields({"step 1", "loss 2"}, 14, 2), ElementsAre("step 1  loss 2"));
}

TEST(WrapFieldsTest, BreaksBetweenFields) {
  EXPECT_THAT(WrapFields({"step 1", "loss 2", "ETA 3"}, 13, 2), ElementsAre("step 1", "  loss 2", "  ETA 3"));
}

TEST(WrapFieldsTest, LongFieldsBreakBetweenWordsAndLongWordsAnywhere) {
  EXPECT_THAT(WrapFields({"one two three"}, 8, 1), ElementsAre("one two", " three"));
  EXPECT_THAT(WrapFields({"abcdefghij"}, 5, 1), ElementsAre("abcde", " fghi", " j"));
}

TEST(WrapFieldsTest, CountsCharactersNotBytes) {
  EXPECT_THAT(WrapFields({"██████", "██████"}, 14, 0), ElementsAre("██████  ██████"));
  EXPECT_THAT(WrapFields({"██████"}, 4, 0), ElementsAre("████", "██"));
}

TEST(WrapFieldsTest, NothingIsLostInANarrowTerminal) {
  for (int columns = 1; columns < 30; ++columns) {
    std::string all;
    for (const std::string& line : WrapFields({"step 1,234/3,000", "accuracy 97.81 %"}, columns, 4)) {
      EXPECT_LE(ColumnsOf(line), std::max(columns, 2));
      for (const char c : line) all += c == ' ' ? "" : std::string(1, c);
    }
    EXPECT_EQ(all, "step1,234/3,000accuracy97.81%");
  }
}

TEST(WrapWordsTest, FurtherLinesBeginUnderTheFirstWord) {
  EXPECT_THAT(WrapWords("  result  ", "97 % on all", 15),
              ElementsAre("  result  97 %", "          on", "          all"));
  EXPECT_THAT(WrapWords("  ", "", 10), ElementsAre("  "));
}

TEST(WrapWordsTest, LongWordsMayStayWhole) {
  EXPECT_THAT(WrapWords("  ", "see /a/long/path now", 8, LongWords::kKeep),
              ElementsAre("  see", "  /a/long/path", "  now"));
}

}  // namespace
}  // namespace millstream::cli
