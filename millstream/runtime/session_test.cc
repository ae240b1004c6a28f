// SPDX-License-Identifier: Apache-2.0
#include "millstream/runtime/session.h"

#include <gtest/gtest.h>

#include "millstream/graph/scope.h"

namespace millstream {
namespace {

std::unique_ptr<Session> SessionFor(const Scope& scope, const SessionOptions& options = {}) {
  EXPECT_TRUE(scope.ok()) << scope.status();
  auto session = NewSession(options);
  EXPECT_TRUE(session.ok()) << session.status();
  const Status extended = (*session)->Extend(*scope.graph());
  EXPECT_TRUE(extended.ok()) << extended;
  return *std::move(session);
}

Output Placeholder(const Scope& s, const char* name) {
  return s.WithOpName(name).Op("Placeholder", {}, {{"dtype", DType::kFloat}});
}

TEST(SessionTest, FetchesConstantsAndFeeds) {
  Scope s = Scope::Root();
  Output c = s.WithOpName("c").Const(Tensor::Vector<float>({1, 2}));
  Output p = Placeholder(s, "p");
  s.WithOpName("pack").Op("Pack", {c, p});
  auto session = SessionFor(s);
  std::vector<Tensor> out;
  ASSERT_TRUE(session->Run({{"p:0", Tensor::Vector<float>({3, 4})}}, {"pack:0", "c", "p:0"}, {}, &out).ok());
  ASSERT_EQ(out.size(), 3u);
  EXPECT_EQ(out[0].shape(), Shape({2, 2}));
  EXPECT_EQ(out[0].data<float>()[3], 4);
  EXPECT_EQ(out[1].data<float>()[1], 2);
  EXPECT_EQ(out[2].data<float>()[0], 3);
}

TEST(SessionTest, NamesWhatIsMissing) {
  Scope s = Scope::Root();
  Output p = Placeholder(s, "p");
  s.WithOpName("i").Op("Identity", {p});
  auto session = SessionFor(s);
  std::vector<Tensor> out;
  EXPECT_EQ(session->Run({}, {"zz:0"}, {}, &out).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(session->Run({}, {}, {"zz"}, &out).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(session->Run({{"zz:0", Tensor::Scalar(1.f)}}, {"i"}, {}, &out).code(), absl::StatusCode::kNotFound);
  const Status unfed = session->Run({}, {"i:0"}, {}, &out);
  EXPECT_EQ(unfed.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(unfed.message().find("{{node p}}"), absl::string_view::npos) << unfed;
  EXPECT_EQ(session->Run({{"p", Tensor::Scalar(1.f)}, {"p:0", Tensor::Scalar(1.f)}}, {"i"}, {}, &out).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(session->Run({{"p", Tensor::Scalar<int32_t>(1)}}, {"i"}, {}, &out).code(), absl::StatusCode::kInvalidArgument);
}

TEST(SessionTest, ExtendsAndCloses) {
  Scope s = Scope::Root();
  s.WithOpName("a").Const(1.f);
  auto session = SessionFor(s);
  s.WithOpName("b").Const(2.f);
  ASSERT_TRUE(session->Extend(*s.graph()).ok());
  std::vector<Tensor> out;
  ASSERT_TRUE(session->Run({}, {"a", "b"}, {}, &out).ok());
  EXPECT_EQ(out[1].scalar<float>(), 2);
  ASSERT_TRUE(session->Close().ok());
  EXPECT_EQ(session->Run({}, {"a"}, {}, &out).code(), absl::StatusCode::kCancelled);
}

TEST(SessionTest, CallablesTakeAndGiveByPosition) {
  Scope s = Scope::Root();
  Output p = Placeholder(s, "p");
  s.WithOpName("i").Op("Identity", {p});
  auto session = SessionFor(s);
  auto handle = session->MakeCallable({"p:0"}, {"i:0"}, {});
  ASSERT_TRUE(handle.ok()) << handle.status();
  std::vector<Tensor> out;
  ASSERT_TRUE(session->RunCallable(*handle, {Tensor::Scalar(5.f)}, &out).ok());
  EXPECT_EQ(out[0].scalar<float>(), 5);
  EXPECT_FALSE(session->RunCallable(*handle, {}, &out).ok());
  EXPECT_TRUE(session->ReleaseCallable(*handle).ok());
  EXPECT_FALSE(session->RunCallable(*handle, {Tensor::Scalar(5.f)}, &out).ok());
}

}  // namespace
}  // namespace millstream
