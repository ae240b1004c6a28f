// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>

#include "millstream/ops/array/testing/run_op.h"
#include "millstream/proto/summary.pb.h"

namespace millstream {
namespace {

// As TensorFlow 2.21 does it.
TEST(AudioSummaryTest, SixteenBitSamples) {
  const auto result = RunOp("AudioSummaryV2", {Tensor::Scalar("a"), Tensor::Of<float>({1, 5}, {0.5f, -1, 1, 0.1f, -2}),
                                               Tensor::Scalar(8000.5f)});
  ASSERT_TRUE(result.ok()) << result.status();
  proto::Summary summary;
  ASSERT_TRUE(summary.ParseFromString((*result)[0].scalar<std::string>()));
  ASSERT_EQ(summary.value_size(), 1);
  EXPECT_EQ(summary.value(0).tag(), "a/audio/0");
  const std::string& wav = summary.value(0).audio().encoded_audio_string();
  ASSERT_EQ(wav.size(), 44u + 10u);
  EXPECT_EQ(wav.substr(0, 4), "RIFF");
  uint32_t rate = 0;
  std::memcpy(&rate, wav.data() + 24, 4);
  EXPECT_EQ(rate, 8000u);
  int16_t samples[5];
  std::memcpy(samples, wav.data() + 44, 10);
  const int16_t want[5] = {16384, -32768, 32767, 3277, -32768};
  for (int i = 0; i < 5; ++i) EXPECT_EQ(samples[i], want[i]);
}

}  // namespace
}  // namespace millstream
