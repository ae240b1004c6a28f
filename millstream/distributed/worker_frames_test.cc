// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "millstream/distributed/protocol.h"
#include "millstream/distributed/worker.h"

namespace millstream {
namespace {

// Keeps what is sent.
class KeepingLink final : public PeerLink {
 public:
  KeepingLink() : PeerLink("/job:local/replica:0/task:1", 1) {}
  void Send(Frame frame) override { sent.push_back(std::move(frame)); }
  void Close(Status) override {}
  const char* transport() const override { return "none"; }
  int64_t last_heard_ns() const override { return 0; }
  std::vector<Frame> sent;
};

WorkerOptions OptionsOfTask0() {
  WorkerOptions options;
  options.task = "/job:local/replica:0/task:0";
  options.incarnation = 7;
  return options;
}

// A frame whose payload is refused is never delivered: the answer must come from whoever refuses.
TEST(WorkerFrames, ARequestWithAPayloadIsAnswered) {
  Worker worker(OptionsOfTask0(),
                [](const std::string& task, const std::string&, uint64_t) -> StatusOr<std::shared_ptr<PeerLink>> {
                  return errors::Unavailable("no task ", task);
                });
  const auto link = std::make_shared<KeepingLink>();
  Frame frame;
  frame.kind = kRunPart;
  frame.step = 9;
  frame.tag = 3;
  frame.body = std::string(2, '\0');
  EXPECT_TRUE(absl::IsInvalidArgument(worker.AllocatePayload(*link, frame, 5000).status()));
  ASSERT_EQ(link->sent.size(), 1u);
  EXPECT_EQ(link->sent[0].kind, static_cast<uint32_t>(kPartDone));
  EXPECT_EQ(link->sent[0].step, 9u);
  EXPECT_EQ(link->sent[0].tag, 3u);
  EXPECT_EQ(link->sent[0].edge, static_cast<uint32_t>(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace millstream
