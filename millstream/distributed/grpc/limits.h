// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_GRPC_LIMITS_H_
#define MILLSTREAM_DISTRIBUTED_GRPC_LIMITS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace millstream {

// What one HTTP/2 connection may do, at either end.
struct ConnectionLimits {
  uint32_t max_streams = 1024;           // that the peer may have open at once
  uint32_t max_header_bytes = 16 << 10;  // of one list, counted as in RFC 9113, 6.5.2
  // What may be on its way to us unread. Large, so that a message of 100 MB does not wait for updates.
  int32_t stream_window = 16 << 20;
  int32_t connection_window = 64 << 20;
  // Frames that ask for work but carry nothing (PING, SETTINGS, RST_STREAM, empty DATA, ...): so many at once and so
  // many per second are usual, more end the connection.
  int control_burst = 2000;
  int control_per_second = 200;
  // A peer that has been silent for the interval is pinged, and is gone if it does not answer within the timeout.
  std::chrono::milliseconds keepalive_interval{10'000}, keepalive_timeout{15'000};
};

// What peers may do who have not proved that they belong to the job.
inline constexpr int32_t kUntrustedWindow = 64 << 10;  // HTTP/2's own default

// What a server lets all its connections do together.
struct ServerLimits {
  ConnectionLimits connection;
  int max_connections = 4096;           // fewer where the system allows fewer descriptors
  int max_connections_per_peer = 1024;  // of one address
  // From accepting a connection to the end of its handshake, and from the first byte of a request's headers to the
  // last.
  std::chrono::milliseconds handshake_timeout{10'000};
  // A request whose bytes stop coming, and a connection that has never made a call.
  std::chrono::milliseconds stalled_request_timeout{60'000}, unused_timeout{60'000};
  // Calls of one connection that may wait on threads at once, and of all; the others queue.
  int waiting_calls_per_connection = 64;
  int waiting_calls = 512;
  // Requests that are being received, of all connections. 0: half of the machine's memory.
  uint64_t max_request_bytes = 0;
  // For tests: false treats every caller as one of another user.
  bool trusts_same_user = true;
};

// Messages of a status travel in headers, which clients limit to 8 KB in all.
inline constexpr size_t kMaxStatusMessage = 3072;

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_GRPC_LIMITS_H_
