// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/server_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "millstream/base/file.h"
#include "millstream/proto/tensorflow_server.pb.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;

ServerOptions Options(const std::string& address) {
  ServerOptions options;
  options.cluster = *ClusterSpec::FromHosts({{"ps", address}});
  options.job_name = "ps";
  return options;
}

TEST(ServerOptionsTest, ServerDefAndBack) {
  proto::ServerDef def;
  ServerOptions options = Options("127.0.0.1:2222");
  options.port = 5000;
  options.ToProto(&def);
  const ServerOptions back = *ServerOptions::FromProto(def);
  EXPECT_EQ(back.cluster, options.cluster);
  EXPECT_EQ(back.task_name(), "/job:ps/replica:0/task:0");
  EXPECT_EQ(back.AddressToBind()->port, 5000);
  def.set_task_index(3);
  EXPECT_TRUE(absl::IsInvalidArgument(ServerOptions::FromProto(def).status()));
  def.set_task_index(0);
  def.set_protocol("carrier-pigeon");
  EXPECT_TRUE(absl::IsNotFound(ServerOptions::FromProto(def).status()));
}

TEST(ServerOptionsTest, LoopbackStaysLoopback) {
  EXPECT_EQ(Options("127.0.0.1:2222").AddressToBind()->host, "127.0.0.1");
  EXPECT_EQ(Options("localhost:2222").AddressToBind()->host, "localhost");
  EXPECT_EQ(Options("[::1]:2222").AddressToBind()->host, "::1");
}

TEST(ServerOptionsTest, OtherAddressesNeedLeave) {
  ServerOptions options = Options("192.0.2.1:2222");
  const Status status = options.AddressToBind().status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  for (const char* way : {"MILLSTREAM_TOKEN_FILE", "MILLSTREAM_TLS_CA", "--insecure", "192.0.2.1:2222"}) {
    EXPECT_THAT(std::string(status.message()), HasSubstr(way));
  }
  options.insecure = true;
  EXPECT_EQ(options.AddressToBind()->host, "0.0.0.0");
  options.insecure = false;
  options.token = "t";
  EXPECT_TRUE(options.AddressToBind().ok());
  options.token = "";
  options.tls = {.cert = "c", .key = "k", .ca = "", .server_name = ""};
  EXPECT_FALSE(options.AddressToBind().ok());  // encrypted, but open to everybody
  options.tls.ca = "ca";
  EXPECT_TRUE(options.AddressToBind().ok());
  options = Options("127.0.0.1:2222");
  options.bind_address = "0.0.0.0";
  EXPECT_FALSE(options.AddressToBind().ok());
}

TEST(ServerOptionsTest, FilesAreConfinedBeyondLoopback) {
  ServerOptions options;
  EXPECT_THAT(options.FileRootsFor({"127.0.0.1", 1}), ::testing::IsEmpty());
  EXPECT_THAT(options.FileRootsFor({"0.0.0.0", 1}), ::testing::ElementsAre("."));
  setenv("MILLSTREAM_FILE_ROOT", "/a:/b", 1);
  EXPECT_TRUE(options.ReadEnvironment().ok());
  unsetenv("MILLSTREAM_FILE_ROOT");
  EXPECT_THAT(options.FileRootsFor({"127.0.0.1", 1}), ::testing::ElementsAre("/a", "/b"));
  EXPECT_THAT(options.FileRootsFor({"0.0.0.0", 1}), ::testing::ElementsAre("/a", "/b"));
}

TEST(ServerOptionsTest, TasksAndClientsNameThemselves) {
  ServerOptions options = Options("192.0.2.1:2222");
  options.token = "t";
  const RpcChannelOptions task = options.channel_options("/job:ps/replica:0/task:1");
  EXPECT_EQ(task.role, Role::kTask);
  EXPECT_EQ(task.name, options.task_name());
  EXPECT_EQ(task.server, "/job:ps/replica:0/task:1");
  options.job_name = "";
  EXPECT_EQ(options.channel_options().role, Role::kClient);
  EXPECT_EQ(options.channel_options().name, "");
  setenv("MILLSTREAM_SERVER_TASK", "/job:ps/replica:0/task:0", 1);
  EXPECT_EQ(ChannelOptionsFromEnvironment()->server, "/job:ps/replica:0/task:0");
  unsetenv("MILLSTREAM_SERVER_TASK");
  EXPECT_EQ(ChannelOptionsFromEnvironment()->server, "");
}

TEST(ServerOptionsTest, AServerNeedsTheJobTokenItself) {
  ServerOptions options = Options("192.0.2.1:2222");
  options.token = "the token";
  EXPECT_EQ(options.Check(), OkStatus());
  options.token = RoleToken("the token", Role::kClient);
  EXPECT_TRUE(absl::IsInvalidArgument(options.Check()));
}

TEST(ServerOptionsTest, Environment) {
  const std::string file = ::testing::TempDir() + "millstream_token";
  ASSERT_TRUE(WriteFileAtomically(file, " secret\n").ok());
  setenv("MILLSTREAM_TOKEN_FILE", file.c_str(), 1);
  setenv("MILLSTREAM_LINKS", "tcp,grpc", 1);
  setenv("MILLSTREAM_DEADLINE_MS", "1500", 1);
  ServerOptions options = Options("192.0.2.1:2222");
  EXPECT_EQ(options.ReadEnvironment(), OkStatus());
  EXPECT_EQ(options.token, "secret");
  EXPECT_FALSE(options.shm);
  EXPECT_TRUE(options.tcp && options.grpc);
  EXPECT_EQ(options.deadline, std::chrono::milliseconds(1500));
  setenv("MILLSTREAM_MAX_MESSAGE_BYTES", "1000", 1);
  EXPECT_EQ(options.ReadEnvironment(), OkStatus());
  EXPECT_EQ(options.max_message_bytes, 1000);
  setenv("MILLSTREAM_MAX_MESSAGE_BYTES", "3000000000", 1);
  EXPECT_TRUE(absl::IsInvalidArgument(options.ReadEnvironment()));
  unsetenv("MILLSTREAM_MAX_MESSAGE_BYTES");
  setenv("MILLSTREAM_LINKS", "telepathy", 1);
  EXPECT_TRUE(absl::IsInvalidArgument(options.ReadEnvironment()));
  for (const char* name : {"MILLSTREAM_TOKEN_FILE", "MILLSTREAM_LINKS", "MILLSTREAM_DEADLINE_MS"}) unsetenv(name);
  ASSERT_TRUE(DeleteFile(file).ok());
  EXPECT_TRUE(absl::IsNotFound(ReadTokenFile(file).status()));
}

}  // namespace
}  // namespace millstream
