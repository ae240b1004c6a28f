// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/link/handshake.h"

#include <algorithm>
#include <cstring>

#include "millstream/distributed/trust/hmac.h"
#include "millstream/distributed/trust/token_proof.h"

namespace millstream {
namespace {

constexpr absl::string_view kMagic("MSLINK\r\n", 8);
constexpr uint32_t kVersion = 3;
constexpr size_t kFixedHello = 8 + 4 + 4 + 8 + 8;
constexpr size_t kMaxText = 1024;
static_assert(kMaxText >= kMaxProofMessage);

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

std::string EncodeHello(const LinkHello& hello) {
  std::string out(kMagic);
  Append(&out, kVersion);
  Append(&out, static_cast<uint32_t>(hello.proof_hello.size()));
  Append(&out, hello.incarnation);
  Append(&out, hello.ring_bytes);
  out += hello.proof_hello;
  return out;
}

StatusOr<size_t> HelloSize(absl::string_view bytes) {
  if (!HasMagic(bytes)) return errors::InvalidArgument("not the beginning of a link");
  if (bytes.size() < kFixedHello) return kFixedHello;
  const uint32_t size = At<uint32_t>(bytes, 12);
  if (size > kMaxProofMessage) return errors::InvalidArgument("a hello of ", size, " bytes is too long");
  return kFixedHello + size;
}

StatusOr<LinkHello> DecodeHello(absl::string_view bytes) {
  const uint32_t version = At<uint32_t>(bytes, 8);
  if (version != kVersion) {
    return errors::FailedPrecondition("links of version ", version, " are not understood here; this is version ",
                                      kVersion);
  }
  LinkHello hello;
  hello.incarnation = At<uint64_t>(bytes, 16);
  hello.ring_bytes = At<uint64_t>(bytes, 24);
  hello.proof_hello = std::string(bytes.substr(kFixedHello));
  return hello;
}

std::string EncodeAnswer(const Status& status, uint64_t incarnation, absl::string_view challenge) {
  const absl::string_view text = (status.ok() ? challenge : status.message()).substr(0, kMaxText);
  std::string out(kMagic);
  Append(&out, static_cast<uint32_t>(status.code()));
  Append(&out, static_cast<uint32_t>(text.size()));
  Append(&out, incarnation);
  out.append(text.data(), text.size());
  return out;
}

StatusOr<Answer> DecodeAnswer(absl::string_view bytes) {
  const uint32_t code = At<uint32_t>(bytes, 8), text = At<uint32_t>(bytes, 12);
  if (!HasMagic(bytes) || code > static_cast<uint32_t>(absl::StatusCode::kUnauthenticated) || text > kMaxText) {
    return errors::Unavailable("something else than a Millstream task answers");
  }
  return Answer{static_cast<absl::StatusCode>(code), text, At<uint64_t>(bytes, 16)};
}

std::string LinkSecret(absl::string_view job_token, absl::string_view ticket) {
  return HmacSha256(job_token, absl::StrCat("millstream link ", ticket));
}

std::string LinkPurpose(uint64_t dialer_incarnation, uint64_t ring_bytes) {
  return absl::StrCat("link ", dialer_incarnation, " ", ring_bytes);
}

}  // namespace millstream
