// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/observer/trace_requests.h"

#include <gtest/gtest.h>

#include <thread>

namespace millstream {
namespace {

// Runs one step of a signature; returns whether it was traced.
bool Step(TraceRequests& requests, const SignatureWork& work, const std::string& name) {
  if (!requests.wanted()) return false;
  const std::shared_ptr<TraceRequests::Trace> trace = requests.Begin([&] { return work; });
  if (trace == nullptr) return false;
  trace->stats.add_dev_stats()->set_device(name);
  TraceRequests::End(*trace);
  return true;
}

std::string NameOf(const StatusOr<proto::StepStats>& stats) {
  return stats.ok() ? stats->dev_stats(0).device() : std::string(stats.status().message());
}

TEST(TraceRequestsTest, TakesAStepOfTheSignatureThatDoesTheWork) {
  const SignatureWork training{100, 50}, step_read{3, 500}, save{300, 2}, init{400, 0};
  TraceRequests requests([&] { return training.total(); });
  StatusOr<proto::StepStats> got = errors::Internal("");
  std::thread asks([&] { got = requests.Next(std::chrono::seconds(60)); });
  while (!requests.wanted()) std::this_thread::yield();
  for (int i = 0; i < 10; ++i) {
    Step(requests, step_read, "step read");
    Step(requests, save, "save");
    Step(requests, init, "init");
  }
  EXPECT_TRUE(requests.wanted());
  EXPECT_TRUE(Step(requests, training, "training"));
  asks.join();
  EXPECT_EQ(NameOf(got), "training");
  EXPECT_FALSE(requests.wanted());
}

TEST(TraceRequestsTest, TakesTheLargestStepWhereNoneRepeats) {
  TraceRequests requests([] { return 0; });
  StatusOr<proto::StepStats> got = errors::Internal("");
  std::thread asks([&] { got = requests.Next(std::chrono::seconds(60)); });
  while (!requests.wanted()) std::this_thread::yield();
  EXPECT_TRUE(Step(requests, {3, 0}, "small"));
  EXPECT_TRUE(Step(requests, {30, 0}, "large"));
  EXPECT_FALSE(Step(requests, {3, 1}, "small"));
  asks.join();
  EXPECT_EQ(NameOf(got), "large");
}

TEST(TraceRequestsTest, EndsWithoutAStep) {
  TraceRequests requests([] { return 0; });
  EXPECT_TRUE(absl::IsDeadlineExceeded(requests.Next(std::chrono::milliseconds(10)).status()));
  Cancellation cancellation;
  cancellation.StartCancel();
  EXPECT_TRUE(absl::IsCancelled(requests.Next(std::chrono::seconds(60), &cancellation).status()));
  EXPECT_FALSE(requests.wanted());
}

}  // namespace
}  // namespace millstream
