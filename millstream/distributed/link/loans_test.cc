// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/link/loans.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "millstream/distributed/link/sockets.h"
#include "millstream/distributed/link/testing/link_peers.h"

namespace millstream {
namespace {

using namespace std::chrono_literals;
using testing::IsPattern;
using testing::LinkedPair;
using testing::MakeFrame;
using testing::OptionsFor;
using testing::Pattern;
using testing::Recorder;

constexpr int64_t kLarge = 100'000;

// Both ends of what a link between two tasks would lend, in this process.
class LoansTest : public ::testing::Test {
 protected:
  void SetUp() override {
    region_ = SharedRegion::Enable();
    if (region_ == nullptr) GTEST_SKIP() << "no shared region under this sanitizer";
    UniqueFd memory;
    segment_ = std::make_shared<ShmSegment>(*ShmSegment::Create(0, &memory));
    lender_ = std::make_shared<Lender>(region_, segment_, 0);
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    const UniqueFd here(ends[0]), there(ends[1]);
    ASSERT_TRUE(lender_->OfferRegion(here.get()).ok());
    std::string bell;
    std::vector<UniqueFd> descriptors;
    ASSERT_TRUE(ReceiveSome(there.get(), 16, &bell, &descriptors).ok());
    ASSERT_EQ(descriptors.size(), 2u);
    auto borrower = Borrower::Map(std::move(descriptors[0]), std::move(descriptors[1]), segment_, 0);
    ASSERT_TRUE(borrower.ok()) << borrower.status();
    borrower_ = *borrower;
    lender_->StartLending();
  }

  SharedRegion* region_ = nullptr;
  std::shared_ptr<const ShmSegment> segment_;
  std::shared_ptr<Lender> lender_;
  std::shared_ptr<Borrower> borrower_;
};

TEST_F(LoansTest, TheBorrowerReadsWhatTheLenderHas) {
  const Tensor own = Pattern(kLarge);
  const std::optional<Loan> loan = lender_->Lend(own);
  ASSERT_TRUE(loan.has_value());
  EXPECT_FALSE(own.RefIsOne());
  {
    const StatusOr<Tensor> borrowed = borrower_->Borrow(*loan, kLarge);
    ASSERT_TRUE(borrowed.ok()) << borrowed.status();
    EXPECT_TRUE(IsPattern(*borrowed));
    EXPECT_NE(borrowed->raw(), own.raw());
    EXPECT_FALSE(borrowed->RefIsOne()) << "nobody may write to it";
    lender_->Collect();
    EXPECT_EQ(lender_->outstanding(), 1);
  }
  EXPECT_EQ(lender_->outstanding(), 1);  // nobody has looked
  lender_->Collect();
  EXPECT_EQ(lender_->outstanding(), 0);
  EXPECT_TRUE(own.RefIsOne());
}

TEST_F(LoansTest, CopiesOfABorrowedTensorKeepTheLoan) {
  const Tensor own = Pattern(kLarge);
  Tensor view;
  {
    const StatusOr<Tensor> borrowed = borrower_->Borrow(*lender_->Lend(own), kLarge);
    view = borrowed->Bitcast(DType::kFloat, Shape({kLarge / 4})).Reshaped(Shape({2, kLarge / 8}));
  }
  lender_->Collect();
  EXPECT_EQ(lender_->outstanding(), 1);
  EXPECT_FALSE(view.RefIsOne());
  EXPECT_TRUE(view.Clone()->RefIsOne());
  view.Reset();
  lender_->Collect();
  EXPECT_EQ(lender_->outstanding(), 0);
}

TEST_F(LoansTest, OnlyLargeTensorsOfTheRegionAreLent) {
  EXPECT_FALSE(lender_->Lend(Pattern(static_cast<int64_t>(kLentBytes) - 1)).has_value());
  std::vector<char> elsewhere(kLarge);
  const Shape shape({kLarge});
  EXPECT_FALSE(lender_->Lend(Tensor::Wrap(DType::kUint8, shape, elsewhere.data(), [] {})).has_value());
  EXPECT_FALSE(lender_->Lend(Pattern(kLarge + 1).SliceRows(1, kLarge + 1)).has_value()) << "not aligned";
  EXPECT_TRUE(lender_->Lend(Pattern(kLarge)).has_value());
}

TEST_F(LoansTest, SoMuchIsLentAndNoMore) {
  const Tensor own = Pattern(kLarge);
  std::vector<Tensor> borrowed;
  for (size_t i = 0; i < kLoans; ++i) {
    const std::optional<Loan> loan = lender_->Lend(own);
    ASSERT_TRUE(loan.has_value()) << i;
    borrowed.push_back(*borrower_->Borrow(*loan, kLarge));
  }
  EXPECT_FALSE(lender_->Lend(own).has_value());
  borrowed[17].Reset();
  EXPECT_TRUE(lender_->Lend(own).has_value());
  EXPECT_FALSE(lender_->Lend(own).has_value());
}

TEST_F(LoansTest, PlacesThatAreNotThereAreRefused) {
  const auto code = [&](uint64_t offset, uint64_t flag, uint64_t bytes) {
    return borrower_->Borrow({offset, flag}, bytes).status().code();
  };
  EXPECT_EQ(code(0, kLoans, kLarge), absl::StatusCode::kDataLoss);
  EXPECT_EQ(code(1, 0, kLarge), absl::StatusCode::kDataLoss);
  EXPECT_EQ(code(0, 0, 0), absl::StatusCode::kDataLoss);
  EXPECT_EQ(code(0, 0, ~uint64_t{0}), absl::StatusCode::kDataLoss);
  EXPECT_EQ(code(~uint64_t{0} - 63, 0, kLarge), absl::StatusCode::kDataLoss);
  EXPECT_EQ(code(uint64_t{1} << 62, 0, kLarge), absl::StatusCode::kDataLoss);
}

TEST_F(LoansTest, MemoryThatCouldBeTakenAwayIsRefused) {
  const auto code = [&](UniqueFd file) {
    return Borrower::Map(std::move(file), UniqueFd(), segment_, 0).status().code();
  };
  UniqueFd unsealed(memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(unsealed.get(), 1 << 20), 0);
  EXPECT_EQ(code(std::move(unsealed)), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(UniqueFd(open("/proc/self/exe", O_RDONLY | O_CLOEXEC))), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(UniqueFd()), absl::StatusCode::kInvalidArgument);
}

TEST_F(LoansTest, TheLenderCannotBeWrittenTo) {
  const UniqueFd file(region_->OpenForReading());
  EXPECT_EQ(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0), MAP_FAILED);
}

TEST_F(LoansTest, AfterTheLinkLoansLastUntilTheBorrowerLetsGo) {
  Tensor own = Pattern(kLarge), other = Pattern(kLarge);
  Tensor borrowed = *borrower_->Borrow(*lender_->Lend(own), kLarge);
  ASSERT_TRUE(lender_->Lend(other).has_value());  // never arrives
  Lender::Settle(lender_);
  borrower_.reset();
  lender_->Collect();
  EXPECT_EQ(lender_->outstanding(), 2);
  EXPECT_TRUE(IsPattern(borrowed));
  borrowed.Reset();  // the last of the mapping: the leash is loose
  lender_->Collect();
  EXPECT_EQ(lender_->outstanding(), 0);
  EXPECT_TRUE(own.RefIsOne());
  EXPECT_TRUE(other.RefIsOne());
}

// Takes what is lent as it is.
struct Keeper : Recorder {
  StatusOr<Tensor> Borrow(PeerLink& /*link*/, const Frame& /*frame*/, const Tensor& memory) override {
    ++borrowed;
    return memory;
  }
  std::atomic<int> borrowed{0};
};

struct KeeperPair {
  KeeperPair() {
    near_hub = testing::StartHub("/job:worker/replica:0/task:0", OptionsFor("shm"), &near);
    far_hub = testing::StartHub("/job:ps/replica:0/task:0", OptionsFor("shm"), &far);
    near_link = *near_hub->Dial(far_hub->endpoint(), &near, 10s);
    far_link = far.WaitForLink();
  }
  // Sends until the other end has mapped the region and a payload is lent.
  void SendUntilLent(PeerLink& link, Recorder& to, const Tensor& payload) {
    for (size_t sent = 1; link.counters().payloads_lent == 0; ++sent) {
      Frame frame = MakeFrame(sent);
      frame.payload = payload;
      frame.may_lend = true;
      link.Send(std::move(frame));
      ASSERT_EQ(to.WaitForFrames(sent).size(), sent);
    }
  }

  Keeper near, far;
  std::unique_ptr<LinkHub> near_hub, far_hub;
  std::shared_ptr<PeerLink> near_link, far_link;
};

TEST(LentPayloadTest, ArrivesWithoutACopyBothWays) {
  if (SharedRegion::Enable() == nullptr) GTEST_SKIP();
  KeeperPair pair;
  pair.SendUntilLent(*pair.near_link, pair.far, Pattern(kLarge));
  pair.SendUntilLent(*pair.far_link, pair.near, Pattern(kLarge));
  for (Keeper* end : {&pair.near, &pair.far}) {
    EXPECT_TRUE(IsPattern(end->WaitForFrames(1).back().payload));
    EXPECT_EQ(end->borrowed, 1);
  }
}

TEST(LentPayloadTest, IsCopiedWhereTheHandlerDoesNotBorrow) {
  LinkedPair pair(OptionsFor("shm"));
  for (uint64_t sent = 1; sent <= 50; ++sent) {
    Frame frame = MakeFrame(sent);
    frame.payload = Pattern(kLarge);
    frame.may_lend = true;
    pair.near_link->Send(std::move(frame));
    const Tensor arrived = pair.far.WaitForFrames(sent).back().payload;
    EXPECT_TRUE(IsPattern(arrived));
  }
  EXPECT_EQ(pair.far_link->counters().bytes_received, 50u * (40 + kLarge));
  // Besides, the frames about the regions.
  EXPECT_EQ(pair.near_link->counters().bytes_sent / 100, pair.far_link->counters().bytes_received / 100);
}

TEST(LentPayloadTest, WhatTheSenderNeedsBackIsCopied) {
  if (SharedRegion::Enable() == nullptr) GTEST_SKIP();
  KeeperPair pair;
  pair.SendUntilLent(*pair.near_link, pair.far, Pattern(kLarge));
  const size_t before = pair.far.WaitForFrames(1).size();
  Frame frame = MakeFrame(7);
  frame.payload = Pattern(kLarge);
  pair.near_link->Send(std::move(frame));
  EXPECT_TRUE(IsPattern(pair.far.WaitForFrames(before + 1).back().payload));
  EXPECT_EQ(pair.far.borrowed, 1);
}

TEST(LentPayloadTest, NothingIsLentWhereThatIsTurnedOff) {
  LinkOptions off = OptionsFor("shm");
  off.lend = false;
  for (const auto& [near, far] : {std::pair(off, OptionsFor("shm")), std::pair(OptionsFor("shm"), off)}) {
    LinkedPair pair(near, far);
    for (uint64_t sent = 1; sent <= 20; ++sent) {
      for (const auto& [from, to] : {std::pair(&pair.near_link, &pair.far), std::pair(&pair.far_link, &pair.near)}) {
        Frame frame = MakeFrame(sent);
        frame.payload = Pattern(kLarge);
        frame.may_lend = true;
        (*from)->Send(std::move(frame));
        EXPECT_TRUE(IsPattern(to->WaitForFrames(sent).back().payload));
      }
    }
    EXPECT_EQ((near.lend ? pair.far_link : pair.near_link)->counters().payloads_lent, 0u);
  }
}

TEST(LentPayloadTest, ComesBackWhenTheLinkHasEnded) {
  if (SharedRegion::Enable() == nullptr) GTEST_SKIP();
  const Tensor own = Pattern(kLarge);
  Tensor kept;
  {
    KeeperPair pair;
    pair.SendUntilLent(*pair.near_link, pair.far, own);
    kept = pair.far.WaitForFrames(1).back().payload;
  }
  EXPECT_TRUE(IsPattern(kept));
  EXPECT_FALSE(own.RefIsOne());
  kept.Reset();
  const auto deadline = std::chrono::steady_clock::now() + 20s;
  while (!own.RefIsOne() && std::chrono::steady_clock::now() < deadline) KeeperPair looks_after_it;
  EXPECT_TRUE(own.RefIsOne());
}

TEST(SharedRegionTest, AChildOfForkGoesOnWithoutIt) {
  if (SharedRegion::Enable() == nullptr) GTEST_SKIP();
  for (int i = 0; i < 3; ++i) Pattern(kLarge);  // cached
  const pid_t child = fork();
  if (child == 0) {
    bool good = SharedRegion::Get() == nullptr && IsPattern(Pattern(kLarge));
    good = good && SharedRegion::Enable() != nullptr && IsPattern(Pattern(kLarge));
    _exit(good ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(SharedRegionTest, DiscardedPagesAreGone) {
  SharedRegion* const region = SharedRegion::Enable();
  if (region == nullptr) GTEST_SKIP();
  const int64_t before = region->bytes_in_blocks();
  constexpr size_t kBytes = (size_t{1} << 20) + 1;
  auto* const block = static_cast<char*>(region->Take(kBytes));
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(region->bytes_in_blocks(), before + (1 << 20) + 4096);
  block[kBytes - 1] = 'x';
  region->Discard(block, kBytes);
  EXPECT_EQ(region->bytes_in_blocks(), before);
  EXPECT_EQ(region->Take(kBytes), block);  // the addresses serve again
  EXPECT_EQ(block[kBytes - 1], '\0');
  region->Discard(block, kBytes);
}

}  // namespace
}  // namespace millstream
