// SPDX-License-Identifier: Apache-2.0
// Bytes as what a peer may say: a stream of frames in pieces, a hello, an answer, a goodbye, and a ring with its
// positions.
#include <algorithm>
#include <cstring>

#include "millstream/base/logging.h"
#include "millstream/distributed/link/frame_codec.h"
#include "millstream/distributed/link/handshake.h"
#include "millstream/distributed/link/shm_ring.h"

namespace millstream {
namespace {

struct Sink : FrameDecoder::Sink {
  StatusOr<Tensor> AllocatePayload(const Frame& frame, uint64_t bytes) override {
    MS_CHECK(frame.body.size() <= Frame::kMaxBody && bytes > 0);
    if (bytes > 65536 || frame.kind % 4 == 0) return errors::ResourceExhausted("too large");
    return Tensor::Make(DType::kUint8, Shape({static_cast<int64_t>(bytes) + (frame.kind % 4 == 1 ? 1 : 0)}));
  }
  StatusOr<Tensor> BorrowPayload(const Frame& frame, uint64_t bytes, const Loan& loan) override {
    if (loan.flag >= 256 || loan.offset % 64 != 0) return errors::DataLoss("no such loan");
    return AllocatePayload(frame, bytes);
  }
  void Deliver(Frame frame) override {
    bytes += frame.body.size() + frame.payload.ByteSize();
    ++frames;
  }
  void Control(WireType, const std::string& body) override {
    MS_CHECK(body.size() <= kMaxControlBody);
    DecodeByeStatus(body).IgnoreError();
  }
  size_t bytes = 0, frames = 0;
};

// The first byte says how the stream is cut.
void Frames(const char* data, size_t size) {
  Sink sink;
  FrameDecoder decoder(&sink);
  const size_t piece = 1 + static_cast<unsigned char>(data[0]);
  for (size_t at = 1; at < size;) {
    const std::span<char> target = decoder.PayloadTarget();
    size_t n = std::min(piece, size - at);
    if (!target.empty() && piece % 2 == 0) {
      n = std::min(n, target.size());
      std::memcpy(target.data(), data + at, n);
      decoder.PayloadFilled(n);
    } else if (!decoder.Consume(data + at, n).ok()) {
      return;
    }
    at += n;
  }
}

// Frames that a peer of ours would send (two bytes each: kind, sizes), with one byte of the stream changed where the
// second byte is not 0. Unchanged, all of them arrive.
void Encoded(const char* data, size_t size) {
  if (size < 5) return;
  std::string stream;
  size_t sent = 0;
  for (size_t at = 4; at + 1 < size; at += 2, ++sent) {
    Frame frame;
    frame.kind = 4 * static_cast<unsigned char>(data[at]) + 2;  // the sink takes these
    frame.edge = static_cast<unsigned char>(data[at]);
    frame.body.assign(static_cast<unsigned char>(data[at + 1]) % 16, 'b');
    const int64_t payload = static_cast<unsigned char>(data[at + 1]) / 16;
    if (payload > 0) frame.payload = Tensor::Make(DType::kInt32, Shape({payload})).value();
    if (payload > 0) std::memset(frame.payload.raw(), 7, frame.payload.ByteSize());
    OutgoingFrame out;
    out.Start(std::move(frame));
    const size_t before = stream.size();
    stream.resize(before + out.total());
    MS_CHECK(out.CopyTo(stream.data() + before, stream.size() - before) == stream.size() - before);
  }
  const size_t where = static_cast<unsigned char>(data[2]) | static_cast<unsigned char>(data[3]) << 8;
  if (!stream.empty()) stream[where % stream.size()] = static_cast<char>(stream[where % stream.size()] ^ data[1]);
  Sink sink;
  FrameDecoder decoder(&sink);
  const size_t piece = 1 + static_cast<unsigned char>(data[0]);
  Status status;
  for (size_t at = 0; status.ok() && at < stream.size(); at += piece) {
    status = decoder.Consume(stream.data() + at, std::min(piece, stream.size() - at));
  }
  if (data[1] == 0) MS_CHECK(status.ok() && sink.frames == sent && decoder.at_boundary());
}

void Handshakes(absl::string_view bytes) {
  const auto size = HelloSize(bytes);
  if (size.ok() && bytes.size() >= *size) {
    const auto exact = HelloSize(bytes.substr(0, *size));
    if (exact.ok() && *exact == *size) DecodeHello(bytes.substr(0, *size)).IgnoreError();
  }
  if (bytes.size() >= kAnswerBytes) DecodeAnswer(bytes.substr(0, kAnswerBytes)).IgnoreError();
}

// Every ten bytes: which word of the ring, whose turn, and what is written there.
void Ring(const char* data, size_t size) {
  static std::vector<char> memory(65536);
  RingControl control = {};
  RingWriter writer(&control, memory.data(), memory.size());
  RingReader reader(&control, memory.data(), memory.size());
  Sink sink;
  FrameDecoder decoder(&sink);
  for (; size >= 10; data += 10, size -= 10) {
    uint64_t value;
    std::memcpy(&value, data + 2, sizeof(value));
    std::atomic<uint64_t>* words[] = {&control.tail, &control.head, &control.rewind_at};
    if (data[0] % 4 != 3) words[static_cast<unsigned char>(data[0]) % 3]->store(value);
    std::span<const char> bytes;
    std::span<char> room;
    if (data[1] % 2 == 0) {
      if (!reader.Peek(&bytes).ok() || !decoder.Consume(bytes.data(), bytes.size()).ok()) return;
      (void)reader.Release(bytes.size());
    } else {
      if (!writer.Room(&room).ok()) return;
      const size_t n = std::min(room.size(), size);
      std::memcpy(room.data(), data, n);
      (void)writer.Publish(n);
    }
  }
}

}  // namespace
}  // namespace millstream

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const char* bytes = reinterpret_cast<const char*>(data);
  switch (data[0] % 4) {
    case 0:
      millstream::Frames(bytes + 1, size - 1);
      break;
    case 1:
      millstream::Handshakes(absl::string_view(bytes + 1, size - 1));
      break;
    case 2:
      millstream::Encoded(bytes + 1, size - 1);
      break;
    default:
      millstream::Ring(bytes + 1, size - 1);
  }
  return 0;
}
