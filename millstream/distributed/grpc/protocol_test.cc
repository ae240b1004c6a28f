// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/grpc/protocol.h"

#include <gtest/gtest.h>

namespace millstream {
namespace {

using namespace std::chrono_literals;

TEST(GrpcProtocolTest, PercentEncodingKeepsAllBytes) {
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  const std::string encoded = PercentEncode(all);
  for (const char c : encoded) EXPECT_TRUE(c >= ' ' && c <= '~');
  EXPECT_EQ(PercentDecode(encoded), all);
  EXPECT_EQ(PercentEncode("50 %\n"), "50 %25%0A");
}

TEST(GrpcProtocolTest, BadPercentSignsStay) {
  for (const char* text : {"%", "100%", "%4", "%zz", "a%2", "%%"}) EXPECT_EQ(PercentDecode(text), text);
  EXPECT_EQ(PercentDecode("%41%"), "A%");
}

TEST(GrpcProtocolTest, TimeoutsAreReadInEveryUnit) {
  EXPECT_EQ(ParseTimeout("1H"), 1h);
  EXPECT_EQ(ParseTimeout("2M"), 2min);
  EXPECT_EQ(ParseTimeout("3S"), 3s);
  EXPECT_EQ(ParseTimeout("4m"), 4ms);
  EXPECT_EQ(ParseTimeout("5u"), 5us);
  EXPECT_EQ(ParseTimeout("6n"), 6ns);
  EXPECT_EQ(ParseTimeout("99999999H"), std::chrono::nanoseconds::max());
  for (const char* text : {"", "S", "5", "5x", "-1S", "123456789S", "1.5S", " 1S"})
    EXPECT_EQ(ParseTimeout(text), std::nullopt) << text;
}

TEST(GrpcProtocolTest, TimeoutsAreWrittenNeverTooShort) {
  for (const std::chrono::nanoseconds timeout :
       {std::chrono::nanoseconds(1ns), std::chrono::nanoseconds(99'999'999ns), std::chrono::nanoseconds(100'000'001ns),
        std::chrono::nanoseconds(30s), std::chrono::nanoseconds(1000h)}) {
    const std::string text = FormatTimeout(timeout);
    EXPECT_LE(text.size(), 9u);
    ASSERT_TRUE(ParseTimeout(text).has_value()) << text;
    EXPECT_GE(*ParseTimeout(text), timeout);
  }
  EXPECT_EQ(FormatTimeout(-5s), "1n");
}

TEST(GrpcProtocolTest, Statuses) {
  EXPECT_EQ(StatusFromText("0", ""), OkStatus());
  EXPECT_EQ(StatusFromText("5", "no%20such"), errors::NotFound("no such"));
  for (const char* code : {"", "17", "-1", "x"})
    EXPECT_EQ(StatusFromText(code, "").code(), absl::StatusCode::kUnknown) << code;
  EXPECT_TRUE(absl::IsUnavailable(StatusFromHttp("404")));
  EXPECT_TRUE(absl::IsUnavailable(StatusFromHttp("503")));
  EXPECT_TRUE(absl::IsPermissionDenied(StatusFromHttp("403")));
}

TEST(GrpcProtocolTest, SecretsAndStrangeText) {
  EXPECT_TRUE(SameSecret("", ""));
  EXPECT_TRUE(SameSecret("abc", "abc"));
  EXPECT_FALSE(SameSecret("abc", "abd"));
  EXPECT_FALSE(SameSecret("abc", "ab"));
  EXPECT_EQ(Printable("a\n\x1b[31m"), "a\\n\\x1b[31m");
  EXPECT_LE(Printable(std::string(10000, '\n')).size(), 400u);
}

}  // namespace
}  // namespace millstream
