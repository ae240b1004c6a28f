// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/grpc/testing/frame_script.h"

#include <algorithm>
#include <array>
#include <vector>

#include "absl/strings/str_cat.h"
#include "millstream/distributed/grpc/protocol.h"
#include "millstream/distributed/grpc/trust_service.h"
#include "millstream/distributed/wire/grpc_link.h"

namespace millstream::testing {
namespace {

enum Type : uint8_t { kData, kHeaders, kPriority, kReset, kSettings, kPush, kPing, kGoAway, kWindow, kContinuation };
constexpr uint8_t kEndStream = 1, kEndHeaders = 4;
using Headers = std::vector<std::pair<std::string, std::string>>;

// Reads a script; at its end, zeros.
class Reader {
 public:
  explicit Reader(absl::string_view script) : left_(script) {}
  bool empty() const { return left_.empty(); }
  uint8_t Byte() {
    if (left_.empty()) return 0;
    const auto byte = static_cast<uint8_t>(left_.front());
    left_.remove_prefix(1);
    return byte;
  }
  // As many as the next byte says, times `unit`.
  std::string Bytes(size_t unit = 1) {
    const size_t asked = Byte() * unit, n = std::min(asked, left_.size());
    const std::string bytes(left_.substr(0, n));
    left_.remove_prefix(n);
    return bytes;
  }
  uint32_t Number() {
    uint32_t number = 0;
    for (int i = 0; i < 4; ++i) number = number << 8 | Byte();
    return number;
  }
  // Streams that a client opens, mostly; a few, so that most moves are about one that is there.
  uint32_t Stream() {
    constexpr std::array<uint32_t, 8> kStreams = {1, 1, 1, 3, 3, 5, 0, 2};
    const uint8_t which = Byte();
    return which < 250 ? kStreams[which % kStreams.size()] : Number();
  }

 private:
  absl::string_view left_;
};

std::string BigEndian(uint32_t number) {
  std::string bytes;
  for (const int shift : {24, 16, 8, 0}) bytes.push_back(static_cast<char>(number >> shift));
  return bytes;
}

std::string Text(Reader& in) { return in.Bytes().substr(0, 126); }

std::string Request(Reader& in) {
  const std::array<const char*, 5> paths = {"/a", kGrpcLinkPath, kChallengePath, kProvePath, "/none"};
  const uint8_t wrong = in.Byte();
  Headers headers = {{":method", wrong == 1 ? Text(in) : "POST"},
                     {":scheme", wrong == 2 ? Text(in) : "http"},
                     {":path", wrong == 3 ? Text(in) : paths[in.Byte() % paths.size()]},
                     {":authority", wrong == 4 ? Text(in) : "here"},
                     {"content-type", wrong == 5 ? Text(in) : kGrpcContentType},
                     {"te", wrong == 6 ? Text(in) : "trailers"}};
  if (wrong == 7) headers.emplace_back("grpc-timeout", Text(in));
  if (wrong == 8) headers.emplace_back("grpc-encoding", Text(in));
  if (wrong == 9) headers.emplace_back(Text(in), Text(in));
  if (wrong == 10) headers.emplace_back("content-length", Text(in));
  const uint32_t stream = in.Stream();
  const uint8_t flags = kEndHeaders | (in.Byte() % 4 == 1 ? kEndStream : 0);
  return Http2Frame(kHeaders, flags, stream, LiteralHeaders(headers));
}

std::string Answer(Reader& in) {
  const uint8_t wrong = in.Byte();
  Headers headers = {{":status", wrong == 1 ? Text(in) : "200"},
                     {"content-type", wrong == 2 ? Text(in) : kGrpcContentType}};
  const bool last = wrong % 2 == 1;
  if (last) headers.emplace_back("grpc-status", absl::StrCat(in.Byte() % 20));
  if (wrong == 5) headers.emplace_back("grpc-message", Text(in));
  const uint32_t stream = in.Stream();
  return Http2Frame(kHeaders, kEndHeaders | (last ? kEndStream : 0), stream, LiteralHeaders(headers));
}

std::string Trailers(Reader& in) {
  const Headers headers = {{"grpc-status", absl::StrCat(in.Byte() % 20)}, {"grpc-message", Text(in)}};
  const uint32_t stream = in.Stream();
  return Http2Frame(kHeaders, kEndHeaders | kEndStream, stream, LiteralHeaders(headers));
}

// In one frame or in two.
std::string Message(Reader& in) {
  const uint8_t wrong = in.Byte();
  const uint32_t stream = in.Stream();
  const std::string body = in.Bytes(wrong % 8 == 3 ? 64 : 1);
  const uint32_t length = wrong == 1 ? in.Number() : static_cast<uint32_t>(body.size());
  std::string message(1, wrong == 2 ? static_cast<char>(in.Byte()) : '\0');
  message += BigEndian(length) + body;
  const uint8_t last = wrong % 4 == 0 ? kEndStream : 0;
  const size_t cut = wrong % 16 < 8 ? message.size() : std::min<size_t>(in.Byte(), message.size());
  if (cut == message.size()) return Http2Frame(kData, last, stream, message);
  return Http2Frame(kData, 0, stream, message.substr(0, cut)) + Http2Frame(kData, last, stream, message.substr(cut));
}

}  // namespace

std::string Http2Frame(uint8_t type, uint8_t flags, uint32_t stream, absl::string_view payload) {
  std::string frame;
  for (const int shift : {16, 8, 0}) frame.push_back(static_cast<char>(payload.size() >> shift));
  frame.push_back(static_cast<char>(type));
  frame.push_back(static_cast<char>(flags));
  return absl::StrCat(frame, BigEndian(stream), payload);
}

std::string LiteralHeaders(std::span<const std::pair<std::string, std::string>> headers) {
  std::string block;
  for (const auto& [name, value] : headers) {
    block.push_back('\0');
    for (const std::string& text : {name, value}) {
      block.push_back(static_cast<char>(text.size()));
      block += text;
    }
  }
  return block;
}

std::string FramesOf(absl::string_view script) {
  Reader in(script);
  std::string out;
  while (!in.empty()) {
    const uint8_t move = in.Byte();
    switch (move % 12) {
      case 0:
        out += in.Bytes();
        break;
      case 1: {
        const uint8_t type = in.Byte() % 12, flags = in.Byte();
        const uint32_t stream = in.Stream();
        out += Http2Frame(type, flags, stream, in.Bytes());
        break;
      }
      case 2:
      case 3:
        out += Request(in);
        break;
      case 4:
      case 5:
        out += Message(in);
        break;
      case 6:
        out += Answer(in);
        break;
      case 7:
        out += Trailers(in);
        break;
      case 8: {
        const uint32_t stream = in.Stream();
        out += Http2Frame(kWindow, 0, stream, BigEndian(in.Number()));
        break;
      }
      case 9: {
        const uint32_t stream = in.Stream();
        out += Http2Frame(kReset, 0, stream, BigEndian(in.Byte()));
        break;
      }
      case 10: {
        const std::string name = {'\0', static_cast<char>(in.Byte() % 9)};
        out += Http2Frame(kSettings, 0, 0, name + BigEndian(in.Number()));
        break;
      }
      default: {
        const bool ping = in.Byte() % 2 == 0;
        const uint8_t flags = in.Byte() & 1;
        const std::string last = BigEndian(in.Stream());
        out += ping ? Http2Frame(kPing, flags, 0, "12345678") : Http2Frame(kGoAway, 0, 0, last + BigEndian(in.Byte()));
      }
    }
  }
  return out;
}

}  // namespace millstream::testing
