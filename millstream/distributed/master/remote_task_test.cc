// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/master/remote_task.h"

#include <gtest/gtest.h>

#include <thread>

namespace millstream {
namespace {

// A server that was stopped: it answers nothing, until the deadline of a call.
class SilentChannel final : public RpcChannel {
 public:
  ~SilentChannel() override {
    for (std::thread& thread : calls_) thread.join();
  }
  Status Call(const std::string&, const google::protobuf::Message&, google::protobuf::Message*,
              const RpcCallOptions&) override {
    return errors::Unimplemented("");
  }
  void CallAsync(const std::string&, const google::protobuf::Message&, google::protobuf::Message*,
                 const RpcCallOptions& options, std::function<void(Status)> done) override {
    calls_.emplace_back([deadline = options.deadline, done = std::move(done)] {
      std::this_thread::sleep_until(deadline);
      done(errors::DeadlineExceeded("too late"));
    });
  }
  Status AwaitServer(const RpcCallOptions&) override { return OkStatus(); }
  bool connected() override { return true; }
  const std::string& address() const override { return address_; }

 private:
  const std::string address_ = "10.0.0.1:2222";
  std::vector<std::thread> calls_;
};

TEST(RemoteTaskTest, ATaskThatDoesNotAnswerIsNamedAndIsAnOutage) {
  RemoteTask::Options options;
  options.name = "/job:ps/replica:0/task:0";
  options.address = "10.0.0.1:2222";
  options.own_task = "/job:worker/replica:0/task:1";
  options.deadline = std::chrono::milliseconds(90);
  options.channel = std::make_shared<SilentChannel>();
  RemoteTask task(options, FrameRouter());
  ::testing::internal::CaptureStderr();
  const Status status = task.Reset({});
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_NE(status.message().find("/job:ps/replica:0/task:0 at 10.0.0.1:2222 did not answer Reset within 0.09 s"),
            absl::string_view::npos)
      << status;
  EXPECT_NE(log.find("/job:worker/replica:0/task:1: waiting for /job:ps/replica:0/task:0 at 10.0.0.1:2222"),
            std::string::npos)
      << log;
}

}  // namespace
}  // namespace millstream
