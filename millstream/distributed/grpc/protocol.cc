// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/grpc/protocol.h"

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"

namespace millstream {
namespace {

struct TimeUnit {
  char letter;
  int64_t nanos;
};
constexpr std::array<TimeUnit, 6> kTimeUnits = {
    {{'n', 1}, {'u', 1'000}, {'m', 1'000'000}, {'S', 1'000'000'000}, {'M', 60'000'000'000}, {'H', 3'600'000'000'000}}};
constexpr int64_t kMaxTimeoutNumber = 99'999'999;

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::string PercentEncode(absl::string_view text) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string encoded;
  encoded.reserve(text.size());
  for (const char c : text) {
    if (c >= ' ' && c <= '~' && c != '%') {
      encoded += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      encoded += '%';
      encoded += kDigits[byte >> 4];
      encoded += kDigits[byte & 15];
    }
  }
  return encoded;
}

std::string PercentDecode(absl::string_view text) {
  std::string decoded;
  decoded.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const int high = text[i] == '%' && i + 2 < text.size() ? HexDigit(text[i + 1]) : -1;
    const int low = high >= 0 ? HexDigit(text[i + 2]) : -1;
    if (low >= 0) {
      decoded += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      decoded += text[i];
    }
  }
  return decoded;
}

std::optional<std::chrono::nanoseconds> ParseTimeout(absl::string_view text) {
  if (text.size() < 2 || text.size() > 9) return std::nullopt;
  int64_t number = 0;
  for (const char c : text.substr(0, text.size() - 1)) {
    if (!absl::ascii_isdigit(static_cast<unsigned char>(c))) return std::nullopt;
    number = 10 * number + (c - '0');
  }
  for (const TimeUnit& unit : kTimeUnits) {
    if (unit.letter != text.back()) continue;
    if (number > std::numeric_limits<int64_t>::max() / unit.nanos) return std::chrono::nanoseconds::max();
    return std::chrono::nanoseconds(number * unit.nanos);
  }
  return std::nullopt;
}

std::string FormatTimeout(std::chrono::nanoseconds timeout) {
  const int64_t nanos = std::max<int64_t>(timeout.count(), 1);
  for (const TimeUnit& unit : kTimeUnits) {
    const int64_t number = nanos / unit.nanos + (nanos % unit.nanos != 0 ? 1 : 0);
    if (number <= kMaxTimeoutNumber) return absl::StrCat(number, std::string(1, unit.letter));
  }
  return absl::StrCat(kMaxTimeoutNumber, "H");
}

Status StatusFromText(absl::string_view code, absl::string_view message) {
  int number = 0;
  // The codes of gRPC and absl are the same numbers.
  const bool known =
      absl::SimpleAtoi(code, &number) && number >= 0 && number <= static_cast<int>(absl::StatusCode::kUnauthenticated);
  return Status(known ? static_cast<absl::StatusCode>(number) : absl::StatusCode::kUnknown, PercentDecode(message));
}

Status StatusFromHttp(absl::string_view http_status) {
  const std::string text = absl::StrCat("the answer has HTTP status ", Printable(http_status), " and no gRPC status");
  if (http_status == "401") return absl::UnauthenticatedError(text);
  if (http_status == "403") return errors::PermissionDenied(text);
  return errors::Unavailable(text);
}

Status StatusFromHttp2Error(uint32_t code) {
  const std::string text = absl::StrCat("the server ended the call: ", nghttp2_http2_strerror(code));
  switch (code) {
    case NGHTTP2_CANCEL:
      return errors::Cancelled(text);
    case NGHTTP2_NO_ERROR:
    case NGHTTP2_REFUSED_STREAM:
      return errors::Unavailable(text);
    case NGHTTP2_ENHANCE_YOUR_CALM:
      return errors::ResourceExhausted(text);
    case NGHTTP2_INADEQUATE_SECURITY:
      return errors::PermissionDenied(text);
    default:
      return errors::Internal(text);
  }
}

bool SameSecret(absl::string_view a, absl::string_view b) {
  unsigned char difference = a.size() == b.size() ? 0 : 1;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) difference |= static_cast<unsigned char>(a[i] ^ b[i]);
  return difference == 0;
}

std::string Printable(absl::string_view text) { return absl::CHexEscape(text.substr(0, 200)); }

}  // namespace millstream
