// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/link/frame_codec.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "millstream/distributed/link/testing/link_peers.h"

namespace millstream {
namespace {

using testing::IsPattern;
using testing::MakeFrame;
using testing::Pattern;

struct Collector : FrameDecoder::Sink {
  StatusOr<Tensor> AllocatePayload(const Frame& frame, uint64_t bytes) override {
    if (frame.step == refused_step) return errors::ResourceExhausted("no");
    return Tensor::Make(DType::kUint8, Shape({static_cast<int64_t>(bytes) + wrong_by}));
  }
  void Deliver(Frame frame) override { frames.push_back(std::move(frame)); }
  void Control(WireType type, const std::string& body) override { controls.emplace_back(type, body); }

  uint64_t refused_step = ~uint64_t{0};
  int64_t wrong_by = 0;
  std::vector<Frame> frames;
  std::vector<std::pair<WireType, std::string>> controls;
};

std::string Encode(Frame frame) {
  OutgoingFrame out;
  out.Start(std::move(frame));
  std::string bytes(out.remaining(), '\0');
  EXPECT_EQ(out.CopyTo(bytes.data(), bytes.size()), bytes.size());
  EXPECT_EQ(out.remaining(), 0u);
  return bytes;
}

Frame WithPayload(uint64_t step, std::string body, int64_t bytes) {
  Frame frame = MakeFrame(step, std::move(body));
  frame.payload = Pattern(bytes);
  return frame;
}

TEST(FrameCodecTest, FramesSurviveAnyCut) {
  std::string stream;
  for (uint64_t step = 0; step < 20; ++step) {
    stream += Encode(WithPayload(step, std::string(step * 37, 'b'), static_cast<int64_t>(step * step * 100)));
  }
  std::mt19937 random(1);
  for (int round = 0; round < 20; ++round) {
    Collector collector;
    FrameDecoder decoder(&collector);
    for (size_t at = 0; at < stream.size();) {
      const size_t n = std::min<size_t>(stream.size() - at, 1 + random() % (round < 10 ? 50 : 5000));
      // Sometimes as a socket would: straight into the payload.
      const std::span<char> target = decoder.PayloadTarget();
      if (!target.empty() && random() % 2 == 0) {
        const size_t direct = std::min(n, target.size());
        std::memcpy(target.data(), stream.data() + at, direct);
        decoder.PayloadFilled(direct);
        at += direct;
        continue;
      }
      ASSERT_TRUE(decoder.Consume(stream.data() + at, n).ok());
      at += n;
    }
    EXPECT_TRUE(decoder.at_boundary());
    ASSERT_EQ(collector.frames.size(), 20u);
    for (uint64_t step = 0; step < 20; ++step) {
      const Frame& frame = collector.frames[step];
      EXPECT_EQ(frame.kind, 3u);
      EXPECT_EQ(frame.edge, 4u);
      EXPECT_EQ(frame.step, step);
      EXPECT_EQ(frame.tag, 5u);
      EXPECT_EQ(frame.body, std::string(step * 37, 'b'));
      EXPECT_EQ(frame.payload.IsInitialized(), step != 0);
      if (step != 0) {
        EXPECT_EQ(frame.payload.ByteSize(), step * step * 100);
        EXPECT_TRUE(IsPattern(frame.payload));
      }
    }
  }
}

TEST(FrameCodecTest, GatherNamesTheSameBytesAsCopy) {
  const std::string whole = Encode(WithPayload(1, "body", 1000));
  OutgoingFrame out;
  out.Start(WithPayload(1, "body", 1000));
  std::string gathered;
  while (out.remaining() > 0) {
    iovec parts[3];
    const int used = out.Gather(parts, 77);
    size_t bytes = 0;
    for (int i = 0; i < used; ++i) {
      gathered.append(static_cast<const char*>(parts[i].iov_base), parts[i].iov_len);
      bytes += parts[i].iov_len;
    }
    ASSERT_GT(bytes, 0u);
    ASSERT_LE(bytes, 77u);
    out.Advance(bytes);
  }
  EXPECT_EQ(gathered, whole);
}

TEST(FrameCodecTest, ARefusedPayloadIsSkipped) {
  Collector collector;
  collector.refused_step = 1;
  FrameDecoder decoder(&collector);
  const std::string stream = Encode(WithPayload(1, "x", 5000)) + Encode(MakeFrame(2));
  ASSERT_TRUE(decoder.Consume(stream.data(), stream.size()).ok());
  ASSERT_EQ(collector.frames.size(), 1u);
  EXPECT_EQ(collector.frames[0].step, 2u);
}

TEST(FrameCodecTest, MemoryOfTheWrongSizeIsNeverWritten) {
  for (const int64_t wrong_by : {-1, 1}) {
    Collector collector;
    collector.wrong_by = wrong_by;
    FrameDecoder decoder(&collector);
    const std::string stream = Encode(WithPayload(1, "", 100));
    EXPECT_TRUE(absl::IsInternal(decoder.Consume(stream.data(), stream.size())));
  }
}

TEST(FrameCodecTest, ImpossibleHeadersAreErrors) {
  const auto consume = [](size_t offset, uint32_t value, uint32_t type) {
    std::string stream = Encode(MakeFrame(1));
    std::memcpy(stream.data() + 24, &type, sizeof(type));
    std::memcpy(stream.data() + offset, &value, sizeof(value));
    Collector collector;
    return FrameDecoder(&collector).Consume(stream.data(), stream.size());
  };
  EXPECT_TRUE(consume(28, 0, 0).ok());
  EXPECT_TRUE(absl::IsDataLoss(consume(28, (64u << 20) + 1, 0)));  // body
  EXPECT_TRUE(absl::IsDataLoss(consume(28, kMaxControlBody + 1, 3)));
  EXPECT_TRUE(absl::IsDataLoss(consume(32, 1, 1)));  // a ping with a payload
  EXPECT_TRUE(absl::IsDataLoss(consume(28, 0, 7)));  // type
}

// Knows one loan.
struct BorrowingCollector : Collector {
  StatusOr<Tensor> BorrowPayload(const Frame& frame, uint64_t bytes, const Loan& loan) override {
    if (frame.step == refused_step) return errors::ResourceExhausted("no");
    if (loan.offset != 640 || loan.flag != 9) return errors::DataLoss("no such loan");
    return Pattern(static_cast<int64_t>(bytes));
  }
};

std::string EncodeLent(uint64_t step, const Loan& loan) {
  OutgoingFrame out;
  out.Start(WithPayload(step, "body", 70'000), loan);
  std::string bytes(out.remaining(), '\0');
  EXPECT_EQ(out.CopyTo(bytes.data(), bytes.size()), bytes.size());
  return bytes;
}

TEST(FrameCodecTest, LentPayloadsInPiecesOfAnySize) {
  const std::string stream = EncodeLent(1, {640, 9}) + Encode(WithPayload(2, "", 100)) + EncodeLent(3, {640, 9});
  EXPECT_LT(stream.size(), 400u);
  for (const size_t piece : {size_t{1}, size_t{7}, size_t{45}, stream.size()}) {
    BorrowingCollector collector;
    collector.refused_step = 3;
    FrameDecoder decoder(&collector);
    for (size_t at = 0; at < stream.size(); at += piece) {
      ASSERT_TRUE(decoder.Consume(stream.data() + at, std::min(piece, stream.size() - at)).ok());
    }
    ASSERT_EQ(collector.frames.size(), 2u);
    EXPECT_EQ(collector.frames[0].body, "body");
    EXPECT_EQ(collector.frames[0].payload.ByteSize(), 70'000u);
    EXPECT_TRUE(IsPattern(collector.frames[0].payload));
    EXPECT_TRUE(IsPattern(collector.frames[1].payload));
    EXPECT_TRUE(decoder.at_boundary());
  }
}

TEST(FrameCodecTest, LoansThatCannotBeAreErrors) {
  const std::string good = EncodeLent(1, {640, 9}), bad = EncodeLent(1, {641, 9});
  BorrowingCollector collector;
  EXPECT_TRUE(absl::IsDataLoss(FrameDecoder(&collector).Consume(bad.data(), bad.size())));
  Collector lends_nothing;
  EXPECT_TRUE(absl::IsDataLoss(FrameDecoder(&lends_nothing).Consume(good.data(), good.size())));
  std::string of_nothing = good;
  std::memset(of_nothing.data() + 32, 0, 8);
  EXPECT_TRUE(absl::IsDataLoss(FrameDecoder(&collector).Consume(of_nothing.data(), of_nothing.size())));
}

TEST(FrameCodecTest, TheLinksOwnFramesAreNotDelivered) {
  Collector collector;
  FrameDecoder decoder(&collector);
  OutgoingFrame out;
  out.StartControl(WireType::kBye, EncodeByeStatus(errors::Aborted("enough")));
  std::string bytes(out.remaining(), '\0');
  out.CopyTo(bytes.data(), bytes.size());
  ASSERT_TRUE(decoder.Consume(bytes.data(), bytes.size()).ok());
  EXPECT_TRUE(collector.frames.empty());
  ASSERT_EQ(collector.controls.size(), 1u);
  EXPECT_EQ(collector.controls[0].first, WireType::kBye);
  EXPECT_EQ(DecodeByeStatus(collector.controls[0].second), errors::Aborted("enough"));
}

TEST(FrameCodecTest, ByeStatusOfAStrangerIsAStatus) {
  EXPECT_TRUE(DecodeByeStatus("").ok());
  EXPECT_TRUE(DecodeByeStatus("ab").ok());
  EXPECT_EQ(DecodeByeStatus(std::string("\xff\xff\xff\xff what", 9)).code(), absl::StatusCode::kUnknown);
  EXPECT_LE(EncodeByeStatus(errors::Internal(std::string(100000, 'x'))).size(), kMaxControlBody);
}

}  // namespace
}  // namespace millstream
