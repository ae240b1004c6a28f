// SPDX-License-Identifier: Apache-2.0
#include "millstream/status/http_request.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace millstream {
namespace {

int Parse(const std::string& head) {
  HttpRequest request;
  return ParseHttpRequest(head, &request);
}

TEST(HttpRequestTest, ReadsWhatBrowsersSend) {
  HttpRequest request;
  const std::string head =
      "GET /status.json?since=12.5&task=%2Fjob%3Aps+x HTTP/1.1\r\nHost: localhost:80\r\nX-A:  b \r\nContent-Length: "
      "7\r\n\r\n";
  EXPECT_EQ(FindHeadEnd(head + "rest"), head.size());
  ASSERT_EQ(ParseHttpRequest(head, &request), 200);
  EXPECT_EQ(request.method, "GET");
  EXPECT_EQ(request.path, "/status.json");
  EXPECT_EQ(request.parameter("since"), "12.5");
  EXPECT_EQ(request.parameter("task"), "/job:ps x");
  EXPECT_EQ(request.parameter("sinc"), "");
  EXPECT_EQ(request.header("host"), "localhost:80");
  EXPECT_EQ(request.header("x-a"), "b");
  EXPECT_EQ(request.header("x-b"), "");
  EXPECT_EQ(request.content_length, 7u);
}

TEST(HttpRequestTest, MalformedParametersAreNone) {
  HttpRequest request;
  for (const char* query : {"a=%", "a=%1", "a=%zz", "a", "=b", "&&&"}) {
    ASSERT_EQ(ParseHttpRequest(absl::StrCat("GET /?", query, " HTTP/1.0\r\n\r\n"), &request), 200) << query;
    EXPECT_EQ(request.parameter("a"), "") << query;
  }
}

TEST(HttpRequestTest, RefusesWhatIsInDoubt) {
  for (const char* head : {
           "",
           "\r\n\r\n",
           "GET / HTTP/1.1\r\n",
           "GET / HTTP/1.1\n\n",
           "GET  / HTTP/1.1\r\n\r\n",
           "GET / HTTP/1.1 \r\n\r\n",
           "GET http://x/ HTTP/1.1\r\n\r\n",
           "GET * HTTP/1.1\r\n\r\n",
           "GET /\x01 HTTP/1.1\r\n\r\n",
           "GET /\xff HTTP/1.1\r\n\r\n",
           "GET /#f HTTP/1.1\r\n\r\n",
           "G(T / HTTP/1.1\r\n\r\n",
           " GET / HTTP/1.1\r\n\r\n",
           "GETGETGETGETGETGETGET / HTTP/1.1\r\n\r\n",
           "GET / HTTP/1.1\r\n: x\r\n\r\n",
           "GET / HTTP/1.1\r\nNoColon\r\n\r\n",
           "GET / HTTP/1.1\r\nA : b\r\n\r\n",
           "GET / HTTP/1.1\r\nA: b\r\n folded\r\n\r\n",
           "GET / HTTP/1.1\r\nA: b\nB: c\r\n\r\n",
           "GET / HTTP/1.1\r\nA: \x01\r\n\r\n",
           "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
           "GET / HTTP/1.1\r\nContent-Length: 1\r\ncontent-length: 1\r\n\r\n",
           "GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
           "GET / HTTP/1.1\r\nContent-Length: +1\r\n\r\n",
           "GET / HTTP/1.1\r\nContent-Length: 1,1\r\n\r\n",
           "GET / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
           "GET / HTTX/1.1\r\n\r\n",
       }) {
    EXPECT_EQ(Parse(head), 400) << head;
  }
  EXPECT_EQ(Parse(std::string("GET / HTTP/1.1\r\nA: \0b\r\n\r\n", 25)), 400);
  EXPECT_EQ(Parse("GET / HTTP/2.0\r\n\r\n"), 505);
  EXPECT_EQ(Parse("GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"), 501);
  EXPECT_EQ(Parse(absl::StrCat("GET / HTTP/1.1\r\nContent-Length: ", HttpRequest::kMaxBody + 1, "\r\n\r\n")), 413);
}

TEST(HttpRequestTest, Bounds) {
  EXPECT_EQ(Parse(absl::StrCat("GET /", std::string(3000, 'a'), " HTTP/1.1\r\n\r\n")), 414);
  EXPECT_EQ(Parse(absl::StrCat("GET / HTTP/1.1\r\nA: ", std::string(9000, 'a'), "\r\n\r\n")), 431);
  std::string many = "GET / HTTP/1.1\r\n";
  for (int i = 0; i < 65; ++i) absl::StrAppend(&many, "A: b\r\n");
  EXPECT_EQ(Parse(many + "\r\n"), 431);
}

TEST(HttpRequestTest, FindsCookies) {
  HttpRequest request;
  EXPECT_EQ(request.cookie("a"), "");
  ASSERT_EQ(ParseHttpRequest("GET / HTTP/1.1\r\nCookie: a=1; bb=2;a-b=3;empty=\r\n\r\n", &request), 200);
  EXPECT_EQ(request.cookie("a"), "1");
  EXPECT_EQ(request.cookie("bb"), "2");
  EXPECT_EQ(request.cookie("a-b"), "3");
  EXPECT_EQ(request.cookie("empty"), "");
  EXPECT_EQ(request.cookie("b"), "");
}

}  // namespace
}  // namespace millstream
