// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/link/shm_ring.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <random>
#include <thread>

namespace millstream {
namespace {

constexpr size_t kRing = size_t{64} << 10;

// A ring in plain memory whose control words a test may spoil.
struct Ring {
  explicit Ring(size_t bytes = kRing) : data(bytes) {}
  RingControl control = {};
  std::vector<char> data;
  RingWriter writer() { return RingWriter(&control, data.data(), data.size()); }
  RingReader reader() { return RingReader(&control, data.data(), data.size()); }
};

bool Put(RingWriter& writer, const std::string& bytes) {
  for (size_t at = 0; at < bytes.size();) {
    std::span<char> room;
    EXPECT_TRUE(writer.Room(&room).ok());
    if (room.empty()) return false;
    const size_t n = std::min(room.size(), bytes.size() - at);
    std::memcpy(room.data(), bytes.data() + at, n);
    (void)writer.Publish(n);
    at += n;
  }
  return true;
}

std::string TakeAll(RingReader& reader) {
  std::string all;
  for (;;) {
    std::span<const char> bytes;
    EXPECT_TRUE(reader.Peek(&bytes).ok());
    if (bytes.empty()) return all;
    all.append(bytes.data(), bytes.size());
    (void)reader.Release(bytes.size());
  }
}

TEST(ShmRingTest, BytesComeOutInOrder) {
  Ring ring;
  RingWriter writer = ring.writer();
  RingReader reader = ring.reader();
  std::mt19937 random(3);
  std::string sent, got;
  for (int i = 0; i < 3000; ++i) {
    std::string piece(random() % 5000, '\0');
    for (char& c : piece) c = static_cast<char>(random());
    ASSERT_TRUE(Put(writer, piece));
    sent += piece;
    if (random() % 4 == 0 || sent.size() - got.size() > kRing - 5000) got += TakeAll(reader);
  }
  got += TakeAll(reader);
  EXPECT_EQ(got, sent);
}

TEST(ShmRingTest, AFullRingTakesNothing) {
  Ring ring;
  RingWriter writer = ring.writer();
  RingReader reader = ring.reader();
  EXPECT_TRUE(Put(writer, std::string(kRing, 'x')));
  EXPECT_FALSE(Put(writer, "y"));
  EXPECT_EQ(TakeAll(reader).size(), kRing);
  EXPECT_TRUE(Put(writer, "y"));
}

TEST(ShmRingTest, LightTrafficTouchesFewPages) {
  Ring ring(size_t{4} << 20);
  RingWriter writer = ring.writer();
  RingReader reader = ring.reader();
  for (int i = 0; i < 10000; ++i) {
    ASSERT_TRUE(Put(writer, std::string(1000, 'x')));
    ASSERT_EQ(TakeAll(reader).size(), 1000u);
  }
  EXPECT_EQ(std::count(ring.data.begin() + (300 << 10), ring.data.end(), 'x'), 0);
}

TEST(ShmRingTest, WakesASleeperOncePerSleep) {
  Ring ring;
  RingWriter writer = ring.writer();
  RingReader reader = ring.reader();
  std::span<char> room;
  ASSERT_TRUE(writer.Room(&room).ok());
  EXPECT_FALSE(writer.Publish(1));
  EXPECT_TRUE(reader.PrepareToSleep());  // there is something already
  EXPECT_EQ(TakeAll(reader).size(), 1u);
  EXPECT_FALSE(reader.PrepareToSleep());
  EXPECT_TRUE(writer.Publish(1));
  EXPECT_FALSE(writer.Publish(1));

  TakeAll(reader);
  ASSERT_TRUE(Put(writer, std::string(kRing, 'x')));
  EXPECT_FALSE(writer.PrepareToWait());
  std::span<const char> bytes;
  ASSERT_TRUE(reader.Peek(&bytes).ok());
  EXPECT_TRUE(reader.Release(1));
  EXPECT_FALSE(reader.Release(1));
  EXPECT_TRUE(writer.PrepareToWait());  // there is room already
}

TEST(ShmRingTest, ImpossiblePositionsAreErrors) {
  std::span<const char> bytes;
  std::span<char> room;
  for (const uint64_t tail : {uint64_t{kRing} + 1, ~uint64_t{0}, uint64_t{1} << 63}) {
    Ring ring;
    RingReader reader = ring.reader();
    ring.control.tail = tail;
    EXPECT_TRUE(absl::IsDataLoss(reader.Peek(&bytes)));
  }
  for (const uint64_t head : {uint64_t{kRing} + 1, ~uint64_t{0}, uint64_t{1} << 63}) {
    Ring ring;
    RingWriter writer = ring.writer();
    ASSERT_TRUE(Put(writer, std::string(kRing, 'x')));
    ring.control.head = head;
    EXPECT_TRUE(absl::IsDataLoss(writer.Room(&room)));
  }
  // Going back to the front without having written up to the end.
  Ring ring;
  RingWriter writer = ring.writer();
  RingReader reader = ring.reader();
  ASSERT_TRUE(Put(writer, "abc"));
  TakeAll(reader);
  ASSERT_TRUE(Put(writer, "def"));
  ring.control.rewind_at = 3;
  EXPECT_TRUE(absl::IsDataLoss(reader.Peek(&bytes)));
}

TEST(ShmRingTest, TwoThreadsThroughOneSegment) {
  UniqueFd fd;
  auto made = ShmSegment::Create(1, &fd);
  ASSERT_TRUE(made.ok()) << made.status();
  auto attached = ShmSegment::Attach(std::move(fd), ShmSegment::RingBytes(1));
  ASSERT_TRUE(attached.ok()) << attached.status();
  constexpr uint32_t kNumbers = 500000;
  std::thread sender([&] {
    RingWriter writer = made->writer(0);
    for (uint32_t i = 0; i < kNumbers; ++i) {
      while (!Put(writer, std::string(reinterpret_cast<const char*>(&i), sizeof(i)))) std::this_thread::yield();
    }
  });
  RingReader reader = attached->reader(0);
  std::string got;
  while (got.size() < kNumbers * sizeof(uint32_t)) got += TakeAll(reader);
  sender.join();
  for (uint32_t i = 0; i < kNumbers; ++i) {
    uint32_t number;
    std::memcpy(&number, got.data() + i * sizeof(i), sizeof(i));
    ASSERT_EQ(number, i);
  }
}

TEST(ShmRingTest, MemoryThatCouldVanishIsRefused) {
  UniqueFd open_memory(memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(open_memory.get(), 1 << 20), 0);
  EXPECT_FALSE(ShmSegment::Attach(std::move(open_memory), kRing).ok());

  UniqueFd small(memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(small.get(), kRing), 0);
  ASSERT_EQ(fcntl(small.get(), F_ADD_SEALS, F_SEAL_SHRINK), 0);
  EXPECT_FALSE(ShmSegment::Attach(std::move(small), kRing).ok());

  EXPECT_FALSE(ShmSegment::Attach(UniqueFd(open("/dev/zero", O_RDWR | O_CLOEXEC)), kRing).ok());
  EXPECT_FALSE(ShmSegment::Attach(UniqueFd(), kRing).ok());
  for (const uint64_t ring : {uint64_t{0}, uint64_t{kRing} + 1, uint64_t{1} << 40, ~uint64_t{0}}) {
    UniqueFd fd;
    ASSERT_TRUE(ShmSegment::Create(kRing, &fd).ok());
    EXPECT_FALSE(ShmSegment::Attach(std::move(fd), ring).ok()) << ring;
  }

  UniqueFd fd;
  ASSERT_TRUE(ShmSegment::Create(kRing, &fd).ok());
  EXPECT_NE(ftruncate(fd.get(), 0), 0) << "the peer can take the memory away";
}

}  // namespace
}  // namespace millstream
