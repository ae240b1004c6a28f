// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/cluster/cluster_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "millstream/proto/cluster.pb.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string ErrorOf(absl::string_view json) {
  const Status status = ClusterSpec::FromJson(json).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << json << ": " << status;
  return std::string(status.message());
}

TEST(ClusterSpecTest, ListsAndSparseTasks) {
  const ClusterSpec cluster =
      *ClusterSpec::FromJson(R"({"worker": {"1": "h1:2222", "3": "h3:2222"}, "ps": ["p0:1", "p1:1"]})");
  EXPECT_THAT(cluster.jobs(), ElementsAre("ps", "worker"));
  EXPECT_EQ(cluster.num_tasks(), 4);
  EXPECT_EQ(*cluster.address("ps", 1), "p1:1");
  EXPECT_EQ(*cluster.address("worker", 3), "h3:2222");
  EXPECT_TRUE(cluster.Has("worker", 1));
  EXPECT_FALSE(cluster.Has("worker", 0));
  EXPECT_EQ(cluster.all_tasks()[2].name(), "/job:worker/replica:0/task:1");
  EXPECT_EQ(cluster.ToJson(), R"({"ps":["p0:1","p1:1"],"worker":{"1":"h1:2222","3":"h3:2222"}})");
  EXPECT_EQ(*ClusterSpec::FromJson(cluster.ToJson()), cluster);
}

TEST(ClusterSpecTest, ProtoAndBack) {
  const ClusterSpec cluster = *ClusterSpec::FromJson(R"({"worker": {"7": "[::1]:2222"}, "ps": []})");
  proto::ClusterDef def;
  cluster.ToProto(&def);
  EXPECT_EQ(*ClusterSpec::FromProto(def), cluster);
  def.add_job()->set_name("ps");
  EXPECT_EQ(ClusterSpec::FromProto(def).status(),
            errors::InvalidArgument("Duplicate job ID in cluster specification: ps"));
}

TEST(ClusterSpecTest, HostFlags) {
  const ClusterSpec cluster = *ClusterSpec::FromHosts({{"ps", "a:1, b:1"}, {"worker", "c:1"}, {"chief", ""}});
  EXPECT_EQ(cluster.ToJson(), R"({"ps":["a:1","b:1"],"worker":["c:1"]})");
  EXPECT_FALSE(ClusterSpec::FromHosts({{"ps", "a:1,,b:1"}}).ok());
}

TEST(ClusterSpecTest, UnknownTasksAreNamed) {
  const ClusterSpec cluster = *ClusterSpec::FromJson(R"({"ps": ["a:1"], "worker": ["b:1", "c:1"]})");
  EXPECT_EQ(cluster.address("chief", 0).status(),
            errors::InvalidArgument("Job \"chief\" was not defined in cluster (its jobs: ps, worker)"));
  EXPECT_EQ(cluster.address("worker", 2).status(),
            errors::InvalidArgument("Task 2 was not defined in job \"worker\" (its tasks: 0, 1)"));
}

TEST(ClusterSpecTest, MalformedClusters) {
  EXPECT_THAT(ErrorOf("ps=a:1"), HasSubstr("is not a JSON object"));
  EXPECT_THAT(ErrorOf("[]"), HasSubstr("is not a JSON object"));
  EXPECT_THAT(ErrorOf(R"({"ps": "a:1"})"), HasSubstr("must be a list"));
  EXPECT_THAT(ErrorOf(R"({"ps": [1]})"), HasSubstr("must be strings"));
  EXPECT_THAT(ErrorOf(R"({"p s": ["a:1"]})"), HasSubstr("is not a job name"));
  EXPECT_THAT(ErrorOf(R"({"ps": {"x": "a:1"}})"), HasSubstr("task index 'x'"));
  EXPECT_THAT(ErrorOf(R"({"ps": {"-1": "a:1"}})"), HasSubstr("task index '-1'"));
  EXPECT_THAT(ErrorOf(R"({"ps": {"1": "a:1", "01": "b:1"}})"), HasSubstr("twice"));
  EXPECT_EQ(ErrorOf(R"({"ps": ["a:1"], "worker": ["b:1", "a:1"]})"),
            "/job:ps/replica:0/task:0 and /job:worker/replica:0/task:1 have the same address a:1");
  EXPECT_EQ(ErrorOf(R"({"ps": ["a"]})"), "/job:ps/replica:0/task:0: Could not interpret \"a\" as a host-port pair.");
  EXPECT_TRUE(ClusterSpec::FromJson(R"({"local": ["localhost:0", "localhost:0"]})").ok());
}

TEST(ClusterSpecTest, Addresses) {
  for (const char* bad : {"", ":", "a", "a:", ":1", "a:b", "a:65536", "a:-1", "a:+1", "a: 1", "a:1:2", "[::1]", "[]:1",
                          "[a]:1", "grpc://a:1", "a b:1", "a/b:1", "a:000001"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseHostPort(bad).status())) << bad;
  }
  EXPECT_EQ(ParseHostPort("worker-0.example:2222")->host, "worker-0.example");
  EXPECT_EQ(ParseHostPort("[::1]:2222")->host, "::1");
  EXPECT_EQ(ParseHostPort("127.0.0.1:0")->port, 0);
}

TEST(ClusterSpecTest, RealPortInPlaceOfAny) {
  const ClusterSpec cluster = *ClusterSpec::FromJson(R"({"local": ["localhost:0"]})");
  EXPECT_EQ(*cluster.With("local", 0, "localhost:5000")->address("local", 0), "localhost:5000");
  EXPECT_FALSE(cluster.With("local", 1, "localhost:5000").ok());
}

TEST(TfConfigTest, Reads) {
  const TfConfig config = *TfConfig::FromJson(
      R"({"cluster": {"ps": ["a:1"], "worker": ["b:1"]}, "task": {"type": "worker", "index": 0}, "environment": "cloud"})");
  EXPECT_EQ(config.job, "worker");
  EXPECT_EQ(config.task, 0);
  EXPECT_EQ(config.cluster.num_tasks(), 2);
  EXPECT_EQ(TfConfig::FromJson(R"({"task": {"type": "ps", "index": "2"}})")->task, 2);
  for (const char* bad : {"", "{", R"({"cluster": 1})", R"({"task": 1})", R"({"task": {"type": 1}})",
                          R"({"task": {"index": 1.5}})", R"({"task": {"index": -1}})"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(TfConfig::FromJson(bad).status())) << bad;
  }
}

}  // namespace
}  // namespace millstream
