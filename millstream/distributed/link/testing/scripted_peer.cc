// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/link/testing/scripted_peer.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "millstream/base/logging.h"
#include "millstream/distributed/link/frame_codec.h"
#include "millstream/distributed/link/handshake.h"
#include "millstream/distributed/trust/hmac.h"

namespace millstream::testing {
namespace {

constexpr int kMaxMoves = 24;
constexpr size_t kWordBytes = 4096;
constexpr int kPatienceMs = 20'000;

Deadline Patience() { return std::chrono::steady_clock::now() + std::chrono::milliseconds(kPatienceMs); }

}  // namespace

void AwaitReadable(int socket) {
  pollfd wanted = {socket, POLLIN, 0};
  int ready = -1;
  while (ready < 0) {  // the fuzzer's timer interrupts
    ready = poll(&wanted, 1, kPatienceMs);
    MS_CHECK(ready >= 0 || errno == EINTR);
  }
  MS_CHECK(ready == 1);
}

namespace {

// The text of an answer that must come, since all before it was proper.
std::string AwaitAnswer(int socket, uint64_t incarnation) {
  const StatusOr<std::string> head = ReceiveExactly(socket, kAnswerBytes, Patience());
  MS_CHECK(head.ok());
  const StatusOr<Answer> answer = DecodeAnswer(*head);
  MS_CHECK(answer.ok() && answer->code == absl::StatusCode::kOk && answer->incarnation == incarnation);
  return *ReceiveExactly(socket, answer->text_bytes, Patience());
}

// A frame, or what links say to each other, as bytes.
std::string FrameBytes(Script& script) {
  OutgoingFrame out;
  const uint8_t how = script.Byte();
  if (how % 4 == 0) {
    out.StartControl(static_cast<WireType>(how / 4 % 5), script.Bytes(script.Byte() % 32));
  } else {
    Frame frame;
    frame.kind = how;
    frame.body = script.Bytes(script.Byte());
    if (const int64_t bytes = script.Byte() * 64; bytes > 0) {
      frame.payload = *Tensor::Make(DType::kUint8, Shape({bytes}));
      std::memset(frame.payload.raw(), how, static_cast<size_t>(bytes));
    }
    out.Start(std::move(frame));
  }
  std::string bytes(out.total(), '\0');
  out.CopyTo(bytes.data(), bytes.size());
  script.Alter(&bytes);
  return bytes;
}

}  // namespace

uint8_t Script::Byte() {
  if (size_ == 0) return 0;
  --size_;
  return *data_++;
}

std::string Script::Bytes(size_t count) {
  count = std::min(count, size_);
  std::string bytes(reinterpret_cast<const char*>(data_), count);
  data_ += count;
  size_ -= count;
  return bytes;
}

bool Script::Alter(std::string* message) {
  const uint8_t change = Byte();
  if (change < 128 || message->empty()) return false;
  char& byte = message->at(Byte() % message->size());
  byte = static_cast<char>(byte ^ ((change & 0x7f) | 1));
  return true;
}

ScriptedPeer::~ScriptedPeer() {
  if (words_ != nullptr) munmap(words_, kWordBytes);
}

void ScriptedPeer::Play(Script& script) {
  for (int i = 0; i < kMaxMoves && !script.empty(); ++i) Move(script);
  Leave();
}

void ScriptedPeer::Move(Script& script) {
  const uint8_t move = script.Byte() % 6;
  if ((move == 1 || move == 2) && !done_) return SayNext(script);
  if (move == 4) return SetWord(script);
  proper_ = proper_ && done_;
  if (move == 0) return Send(script.Bytes(script.Byte()), -1);
  if (move < 5) return SayFrame(script);
  if (script.Byte() % 8 == 0) ::shutdown(socket_.get(), SHUT_WR);
}

void ScriptedPeer::Say(std::string message, int memory, Script& script) {
  proper_ = !script.Alter(&message) && proper_;
  Send(message, memory);
}

void ScriptedPeer::Send(const std::string& bytes, int memory) {
  if (!bytes.empty()) SendAll(socket_.get(), bytes, memory, Patience()).IgnoreError();
}

void ScriptedPeer::SayFrame(Script& script) {
  const std::string bytes = FrameBytes(script);
  if (writer_ == nullptr) return Send(bytes, -1);
  std::span<char> room;
  if (!writer_->Room(&room).ok()) return;
  const size_t n = std::min(room.size(), bytes.size());
  std::memcpy(room.data(), bytes.data(), n);
  if (writer_->Publish(n)) Send("!", -1);
}

void ScriptedPeer::SetWord(Script& script) {
  if (words_ == nullptr) return;
  const size_t at = (script.Byte() * size_t{8}) % kWordBytes;
  uint64_t value = 0;
  const std::string bytes = script.Bytes(script.Byte() % 9);
  std::memcpy(&value, bytes.data(), bytes.size());
  reinterpret_cast<std::atomic<uint64_t>*>(words_ + at)->store(value);
  Send("!", -1);
}

void ScriptedPeer::Adopt(ShmSegment segment, int memory, int way) {
  segment_ = std::move(segment);
  writer_ = std::make_unique<RingWriter>(segment_.writer(way));
  void* words = mmap(nullptr, kWordBytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
  if (words != MAP_FAILED) words_ = static_cast<char*>(words);
}

void ScriptedPeer::Leave() {
  ::shutdown(socket_.get(), SHUT_WR);
  char bytes[4096];
  for (;;) {
    AwaitReadable(socket_.get());
    const ssize_t n = recv(socket_.get(), bytes, sizeof(bytes), MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) break;
  }
  socket_.Close();
}

DialingPeer::DialingPeer(const LinkEndpoint& hub, UniqueFd socket, bool shm, const std::string& token)
    : ScriptedPeer(std::move(socket), shm),
      hub_incarnation_(hub.incarnation),
      ring_bytes_(shm ? ShmSegment::RingBytes(0) : 0),
      proof_(*MakeCredential(LinkSecret(token, hub.ticket), Role::kTask), kTask, {hub.task, ""},
             LinkPurpose(kIncarnation, ring_bytes_)) {}

void DialingPeer::SayNext(Script& script) {
  if (!greeted_) {
    greeted_ = true;
    return Say(EncodeHello({kIncarnation, ring_bytes_, *proof_.Hello()}), -1, script);
  }
  done_ = true;
  std::string proof(kHmacBytes, 'x');
  if (proper_) proof = *proof_.AnswerChallenge(AwaitAnswer(socket(), hub_incarnation_));
  const UniqueFd memory = shm_ ? Memory(script.Byte()) : UniqueFd();
  Say(std::move(proof), memory.get(), script);
  if (!proper_) return;
  linked_ = true;
  AwaitAnswer(socket(), hub_incarnation_);
}

// Of eight kinds four are what the protocol wants.
UniqueFd DialingPeer::Memory(uint8_t how) {
  UniqueFd memory;
  if (how % 8 < 4) {
    ShmSegment segment = *ShmSegment::Create(ring_bytes_, &memory);
    Adopt(std::move(segment), memory.get(), 0);
    return memory;
  }
  proper_ = false;
  if (how % 8 == 4) return UniqueFd(memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (how % 8 == 5) return UniqueFd(open("/dev/zero", O_RDWR | O_CLOEXEC));
  if (how % 8 == 6) {
    memory = UniqueFd(memfd_create("small", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    MS_CHECK(ftruncate(memory.get(), 4096) == 0 && fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SHRINK) == 0);
  }
  return memory;
}

AnsweringPeer::~AnsweringPeer() { MS_CHECK(memory_.empty() || proven_); }

void AnsweringPeer::SayNext(Script& script) {
  if (!challenged_) {
    challenged_ = true;
    Say(EncodeAnswer(OkStatus(), kIncarnation, proper_ ? Challenge() : std::string(80, 'x')), -1, script);
    proven_ = proper_;
    return;
  }
  done_ = true;
  if (proper_) AwaitProof();
  const Status status = script.Byte() % 4 == 3 ? errors::Unavailable("no room") : OkStatus();
  Say(EncodeAnswer(status, kIncarnation), -1, script);
  linked_ = status.ok() && proper_;
}

std::string AnsweringPeer::Challenge() {
  std::string bytes;
  for (StatusOr<size_t> size = HelloSize(bytes); bytes.size() < *size; size = HelloSize(bytes)) {
    bytes += *ReceiveExactly(socket(), *size - bytes.size(), Patience());
  }
  const LinkHello hello = *DecodeHello(bytes);
  ring_bytes_ = hello.ring_bytes;
  proof_ = std::make_unique<ServerProof>(LinkSecret(token_, ticket_), ServerIdentity{kTask, {}, ""},
                                         LinkPurpose(hello.incarnation, hello.ring_bytes));
  return *proof_->AnswerHello(hello.proof_hello);
}

void AnsweringPeer::AwaitProof() {
  std::string proof;
  while (proof.size() < kHmacBytes) {
    AwaitReadable(socket());
    MS_CHECK(ReceiveSome(socket(), kHmacBytes - proof.size(), &proof, &memory_).ok());
  }
  MS_CHECK(proof_->CheckProof(proof).ok() && memory_.size() == (shm_ ? 1u : 0u));
  if (!shm_) return;
  UniqueFd copy(fcntl(memory_[0].get(), F_DUPFD_CLOEXEC, 0));
  Adopt(*ShmSegment::Attach(std::move(copy), ring_bytes_), memory_[0].get(), 1);
}

}  // namespace millstream::testing
