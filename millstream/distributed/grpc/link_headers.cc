// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/grpc/link_headers.h"

#include "absl/strings/numbers.h"
#include "millstream/distributed/grpc/protocol.h"

namespace millstream {

void LinkAnswer::Add(absl::string_view name, absl::string_view value) {
  if (name == ":status") http_status_ = std::string(value);
  if (name == "grpc-status") code_ = std::string(value);
  if (name == "grpc-message") message_ = std::string(value);
  uint64_t number = 0;
  if (name == kIncarnationKey && absl::SimpleAtoi(value, &number)) incarnation_ = number;
}

Status LinkAnswer::refusal() const {
  if (!code_.empty() && code_ != "0") return StatusFromText(code_, message_);
  if (!http_status_.empty() && http_status_ != "200") return StatusFromHttp(http_status_);
  return errors::Unavailable("the connection is lost");
}

}  // namespace millstream
