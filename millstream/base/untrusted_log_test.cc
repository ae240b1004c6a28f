// SPDX-License-Identifier: Apache-2.0
#include "millstream/base/untrusted_log.h"

#include <gtest/gtest.h>

#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace millstream {
namespace {

using namespace std::chrono_literals;

TEST(EscapeUntrustedTest, EveryByteBecomesPrintableAndStaysDistinct) {
  std::vector<std::string> seen;
  for (int byte = 0; byte < 256; ++byte) {
    const std::string escaped = EscapeUntrusted(std::string(1, static_cast<char>(byte)));
    for (const char c : escaped) EXPECT_TRUE(c >= ' ' && c <= '~') << byte;
    for (const std::string& other : seen) EXPECT_NE(escaped, other);
    seen.push_back(escaped);
  }
  EXPECT_EQ(EscapeUntrusted("it's \"plain\" text"), "it's \"plain\" text");
  EXPECT_EQ(EscapeUntrusted("a\nb\x1b[31m\\"), "a\\nb\\x1b[31m\\\\");
}

TEST(EscapeUntrustedTest, LongTextIsCutAndCounted) {
  EXPECT_EQ(EscapeUntrusted("abcdef", 4), "abcd... (2 bytes more)");
  EXPECT_EQ(EscapeUntrusted("abcd", 4), "abcd");
  EXPECT_LT(EscapeUntrusted(std::string(1'000'000, '\n')).size(), 2000u);
}

class UntrustedLogTest : public ::testing::Test {
 protected:
  UntrustedLogTest() : log_([this](LogLevel, absl::string_view line) { lines_.emplace_back(line); }) {}
  void Write(absl::string_view event, absl::string_view message, std::chrono::seconds at = 0s) {
    log_.Write(LogLevel::kWarning, event, message, UntrustedLog::Clock::time_point() + 1000s + at);
  }
  std::vector<std::string> lines_;
  UntrustedLog log_;
};

TEST_F(UntrustedLogTest, RepeatsAtMostSoOftenAndSaysHowManyWereLeftOut) {
  for (int i = 0; i < 1000; ++i) Write("refused", absl::StrCat("attempt ", i));
  ASSERT_EQ(lines_.size(), static_cast<size_t>(UntrustedLog::kLinesPerPeriod));
  EXPECT_EQ(lines_[0], "attempt 0");
  Write("refused", "still within the minute", 59s);
  EXPECT_EQ(lines_.size(), static_cast<size_t>(UntrustedLog::kLinesPerPeriod));
  Write("refused", "later", 60s);
  ASSERT_EQ(lines_.size(), static_cast<size_t>(UntrustedLog::kLinesPerPeriod) + 1);
  EXPECT_EQ(lines_.back(), "later (996 more lines of this kind were left out before)");
  Write("refused", "and again", 61s);
  EXPECT_EQ(lines_.back(), "and again");
}

TEST_F(UntrustedLogTest, EventsDoNotShareTheirAllowance) {
  for (int i = 0; i < 10; ++i) Write("one", "one");
  Write("two", "two");
  EXPECT_EQ(lines_.back(), "two");
}

TEST_F(UntrustedLogTest, ManyEventsTakeNoMoreMemoryAndOneAllowance) {
  for (int i = 0; i < 10'000; ++i) Write(absl::StrCat("event ", i), "line");
  EXPECT_LE(lines_.size(), UntrustedLog::kMaxEvents + UntrustedLog::kLinesPerPeriod);
}

TEST_F(UntrustedLogTest, MessagesAreEscaped) {
  Write("hello", "name 'x\n2026-01-01 00:00:00 E all is lost'");
  ASSERT_EQ(lines_.size(), 1u);
  EXPECT_TRUE(absl::StrContains(lines_[0], "x\\n2026")) << lines_[0];
}

}  // namespace
}  // namespace millstream
