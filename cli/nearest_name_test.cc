// SPDX-License-Identifier: Apache-2.0
#include "cli/nearest_name.h"

#include <gtest/gtest.h>

namespace millstream::cli {
namespace {

const std::vector<std::string>& Names() {
  static const auto* names = new std::vector<std::string>{"train", "trace", "launch", "stop", "completion"};
  return *names;
}

TEST(NearestNameTest, FewestEdits) {
  EXPECT_EQ(NearestName("trian", Names()), "train");
  EXPECT_EQ(NearestName("lanch", Names()), "launch");
  EXPECT_EQ(NearestName("traced", Names()), "trace");
}

TEST(NearestNameTest, BeginningOfAName) { EXPECT_EQ(NearestName("comp", Names()), "completion"); }

TEST(NearestNameTest, NothingForAnotherWord) {
  EXPECT_EQ(NearestName("foo", Names()), "");
  EXPECT_EQ(DidYouMean("kubernetes", Names()), "");
}

TEST(NearestNameTest, Question) { EXPECT_EQ(DidYouMean("stopp", Names()), ", did you mean 'stop'?"); }

}  // namespace
}  // namespace millstream::cli
