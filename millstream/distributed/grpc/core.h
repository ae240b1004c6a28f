// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_GRPC_CORE_H_
#define MILLSTREAM_DISTRIBUTED_GRPC_CORE_H_

#include <grpc/byte_buffer.h>
#include <grpc/grpc.h>

#include <chrono>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "google/protobuf/message.h"
#include "millstream/base/status.h"
#include "millstream/distributed/wire/rpc.h"

namespace millstream {

// What server, channel and stream share. All of it is over gRPC's C interface: one batch and one event answer a call
// there, where the C++ interface takes two of each and several allocations (58 against 68 us for an empty call).

// Starts gRPC, once; it stays until the process ends.
void InitGrpc();

// Arguments of a channel or server; numbers and texts are copied.
class GrpcArgs {
 public:
  void Add(const char* key, int value);
  void Add(const char* key, std::string value);
  const grpc_channel_args* get();

 private:
  std::deque<std::string> texts_;  // stable addresses
  std::vector<grpc_arg> args_;
  grpc_channel_args all_;
};

// Starts operations of a call, whose tag the call's queue brings when they are done.
void StartBatch(grpc_call* call, std::span<const grpc_op> ops, const void* tag);

// A byte buffer with `message` in it, in one piece; the caller destroys it. InvalidArgument beyond protobuf's 2 GB.
StatusOr<grpc_byte_buffer*> SerializeToBuffer(const google::protobuf::Message& message);
// Parses the buffer's slices where they are. False if they are no such message.
bool ParseFromBuffer(grpc_byte_buffer* buffer, google::protobuf::Message* message);

// gRPC keeps messages of a status in HTTP/2 headers, which clients limit to 8 KB in all.
inline constexpr size_t kMaxStatusMessage = 3072;

grpc_status_code ToGrpcCode(absl::StatusCode code);
Status FromGrpcStatus(grpc_status_code code, absl::string_view message);
absl::string_view ViewOf(const grpc_slice& slice);
// Takes the same time wherever the two differ.
bool SameSecret(absl::string_view a, absl::string_view b);
gpr_timespec ToGprTime(std::chrono::steady_clock::time_point time);

// Credentials from PEM files; the caller releases them. Unencrypted if `tls` is not enabled.
StatusOr<grpc_server_credentials*> MakeServerCredentials(const RpcTls& tls);
StatusOr<grpc_channel_credentials*> MakeChannelCredentials(const RpcTls& tls);

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_GRPC_CORE_H_
