// SPDX-License-Identifier: Apache-2.0
#include "millstream/data/mnist.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "millstream/data/idx.h"

namespace millstream {
namespace {

std::string WriteFile(const std::string& bytes) {
  const std::string path = ::testing::TempDir() + "/idx_test_file";
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

TEST(IdxTest, ReadsPlainFiles) {
  const std::string path =
      WriteFile(std::string("\0\0\x08\x02\0\0\0\x02\0\0\0\x03"
                            "abcdef",
                            18));
  auto t = ReadIdx(path);
  ASSERT_TRUE(t.ok()) << t.status();
  EXPECT_EQ(t->shape(), Shape({2, 3}));
  EXPECT_EQ(t->data<uint8_t>()[5], 'f');
}

TEST(IdxTest, RefusesWhatIsDamaged) {
  EXPECT_EQ(ReadIdx("/no/such/file").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ReadIdx(WriteFile("")).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(ReadIdx(WriteFile("garbage that is long enough")).status().code(), absl::StatusCode::kDataLoss);
  // Cut short.
  EXPECT_EQ(ReadIdx(WriteFile(std::string("\0\0\x08\x01\0\0\0\x09"
                                          "abc",
                                          11)))
                .status()
                .code(),
            absl::StatusCode::kDataLoss);
  // A size that would take all memory is refused before any is taken.
  EXPECT_EQ(ReadIdx(WriteFile(std::string("\0\0\x08\x02\xff\xff\xff\xff\xff\xff\xff\xff", 12))).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(MnistTest, ReadsTheCopyThatComesAlong) {
  auto mnist = ReadMnist();
  ASSERT_TRUE(mnist.ok()) << mnist.status();
  EXPECT_EQ(mnist->train.size(), 60000);
  EXPECT_EQ(mnist->test.size(), 10000);
  Tensor images, labels;
  for (int i = 0; i < 10; ++i) mnist->test.NextBatch(1000, &images, &labels);
  EXPECT_EQ(images.shape(), Shape({1000, 784}));
  double sum = 0;
  for (const float v : labels.flat<float>()) sum += v;
  EXPECT_EQ(sum, 1000);
  EXPECT_EQ(mnist->test.epochs_completed(), 0);
  mnist->test.NextBatch(1, &images, &labels);
  EXPECT_EQ(mnist->test.epochs_completed(), 1);
}

TEST(LabeledImagesTest, ThoseTakenForValidationAreNotTrainedWith) {
  Tensor pictures(DType::kUint8, Shape({6, 1, 1})), digits(DType::kUint8, Shape({6}));
  for (int i = 0; i < 6; ++i) {
    pictures.data<uint8_t>()[i] = static_cast<uint8_t>(i * 51);
    digits.data<uint8_t>()[i] = static_cast<uint8_t>(i);
  }
  auto set = LabeledImages::Make(pictures, digits, 1);
  ASSERT_TRUE(set.ok()) << set.status();
  const LabeledImages first = set->TakeFirst(2);
  EXPECT_EQ(first.size(), 2);
  EXPECT_NEAR(first.images().data<float>()[1], 0.2f, 1e-6f);
  EXPECT_EQ(first.one_hot_labels().data<float>()[10 + 1], 1.0f);
  EXPECT_EQ(set->size(), 4);
  Tensor images, labels;
  set->NextBatch(4, &images, &labels);
  double sum = 0;
  for (const float v : images.flat<float>()) sum += v;
  EXPECT_NEAR(sum, 0.4 + 0.6 + 0.8 + 1.0, 1e-5);
}

}  // namespace
}  // namespace millstream
