// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/link/handshake.h"

#include <algorithm>
#include <cstring>

namespace millstream {
namespace {

constexpr absl::string_view kMagic("MSLINK\r\n", 8);
constexpr uint32_t kVersion = 1;
constexpr size_t kFixedHello = 8 + 4 + 4 + 8 + 8 + kTicketBytes;
constexpr size_t kMaxMessage = 1024;

template <typename T>
void Append(std::string* out, T value) {
  out->append(reinterpret_cast<const char*>(&value), sizeof(T));
}

template <typename T>
T At(absl::string_view bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

bool HasMagic(absl::string_view bytes) {
  const size_t n = std::min(bytes.size(), kMagic.size());
  return bytes.substr(0, n) == kMagic.substr(0, n);
}

}  // namespace

std::string EncodeHello(const Hello& hello) {
  std::string out(kMagic);
  Append(&out, kVersion);
  Append(&out, static_cast<uint32_t>(hello.task.size()));
  Append(&out, hello.incarnation);
  Append(&out, hello.ring_bytes);
  out += hello.ticket;
  out += hello.task;
  return out;
}

StatusOr<size_t> HelloSize(absl::string_view bytes) {
  if (!HasMagic(bytes)) return errors::InvalidArgument("not the beginning of a link");
  if (bytes.size() < kFixedHello) return kFixedHello;
  const uint32_t name = At<uint32_t>(bytes, 12);
  if (name > kMaxTaskName) return errors::InvalidArgument("a task name of ", name, " bytes");
  return kFixedHello + name;
}

StatusOr<Hello> DecodeHello(absl::string_view bytes) {
  const uint32_t version = At<uint32_t>(bytes, 8);
  if (version != kVersion) {
    return errors::FailedPrecondition("links of version ", version, " are not understood here; this is version ",
                                      kVersion);
  }
  Hello hello;
  hello.incarnation = At<uint64_t>(bytes, 16);
  hello.ring_bytes = At<uint64_t>(bytes, 24);
  hello.ticket = std::string(bytes.substr(32, kTicketBytes));
  hello.task = std::string(bytes.substr(kFixedHello));
  return hello;
}

std::string EncodeAnswer(const Status& status, uint64_t incarnation) {
  const absl::string_view message = status.message().substr(0, kMaxMessage);
  std::string out(kMagic);
  Append(&out, static_cast<uint32_t>(status.code()));
  Append(&out, static_cast<uint32_t>(message.size()));
  Append(&out, incarnation);
  out.append(message.data(), message.size());
  return out;
}

StatusOr<Answer> DecodeAnswer(absl::string_view bytes) {
  const uint32_t code = At<uint32_t>(bytes, 8), message = At<uint32_t>(bytes, 12);
  if (!HasMagic(bytes) || code > static_cast<uint32_t>(absl::StatusCode::kUnauthenticated) || message > kMaxMessage) {
    return errors::Unavailable("something else than a Millstream task answers");
  }
  return Answer{static_cast<absl::StatusCode>(code), message, At<uint64_t>(bytes, 16)};
}

bool TicketsMatch(absl::string_view a, absl::string_view b) {
  if (a.size() != kTicketBytes || b.size() != kTicketBytes) return false;
  unsigned char difference = 0;
  for (size_t i = 0; i < kTicketBytes; ++i) difference |= static_cast<unsigned char>(a[i] ^ b[i]);
  return difference == 0;
}

}  // namespace millstream
