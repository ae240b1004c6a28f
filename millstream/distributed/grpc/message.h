// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_GRPC_MESSAGE_H_
#define MILLSTREAM_DISTRIBUTED_GRPC_MESSAGE_H_

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "google/protobuf/message.h"
#include "millstream/base/status.h"
#include "millstream/distributed/grpc/memory_quota.h"
#include "millstream/distributed/grpc/protocol.h"

namespace millstream {

// A message with gRPC's prefix in front, ready to be sent.
struct OutgoingMessage {
  std::shared_ptr<char[]> bytes;
  size_t size = 0;
};
// InvalidArgument beyond protobuf's 2 GB.
StatusOr<OutgoingMessage> SerializeMessage(const google::protobuf::Message& message);

// One message that is being received. The length in its prefix is checked before memory is taken, and memory is taken
// as bytes arrive, in blocks, never for what was only announced.
class IncomingMessage {
 public:
  // `quota` may be null.
  explicit IncomingMessage(uint64_t max_bytes, MemoryQuota* quota) : max_bytes_(max_bytes), quota_(quota) {}
  ~IncomingMessage() { Release(); }
  IncomingMessage(const IncomingMessage&) = delete;
  IncomingMessage& operator=(const IncomingMessage&) = delete;

  // Bytes of the stream. ResourceExhausted (too large, or no memory left), Unimplemented (compressed), Internal (more
  // than one message).
  Status Append(const char* data, size_t size);
  bool complete() const { return prefix_have_ == kMessagePrefixBytes && have_ == length_; }
  bool begun() const { return prefix_have_ > 0; }
  size_t size() const { return static_cast<size_t>(have_); }
  // False if the bytes are no such message. REQUIRES: complete().
  bool Parse(google::protobuf::Message* message) const;
  // Gives the memory back.
  void Release();

 private:
  struct Block {
    std::unique_ptr<char[]> data;
    size_t size = 0, used = 0;
  };
  Status BeginBody();
  Status AddBlock();

  const uint64_t max_bytes_;
  MemoryQuota* const quota_;
  std::array<unsigned char, kMessagePrefixBytes> prefix_;
  size_t prefix_have_ = 0;
  uint64_t length_ = 0, have_ = 0, charged_ = 0;
  std::vector<Block> blocks_;
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_GRPC_MESSAGE_H_
