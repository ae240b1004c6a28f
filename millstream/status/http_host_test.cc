// SPDX-License-Identifier: Apache-2.0
#include "millstream/status/http_host.h"

#include <gtest/gtest.h>

namespace millstream {
namespace {

TEST(HttpHostTest, SplitsThePortOff) {
  EXPECT_EQ(HostOfHeader("localhost:80"), "localhost");
  EXPECT_EQ(HostOfHeader("localhost"), "localhost");
  EXPECT_EQ(HostOfHeader("[::1]:80"), "[::1]");
  EXPECT_EQ(HostOfHeader("[::1]"), "[::1]");
  EXPECT_EQ(HostOfHeader(""), "");
  EXPECT_EQ(HostOfHeader(":80"), "");
}

TEST(HttpHostTest, KnowsLoopbackNames) {
  for (const char* host : {"localhost", "127.0.0.1", "127.1.2.3", "[::1]"}) EXPECT_TRUE(IsLoopbackName(host)) << host;
  for (const char* host : {"", "127.", "127.0.0.1.example.com", "localhost.example.com", "10.0.0.1", "[", "::1"}) {
    EXPECT_FALSE(IsLoopbackName(host)) << host;
  }
}

TEST(HttpHostTest, KnowsNumbers) {
  for (const char* host : {"localhost", "127.0.0.1", "10.0.0.1", "[::1]", "[fe80::1]"}) {
    EXPECT_TRUE(IsAddressLiteral(host)) << host;
  }
  for (const char* host :
       {"", "example.com", "10.0.0.1.example.com", "10.0.0", "[10.0.0.1]", "[example.com]", "fe80::1"}) {
    EXPECT_FALSE(IsAddressLiteral(host)) << host;
  }
}

}  // namespace
}  // namespace millstream
