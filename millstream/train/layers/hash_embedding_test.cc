// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/layers/hash_embedding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "millstream/train/testing/steps.h"
#include "millstream/train/variables/variables.h"

namespace millstream {
namespace {

using ::testing::Each;
using Rule = HashEmbeddingUpdate::Rule;

class HashEmbeddingTest : public ::testing::TestWithParam<std::tuple<DType, int, Rule>> {
 protected:
  HashEmbeddingOptions Options(int64_t min_count = 1) const {
    HashEmbeddingOptions options;
    options.width = 4;
    options.key_dtype = std::get<0>(GetParam());
    options.shards = std::get<1>(GetParam());
    options.min_count = min_count;
    return options;
  }
  Output Keys(const std::vector<int64_t>& numbers) const {
    if (std::get<0>(GetParam()) == DType::kInt64) return s.Const(Tensor::Vector(numbers));
    std::vector<std::string> names;
    for (const int64_t number : numbers) names.push_back(absl::StrCat("word ", number));
    return s.Const(Tensor::Vector(names));
  }
  int64_t IntOf(Session& session, const Output& output) {
    std::vector<Tensor> out;
    EXPECT_TRUE(session.Run({}, {output.name()}, {}, &out).ok());
    return out.empty() ? -1 : out[0].scalar<int64_t>();
  }

  const Scope s = Scope::Root();
};

TEST_P(HashEmbeddingTest, TrainsSavesEvictsAndRestores) {
  HashEmbedding table(s, "words", Options());
  const Output keys = Keys({3, 5, 3, -7});
  const Output rows = table.Lookup(s, keys);
  const Output loss = s.Op("Sum", {s.Op("Square", {s.Op("Sub", {rows, s.Const(1.f)})}), s.Constant({0, 1})});
  Node* train = table.Minimize(s, loss, {.rule = std::get<2>(GetParam()), .learning_rate = 0.1f});
  const Output found = table.Find(s, Keys({3, 5, 8})), size = table.Size(s);
  const Output evict = table.Evict(s, s.Const(int64_t{100}), s.Const(int64_t{0}));
  const auto folder = std::filesystem::temp_directory_path() /
                      absl::StrCat("hash_embedding_", ::getpid(), "_", std::get<1>(GetParam()));
  std::filesystem::create_directories(folder);
  std::vector<std::string> prefixes;
  for (int i = 0; i < std::get<1>(GetParam()); ++i) prefixes.push_back((folder / absl::StrCat("part", i)).string());
  const std::vector<Node*> save = table.Save(s, prefixes), restore = table.Restore(s, prefixes);
  Node* init = GlobalVariablesInitializer(s);
  ASSERT_TRUE(s.ok()) << s.status();
  const auto session = SessionOf(s, init);
  const float before = FloatsOf(*session, loss)[0];
  for (int i = 0; i < 5; ++i) RunStep(*session, {}, {train});
  EXPECT_LT(FloatsOf(*session, loss)[0], before);
  EXPECT_EQ(IntOf(*session, size), 3);
  const std::vector<float> trained = FloatsOf(*session, found);
  EXPECT_THAT(std::vector<float>(trained.end() - 4, trained.end()), Each(0));
  RunStep(*session, {}, {save.begin(), save.end()});
  EXPECT_EQ(IntOf(*session, evict), 3);
  EXPECT_EQ(IntOf(*session, size), 0);
  EXPECT_THAT(FloatsOf(*session, found), Each(0));
  RunStep(*session, {}, {restore.begin(), restore.end()});
  EXPECT_EQ(FloatsOf(*session, found), trained);
  std::filesystem::remove_all(folder);
}

TEST_P(HashEmbeddingTest, RareKeysGetNoRow) {
  HashEmbedding table(s, "words", Options(/*min_count=*/2));
  const Output rows = table.Lookup(s, Keys({3, 5, 3})), size = table.Size(s);
  ASSERT_TRUE(s.ok()) << s.status();
  const auto session = SessionOf(s, nullptr);
  const std::vector<float> values = FloatsOf(*session, rows);
  EXPECT_NE(values[0], 0);
  EXPECT_EQ(values[4], 0);
  EXPECT_EQ(IntOf(*session, size), 1);
}

INSTANTIATE_TEST_SUITE_P(All, HashEmbeddingTest,
                         ::testing::Combine(::testing::Values(DType::kInt64, DType::kString), ::testing::Values(1, 3),
                                            ::testing::Values(Rule::kGradientDescent, Rule::kAdagrad, Rule::kAdam)));

TEST(HashEmbeddingErrorsTest, GoToTheScope) {
  const Scope none = Scope::Root();
  const HashEmbedding without_shards(none, "words", {.width = 4, .shards = 0});
  EXPECT_TRUE(absl::IsInvalidArgument(none.status()));
  const Scope unused = Scope::Root();
  HashEmbedding table(unused, "words", {.width = 4});
  EXPECT_EQ(table.Minimize(unused, unused.Const(1.f), {}), nullptr);
  EXPECT_TRUE(absl::IsInvalidArgument(unused.status()));
}

}  // namespace
}  // namespace millstream
