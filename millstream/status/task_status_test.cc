// SPDX-License-Identifier: Apache-2.0
#include "millstream/status/task_status.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include "millstream/distributed/server.h"

namespace millstream {
namespace {

class LinkTo final : public PeerLink {
 public:
  explicit LinkTo(int task) : PeerLink(absl::StrCat("/job:ps/replica:0/task:", task), 1) {}
  void Send(Frame) override {}
  void Close(Status) override {}
  const char* transport() const override { return "shm"; }
  int64_t last_heard_ns() const override { return 5; }
};

size_t HeapInUse() { return mallinfo2().uordblks; }

// What is remembered for hours is a few numbers for each moment, however many links a task has.
TEST(TaskStatusTest, WhatIsRememberedDoesNotGrowWithTheNumberOfLinks) {
  constexpr int kLinks = 64;
  StatusOr<std::unique_ptr<Server>> server = Server::StartLocal();
  ASSERT_EQ(server.status(), OkStatus());
  TaskReports reports;
  std::vector<std::shared_ptr<LinkTo>> links;
  for (int i = 0; i < kLinks; ++i) {
    links.push_back(std::make_shared<LinkTo>(i));
    reports.links.Opened(*links.back());
  }
  TaskStatus::Parts parts;
  parts.worker = &(*server)->worker();
  parts.master = &(*server)->master();
  parts.reports = &reports;
  TaskStatus status(parts);
  for (int i = 0; i < 20; ++i) status.Sample();
  const size_t before = HeapInUse();
  for (int i = 0; i < 580; ++i) status.Sample();
  EXPECT_LT(HeapInUse(), before + (size_t{2} << 20));
}

}  // namespace
}  // namespace millstream
