// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_GRPC_MESSAGE_PIECES_H_
#define MILLSTREAM_DISTRIBUTED_GRPC_MESSAGE_PIECES_H_

#include <algorithm>
#include <cstdint>
#include <span>

#include "millstream/base/status.h"
#include "millstream/distributed/grpc/protocol.h"

namespace millstream {

// Takes the prefixes out of a stream of messages, whose bytes are one stream for the receiver. Nothing is copied.
class MessagePieces {
 public:
  // Calls piece(span) for what is between the prefixes. Unimplemented if a message is compressed.
  template <typename Piece>
  Status Feed(const char* data, size_t size, const Piece& piece) {
    while (size > 0) {
      if (left_ > 0) {
        const size_t n = static_cast<size_t>(std::min<uint64_t>(left_, size));
        piece(std::span<const char>(data, n));
        left_ -= n;
        data += n;
        size -= n;
        continue;
      }
      const auto byte = static_cast<unsigned char>(*data++);
      --size;
      if (have_ == 0 && byte != 0) return errors::Unimplemented("compressed messages are not supported");
      if (have_ > 0) length_ = length_ << 8 | byte;
      if (++have_ < kMessagePrefixBytes) continue;
      left_ = length_;
      length_ = have_ = 0;
    }
    return OkStatus();
  }

 private:
  uint64_t left_ = 0;  // of the current message
  uint64_t length_ = 0, have_ = 0;
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_GRPC_MESSAGE_PIECES_H_
