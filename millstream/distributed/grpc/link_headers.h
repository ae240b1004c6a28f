// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_GRPC_LINK_HEADERS_H_
#define MILLSTREAM_DISTRIBUTED_GRPC_LINK_HEADERS_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "millstream/base/status.h"

namespace millstream {

// How the two ends of a gRPC link greet each other. A ticket is any bytes, which travel in base64 under keys that end
// in
// "-bin".
inline constexpr char kTaskKey[] = "millstream-task";
inline constexpr char kIncarnationKey[] = "millstream-incarnation";
inline constexpr char kTicketKey[] = "millstream-ticket-bin";

// The answer to a dialer, as it arrives: headers, and trailers where the link is refused.
class LinkAnswer {
 public:
  void Add(absl::string_view name, absl::string_view value);
  // Of the task that has accepted; none if it has not.
  std::optional<uint64_t> incarnation() const { return incarnation_; }
  // Why it has not, as far as the answer says.
  Status refusal() const;

 private:
  std::optional<uint64_t> incarnation_;
  std::string http_status_, code_, message_;
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_GRPC_LINK_HEADERS_H_
