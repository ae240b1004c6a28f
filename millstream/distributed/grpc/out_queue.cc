// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/grpc/out_queue.h"

#include <algorithm>
#include <cstring>

namespace millstream {

void OutQueue::Append(const void* data, size_t size) {
  const char* from = static_cast<const char*>(data);
  while (size > 0) {
    if (block_ == nullptr || block_used_ == kBlockBytes) {
      block_ = std::shared_ptr<char[]>(new char[kBlockBytes]);
      block_used_ = 0;
    }
    char* const to = block_.get() + block_used_;
    const size_t n = std::min(size, kBlockBytes - block_used_);
    std::memcpy(to, from, n);
    if (!pieces_.empty() && pieces_.back().data + pieces_.back().size == to && pieces_.back().holder == block_)
      pieces_.back().size += n;
    else
      pieces_.push_back({block_, to, n});
    block_used_ += n;
    size_ += n;
    from += n;
    size -= n;
  }
}

char* OutQueue::AppendRoom(size_t size) {
  if (block_ == nullptr || kBlockBytes - block_used_ < size) {
    block_ = std::shared_ptr<char[]>(new char[kBlockBytes]);
    block_used_ = 0;
  }
  char* const room = block_.get() + block_used_;
  pieces_.push_back({block_, room, size});
  block_used_ += size;
  size_ += size;
  return room;
}

void OutQueue::MoveTo(OutQueue* other, size_t bytes) {
  while (bytes > 0) {
    const Piece& first = pieces_.front();
    const size_t n = std::min(bytes, first.size);
    if (first.holder == block_)  // whose memory serves again
      other->Append(first.data, n);
    else
      other->AppendHeld(first.holder, first.data, n);
    Consume(n);
    bytes -= n;
  }
}

void OutQueue::AppendHeld(const std::shared_ptr<const void>& holder, const void* data, size_t size) {
  if (size <= kCopyBytes) return Append(data, size);
  pieces_.push_back({holder, static_cast<const char*>(data), size});
  size_ += size;
}

int OutQueue::Gather(iovec* entries, int max) const {
  int count = 0;
  for (const Piece& piece : pieces_) {
    if (count == max) break;
    entries[count++] = {const_cast<char*>(piece.data), piece.size};
  }
  return count;
}

void OutQueue::Consume(size_t bytes) {
  size_ -= bytes;
  while (bytes > 0) {
    Piece& first = pieces_.front();
    const size_t n = std::min(bytes, first.size);
    first.data += n;
    first.size -= n;
    bytes -= n;
    if (first.size == 0) pieces_.pop_front();
  }
  if (pieces_.empty()) block_used_ = 0;  // the block serves again
}

void OutQueue::Clear() {
  pieces_.clear();
  size_ = 0;
  block_used_ = 0;
}

}  // namespace millstream
