// SPDX-License-Identifier: Apache-2.0
#include "millstream/data/examples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <set>

#include "millstream/base/file.h"
#include "millstream/data/batches.h"
#include "millstream/data/mnist.h"
#include "millstream/io/record_writer.h"
#include "millstream/proto/example.pb.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;

class ExamplesTest : public ::testing::Test {
 protected:
  ExamplesTest() : folder_(std::filesystem::temp_directory_path() / absl::StrCat("examples_test.", getpid())) {
    std::filesystem::create_directories(folder_);
  }
  ~ExamplesTest() override { std::filesystem::remove_all(folder_); }

  std::string Write(const std::string& name, absl::string_view bytes) {
    const std::string path = folder_ / name;
    EXPECT_TRUE(WriteFileAtomically(path, bytes).ok());
    return path;
  }
  void WriteGzip(const std::string& name, const std::string& bytes) {
    gzFile file = gzopen((folder_ / name).c_str(), "wb");
    gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
    gzclose(file);
  }
  void WriteRecords(const std::string& name, const std::vector<proto::Example>& examples) {
    auto writer = RecordWriter::Create((folder_ / name).string());
    ASSERT_TRUE(writer.ok());
    for (const proto::Example& example : examples) ASSERT_TRUE((*writer)->Write(example.SerializeAsString()).ok());
    ASSERT_TRUE((*writer)->Close().ok());
  }
  StatusOr<ExampleData> Read(const ExampleOptions& options = {}) { return ReadExamples(folder_.string(), options); }
  std::string ErrorOf(const ExampleOptions& options = {}) {
    const StatusOr<ExampleData> data = Read(options);
    EXPECT_FALSE(data.ok());
    return std::string(data.status().message());
  }

  const std::filesystem::path folder_;
};

std::string Idx(const std::vector<int>& dims, const std::string& bytes) {
  std::string file("\0\0\x08", 3);
  file += static_cast<char>(dims.size());
  for (const int dim : dims) file += std::string({0, 0, 0, static_cast<char>(dim)});
  return file + bytes;
}

TEST_F(ExamplesTest, IdxByWhatIsInTheFiles) {
  Write("pictures", Idx({3, 1, 2}, std::string("\0\xff\1\2\3\4", 6)));
  WriteGzip("answers.gz", Idx({3}, std::string("\2\0\1", 3)));
  Write("my-test-pictures", Idx({1, 1, 2}, "ab"));
  Write("my-test-answers", Idx({1}, std::string("\1", 1)));
  Write("README.md", "What this is\n");
  const StatusOr<ExampleData> data = Read();
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(data->what, "3 + 1 examples of 1x2 numbers, 3 classes (IDX)");
  EXPECT_EQ(data->train.labels.data<int32_t>()[0], 2);
  const Batch batch = TakeBatch(data->train, 0, 3);
  EXPECT_EQ(batch.numbers.data<float>()[1], 1.0f);
  EXPECT_EQ(batch.numbers.data<float>()[2], 1 / 255.0f);
}

TEST_F(ExamplesTest, IdxErrorsNameTheFile) {
  const std::string images = Write("images", Idx({3, 1, 1}, "abc"));
  EXPECT_THAT(ErrorOf(), HasSubstr("no labels for the images in " + images));
  Write("labels", Idx({2}, "ab"));
  EXPECT_THAT(ErrorOf(), HasSubstr("labels 2 labels"));
  Write("labels", Idx({3}, "ab"));
  EXPECT_THAT(ErrorOf(), HasSubstr("labels is cut short"));
  Write("labels", Idx({3}, "abc"));
  Write("more", Idx({3}, "abc"));
  EXPECT_THAT(ErrorOf(), HasSubstr("keep one of them"));
}

TEST_F(ExamplesTest, CsvWithHeaderNumbersTextsAndGaps) {
  std::string rows = "age,city,label,note\n";
  for (int i = 0; i < 20; ++i)
    absl::StrAppend(&rows, i * 5, ",\"Saint \"\"", i % 2, "\"\", left\",", i % 2 ? "yes" : "no", ",", i == 3 ? "" : "7",
                    "\n");
  Write("people.csv", rows);
  const StatusOr<ExampleData> data = Read();
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(data->what, "18 + 2 examples of 2 numbers and 1 categories, 2 classes (CSV)");
  EXPECT_EQ(data->train.labels.data<int32_t>()[0], 0);  // "no" comes before "yes"
  EXPECT_EQ(data->train.labels.data<int32_t>()[1], 1);
  EXPECT_EQ(data->train.categories.data<int32_t>()[0], data->train.categories.data<int32_t>()[2]);
  EXPECT_NE(data->train.categories.data<int32_t>()[0], data->train.categories.data<int32_t>()[1]);
  EXPECT_EQ(data->train.numbers.data<float>()[0], 0.0f);
  EXPECT_EQ(data->train.numbers.data<float>()[2 * 17], 1.0f);  // 90, the most
  EXPECT_EQ(data->train.numbers.data<float>()[2 * 3 + 1], 0.0f);
}

TEST_F(ExamplesTest, CsvLabelByNameOrPlaceAndValues) {
  Write("a.data", "1.5;2;10.5\n2.5;3;20.5\n3.5;4;30.5\n");
  Write("b-eval.csv", "1;2;20.5\n");
  StatusOr<ExampleData> data = Read();
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(data->classes, 0);
  EXPECT_EQ(data->test.size(), 1);
  EXPECT_NEAR(data->train.labels.data<float>()[0], -1.2247f, 1e-4);
  EXPECT_NEAR(data->test.labels.data<float>()[0], 0, 1e-6);
  data = Read({.label = "1"});
  ASSERT_TRUE(data.ok());
  EXPECT_EQ(data->classes, 5);
  EXPECT_THAT(ErrorOf({.label = "price"}), HasSubstr("no column 'price' (0, 1, 2)"));
}

TEST_F(ExamplesTest, CsvSaysWhatTheColumnsAre) {
  std::string rows = "age,city,income,zip\n";
  for (int i = 0; i < 20; ++i)
    absl::StrAppend(&rows, i == 3 ? "nan" : absl::StrCat(i), ",", i % 2 ? "Rome" : "Oslo", ",", i % 2 ? "high" : "low",
                    ",", 1000 + i % 3, "\n");
  const std::string path = Write("people.csv", rows);
  StatusOr<ExampleData> data = Read({.label = "income", .category_columns = {"zip"}});
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(data->label, "income");
  EXPECT_THAT(data->categories, ::testing::ElementsAre("city", "zip"));
  EXPECT_THAT(data->notes,
              ::testing::ElementsAre("label: 'income' (--label_column), classes high, low", "categories: city, zip",
                                     "missing: 1 of 20 values of 'age' (the first: 'nan' in " + path +
                                         " line 5) are replaced by the mean"));
  data = Read();
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_THAT(data->notes[0], HasSubstr("label: 'zip' (the last column; --label_column names another), values"));
  EXPECT_THAT(ErrorOf({.category_columns = {"zip"}}), HasSubstr("'zip' is the label"));
  EXPECT_THAT(ErrorOf({.category_columns = {"street"}}), HasSubstr("no column 'street'"));
}

TEST_F(ExamplesTest, CsvOneOddCellDoesNotMakeCategories) {
  std::string rows = "age,city,label\n";
  for (int i = 0; i < 20; ++i) absl::StrAppend(&rows, i == 7 ? "old" : "30", ",", i % 2 ? "Rome" : "Oslo", ",1\n");
  const std::string path = Write("people.csv", rows);
  EXPECT_THAT(ErrorOf(), HasSubstr(path + " line 9, column 'age': 'old' is not a finite number, but 19 of 20"));
  const StatusOr<ExampleData> data = Read({.missing_values = {"old"}});
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_THAT(data->categories, ::testing::ElementsAre("city"));
}

TEST_F(ExamplesTest, CsvWithoutALabelIsNoClass) {
  const std::string path = Write("a.csv", "x,label\n1,yes\n2,\n3,no\n4,\n");
  EXPECT_THAT(ErrorOf(), HasSubstr(path + " line 3: the label (column 'label') is missing (and in 1 more lines)"));
}

TEST_F(ExamplesTest, OptionsThatTheDataDoesNotUseAreErrors) {
  Write("pictures", Idx({3, 1, 2}, std::string("\0\xff\1\2\3\4", 6)));
  Write("answers", Idx({3}, std::string("\2\0\1", 3)));
  EXPECT_THAT(ErrorOf({.label = "y"}), HasSubstr("--label_column is not used: the data is IDX"));
  EXPECT_THAT(ErrorOf({.missing_values = {"x"}}), HasSubstr("--missing_values is not used"));
  EXPECT_TRUE(absl::IsInvalidArgument(CheckExampleFiles(folder_.string(), {.category_columns = {"x"}})));
  EXPECT_TRUE(CheckExampleFiles(folder_.string(), {}).ok());
}

TEST_F(ExamplesTest, CsvErrorsNameTheLine) {
  Write("a.csv", "x,y\n1,2\n\n1,2,3\n");
  EXPECT_THAT(ErrorOf(), HasSubstr("a.csv line 4: 3 columns, not 2"));
  Write("a.csv", "x,y\n1,\"2\n");
  EXPECT_THAT(ErrorOf(), HasSubstr("a.csv line 2: a quote is not closed"));
  Write("a.csv", "x,y\n");
  EXPECT_THAT(ErrorOf(), HasSubstr("a.csv holds no examples"));
}

proto::Example MakeExample(int64_t label, const std::string& image, float extra) {
  proto::Example example;
  auto& features = *example.mutable_features()->mutable_feature();
  features["label"].mutable_int64_list()->add_value(label);
  features["image_raw"].mutable_bytes_list()->add_value(image);
  features["extra"].mutable_float_list()->add_value(extra);
  features["height"].mutable_int64_list()->add_value(8);
  features["kind"].mutable_bytes_list()->add_value(label % 2 ? "odd" : "even");
  return example;
}

TEST_F(ExamplesTest, RecordsOfExamples) {
  std::vector<proto::Example> examples;
  for (int i = 0; i < 10; ++i)
    examples.push_back(MakeExample(i % 3, std::string(64, static_cast<char>(i)), static_cast<float>(i)));
  WriteRecords("part-0", examples);
  const StatusOr<ExampleData> data = Read();
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(data->what, "9 + 1 examples of 65 numbers and 1 categories, 3 classes (TFRecords)");
  EXPECT_EQ(data->train.numbers.data<float>()[65 * 8], 1.0f);  // extra
  EXPECT_NEAR(data->train.numbers.data<float>()[65 * 8 + 1], 8 / 255.0f, 1e-6);
}

TEST_F(ExamplesTest, RecordsWithOddNumbersAndLabels) {
  const std::string image(64, 'x');
  proto::Example example = MakeExample(1, image, std::numeric_limits<float>::infinity());
  WriteRecords("a", {MakeExample(1, image, 1), example});
  EXPECT_THAT(ErrorOf(), HasSubstr("a record 1: feature 'extra' holds an infinite number"));
  example = MakeExample(1, image, std::nanf(""));
  WriteRecords("a", {MakeExample(1, image, 1), example});
  const StatusOr<ExampleData> data = Read();
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_THAT(data->notes, ::testing::Contains("missing: 1 of 2 values of 'extra' are replaced by the mean"));
  (*example.mutable_features()->mutable_feature())["label"].mutable_bytes_list()->add_value("");
  WriteRecords("a", {example});
  EXPECT_THAT(ErrorOf(), HasSubstr("the label 'label' is empty"));
  (*example.mutable_features()->mutable_feature())["label"].mutable_float_list()->add_value(std::nanf(""));
  WriteRecords("a", {example});
  EXPECT_THAT(ErrorOf(), HasSubstr("the label 'label' is not a finite number"));
}

TEST_F(ExamplesTest, RecordErrorsNameFileRecordAndFeature) {
  const std::string image(64, 'x');
  WriteRecords("a", {MakeExample(1, image, 1), MakeExample(1, image + "y", 1)});
  EXPECT_THAT(ErrorOf(), HasSubstr("a record 1: feature 'image_raw' holds 65 values, not 64"));
  WriteRecords("a", {MakeExample(1, "\x89PNG" + image, 1)});
  EXPECT_THAT(ErrorOf(), HasSubstr("packed image"));
  EXPECT_THAT(ErrorOf({.label = "digit"}), HasSubstr("there is no feature 'digit'"));
  std::string bytes = *ReadFile(folder_ / "a");
  Write("a", bytes.substr(0, bytes.size() - 3));
  EXPECT_THAT(ErrorOf(), HasSubstr("/a record 0"));
}

TEST_F(ExamplesTest, FoldersThatCannotBeUsed) {
  EXPECT_THAT(ErrorOf(), HasSubstr("holds no files"));
  Write("notes.txt", "hello\n");
  Write("junk", std::string("\1\2\3\0\4\5", 6));
  EXPECT_THAT(ErrorOf(), HasSubstr("neither IDX nor TFRecords nor CSV (junk, notes.txt)"));
  Write("a.csv", "x,y\n1,2\n");
  Write("images", Idx({3, 1, 1}, "abc"));
  EXPECT_THAT(ErrorOf(), HasSubstr("One kind of data at a time"));
  EXPECT_EQ(ReadExamples("/nowhere").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(ExamplesTest, EveryWorkerSeesItsShareOncePerEpoch) {
  std::string rows;
  for (int i = 0; i < 110; ++i) absl::StrAppend(&rows, i, ".5,", i, "\n");
  Write("train.csv", rows);
  Write("test.csv", "1,1\n");
  const StatusOr<ExampleData> data = Read();
  ASSERT_TRUE(data.ok());
  std::multiset<int32_t> seen;
  for (int shard = 0; shard < 2; ++shard) {
    StatusOr<Batches> batches = Batches::Make(data->train, 5, shard, 2, 1);
    ASSERT_TRUE(batches.ok());
    EXPECT_EQ(batches->share(), 55);
    Batch batch;
    for (int i = 0; i < 11; ++i) {
      batches->Next(&batch);
      for (const int32_t label : batch.labels.flat<int32_t>()) seen.insert(label);
    }
    EXPECT_EQ(batches->epochs_completed(), 0);
    batches->Next(&batch);
    EXPECT_EQ(batches->epochs_completed(), 1);
  }
  EXPECT_EQ(seen.size(), 110u);
  EXPECT_EQ(std::set<int32_t>(seen.begin(), seen.end()).size(), 110u);
  EXPECT_FALSE(Batches::Make(data->test, 5, 1, 2, 1).ok());
}

TEST(MnistTest, TheSetThatComesAlong) {
  const StatusOr<std::string> folder = MnistFolder();
  ASSERT_TRUE(folder.ok());
  ExampleOptions options;
  options.train = false;
  const StatusOr<ExampleData> data = ReadExamples(*folder, options);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(data->test.size(), 10000);
  EXPECT_EQ(data->classes, 10);
}

}  // namespace
}  // namespace millstream
