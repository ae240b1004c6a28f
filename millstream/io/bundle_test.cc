// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "millstream/base/file.h"
#include "millstream/io/bundle_reader.h"
#include "millstream/io/bundle_writer.h"
#include "millstream/io/crc32c.h"
#include "millstream/io/delete_file.h"
#include "millstream/tensor/encoded_variant.h"

namespace millstream {
namespace {

class BundleTest : public ::testing::Test {
 protected:
  BundleTest()
      : folder_(::testing::TempDir() + "/bundle_" + ::testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::remove_all(folder_);
  }
  ~BundleTest() override { std::filesystem::remove_all(folder_); }
  std::string Prefix(const std::string& name) const { return folder_ + "/" + name; }

  void Write(const std::string& prefix, const std::vector<std::pair<std::string, Tensor>>& tensors,
             ThreadPool* pool = nullptr) {
    auto writer = BundleWriter::Create(prefix, pool);
    ASSERT_TRUE(writer.ok()) << writer.status();
    for (const auto& [name, tensor] : tensors) ASSERT_TRUE((*writer)->Add(name, tensor).ok());
    const Status finished = (*writer)->Finish();
    ASSERT_TRUE(finished.ok()) << finished;
  }

  const std::string folder_;
};

TEST(Crc32cTest, KnownValues) {
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(Crc32c(""), 0u);
  EXPECT_EQ(ExtendCrc32c(Crc32c("1234"), "56789", 5), 0xe3069283u);
}

TEST(Crc32cTest, LongDataIsSummedLikeItsParts) {
  std::string data;
  for (int i = 0; i < 20000; ++i) data.push_back(static_cast<char>(i * i >> 3));
  for (const size_t size : {size_t{3071}, size_t{3072}, size_t{3073}, size_t{6144}, size_t{10007}, data.size()}) {
    uint32_t crc = 0;
    for (size_t i = 0; i < size; ++i) crc = ExtendCrc32c(crc, &data[i], 1);
    EXPECT_EQ(ExtendCrc32c(0, data.data(), size), crc) << size;
  }
}

TEST(Crc32cTest, SumsOfPiecesJoin) {
  std::string data;
  for (int i = 0; i < 20000; ++i) data.push_back(static_cast<char>(i * i >> 3));
  const absl::string_view all = data;
  for (const size_t at : {size_t{0}, size_t{1}, size_t{4096}, size_t{12345}, data.size()}) {
    EXPECT_EQ(JoinCrc32c(Crc32c(all.substr(0, at)), Crc32c(all.substr(at)), data.size() - at), Crc32c(all)) << at;
  }
}

TEST_F(BundleTest, ReadsBackWhatWasWritten) {
  const std::string prefix = Prefix("sub/model");
  Write(prefix, {{"w", Tensor::Of<float>(Shape({2, 2}), {1, 2, 3, 4})},
                 {"step", Tensor::Scalar<int64_t>(7)},
                 {"names", Tensor::Vector<std::string>({"ab", "", std::string(1000, 'x')})},
                 {"none", Tensor(DType::kFloat, Shape({0, 3}))}});
  auto reader = BundleReader::Open(prefix);
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_EQ((*reader)->Names(), (std::vector<std::string>{"names", "none", "step", "w"}));
  EXPECT_EQ((*reader)->Read("w")->data<float>()[3], 4);
  EXPECT_EQ((*reader)->Read("step")->scalar<int64_t>(), 7);
  EXPECT_EQ((*reader)->Read("names")->data<std::string>()[2].size(), 1000u);
  EXPECT_EQ((*reader)->Read("none")->shape(), Shape({0, 3}));
  EXPECT_EQ((*reader)->Read("zz").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(BundleReader::Open(prefix + "x").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(BundleTest, TakesSlicesOfSmallTypes) {
  const std::string prefix = Prefix("small");
  auto writer = BundleWriter::Create(prefix);
  ASSERT_TRUE(writer.ok());
  auto tensor = Tensor::Make(DType::kInt4, Shape({2, 3}));
  ASSERT_TRUE(tensor.ok());
  for (int i = 0; i < 6; ++i) static_cast<char*>(tensor->raw())[i] = static_cast<char>(i);
  ASSERT_TRUE((*writer)->Add("x", *tensor).ok());
  ASSERT_TRUE((*writer)->Finish().ok());
  auto reader = BundleReader::Open(prefix);
  ASSERT_TRUE(reader.ok());
  TensorSlice column;
  column.extents = {{0, -1}, {1, 1}};
  auto part = (*reader)->ReadSlice("x", Shape({2, 3}), column);
  ASSERT_TRUE(part.ok()) << part.status();
  ASSERT_EQ(part->shape(), Shape({2, 1}));
  EXPECT_EQ(static_cast<const char*>(part->raw())[0], 1);
  EXPECT_EQ(static_cast<const char*>(part->raw())[1], 4);
}

TEST_F(BundleTest, KeepsEncodedVariants) {
  const std::string prefix = Prefix("variants");
  auto writer = BundleWriter::Create(prefix);
  ASSERT_TRUE(writer.ok());
  auto tensor = Tensor::Make(DType::kVariant, Shape({2}));
  ASSERT_TRUE(tensor.ok());
  tensor->data<Variant>()[1] = Variant(MakeRef<EncodedVariant>("kind", std::string("by\0tes", 6)));
  ASSERT_TRUE((*writer)->Add("v", *tensor).ok());
  ASSERT_TRUE((*writer)->Finish().ok());
  auto reader = BundleReader::Open(prefix);
  ASSERT_TRUE(reader.ok());
  auto read = (*reader)->Read("v");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(read->data<Variant>()[0].empty());
  const auto* value = read->data<Variant>()[1].get<EncodedVariant>();
  ASSERT_NE(value, nullptr);
  EXPECT_EQ(value->type_name(), "kind");
  EXPECT_EQ(value->metadata(), std::string("by\0tes", 6));
  TensorSlice half;
  half.extents = {{0, 1}};
  EXPECT_TRUE(absl::IsUnimplemented((*reader)->ReadSlice("v", Shape({2}), half).status()));
}

TEST_F(BundleTest, PutsSlicesTogetherAndTakesThemApart) {
  const std::string prefix = Prefix("sliced");
  auto writer = BundleWriter::Create(prefix);
  ASSERT_TRUE(writer.ok());
  TensorSlice top, bottom;
  top.extents = {{0, 1}, {0, -1}};
  bottom.extents = {{1, 2}, {0, -1}};
  ASSERT_TRUE((*writer)->AddSlice("p", Shape({3, 2}), top, Tensor::Of<float>(Shape({1, 2}), {1, 2})).ok());
  ASSERT_TRUE((*writer)->AddSlice("p", Shape({3, 2}), bottom, Tensor::Of<float>(Shape({2, 2}), {3, 4, 5, 6})).ok());
  ASSERT_TRUE((*writer)->Finish().ok());
  auto reader = BundleReader::Open(prefix);
  ASSERT_TRUE(reader.ok());
  auto whole = (*reader)->Read("p");
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_EQ(whole->SummarizeValue(), "[1 2] [3 4] [5 6]");
  TensorSlice column;
  column.extents = {{0, 3}, {1, 1}};
  auto part = (*reader)->ReadSlice("p", Shape({3, 2}), column);
  ASSERT_TRUE(part.ok()) << part.status();
  EXPECT_EQ(part->SummarizeValue(), "[2] [4] [6]");
  EXPECT_FALSE((*reader)->ReadSlice("p", Shape({4, 2}), column).ok());
}

TEST_F(BundleTest, NoticesDamage) {
  const std::string prefix = Prefix("damaged");
  Write(prefix, {{"w", Tensor::Of<float>(Shape({4}), {1, 2, 3, 4})}});
  const std::string data = BundleDataPath(prefix, 0, 1);
  std::string bytes = *ReadFile(data);
  bytes[5] ^= 1;
  ASSERT_TRUE(WriteFileAtomically(data, bytes).ok());
  EXPECT_EQ((*BundleReader::Open(prefix))->Read("w").status().code(), absl::StatusCode::kDataLoss);
  ASSERT_TRUE(WriteFileAtomically(data, "short").ok());
  EXPECT_EQ((*BundleReader::Open(prefix))->Read("w").status().code(), absl::StatusCode::kDataLoss);
  std::string index = *ReadFile(prefix + ".index");
  for (size_t cut = 0; cut < index.size(); cut += 7) {
    ASSERT_TRUE(WriteFileAtomically(prefix + ".index", index.substr(0, cut)).ok());
    EXPECT_FALSE(BundleReader::Open(prefix).ok()) << cut;
  }
}

TEST_F(BundleTest, AnUnfinishedCheckpointLeavesTheOldOne) {
  const std::string prefix = Prefix("kept");
  Write(prefix, {{"w", Tensor::Scalar(1.0f)}});
  {
    auto writer = BundleWriter::Create(prefix);
    ASSERT_TRUE((*writer)->Add("w", Tensor::Scalar(2.0f)).ok());
  }
  EXPECT_EQ((*BundleReader::Open(prefix))->Read("w")->scalar<float>(), 1);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 2);
}

TEST_F(BundleTest, ReplacesACheckpointOfTheSameName) {
  const std::string prefix = Prefix("model");
  const auto value = [&] {
    auto reader = BundleReader::Open(prefix);
    auto tensor = reader.ok() ? (*reader)->Read("step") : reader.status();
    return tensor.ok() ? tensor->scalar<int64_t>() : -1;
  };
  const auto files = [&] {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  };
  const std::vector<std::string> usual{"model.data-00000-of-00001", "model.index"};
  Write(prefix, {{"step", Tensor::Scalar<int64_t>(1)}});
  Write(prefix, {{"step", Tensor::Scalar<int64_t>(2)}});
  EXPECT_EQ(value(), 2);
  EXPECT_EQ(files(), usual);
  // As after a crash before the new one has its usual name: it holds, and the next one clears up.
  const std::string obstacle = BundleDataPath(prefix, 0, 1) + ".link";
  std::filesystem::create_directories(obstacle + "/x");
  Write(prefix, {{"step", Tensor::Scalar<int64_t>(3)}});
  EXPECT_EQ(value(), 3);
  EXPECT_NE(files(), usual);
  std::filesystem::remove_all(obstacle);
  Write(prefix, {{"step", Tensor::Scalar<int64_t>(4)}});
  EXPECT_EQ(value(), 4);
  EXPECT_EQ(files(), usual);
}

TEST_F(BundleTest, MergesPartsOfSeveralTasks) {
  Write(Prefix("part0"), {{"a", Tensor::Scalar(1.0f)}});
  Write(Prefix("part1"), {{"b", Tensor::Scalar(2.0f)}});
  EXPECT_EQ(MergeBundles({Prefix("part0"), Prefix("gone")}, Prefix("all"), false).code(),
            absl::StatusCode::kInvalidArgument);
  ASSERT_TRUE(MergeBundles({Prefix("part0"), Prefix("part1")}, Prefix("all"), false).ok());
  auto reader = BundleReader::Open(Prefix("all"));
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_EQ((*reader)->Read("a")->scalar<float>(), 1);
  EXPECT_EQ((*reader)->Read("b")->scalar<float>(), 2);
  EXPECT_FALSE(FileExists(Prefix("part0") + ".index"));
}

TEST(ShapeAndSliceTest, RefusesNonsense) {
  Shape full, part;
  TensorSlice slice;
  EXPECT_TRUE(ParseShapeAndSlice("4 10 0,2:-", &full, &slice, &part).ok());
  EXPECT_EQ(part, Shape({2, 10}));
  for (const char* bad :
       {"", "4", "4 10 0,2", "4 x 0,2:-", "4 10 0,5:-", "4 10 -1,2:-", "4 10 0,0:-", "99999999999 99999999999 -:-"}) {
    EXPECT_FALSE(ParseShapeAndSlice(bad, &full, &slice, &part).ok()) << bad;
  }
}

std::string FileOf(const std::string& path) { return ReadFile(path).value(); }

TEST_F(BundleTest, ThreadsWriteAndReadTheSameFiles) {
  Tensor large(DType::kFloat, Shape({3, 100'003}));  // not a whole number of chunks
  for (int64_t i = 0; i < large.num_elements(); ++i) large.data<float>()[i] = static_cast<float>(i);
  const std::vector<std::pair<std::string, Tensor>> tensors = {{"a", Tensor::Scalar<int64_t>(1)},
                                                               {"large", large},
                                                               {"names", Tensor::Vector<std::string>({"x", "yz"})},
                                                               {"also_large", large},
                                                               {"z", Tensor::Scalar<float>(2)}};
  ThreadPool pool(4);
  Write(Prefix("one"), tensors);
  Write(Prefix("many"), tensors, &pool);
  for (const char* suffix : {".index", ".data-00000-of-00001"}) {
    EXPECT_EQ(FileOf(Prefix("one") + suffix), FileOf(Prefix("many") + suffix)) << suffix;
  }
  auto reader = BundleReader::Open(Prefix("many"), &pool);
  ASSERT_TRUE(reader.ok()) << reader.status();
  const Tensor read = *(*reader)->Read("also_large");
  EXPECT_EQ(std::memcmp(read.raw(), large.raw(), large.ByteSize()), 0);
  EXPECT_EQ((*reader)->Read("names")->data<std::string>()[1], "yz");
}

TEST_F(BundleTest, ThreadsSeeDamageAnywhere) {
  Tensor large(DType::kFloat, Shape({400'000}));
  std::fill_n(large.data<float>(), large.num_elements(), 1.0f);
  ThreadPool pool(4);
  Write(Prefix("model"), {{"large", large}}, &pool);
  const std::string path = Prefix("model") + ".data-00000-of-00001", bytes = FileOf(path);
  for (const size_t at : {size_t{0}, size_t{262'144}, size_t{1'000'000}, bytes.size() - 1}) {
    std::string damaged = bytes;
    damaged[at] ^= 1;
    ASSERT_TRUE(WriteFileAtomically(path, damaged).ok());
    EXPECT_TRUE(absl::IsDataLoss((*BundleReader::Open(Prefix("model"), &pool))->Read("large").status())) << at;
  }
}

TEST_F(BundleTest, LargeFilesAreGoneAtOnce) {
  ASSERT_TRUE(MakeFolders(folder_).ok());
  for (const size_t bytes : {size_t{10}, size_t{32} << 20}) {
    ASSERT_TRUE(WriteFileAtomically(Prefix("file"), std::string(bytes, 'x')).ok());
    EXPECT_TRUE(DeleteLargeFile(Prefix("file")).ok());
    EXPECT_FALSE(FileExists(Prefix("file")));
  }
  EXPECT_TRUE(absl::IsNotFound(DeleteLargeFile(Prefix("file"))));
}

}  // namespace
}  // namespace millstream
