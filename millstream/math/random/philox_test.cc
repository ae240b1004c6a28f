// SPDX-License-Identifier: Apache-2.0
#include "millstream/math/random/philox.h"

#include <gtest/gtest.h>

#include <set>

namespace millstream::math {
namespace {

TEST(PhiloxTest, KnownAnswers) {
  // From the known-answer tests published with the paper.
  Philox zeros({0, 0, 0, 0}, {0, 0});
  EXPECT_EQ(zeros.Next(), (Philox::Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  Philox ones({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u});
  EXPECT_EQ(ones.Next(), (Philox::Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
}

TEST(PhiloxTest, SkipIsRepeatedNext) {
  Philox a(5, 7), b(5, 7);
  for (int i = 0; i < 100; ++i) a.Next();
  b.Skip(100);
  EXPECT_EQ(a.counter(), b.counter());
  EXPECT_EQ(a.Next(), b.Next());
}

TEST(PhiloxTest, SkipCarriesThroughTheWholeCounter) {
  Philox p({0xfffffffe, ~0u, ~0u, 3}, {0, 0});
  p.Skip(3);
  EXPECT_EQ(p.counter(), (Philox::Block{1, 0, 0, 4}));
}

TEST(PhiloxTest, SeedsFillKeyAndUpperCounter) {
  const Philox p(0x0000000100000002u, 0x0000000300000004u);
  EXPECT_EQ(p.key(), (Philox::Key{2, 1}));
  EXPECT_EQ(p.counter(), (Philox::Block{0, 0, 4, 3}));
}

TEST(PhiloxTest, SamplerGivesWordsInOrder) {
  Philox p(1, 2);
  PhiloxSampler sampler(p);
  for (int i = 0; i < 3; ++i) {
    for (uint32_t word : p.Next()) EXPECT_EQ(sampler.Next(), word);
  }
}

TEST(PhiloxTest, StreamNeverRepeats) {
  PhiloxStream stream(1, 2);
  EXPECT_EQ(stream.Reserve(10).counter(), (Philox::Block{0, 0, 2, 0}));
  EXPECT_EQ(stream.Reserve(1).counter(), (Philox::Block{10, 0, 2, 0}));
  EXPECT_EQ(stream.Reserve(1).counter(), (Philox::Block{11, 0, 2, 0}));
}

TEST(PhiloxTest, ZeroSeedsAskForEntropy) {
  std::set<Philox::Block> blocks;
  for (int i = 0; i < 4; ++i) {
    blocks.insert(PhiloxStream(0, 0).Reserve(1).Next());
  }
  EXPECT_GT(blocks.size(), 1u);
}

}  // namespace
}  // namespace millstream::math
