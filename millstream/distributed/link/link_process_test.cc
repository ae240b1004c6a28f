// SPDX-License-Identifier: Apache-2.0
// Links to another process: its death, its standstill, transfers beyond 2 GB, and what a link costs in memory.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <fstream>
#include <limits>
#include <thread>

#include "millstream/distributed/link/io_loop.h"
#include "millstream/distributed/link/testing/link_peers.h"
#include "millstream/distributed/link/unique_fd.h"

namespace millstream {
namespace {

using namespace std::chrono_literals;
using testing::BytesSentOnceStuck;
using testing::ChildHub;
using testing::IsPattern;
using testing::MakeFrame;
using testing::OptionsFor;
using testing::Pattern;
using testing::Recorder;
using testing::StartHub;

class ProcessLinkTest : public ::testing::TestWithParam<const char*> {
 protected:
  // A link to a new process that sends everything back.
  void Connect(const LinkOptions& options) {
    child_ = std::make_unique<ChildHub>(options);
    hub_ = StartHub("/job:worker/replica:0/task:0", options, &handler_);
    auto link = hub_->Dial(child_->endpoint(), &handler_, 10s);
    ASSERT_TRUE(link.ok()) << link.status();
    ASSERT_STREQ((*link)->transport(), GetParam());
    link_ = *link;
  }

  Recorder handler_;
  std::unique_ptr<ChildHub> child_;
  std::unique_ptr<LinkHub> hub_;
  std::shared_ptr<PeerLink> link_;
};
INSTANTIATE_TEST_SUITE_P(Transports, ProcessLinkTest, ::testing::Values("shm", "tcp"),
                         [](const auto& info) { return std::string(info.param); });

int64_t AvailableMegabytes() {
  std::ifstream info("/proc/meminfo");
  std::string word;
  while (info >> word) {
    if (word == "MemAvailable:") {
      int64_t kilobytes = 0;
      info >> kilobytes;
      return kilobytes / 1024;
    }
  }
  return 0;
}

int64_t ResidentMegabytes(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/statm");
  int64_t total = 0, resident = 0;
  status >> total >> resident;
  return resident * 4096 / (1 << 20);
}

TEST_P(ProcessLinkTest, EchoesThroughAnotherProcess) {
  Connect(OptionsFor(GetParam()));
  for (uint64_t i = 0; i < 200; ++i) {
    Frame frame = MakeFrame(i, std::string(i, 'b'));
    frame.payload = Pattern(static_cast<int64_t>(i * 10000));
    link_->Send(std::move(frame));
  }
  const std::vector<Frame> frames = handler_.WaitForFrames(200);
  ASSERT_EQ(frames.size(), 200u);
  for (uint64_t i = 0; i < 200; ++i) {
    ASSERT_EQ(frames[i].step, i);
    ASSERT_EQ(frames[i].body, std::string(i, 'b'));
    if (i > 0) {
      ASSERT_TRUE(IsPattern(frames[i].payload));
    }
  }
}

TEST_P(ProcessLinkTest, AKilledPeerIsNoticedAtOnce) {
  Connect(OptionsFor(GetParam()));
  link_->Send(MakeFrame(1));
  ASSERT_EQ(handler_.WaitForFrames(1).size(), 1u);
  kill(child_->pid(), SIGKILL);
  const Status why = handler_.WaitForClose(5s);
  EXPECT_TRUE(absl::IsUnavailable(why)) << why;
  EXPECT_NE(why.message().find("/job:ps/replica:0/task:1"), absl::string_view::npos) << why;
}

TEST_P(ProcessLinkTest, AKillInTheMiddleOfATransfer) {
  Connect(OptionsFor(GetParam()));
  Frame frame = MakeFrame(1);
  frame.payload = Tensor(DType::kUint8, Shape({256 << 20}));
  for (int i = 0; i < 4; ++i) link_->Send(frame);
  while (link_->counters().bytes_sent < 50'000'000) std::this_thread::yield();
  kill(child_->pid(), SIGKILL);
  EXPECT_TRUE(absl::IsUnavailable(handler_.WaitForClose(5s)));
  const auto deadline = std::chrono::steady_clock::now() + 60s;
  while (!frame.payload.RefIsOne() && std::chrono::steady_clock::now() < deadline) std::this_thread::sleep_for(1ms);
  EXPECT_TRUE(frame.payload.RefIsOne()) << "a dead link holds on to tensors";
}

TEST_P(ProcessLinkTest, AStoppedPeerIsNoticedByItsSilence) {
  LinkOptions options = OptionsFor(GetParam());
  options.keepalive_interval = 50ms;
  options.keepalive_timeout = 400ms;
  Connect(options);
  // While it lives pings are answered, for longer than a silent peer would be waited for.
  const auto begin = std::chrono::steady_clock::now();
  for (int64_t heard = link_->last_heard_ns(), answers = 0;
       answers < 5 || std::chrono::steady_clock::now() - begin < 2 * options.keepalive_timeout;) {
    ASSERT_EQ(handler_.closes(), 0);
    if (link_->last_heard_ns() != heard) ++answers;
    heard = link_->last_heard_ns();
    std::this_thread::sleep_for(1ms);
  }
  kill(child_->pid(), SIGSTOP);
  const Status why = handler_.WaitForClose(10s);
  EXPECT_TRUE(absl::IsUnavailable(why)) << why;
  EXPECT_NE(why.message().find("/job:ps/replica:0/task:1"), absl::string_view::npos) << why;
  EXPECT_NE(why.message().find("since"), absl::string_view::npos) << why;
}

TEST_P(ProcessLinkTest, ASlowReaderCostsNobodyMemory) {
  Connect(OptionsFor(GetParam()));
  kill(child_->pid(), SIGSTOP);
  const int64_t here = ResidentMegabytes(getpid()), there = ResidentMegabytes(child_->pid());
  Frame frame = MakeFrame(1);
  frame.payload = Pattern(8 << 20);
  for (int i = 0; i < 500; ++i) link_->Send(frame);  // 4 GB
  const uint64_t sent = BytesSentOnceStuck(*link_);
  EXPECT_LT(ResidentMegabytes(getpid()) - here, 60) << "tensors are shared, not copied";
  EXPECT_LT(ResidentMegabytes(child_->pid()) - there, 30);
  EXPECT_LT(sent, 30u << 20);
  child_.reset();  // else the hub would wait for it
}

// A tensor of `blocks` times the same 64 MB, which takes memory only once.
Tensor RepeatedBlock(int64_t blocks) {
  constexpr size_t kBlock = size_t{64} << 20;
  const UniqueFd file(memfd_create("block", MFD_CLOEXEC));
  EXPECT_EQ(ftruncate(file.get(), kBlock), 0);
  const size_t bytes = kBlock * static_cast<size_t>(blocks);
  char* all = static_cast<char*>(mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  for (size_t at = 0; at < bytes; at += kBlock) {
    EXPECT_NE(mmap(all + at, kBlock, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file.get(), 0), MAP_FAILED);
  }
  for (size_t i = 0; i < kBlock / 8; ++i) reinterpret_cast<uint64_t*>(all)[i] = i * 0x9E3779B97F4A7C15u;
  return Tensor::Wrap(DType::kUint8, Shape({static_cast<int64_t>(bytes)}), all, [all, bytes] { munmap(all, bytes); });
}

TEST_P(ProcessLinkTest, MoreThanThreeGigabytesInOneFrame) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "too much for sanitizers";
#endif
  if (AvailableMegabytes() < 5'000) GTEST_SKIP() << "needs 5 GB of free memory";
  testing::LinkedPair pair(OptionsFor(GetParam()));
  const Tensor whole = RepeatedBlock(50);
  const Tensor tensor = whole.SliceRows(0, whole.num_elements() - 12345);
  Frame frame = MakeFrame(1, "big");
  frame.payload = tensor;
  pair.near_link->Send(std::move(frame));
  std::vector<Frame> frames;
  for (int i = 0; i < 10 && frames.empty() && pair.far.closes() == 0; ++i) frames = pair.far.WaitForFrames(1);
  ASSERT_EQ(frames.size(), 1u);
  ASSERT_EQ(frames[0].payload.ByteSize(), tensor.ByteSize());
  EXPECT_EQ(std::memcmp(frames[0].payload.raw(), tensor.raw(), tensor.ByteSize()), 0);
}

// A few frames, each answered before the next is sent.
void PingPong(PeerLink& link, Recorder& handler, const Frame& frame, int times, std::atomic<int>* answers) {
  answers->store(0);
  handler.on_frame = [&, times](PeerLink& from, Frame answer) {
    if (answers->fetch_add(1) + 1 < times) from.Send(std::move(answer));
  };
  link.Send(frame);
  while (answers->load() < times) std::this_thread::sleep_for(1ms);
}

TEST_P(ProcessLinkTest, SteadyTrafficTakesNoFreshMemory) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers allocate on their own";
#endif
  std::atomic<int> answers{0};
  Connect(OptionsFor(GetParam()));
  Frame small = MakeFrame(1, std::string(1000, 'x')), large = MakeFrame(2);
  large.payload = Pattern(3 << 20);
  PingPong(*link_, handler_, small, 600, &answers);
  PingPong(*link_, handler_, large, 20, &answers);
  const int64_t system = HostAllocator()->stats().system_allocations;
  long fewest =
      std::numeric_limits<long>::max();  // of several rounds: other threads' first touches of their stacks are not ours
  for (int round = 0; round < 5 && fewest > 0; ++round) {
    rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    PingPong(*link_, handler_, small, 600, &answers);
    PingPong(*link_, handler_, large, 20, &answers);
    getrusage(RUSAGE_SELF, &after);
    fewest = std::min(fewest, after.ru_minflt - before.ru_minflt);
  }
  EXPECT_LE(fewest, 4);  // of 620 frames and 60 MB
  EXPECT_EQ(HostAllocator()->stats().system_allocations, system);
  hub_.reset();
}

}  // namespace
}  // namespace millstream
