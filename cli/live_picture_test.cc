// SPDX-License-Identifier: Apache-2.0
#include "cli/live_picture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace millstream::cli {
namespace {

class LivePictureTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(pipe(ends_), 0); }
  void TearDown() override {
    close(ends_[0]);
    close(ends_[1]);
  }
  // What was written since the last call.
  std::string Take() {
    char buffer[4096];
    const ssize_t got = read(ends_[0], buffer, sizeof(buffer));
    return {buffer, static_cast<size_t>(std::max<ssize_t>(got, 0))};
  }

  int ends_[2] = {-1, -1};
};

TEST_F(LivePictureTest, DrawsOverItselfFromTheFirstColumn) {
  LivePicture picture(ends_[1]);
  picture.Draw({"one", "two"});
  EXPECT_EQ(Take(), "\rone\x1b[K\ntwo\x1b[K\n\x1b[J");
  picture.Draw({"three"});
  EXPECT_EQ(Take(), "\r\x1b[2Athree\x1b[K\n\x1b[J");
}

TEST_F(LivePictureTest, MessagesGoAboveAndTheTextBelowIsWhole) {
  LivePicture picture(ends_[1]);
  picture.Draw({"one", "two"});
  Take();
  picture.PrintAbove("news");
  EXPECT_EQ(Take(), "\r\x1b[2A\x1b[Jnews\none\ntwo\n");
}

TEST_F(LivePictureTest, CountsTheRowsOfLinesThatTheTerminalWraps) {
  LivePicture picture(ends_[1]);
  picture.Draw({std::string(100, 'x')});  // a pipe counts as 80 columns
  Take();
  picture.Draw({"x"});
  EXPECT_THAT(Take(), ::testing::StartsWith("\r\x1b[2A"));
}

}  // namespace
}  // namespace millstream::cli
