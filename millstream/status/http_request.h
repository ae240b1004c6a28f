// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_STATUS_HTTP_REQUEST_H_
#define MILLSTREAM_STATUS_HTTP_REQUEST_H_

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace millstream {

// The head of an HTTP/1.x request, from anybody: read strictly (RFC 9112), within narrow bounds. What is in doubt is
// refused.
struct HttpRequest {
  std::string method;                                        // "GET"
  std::string path;                                          // "/status.json": begins with a slash, not decoded
  std::string query;                                         // "since=3": what follows the question mark, not decoded
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case
  size_t content_length = 0;
  std::string body;
  std::optional<uid_t> peer_user;  // PeerUser() of the connection

  static constexpr size_t kMaxHead = 8192;
  static constexpr size_t kMaxTarget = 2048;
  static constexpr size_t kMaxHeaders = 64;
  static constexpr size_t kMaxBody = 4096;

  // "" if there is none.
  absl::string_view header(absl::string_view lower_case_name) const;
  // The first parameter of that name, decoded; "" if there is none or it is malformed.
  std::string parameter(absl::string_view name) const;
  // The value of a cookie; "" if there is none.
  absl::string_view cookie(absl::string_view name) const;
};

// The length of the head at the beginning of `bytes`, with the empty line that ends it; npos if it has not come yet.
size_t FindHeadEnd(absl::string_view bytes);

// Reads a head as FindHeadEnd() found it. Returns 200, or the status to answer with: 400 malformed, 413 body too large,
// 414 target too long, 431 too many or too large headers, 501 not supported, 505 not HTTP/1.x.
int ParseHttpRequest(absl::string_view head, HttpRequest* request);

}  // namespace millstream

#endif  // MILLSTREAM_STATUS_HTTP_REQUEST_H_
