// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "millstream/graph/scope.h"
#include "millstream/runtime/session.h"

namespace millstream {
namespace {

StatusOr<std::vector<Tensor>> Decode(const std::string& record) {
  Scope s = Scope::Root();
  s.WithOpName("csv").Add("DecodeCSV",
                          {s.Const(Tensor::Vector<std::string>({record})), s.Const(Tensor::Vector<int32_t>({7})),
                           s.Const(Tensor(DType::kString, Shape({0})))});
  RETURN_IF_ERROR(s.status());
  ASSIGN_OR_RETURN(std::unique_ptr<Session> session, NewSession());
  RETURN_IF_ERROR(session->Extend(*s.graph()));
  std::vector<Tensor> out;
  RETURN_IF_ERROR(session->Run({}, {"csv:0", "csv:1"}, {}, &out));
  return out;
}

TEST(DecodeCsvTest, QuotesAndDefaults) {
  const auto plain = Decode("3,text");
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_EQ((*plain)[0].data<int32_t>()[0], 3);
  EXPECT_EQ((*plain)[1].data<std::string>()[0], "text");
  const auto quoted = Decode(",\"a \"\"b\"\", c\"");
  ASSERT_TRUE(quoted.ok()) << quoted.status();
  EXPECT_EQ((*quoted)[0].data<int32_t>()[0], 7);
  EXPECT_EQ((*quoted)[1].data<std::string>()[0], "a \"b\", c");
}

TEST(DecodeCsvTest, Refusals) {
  for (const char* bad : {"1", "1,2,3", "x,text", "1,", "1,\"open", "1,\"a\"b", "1,a\"b"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(Decode(bad).status())) << bad;
  }
}

}  // namespace
}  // namespace millstream
