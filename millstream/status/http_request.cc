// SPDX-License-Identifier: Apache-2.0
#include "millstream/status/http_request.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace millstream {
namespace {

bool IsTokenChar(unsigned char c) { return absl::ascii_isalnum(c) || absl::StrContains("!#$%&'*+-.^_`|~", c); }
bool IsTargetChar(unsigned char c) { return c > 0x20 && c < 0x7f && c != '#'; }
bool IsValueChar(unsigned char c) { return c == '\t' || (c >= 0x20 && c != 0x7f); }

template <typename Predicate>
bool All(absl::string_view text, Predicate predicate) {
  return std::all_of(text.begin(), text.end(), [&](char c) { return predicate(static_cast<unsigned char>(c)); });
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = absl::ascii_tolower(static_cast<unsigned char>(c));
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

bool Decode(absl::string_view text, std::string* decoded) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded->push_back(text[i] == '+' ? ' ' : text[i]);
      continue;
    }
    if (i + 2 >= text.size()) return false;
    const int high = HexDigit(text[i + 1]), low = HexDigit(text[i + 2]);
    if (high < 0 || low < 0) return false;
    decoded->push_back(static_cast<char>(high * 16 + low));
    i += 2;
  }
  return true;
}

int ParseRequestLine(absl::string_view line, HttpRequest* request) {
  const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
  if (words.size() != 3) return 400;
  const absl::string_view method = words[0], target = words[1], version = words[2];
  if (method.empty() || method.size() > 16 || !All(method, IsTokenChar)) return 400;
  if (target.size() > HttpRequest::kMaxTarget) return 414;
  if (!absl::StartsWith(version, "HTTP/") || version.size() != 8) return 400;
  if (version != "HTTP/1.1" && version != "HTTP/1.0") return 505;
  if (target.empty() || target[0] != '/' || !All(target, IsTargetChar)) return 400;
  request->method = std::string(method);
  const size_t mark = target.find('?');
  request->path = std::string(target.substr(0, mark));
  if (mark != absl::string_view::npos) request->query = std::string(target.substr(mark + 1));
  return 200;
}

int ParseHeader(absl::string_view line, HttpRequest* request) {
  const size_t colon = line.find(':');
  if (colon == absl::string_view::npos || colon == 0) return 400;
  const absl::string_view name = line.substr(0, colon);
  const absl::string_view value = absl::StripAsciiWhitespace(line.substr(colon + 1));
  if (!All(name, IsTokenChar) || !All(value, IsValueChar)) return 400;
  if (request->headers.size() >= HttpRequest::kMaxHeaders) return 431;
  std::string lower = absl::AsciiStrToLower(name);
  if (lower == "transfer-encoding") return 501;
  const bool once = lower == "host" || lower == "content-length" || lower == "authorization";
  if (once &&
      std::any_of(request->headers.begin(), request->headers.end(), [&](const auto& h) { return h.first == lower; }))
    return 400;
  if (lower == "content-length") {
    if (value.empty() || value.size() > 18 || !All(value, [](unsigned char c) { return absl::ascii_isdigit(c); }))
      return 400;
    uint64_t length = 0;
    if (!absl::SimpleAtoi(value, &length)) return 400;
    if (length > HttpRequest::kMaxBody) return 413;
    request->content_length = length;
  }
  request->headers.emplace_back(std::move(lower), std::string(value));
  return 200;
}

}  // namespace

absl::string_view HttpRequest::header(absl::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (key == name) return value;
  }
  return "";
}

std::string HttpRequest::parameter(absl::string_view name) const {
  for (absl::string_view part : absl::StrSplit(query, '&')) {
    const size_t equals = part.find('=');
    if (part.substr(0, equals) != name) continue;
    std::string value;
    if (equals != absl::string_view::npos && !Decode(part.substr(equals + 1), &value)) return "";
    return value;
  }
  return "";
}

absl::string_view HttpRequest::cookie(absl::string_view name) const {
  for (absl::string_view part : absl::StrSplit(header("cookie"), ';')) {
    part = absl::StripAsciiWhitespace(part);
    if (absl::ConsumePrefix(&part, name) && absl::ConsumePrefix(&part, "=")) return part;
  }
  return "";
}

size_t FindHeadEnd(absl::string_view bytes) {
  const size_t end = bytes.find("\r\n\r\n");
  return end == absl::string_view::npos ? end : end + 4;
}

int ParseHttpRequest(absl::string_view head, HttpRequest* request) {
  *request = HttpRequest();
  if (head.size() > HttpRequest::kMaxHead) return 431;
  if (!absl::ConsumeSuffix(&head, "\r\n\r\n")) return 400;
  const std::vector<absl::string_view> lines = absl::StrSplit(head, "\r\n");
  if (const int code = ParseRequestLine(lines[0], request); code != 200) return code;
  for (size_t i = 1; i < lines.size(); ++i) {
    if (const int code = ParseHeader(lines[i], request); code != 200) return code;
  }
  return 200;
}

}  // namespace millstream
