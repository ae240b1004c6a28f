// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/grpc/message.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "google/protobuf/io/zero_copy_stream.h"

namespace millstream {
namespace {

// Blocks of a message: the first is small, so that a prefix alone takes little.
constexpr size_t kFirstBlock = size_t{64} << 10;
constexpr size_t kBlock = size_t{1} << 20;

// Reads blocks one after the other.
template <typename Block>
class BlockStream final : public google::protobuf::io::ZeroCopyInputStream {
 public:
  explicit BlockStream(std::span<const Block> blocks) : blocks_(blocks) {}

  bool Next(const void** data, int* size) override {
    while (at_ < blocks_.size() && offset_ == blocks_[at_].used) {
      ++at_;
      offset_ = 0;
    }
    if (at_ == blocks_.size()) return false;
    *data = blocks_[at_].data.get() + offset_;
    *size = static_cast<int>(blocks_[at_].used - offset_);
    offset_ = blocks_[at_].used;
    count_ += *size;
    return true;
  }
  void BackUp(int count) override {
    offset_ -= static_cast<size_t>(count);
    count_ -= count;
  }
  bool Skip(int count) override {
    const void* data;
    int size;
    while (count > 0 && Next(&data, &size)) {
      if (size > count) BackUp(size - count);
      count -= std::min(size, count);
    }
    return count == 0;
  }
  int64_t ByteCount() const override { return count_; }

 private:
  const std::span<const Block> blocks_;
  size_t at_ = 0, offset_ = 0;
  int64_t count_ = 0;
};

}  // namespace

StatusOr<OutgoingMessage> SerializeMessage(const google::protobuf::Message& message) {
  const size_t bytes = message.ByteSizeLong();
  if (bytes > static_cast<size_t>(std::numeric_limits<int>::max())) {
    return errors::InvalidArgument(message.GetTypeName(), " of ", bytes,
                                   " bytes is larger than a protobuf message may be (2 GB)");
  }
  OutgoingMessage out;
  out.size = kMessagePrefixBytes + bytes;
  out.bytes = std::shared_ptr<char[]>(new char[out.size]);
  out.bytes[0] = 0;  // not compressed
  for (int i = 0; i < 4; ++i) out.bytes[static_cast<size_t>(1 + i)] = static_cast<char>(bytes >> (24 - 8 * i));
  message.SerializeWithCachedSizesToArray(reinterpret_cast<uint8_t*>(out.bytes.get()) + kMessagePrefixBytes);
  return out;
}

Status IncomingMessage::Append(const char* data, size_t size) {
  while (prefix_have_ < kMessagePrefixBytes && size > 0) {
    prefix_[prefix_have_++] = static_cast<unsigned char>(*data++);
    --size;
    if (prefix_have_ == kMessagePrefixBytes) RETURN_IF_ERROR(BeginBody());
  }
  while (size > 0) {
    if (have_ == length_) return errors::Internal("a call of this method takes one message");
    if (blocks_.empty() || blocks_.back().used == blocks_.back().size) RETURN_IF_ERROR(AddBlock());
    Block& block = blocks_.back();
    const size_t n = std::min(size, block.size - block.used);
    std::memcpy(block.data.get() + block.used, data, n);
    block.used += n;
    have_ += n;
    data += n;
    size -= n;
  }
  return OkStatus();
}

Status IncomingMessage::BeginBody() {
  if (prefix_[0] != 0) return errors::Unimplemented("compressed messages are not supported");
  length_ = 0;
  for (size_t i = 1; i < kMessagePrefixBytes; ++i) length_ = length_ << 8 | prefix_[i];
  if (length_ <= max_bytes_) return OkStatus();
  return errors::ResourceExhausted("Received message larger than max (", length_, " vs. ", max_bytes_, ")");
}

Status IncomingMessage::AddBlock() {
  const uint64_t left = length_ - have_;
  Block block;
  block.size = static_cast<size_t>(std::min<uint64_t>(left, blocks_.empty() ? kFirstBlock : kBlock));
  if (quota_ != nullptr && !quota_->Take(block.size)) {
    return errors::ResourceExhausted("no memory for the request: those that are being received have ", quota_->taken(),
                                     " of ", quota_->limit(), " bytes");
  }
  charged_ += block.size;
  block.data = std::unique_ptr<char[]>(new char[block.size]);
  blocks_.push_back(std::move(block));
  return OkStatus();
}

bool IncomingMessage::Parse(google::protobuf::Message* message) const {
  if (length_ > static_cast<uint64_t>(std::numeric_limits<int>::max())) return false;
  if (blocks_.empty()) return message->ParseFromArray("", 0);
  if (blocks_.size() == 1) return message->ParseFromArray(blocks_[0].data.get(), static_cast<int>(blocks_[0].used));
  BlockStream<Block> stream(blocks_);
  return message->ParseFromZeroCopyStream(&stream);
}

void IncomingMessage::Release() {
  blocks_.clear();
  if (quota_ != nullptr) quota_->Give(charged_);
  charged_ = 0;
}

}  // namespace millstream
