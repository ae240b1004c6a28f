// SPDX-License-Identifier: Apache-2.0
// Strangers and liars at the sockets and in the shared memory of a hub: each gets a closed connection, and the hub goes
// on.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <cstring>
#include <random>

#include "millstream/distributed/link/handshake.h"
#include "millstream/distributed/link/shm_ring.h"
#include "millstream/distributed/link/sockets.h"
#include "millstream/distributed/link/testing/link_peers.h"

namespace millstream {
namespace {

using namespace std::chrono_literals;
using testing::MakeFrame;
using testing::OptionsFor;
using testing::Recorder;
using testing::StartHub;

Deadline Soon() { return std::chrono::steady_clock::now() + 10s; }

class HostileTest : public ::testing::TestWithParam<const char*> {
 protected:
  HostileTest() {
    LinkOptions options = OptionsFor(GetParam());
    options.handshake_timeout = 300ms;
    hub_ = StartHub("/job:ps/replica:0/task:0", options, &handler_);
  }
  bool shm() const { return std::string(GetParam()) == "shm"; }
  UniqueFd Connect() {
    auto socket =
        shm() ? ConnectUnix(hub_->endpoint().shm_address, Soon()) : ConnectTcp(hub_->endpoint().tcp_address, Soon());
    EXPECT_TRUE(socket.ok()) << socket.status();
    return socket.ok() ? *std::move(socket) : UniqueFd();
  }
  std::string HelloBytes(uint64_t ring_bytes) const {
    return EncodeHello({7, ring_bytes, hub_->endpoint().ticket, "/job:worker/replica:0/task:0"});
  }
  // A connection through the handshake; with rings, the dialer's segment.
  UniqueFd Join(ShmSegment* segment) {
    UniqueFd socket = Connect(), memory;
    const size_t ring_bytes = shm() ? ShmSegment::RingBytes(0) : 0;
    if (shm()) *segment = *ShmSegment::Create(ring_bytes, &memory);
    EXPECT_TRUE(SendAll(socket.get(), HelloBytes(ring_bytes), memory.get(), Soon()).ok());
    const auto answer = ReceiveExactly(socket.get(), kAnswerBytes, Soon());
    EXPECT_TRUE(answer.ok() && DecodeAnswer(*answer)->code == absl::StatusCode::kOk);
    EXPECT_NE(handler_.WaitForLink(), nullptr);
    return socket;
  }
  // Whether the hub hangs up; answers before that are thrown away.
  static bool HangsUp(int socket) {
    char bytes[4096];
    for (;;) {
      pollfd wanted = {socket, POLLIN, 0};
      if (poll(&wanted, 1, 10000) <= 0) return false;
      const ssize_t n = recv(socket, bytes, sizeof(bytes), MSG_DONTWAIT);
      if (n == 0 || (n < 0 && errno == ECONNRESET)) return true;
    }
  }
  // The hub still serves others.
  void ExpectAlive() {
    Recorder other;
    auto worker = StartHub("/job:worker/replica:0/task:9", OptionsFor(GetParam()), &other);
    auto link = worker->Dial(hub_->endpoint(), &other, 10s);
    EXPECT_TRUE(link.ok()) << link.status();
    EXPECT_NE(handler_.WaitForLink(), nullptr);
  }

  Recorder handler_;
  std::unique_ptr<LinkHub> hub_;
};
INSTANTIATE_TEST_SUITE_P(Transports, HostileTest, ::testing::Values("shm", "tcp"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(HostileTest, GarbageInsteadOfAHello) {
  for (const std::string& bytes :
       {std::string("GET / HTTP/1.1\r\n\r\n"), std::string(100000, '\xff'), std::string(1, 'x')}) {
    const UniqueFd socket = Connect();
    SendAll(socket.get(), bytes, -1, Soon()).IgnoreError();
    EXPECT_TRUE(HangsUp(socket.get()));
  }
  ExpectAlive();
}

TEST_P(HostileTest, SilenceAndHalfAHello) {
  const UniqueFd silent = Connect(), half = Connect();
  ASSERT_TRUE(SendAll(half.get(), HelloBytes(0).substr(0, 30), -1, Soon()).ok());
  EXPECT_TRUE(HangsUp(silent.get()));
  EXPECT_TRUE(HangsUp(half.get()));
  ExpectAlive();
}

TEST_P(HostileTest, WrongTicketVersionAndName) {
  std::string ticket = HelloBytes(0), version = HelloBytes(0), name = HelloBytes(0);
  ticket[40] = static_cast<char>(ticket[40] ^ 1);
  version[8] = 99;
  name[14] = 1;
  for (const std::string& bytes : {ticket, version, name}) {
    const UniqueFd socket = Connect();
    ASSERT_TRUE(SendAll(socket.get(), bytes, -1, Soon()).ok());
    EXPECT_TRUE(HangsUp(socket.get()));
  }
  ExpectAlive();
}

TEST_P(HostileTest, ACrowdThatSaysNothing) {
  std::vector<UniqueFd> crowd(300);
  for (UniqueFd& one : crowd) one = Connect();
  ExpectAlive();
  EXPECT_TRUE(HangsUp(crowd[0].get()));
}

TEST_P(HostileTest, ManyDescriptors) {
  if (!shm()) GTEST_SKIP() << "only Unix sockets carry descriptors";
  const UniqueFd socket = Connect();
  const std::string hello = HelloBytes(ShmSegment::RingBytes(0));
  for (size_t i = 0; i < hello.size(); ++i) {  // one with every byte
    if (!SendAll(socket.get(), hello.substr(i, 1), 0, Soon()).ok()) break;
  }
  EXPECT_TRUE(HangsUp(socket.get()));
  const UniqueFd without = Connect();
  ASSERT_TRUE(SendAll(without.get(), hello, -1, Soon()).ok());
  EXPECT_TRUE(HangsUp(without.get()));
  const UniqueFd wrong_kind = Connect();
  ASSERT_TRUE(SendAll(wrong_kind.get(), hello, 0, Soon()).ok());
  EXPECT_TRUE(HangsUp(wrong_kind.get()));
  ExpectAlive();
}

// Puts bytes where frames are expected.
void Inject(bool shm, const UniqueFd& socket, const ShmSegment& segment, const std::string& bytes) {
  if (!shm) {
    SendAll(socket.get(), bytes, -1, Soon()).IgnoreError();
    return;
  }
  RingWriter writer = segment.writer(0);
  std::span<char> room;
  ASSERT_TRUE(writer.Room(&room).ok());
  ASSERT_GE(room.size(), bytes.size());
  std::memcpy(room.data(), bytes.data(), bytes.size());
  (void)writer.Publish(bytes.size());
  SendAll(socket.get(), "!", -1, Soon()).IgnoreError();
}

TEST_P(HostileTest, GarbageInsteadOfFrames) {
  std::mt19937 random(5);
  for (int round = 0; round < 10; ++round) {
    ShmSegment segment;
    const UniqueFd socket = Join(&segment);
    std::string bytes(1000, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    bytes[27] = 1;  // a type that there is not
    Inject(shm(), socket, segment, bytes);
    EXPECT_TRUE(HangsUp(socket.get()));
  }
  EXPECT_TRUE(absl::IsDataLoss(handler_.WaitForClose())) << handler_.WaitForClose();
  ExpectAlive();
}

TEST_P(HostileTest, APayloadThatNobodyCouldHold) {
  handler_.on_payload = [](const Frame&, uint64_t bytes) -> StatusOr<Tensor> {
    return errors::ResourceExhausted(bytes, " bytes");
  };
  ShmSegment segment;
  const UniqueFd socket = Join(&segment);
  std::string header(40, '\0');
  std::memset(header.data() + 32, 0xff, 8);
  Inject(shm(), socket, segment, header + std::string(50000, 'x'));
  ExpectAlive();
}

TEST_P(HostileTest, ImpossibleRingPositions) {
  if (!shm()) GTEST_SKIP() << "only shared memory has positions";
  for (const size_t word : {size_t{0}, size_t{128}, size_t{512}, size_t{512 + 128}}) {
    for (const uint64_t value : {~uint64_t{0}, uint64_t{1} << 40, uint64_t{65537}}) {
      UniqueFd memory, socket = Connect();
      const size_t ring_bytes = ShmSegment::RingBytes(0);
      auto segment = ShmSegment::Create(ring_bytes, &memory);
      ASSERT_TRUE(SendAll(socket.get(), HelloBytes(ring_bytes), memory.get(), Soon()).ok());
      ASSERT_TRUE(ReceiveExactly(socket.get(), kAnswerBytes, Soon()).ok());
      const std::shared_ptr<PeerLink> link = handler_.WaitForLink();
      ASSERT_NE(link, nullptr);
      ASSERT_EQ(pwrite(memory.get(), &value, sizeof(value), static_cast<off_t>(word)),
                static_cast<ssize_t>(sizeof(value)));
      Frame frame = MakeFrame(1);
      frame.payload = testing::Pattern(1 << 20);
      for (int i = 0; i < 3; ++i) link->Send(frame);  // meets the position of the reader, which is us
      SendAll(socket.get(), "!", -1, Soon()).IgnoreError();
      if (word == 0 || word == 512 + 128) {
        EXPECT_TRUE(HangsUp(socket.get())) << word << " " << value;
      }
    }
  }
  ExpectAlive();
}

}  // namespace
}  // namespace millstream
