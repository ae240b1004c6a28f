// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_GRPC_PROTOCOL_H_
#define MILLSTREAM_DISTRIBUTED_GRPC_PROTOCOL_H_

#include <chrono>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "millstream/base/status.h"

namespace millstream {

// The texts of gRPC over HTTP/2 (github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md).

inline constexpr char kGrpcContentType[] = "application/grpc";
inline constexpr size_t kMessagePrefixBytes = 5;  // compressed flag, length in four bytes

// grpc-message: printable ASCII as it is, other bytes as %XX.
std::string PercentEncode(absl::string_view text);
// What is not %XX stays as it is.
std::string PercentDecode(absl::string_view text);

// grpc-timeout: at most eight digits and a unit ("100m"). None if it is no such text.
std::optional<std::chrono::nanoseconds> ParseTimeout(absl::string_view text);
// Rounded up, so that the server does not give up before the client.
std::string FormatTimeout(std::chrono::nanoseconds timeout);

// The status in grpc-status and grpc-message; Unknown for a code that does not exist.
Status StatusFromText(absl::string_view code, absl::string_view message);
// What an answer without grpc-status means: it comes from another server or from a proxy, which is an outage.
Status StatusFromHttp(absl::string_view http_status);
// Why the peer ended a stream (RST_STREAM).
Status StatusFromHttp2Error(uint32_t code);

// Takes the same time wherever the two differ.
bool SameSecret(absl::string_view a, absl::string_view b);

// What a stranger sent, fit for a line of a log: other characters than printable ASCII escaped, cut after 200.
std::string Printable(absl::string_view text);

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_GRPC_PROTOCOL_H_
