// SPDX-License-Identifier: Apache-2.0
#include "millstream/status/http_host.h"

#include <arpa/inet.h>

#include <string>

#include "absl/strings/match.h"

namespace millstream {
namespace {

bool IsNumber(int family, absl::string_view text) {
  unsigned char address[16];
  return inet_pton(family, std::string(text).c_str(), address) == 1;
}

}  // namespace

absl::string_view HostOfHeader(absl::string_view header) {
  const size_t colon = header.rfind(':');
  if (colon == absl::string_view::npos || colon == 0) return colon == 0 ? "" : header;
  return header[0] != '[' || header[colon - 1] == ']' ? header.substr(0, colon) : header;
}

bool IsLoopbackName(absl::string_view host) {
  return host == "localhost" || host == "[::1]" || (absl::StartsWith(host, "127.") && IsNumber(AF_INET, host));
}

bool IsAddressLiteral(absl::string_view host) {
  if (IsLoopbackName(host) || IsNumber(AF_INET, host)) return true;
  const bool brackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
  return brackets && IsNumber(AF_INET6, host.substr(1, host.size() - 2));
}

}  // namespace millstream
