// SPDX-License-Identifier: Apache-2.0
// Strangers and liars at the sockets and in the shared memory of a hub: each gets a closed connection, and the hub goes
// on.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <cstring>
#include <random>
#include <thread>

#include "millstream/distributed/link/handshake.h"
#include "millstream/distributed/link/shm_ring.h"
#include "millstream/distributed/link/sockets.h"
#include "millstream/distributed/link/testing/link_peers.h"
#include "millstream/distributed/trust/token_proof.h"

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
  static constexpr uint64_t kIncarnation = 7;
  // A dialer that knows the ticket.
  ClientProof Prover(uint64_t ring_bytes) const {
    return ClientProof(*MakeCredential(LinkSecret("", hub_->endpoint().ticket), Role::kTask),
                       "/job:worker/replica:0/task:0", {hub_->endpoint().task, ""},
                       LinkPurpose(kIncarnation, ring_bytes));
  }
  std::string HelloBytes(uint64_t ring_bytes) const {
    return EncodeHello({kIncarnation, ring_bytes, *Prover(ring_bytes).Hello()});
  }
  // The text of the hub's answer.
  static StatusOr<std::string> ReceiveAnswer(int socket) {
    ASSIGN_OR_RETURN(const std::string head, ReceiveExactly(socket, kAnswerBytes, Soon()));
    ASSIGN_OR_RETURN(const Answer answer, DecodeAnswer(head));
    ASSIGN_OR_RETURN(std::string text, ReceiveExactly(socket, answer.text_bytes, Soon()));
    if (answer.code != absl::StatusCode::kOk) return Status(answer.code, text);
    return text;
  }
  // Up to the proof, which is returned.
  StatusOr<std::string> Greet(int socket, uint64_t ring_bytes) {
    ClientProof prover = Prover(ring_bytes);
    RETURN_IF_ERROR(SendAll(socket, EncodeHello({kIncarnation, ring_bytes, *prover.Hello()}), -1, Soon()));
    ASSIGN_OR_RETURN(const std::string challenge, ReceiveAnswer(socket));
    return prover.AnswerChallenge(challenge);
  }
  Status Prove(int socket, uint64_t ring_bytes, int memory) {
    ASSIGN_OR_RETURN(const std::string proof, Greet(socket, ring_bytes));
    RETURN_IF_ERROR(SendAll(socket, proof, memory, Soon()));
    return ReceiveAnswer(socket).status();
  }
  // A connection through the handshake; with rings, the dialer's segment.
  UniqueFd Join(ShmSegment* segment) {
    UniqueFd socket = Connect(), memory;
    const size_t ring_bytes = shm() ? ShmSegment::RingBytes(0) : 0;
    if (shm()) *segment = *ShmSegment::Create(ring_bytes, &memory);
    EXPECT_EQ(Prove(socket.get(), ring_bytes, memory.get()), OkStatus());
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

TEST_P(HostileTest, WrongVersionSizeAndName) {
  std::string version = HelloBytes(0), size = HelloBytes(0), name = HelloBytes(0);
  version[8] = 99;
  size[14] = 1;
  name.replace(name.find("/job:ps"), 7, "/job:pt");  // another task is meant
  for (const std::string& bytes : {version, size, name}) {
    const UniqueFd socket = Connect();
    ASSERT_TRUE(SendAll(socket.get(), bytes, -1, Soon()).ok());
    EXPECT_TRUE(HangsUp(socket.get()));
  }
  ExpectAlive();
}

TEST_P(HostileTest, AWrongProofAndAReplayedHandshake) {
  const uint64_t ring_bytes = shm() ? ShmSegment::RingBytes(0) : 0;
  UniqueFd memory;
  ShmSegment segment;
  if (shm()) segment = *ShmSegment::Create(ring_bytes, &memory);
  const UniqueFd wrong = Connect();
  ASSERT_TRUE(Greet(wrong.get(), ring_bytes).ok());
  ASSERT_TRUE(SendAll(wrong.get(), std::string(32, 'x'), memory.get(), Soon()).ok());
  EXPECT_TRUE(absl::IsPermissionDenied(ReceiveAnswer(wrong.get()).status()));
  EXPECT_TRUE(HangsUp(wrong.get()));

  // What a listener has recorded of a good one.
  ClientProof prover = Prover(ring_bytes);
  const std::string hello = EncodeHello({kIncarnation, ring_bytes, *prover.Hello()});
  const UniqueFd good = Connect();
  ASSERT_TRUE(SendAll(good.get(), hello, -1, Soon()).ok());
  const std::string proof = *prover.AnswerChallenge(*ReceiveAnswer(good.get()));
  ASSERT_TRUE(SendAll(good.get(), proof, memory.get(), Soon()).ok());
  ASSERT_TRUE(ReceiveAnswer(good.get()).ok());
  const UniqueFd replay = Connect();
  ASSERT_TRUE(SendAll(replay.get(), hello, -1, Soon()).ok());
  ASSERT_TRUE(ReceiveAnswer(replay.get()).ok());
  ASSERT_TRUE(SendAll(replay.get(), proof, memory.get(), Soon()).ok());
  EXPECT_TRUE(absl::IsPermissionDenied(ReceiveAnswer(replay.get()).status()));
  EXPECT_TRUE(HangsUp(replay.get()));
  ExpectAlive();
}

TEST_P(HostileTest, TheTicketAloneIsNotEnoughWhereTheJobHasAToken) {
  Recorder server, client;
  LinkOptions with_token = OptionsFor(GetParam()), other_token = with_token;
  with_token.token = "the token";
  other_token.token = "another token";
  auto ps = StartHub("/job:ps/replica:0/task:0", with_token, &server);
  for (const LinkOptions& options : {OptionsFor(GetParam()), other_token}) {
    auto stranger = StartHub("/job:worker/replica:0/task:0", options, &client);
    EXPECT_TRUE(absl::IsPermissionDenied(stranger->Dial(ps->endpoint(), &client, 10s).status()));
  }
  auto worker = StartHub("/job:worker/replica:0/task:0", with_token, &client);
  EXPECT_EQ(worker->Dial(ps->endpoint(), &client, 10s).status(), OkStatus());
}

// Somebody who has taken the address of a task that is gone.
TEST_P(HostileTest, ASquatterLearnsNothing) {
  Recorder client;
  LinkOptions options = OptionsFor(GetParam());
  options.token = "the token of the job";
  auto worker = StartHub("/job:worker/replica:0/task:0", options, &client);
  LinkEndpoint endpoint = hub_->endpoint();
  int port = 0;
  StatusOr<UniqueFd> listener = shm() ? ListenUnix(&endpoint.shm_address) : ListenTcp("127.0.0.1", &port);
  ASSERT_TRUE(listener.ok()) << listener.status();
  if (!shm()) endpoint.tcp_address = absl::StrCat("127.0.0.1:", port);
  std::string heard;
  std::vector<UniqueFd> descriptors;
  std::thread squatter([&] {
    pollfd wanted = {listener->get(), POLLIN, 0};
    if (poll(&wanted, 1, 10000) <= 0) return;
    const UniqueFd socket(accept4(listener->get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    const std::string challenge =
        std::string(32, 'n') + std::string("\x18\0/job:ps/replica:0/task:0", 26) + std::string(32, 'p');
    bool answered = false;
    wanted.fd = socket.get();
    while (poll(&wanted, 1, 10000) > 0 && ReceiveSome(socket.get(), 4096, &heard, &descriptors).ok()) {
      const StatusOr<size_t> size = HelloSize(heard);
      if (answered || !size.ok() || heard.size() < *size) continue;
      answered = SendAll(socket.get(), EncodeAnswer(OkStatus(), endpoint.incarnation, challenge), -1, Soon()).ok();
    }
  });
  const Status dialed = worker->Dial(endpoint, &client, 10s).status();
  squatter.join();
  EXPECT_TRUE(absl::IsPermissionDenied(dialed)) << dialed;
  EXPECT_NE(heard, "");
  EXPECT_EQ(heard.find(options.token), std::string::npos);
  EXPECT_EQ(heard.find(endpoint.ticket), std::string::npos);
  EXPECT_EQ(heard.size(), *HelloSize(heard));  // and no proof
  EXPECT_TRUE(descriptors.empty());            // nor the memory
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
  const uint64_t ring_bytes = ShmSegment::RingBytes(0);
  const std::string proof = *Greet(socket.get(), ring_bytes);
  for (size_t i = 0; i < proof.size(); ++i) {  // one with every byte
    if (!SendAll(socket.get(), proof.substr(i, 1), 0, Soon()).ok()) break;
  }
  EXPECT_TRUE(HangsUp(socket.get()));
  const UniqueFd too_early = Connect();
  ASSERT_TRUE(SendAll(too_early.get(), HelloBytes(ring_bytes), 0, Soon()).ok());
  EXPECT_TRUE(HangsUp(too_early.get()));
  const UniqueFd without = Connect();
  EXPECT_TRUE(absl::IsInvalidArgument(Prove(without.get(), ring_bytes, -1)));
  EXPECT_TRUE(HangsUp(without.get()));
  const UniqueFd wrong_kind = Connect();
  EXPECT_FALSE(Prove(wrong_kind.get(), ring_bytes, 0).ok());
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
      ASSERT_EQ(Prove(socket.get(), ring_bytes, memory.get()), OkStatus());
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
