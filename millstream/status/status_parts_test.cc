// SPDX-License-Identifier: Apache-2.0
// The small parts behind the status page.
#include <gtest/gtest.h>

#include <cmath>

#include "millstream/status/history.h"
#include "millstream/status/json_text.h"
#include "millstream/status/prometheus.h"
#include "millstream/status/task_reports.h"

namespace millstream {
namespace {

class StandInLink final : public PeerLink {
 public:
  StandInLink() : PeerLink("/job:ps/replica:0/task:0", 1) {}
  void Send(Frame) override { counters_.bytes_sent += 10; }
  void Close(Status) override {}
  const char* transport() const override { return "shm"; }
  int64_t last_heard_ns() const override { return 5; }
  size_t queued_frames() override { return 2; }
};

TEST(StatusPartsTest, SumsOfLinksNeverFall) {
  TaskReports reports;
  auto first = std::make_shared<StandInLink>(), second = std::make_shared<StandInLink>();
  reports.links.Opened(*first);
  reports.links.Opened(*second);
  first->Send({});
  second->Send({});
  ASSERT_EQ(reports.links.Rows().size(), 1u);
  EXPECT_EQ(reports.links.Rows()[0].open, 2);
  EXPECT_EQ(reports.links.Rows()[0].queued_frames, 4u);
  reports.LinkClosed(*first, errors::Unavailable("gone"));
  reports.LinkClosed(*first, errors::Cancelled("again"));
  first.reset();
  const LinkTable::Row row = reports.links.Rows()[0];
  EXPECT_EQ(row.open, 1);
  EXPECT_EQ(row.bytes_sent, 20u);
  ASSERT_EQ(reports.errors.List().size(), 1u);
  EXPECT_EQ(reports.errors.List()[0].where, "link to /job:ps/replica:0/task:0");
}

TEST(StatusPartsTest, ErrorsAreCountedAndBounded) {
  RecentErrors errors;
  for (int i = 0; i < 200; ++i) errors.Add("step", errors::Internal("error ", i));
  errors.Add("step", errors::Internal("error 199"));
  errors.Add("step", OkStatus());
  errors.Add("step", errors::Internal(std::string(5000, 'x')));
  const auto list = errors.List();
  EXPECT_EQ(list.size(), RecentErrors::kMaxEntries);
  EXPECT_EQ(list[0].message.size(), RecentErrors::kMaxMessage);
  EXPECT_EQ(list[1].message, "error 199");
  EXPECT_EQ(list[1].count, 2u);
  EXPECT_EQ(errors.total(), 202u);
}

TEST(StatusPartsTest, EndsOfInputAreNoErrors) {
  TaskReports reports;
  reports.StepFailed(errors::OutOfRange("end"));
  reports.StepFailed(errors::Cancelled("closed"));
  reports.StepFailed(errors::Internal("broken"));
  EXPECT_EQ(reports.errors.List().size(), 1u);
}

TEST(StatusPartsTest, FetchedNumbers) {
  FetchedScalars scalars;
  EXPECT_EQ(scalars.Find("labels:0", DType::kInt64, true), nullptr);
  EXPECT_EQ(scalars.Find("name:0", DType::kString, true), nullptr);
  const auto step = scalars.Find("train/global_step:0", DType::kInt64, true);
  const auto loss = scalars.Find("loss:0", DType::kFloat, true);
  ASSERT_TRUE(step != nullptr && loss != nullptr);
  EXPECT_EQ(scalars.Find("loss:0", DType::kFloat, true), loss);
  EXPECT_NE(scalars.Find("loss:0", DType::kFloat, false), loss);
  EXPECT_TRUE(scalars.List().empty());
  loss->Fetched(Tensor());
  loss->Fetched(Tensor::Vector<float>({1, 2}));
  loss->Fetched(Tensor::Scalar<float>(0.5f));
  ASSERT_EQ(scalars.List().size(), 1u);
  EXPECT_EQ(scalars.List()[0].value, 0.5);
  EXPECT_EQ(scalars.List()[0].count, 1u);
  EXPECT_TRUE(scalars.List()[0].trains);
  for (int i = 0; i < 200; ++i) {
    if (auto more = scalars.Find("x" + std::to_string(i), DType::kFloat, true)) more->Fetched(Tensor::Scalar<float>(1));
  }
  EXPECT_EQ(scalars.List().size(), FetchedScalars::kMaxNames);  // the step made room: it was never fetched
}

TEST(StatusPartsTest, HistoryReachesBackToItsBeginning) {
  for (const int count : {1, 3, 4, 5, 31, 32, 33, 1000, 12345}) {
    History<int> history(32);
    for (int i = 0; i < count; ++i) history.Add(i);
    const std::vector<int>& points = history.points();
    EXPECT_LE(points.size(), 32u);
    EXPECT_GE(points.size(), std::min<size_t>(count, 12));
    EXPECT_EQ(points.front(), 0);
    EXPECT_EQ(points.back(), count - 1);
    for (size_t i = 1; i + 1 < points.size(); ++i) {
      EXPECT_EQ(points[i] - points[i - 1], points[1] - points[0]) << count;  // evenly spaced, but for the newest
    }
  }
}

TEST(StatusPartsTest, PrometheusText) {
  const std::string text =
      PrometheusText(R"({"task":"/job:a\"\\\n","version":"1","steps":{"ended":3,"failed":0},"scalars":[
      {"name":"loss","source":"fetch","value":0.25},{"name":"loss","source":"evaluation","run":"eval","value":0.5},
      {"name":"nan","source":"fetch","value":null}],"links":[{"peer":"p","transport":"shm",
      "bytes_sent":12345678901234}],"accumulators":[{"name":"g","applied":5,"dropped":1}],
      "staleness_clocks":[{"name":"ssp","bound":2,"waiting":1,"staleness":[4,2,1]}]})");
  for (const char* line : {
           "# TYPE millstream_steps_total counter\nmillstream_steps_total{task=\"/job:a\\\"\\\\\\n\"} 3\n",
           "millstream_scalar{task=\"/job:a\\\"\\\\\\n\",name=\"loss\",source=\"fetch\"} 0.25\n",
           "name=\"loss\",source=\"evaluation\",run=\"eval\"} 0.5\n",
           "peer=\"p\",transport=\"shm\",direction=\"sent\"} 12345678901234\n",
           "accumulator=\"g\",result=\"dropped\"} 1\n",
           "# TYPE millstream_ssp_staleness histogram\n",
           "clock=\"ssp\",le=\"0\"} 4\n",
           "clock=\"ssp\",le=\"1\"} 6\n",
           "clock=\"ssp\",le=\"2\"} 7\n",
           "clock=\"ssp\",le=\"+Inf\"} 7\n",
           "clock=\"ssp\"} 2\n",
           "millstream_up{task=\"/job:a\\\"\\\\\\n\"} 1\n",
       }) {
    EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text;
  }
  EXPECT_EQ(text.find("nan"), std::string::npos);
  EXPECT_NE(PrometheusText(R"({"tasks":[{"task":"a","health":"down"}]})").find("millstream_up{task=\"a\"} 0\n"),
            std::string::npos);
  // Other tasks may answer anything.
  for (const char* json :
       {"", "[", "7", "null", "[[[[", R"({"tasks":5})", R"({"tasks":[1,{"links":3,"steps":[],"queues":{"a":[]}}]})"}) {
    (void)PrometheusText(json);
  }
}

TEST(StatusPartsTest, AnyBytesBecomeJson) {
  EXPECT_EQ(ToText({{"a", "\xff\xfe"}}), "{\"a\":\"\xef\xbf\xbd\xef\xbf\xbd\"}");
  EXPECT_EQ(ToText({{"a", std::nan("")}}), "{\"a\":null}");
  EXPECT_TRUE(ParseJson(std::string(100000, '[')).is_discarded());
}

}  // namespace
}  // namespace millstream
