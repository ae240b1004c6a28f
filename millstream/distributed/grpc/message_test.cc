// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/grpc/message.h"

#include <gtest/gtest.h>

#include "google/protobuf/wrappers.pb.h"
#include "millstream/distributed/grpc/message_pieces.h"
#include "millstream/distributed/grpc/out_queue.h"

namespace millstream {
namespace {

using google::protobuf::StringValue;

std::string Serialized(const std::string& text) {
  StringValue value;
  value.set_value(text);
  const OutgoingMessage message = SerializeMessage(value).value();
  return std::string(message.bytes.get(), message.size);
}

TEST(GrpcMessageTest, ArrivesInPiecesOfAnySize) {
  MemoryQuota quota(64 << 20);
  for (const size_t size : {size_t{0}, size_t{1}, size_t{1000}, size_t{70000}, size_t{5'000'000}}) {
    const std::string text(size, 't'), bytes = Serialized(text);
    for (const size_t piece : {size_t{1}, size_t{7}, size_t{4096}, bytes.size()}) {
      if (bytes.size() / piece > 100000) continue;
      IncomingMessage message(64 << 20, &quota);
      EXPECT_FALSE(message.complete());
      for (size_t at = 0; at < bytes.size(); at += piece)
        ASSERT_EQ(message.Append(bytes.data() + at, std::min(piece, bytes.size() - at)), OkStatus());
      ASSERT_TRUE(message.complete());
      EXPECT_EQ(quota.taken(), bytes.size() - kMessagePrefixBytes);
      StringValue value;
      ASSERT_TRUE(message.Parse(&value));
      EXPECT_TRUE(value.value() == text);
    }
    EXPECT_EQ(quota.taken(), 0u);
  }
}

TEST(GrpcMessageTest, IsRefusedAtItsPrefix) {
  const std::string bytes = Serialized(std::string(100, 'x'));
  IncomingMessage small(50, nullptr);
  EXPECT_TRUE(absl::IsResourceExhausted(small.Append(bytes.data(), 5)));
  IncomingMessage compressed(1000, nullptr);
  EXPECT_TRUE(absl::IsUnimplemented(compressed.Append("\1\0\0\0\1", 5)));
  IncomingMessage two(1000, nullptr);
  EXPECT_EQ(two.Append(bytes.data(), bytes.size()), OkStatus());
  EXPECT_TRUE(absl::IsInternal(two.Append("x", 1)));
}

TEST(GrpcMessageTest, WhatIsAnnouncedTakesNoMemory) {
  MemoryQuota quota(1 << 20);
  IncomingMessage message(UINT32_MAX, &quota);
  EXPECT_EQ(message.Append("\0\x7f\xff\xff\xff", 5), OkStatus());
  EXPECT_EQ(quota.taken(), 0u);
  EXPECT_EQ(message.Append("x", 1), OkStatus());
  EXPECT_LE(quota.taken(), 65536u);
  const std::string much(4 << 20, 'x');
  EXPECT_TRUE(absl::IsResourceExhausted(message.Append(much.data(), much.size())));
  message.Release();
  EXPECT_EQ(quota.taken(), 0u);
}

TEST(GrpcMessageTest, PiecesLeaveThePrefixesOut) {
  std::string stream, expected;
  for (const size_t size : {3, 0, 70000, 1}) {
    const std::string body(size, static_cast<char>('a' + size % 7));
    stream += std::string("\0", 1);
    for (const int shift : {24, 16, 8, 0}) stream += static_cast<char>(size >> shift);
    stream += body;
    expected += body;
  }
  for (const size_t piece : {size_t{1}, size_t{6}, stream.size()}) {
    MessagePieces pieces;
    std::string got;
    for (size_t at = 0; at < stream.size(); at += piece) {
      ASSERT_EQ(pieces.Feed(stream.data() + at, std::min(piece, stream.size() - at),
                            [&](std::span<const char> part) { got.append(part.data(), part.size()); }),
                OkStatus());
    }
    EXPECT_TRUE(got == expected);
  }
  MessagePieces compressed;
  EXPECT_TRUE(absl::IsUnimplemented(compressed.Feed("\1", 1, [](std::span<const char>) {})));
}

std::string Contents(OutQueue& queue) {
  std::string all;
  while (!queue.empty()) {
    iovec parts[3];
    const int count = queue.Gather(parts, 3);
    size_t bytes = 0;
    for (int i = 0; i < count; ++i) {
      all.append(static_cast<char*>(parts[i].iov_base), parts[i].iov_len);
      bytes += parts[i].iov_len;
    }
    queue.Consume(bytes);
  }
  return all;
}

TEST(OutQueueTest, KeepsOrderWhateverIsCopiedHeldOrMoved) {
  OutQueue first, second;
  std::string expected;
  for (int round = 0; round < 50; ++round) {
    const size_t size = static_cast<size_t>(round * round * 37 % 30000);
    const auto held = std::make_shared<std::string>(size, static_cast<char>('A' + round % 26));
    const std::string copied(static_cast<size_t>(round * 13 % 500), static_cast<char>('a' + round % 26));
    first.Append(copied.data(), copied.size());
    first.AppendHeld(held, held->data(), held->size());
    *first.AppendRoom(1) = '.';
    expected += copied + *held + ".";
    first.MoveTo(&second, first.size() / 2);
  }
  first.MoveTo(&second, first.size());
  EXPECT_TRUE(first.empty());
  EXPECT_EQ(second.size(), expected.size());
  EXPECT_TRUE(Contents(second) == expected);
  second.Append("again", 5);
  EXPECT_EQ(Contents(second), "again");
}

}  // namespace
}  // namespace millstream
