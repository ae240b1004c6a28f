// SPDX-License-Identifier: Apache-2.0
// Any bytes as the beginning of a connection to the status page.
#include <cstdint>
#include <cstdlib>

#include "millstream/status/http_request.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  const size_t end = millstream::FindHeadEnd(bytes);
  if (end != absl::string_view::npos && end > size) std::abort();
  millstream::HttpRequest request;
  const int code = millstream::ParseHttpRequest(bytes.substr(0, end), &request);
  if (code != 200) return 0;
  // What is let through keeps its promises.
  if (request.path.empty() || request.path[0] != '/' || request.content_length > millstream::HttpRequest::kMaxBody ||
      request.headers.size() > millstream::HttpRequest::kMaxHeaders ||
      request.path.size() > millstream::HttpRequest::kMaxTarget) {
    std::abort();
  }
  (void)request.parameter("task");
  (void)request.header("host");
  return 0;
}
