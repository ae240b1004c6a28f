// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_GRPC_OUT_QUEUE_H_
#define MILLSTREAM_DISTRIBUTED_GRPC_OUT_QUEUE_H_

#include <sys/uio.h>

#include <cstddef>
#include <deque>
#include <memory>

namespace millstream {

// Bytes on their way to a socket, in order. Small ones are copied, large ones stay where they are and are held. Not
// thread-safe.
class OutQueue {
 public:
  // Below, a copy is cheaper than a piece of its own.
  static constexpr size_t kCopyBytes = 4096;

  void Append(const void* data, size_t size);
  // `holder` keeps the memory; it is copied if it is small.
  void AppendHeld(const std::shared_ptr<const void>& holder, const void* data, size_t size);

  // Room for `size` bytes in one piece, which the caller fills before anything else is done with the queue.
  char* AppendRoom(size_t size);
  // Moves the first bytes to the end of `other`.
  void MoveTo(OutQueue* other, size_t bytes);

  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }
  // Points at the first bytes; returns how many of the `max` entries are used.
  int Gather(iovec* entries, int max) const;
  // That many bytes are out.
  void Consume(size_t bytes);
  void Clear();

 private:
  static constexpr size_t kBlockBytes = size_t{16} << 10;
  struct Piece {
    std::shared_ptr<const void> holder;
    const char* data;
    size_t size;
  };

  size_t size_ = 0;
  std::deque<Piece> pieces_;
  std::shared_ptr<char[]> block_;  // where copies go
  size_t block_used_ = 0;
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_GRPC_OUT_QUEUE_H_
