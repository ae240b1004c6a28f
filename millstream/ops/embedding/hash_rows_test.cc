// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/embedding/hash_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <thread>

#include "millstream/ops/state/testing/op_runner.h"

namespace millstream {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kWidth = 3;

// Every test runs with both types of keys.
class HashRowsTest : public ::testing::TestWithParam<DType> {
 protected:
  Ref<HashRows> Table(int64_t min_count = 1, float scale = 0.5f, int64_t seed = 7) const {
    return MakeRef<HashRows>(HashRows::Options{GetParam(), kWidth, min_count, scale, seed}, "table");
  }
  static Tensor Keys(const std::vector<int64_t>& numbers) {
    Tensor keys(GetParam(), Shape({static_cast<int64_t>(numbers.size())}));
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (GetParam() == DType::kInt64)
        keys.data<int64_t>()[i] = numbers[i];
      else
        keys.data<std::string>()[i] = absl::StrCat("key ", numbers[i]);
    }
    return keys;
  }
  static Tensor Ones(size_t n) {
    Tensor counts(DType::kInt64, Shape({static_cast<int64_t>(n)}));
    std::fill_n(counts.data<int64_t>(), n, 1);
    return counts;
  }
  static std::vector<float> Train(HashRows& table, const std::vector<int64_t>& numbers, int64_t step = 0) {
    Tensor rows(DType::kFloat, Shape({static_cast<int64_t>(numbers.size()), kWidth}));
    const Status status = table.FindOrAdd(Keys(numbers), Ones(numbers.size()), step, &rows);
    EXPECT_TRUE(status.ok()) << status;
    return {rows.flat<float>().begin(), rows.flat<float>().end()};
  }
  static std::vector<float> Find(HashRows& table, const std::vector<int64_t>& numbers) {
    Tensor rows(DType::kFloat, Shape({static_cast<int64_t>(numbers.size()), kWidth}));
    const Status status = table.Find(Keys(numbers), &rows);
    EXPECT_TRUE(status.ok()) << status;
    return {rows.flat<float>().begin(), rows.flat<float>().end()};
  }
  static void Subtract(HashRows& table, const std::vector<int64_t>& numbers, const Tensor& gradients) {
    const Status status =
        table.Update(Keys(numbers), gradients, {}, [](const float* g, std::span<float* const> columns) {
          for (int64_t k = 0; k < kWidth; ++k) columns[0][k] -= g[k];
        });
    EXPECT_TRUE(status.ok()) << status;
  }
};

TEST_P(HashRowsTest, NewRowsAreTheSameInEveryRun) {
  const Ref<HashRows> one = Table(), other = Table(), seeded = Table(1, 0.5f, 8);
  const std::vector<float> rows = Train(*one, {1, 2, 3});
  EXPECT_EQ(Train(*other, {3, 2, 1}).size(), rows.size());
  EXPECT_EQ(Find(*other, {1, 2, 3}), rows);
  EXPECT_NE(Train(*seeded, {1, 2, 3}), rows);
  for (const float value : rows) {
    EXPECT_LT(std::abs(value), 0.5f + 1e-6f);
    EXPECT_NE(value, 0);
  }
  EXPECT_EQ(std::set<float>(rows.begin(), rows.end()).size(), rows.size());
}

TEST_P(HashRowsTest, AKeyThatIsNotThereGivesZerosAndIsNotAddedByFind) {
  const Ref<HashRows> table = Table();
  EXPECT_THAT(Find(*table, {5}), Each(0));
  EXPECT_EQ(table->num_rows(), 0);
  EXPECT_EQ(table->num_candidates(), 0);
}

TEST_P(HashRowsTest, KeysAreAdmittedByCount) {
  const Ref<HashRows> table = Table(/*min_count=*/3);
  EXPECT_THAT(Train(*table, {1, 2}), Each(0));
  EXPECT_THAT(Train(*table, {1}), Each(0));
  EXPECT_EQ(table->num_rows(), 0);
  EXPECT_EQ(table->num_candidates(), 2);
  EXPECT_NE(Train(*table, {1})[0], 0);
  EXPECT_EQ(table->num_rows(), 1);
  EXPECT_EQ(table->num_candidates(), 1);
  // The counts of one call add up as well.
  Tensor rows(DType::kFloat, Shape({1, kWidth}));
  ASSERT_TRUE(table->FindOrAdd(Keys({9}), Tensor::Vector<int64_t>({3}), 0, &rows).ok());
  EXPECT_EQ(table->num_rows(), 2);
  // Gradients of keys without a row are dropped.
  Subtract(*table, {2}, Tensor::Of<float>(Shape({1, kWidth}), {1, 1, 1}));
  EXPECT_THAT(Find(*table, {2}), Each(0));
}

TEST_P(HashRowsTest, GradientsOfOneKeyAreSummedFirst) {
  const Ref<HashRows> table = Table(1, 0);
  Train(*table, {1, 2});
  int calls = 0;
  const Tensor gradients = Tensor::Of<float>(Shape({3, kWidth}), {1, 2, 3, 10, 20, 30, 100, 200, 300});
  ASSERT_TRUE(table
                  ->Update(Keys({1, 2, 1}), gradients, {},
                           [&](const float* g, std::span<float* const> columns) {
                             ++calls;
                             for (int64_t k = 0; k < kWidth; ++k) columns[0][k] -= g[k];
                           })
                  .ok());
  EXPECT_EQ(calls, 2);
  EXPECT_THAT(Find(*table, {1, 2}), ElementsAre(-101, -202, -303, -10, -20, -30));
}

TEST_P(HashRowsTest, SlotsBeginWithTheirInitialValueAlsoForOldRows) {
  const Ref<HashRows> table = Table(1, 0);
  Train(*table, {1});
  const HashRows::Slot slots[] = {{"a", 0.5f}, {"b", 2}};
  std::vector<float> seen;
  const auto rule = [&](const float*, std::span<float* const> columns) {
    ASSERT_EQ(columns.size(), 3u);
    seen.push_back(columns[1][0]);
    seen.push_back(columns[2][kWidth - 1]);
    columns[1][0] += 1;
  };
  const Tensor gradients(DType::kFloat, Shape({1, kWidth}));
  ASSERT_TRUE(table->Update(Keys({1}), gradients, slots, rule).ok());
  Train(*table, {2});
  ASSERT_TRUE(table->Update(Keys({2}), gradients, slots, rule).ok());
  ASSERT_TRUE(table->Update(Keys({1}), gradients, slots, rule).ok());
  EXPECT_THAT(seen, ElementsAre(0.5f, 2, 0.5f, 2, 1.5f, 2));
}

TEST_P(HashRowsTest, EvictsWhatWasNotUsed) {
  const Ref<HashRows> table = Table(/*min_count=*/1);
  for (int64_t key = 0; key < 10; ++key) Train(*table, {key}, /*step=*/key);
  EXPECT_EQ(*table->Evict(/*before=*/4, /*max_rows=*/0), 4);
  EXPECT_THAT(Find(*table, {0, 3}), Each(0));
  EXPECT_NE(Find(*table, {4})[0], 0);
  Train(*table, {4}, 100);  // now the most recently used
  EXPECT_EQ(*table->Evict(0, /*max_rows=*/2), 4);
  EXPECT_EQ(table->num_rows(), 2);
  EXPECT_NE(Find(*table, {4})[0], 0);
  EXPECT_NE(Find(*table, {9})[0], 0);
  EXPECT_TRUE(absl::IsInvalidArgument(table->Evict(0, -1).status()));
}

TEST_P(HashRowsTest, CandidatesAreEvictedToo) {
  const Ref<HashRows> table = Table(/*min_count=*/2);
  Train(*table, {1, 2}, 1);
  Train(*table, {2, 3}, 5);
  EXPECT_EQ(*table->Evict(5, 0), 1);
  EXPECT_EQ(table->num_rows(), 1);
  EXPECT_EQ(table->num_candidates(), 1);
  EXPECT_THAT(Train(*table, {1}, 6), Each(0));  // its count began anew
}

// A row that is used again has nothing of the key that had it before.
TEST_P(HashRowsTest, EvictedRowsAreUsedAgain) {
  const Ref<HashRows> table = Table(1, 0);
  const HashRows::Slot slots[] = {{"a", 0.5f}};
  const Tensor gradients = Tensor::Of<float>(Shape({1, kWidth}), {1, 1, 1});
  std::vector<float> seen;
  const auto rule = [&](const float*, std::span<float* const> columns) {
    seen.insert(seen.end(), {columns[0][0], columns[1][0]});
    columns[0][0] = columns[1][0] = 9;
  };
  for (const int64_t key : {1, 2}) {
    Train(*table, {key}, key);
    ASSERT_TRUE(table->Update(Keys({key}), gradients, slots, rule).ok());
    EXPECT_EQ(*table->Evict(key + 1, 0), 1);
  }
  EXPECT_THAT(seen, ElementsAre(0, 0.5f, 0, 0.5f));
}

TEST_P(HashRowsTest, ManyKeysGrowTheTable) {
  const Ref<HashRows> table = Table();
  std::vector<int64_t> keys(20'000);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<int64_t>(i) * 7919;
  const std::vector<float> rows = Train(*table, keys);
  EXPECT_EQ(table->num_rows(), 20'000);
  EXPECT_EQ(Find(*table, keys), rows);
}

TEST_P(HashRowsTest, AStateComesBackWhole) {
  const Ref<HashRows> table = Table(/*min_count=*/2);
  Train(*table, {1, 2, 3}, 1);
  Train(*table, {1, 2}, 2);
  const HashRows::Slot slots[] = {{"a", 0.5f}};
  const Tensor gradients = Tensor::Of<float>(Shape({1, kWidth}), {1, 1, 1});
  ASSERT_TRUE(table
                  ->Update(Keys({1}), gradients, slots,
                           [](const float*, std::span<float* const> columns) { columns[1][1] = 4; })
                  .ok());
  HashRows::State state;
  ASSERT_TRUE(table->Export(&state).ok());
  const Ref<HashRows> other = Table(2);
  Train(*other, {77}, 9);
  ASSERT_TRUE(other->Import(state).ok());
  EXPECT_EQ(other->num_rows(), 2);
  EXPECT_EQ(other->num_candidates(), 1);
  EXPECT_EQ(Find(*other, {1, 2, 3, 77}), Find(*table, {1, 2, 3, 77}));
  float slot = 0;
  ASSERT_TRUE(other
                  ->Update(Keys({1}), gradients, slots,
                           [&](const float*, std::span<float* const> columns) { slot = columns[1][1]; })
                  .ok());
  EXPECT_EQ(slot, 4);
  EXPECT_NE(Train(*other, {3}, 3)[0], 0);  // the count of the candidate came back
  EXPECT_EQ(*other->Evict(3, 0), 2);       // and when keys were used
}

TEST_P(HashRowsTest, RefusesStatesThatDoNotFit) {
  const Ref<HashRows> table = Table();
  Train(*table, {1, 2});
  HashRows::State good;
  ASSERT_TRUE(table->Export(&good).ok());
  const auto refused = [&](const std::function<void(HashRows::State&)>& spoil) {
    HashRows::State bad = good;
    spoil(bad);
    return absl::IsInvalidArgument(table->Import(bad));
  };
  EXPECT_TRUE(refused([&](HashRows::State& s) { s.keys = Keys({1}); }));
  EXPECT_TRUE(refused([&](HashRows::State& s) { s.keys = Keys({1, 1}); }));
  EXPECT_TRUE(refused([&](HashRows::State& s) {
    s.candidates = Keys({1});
    s.candidate_counts = s.candidate_last_used = Ones(1);
  }));
  EXPECT_TRUE(refused([&](HashRows::State& s) { s.counts = Tensor::Scalar<int64_t>(1); }));
  EXPECT_TRUE(refused([&](HashRows::State& s) { s.rows = Tensor(DType::kFloat, Shape({2, kWidth + 1})); }));
  EXPECT_TRUE(refused([&](HashRows::State& s) { s.rows = Tensor(DType::kFloat, Shape({2, 2 * kWidth})); }));
  EXPECT_TRUE(refused([&](HashRows::State& s) {
    s.slot_names = Tensor::Vector<std::string>({"a", "a"});
    s.slot_initials = Tensor::Vector<float>({0, 0});
    s.rows = Tensor(DType::kFloat, Shape({2, 3 * kWidth}));
  }));
  EXPECT_TRUE(refused([&](HashRows::State& s) {
    s.keys = GetParam() == DType::kInt64 ? Tensor::Vector<std::string>({"a", "b"}) : Tensor::Vector<int64_t>({1, 2});
  }));
  ASSERT_TRUE(table->Import(good).ok());
  EXPECT_EQ(table->num_rows(), 2);
}

TEST_P(HashRowsTest, RefusesInputsThatDoNotFit) {
  const Ref<HashRows> table = Table();
  Tensor rows(DType::kFloat, Shape({1, kWidth}));
  const Tensor wrong = GetParam() == DType::kInt64 ? Tensor::Vector<std::string>({"a"}) : Tensor::Vector<int64_t>({1});
  EXPECT_TRUE(absl::IsInvalidArgument(table->Find(wrong, &rows)));
  EXPECT_TRUE(absl::IsInvalidArgument(table->FindOrAdd(Keys({1}), Ones(2), 0, &rows)));
  EXPECT_TRUE(absl::IsInvalidArgument(
      table->Update(Keys({1}), Tensor(DType::kFloat, Shape({1, kWidth + 1})), {}, [](const float*, auto) {})));
}

TEST_P(HashRowsTest, ThreadsLoseNoUpdate) {
  const Ref<HashRows> table = Table(1, 0);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const Tensor minus = Tensor::Of<float>(Shape({2, kWidth}), {-1, -1, -1, -1, -1, -1});
      for (int i = 0; i < 200; ++i) {
        Train(*table, {0, t * 1000 + i + 1}, i);
        Subtract(*table, {0, t * 1000 + i + 1}, minus);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(Find(*table, {0}), Each(800));
  EXPECT_EQ(table->num_rows(), 801);
}

INSTANTIATE_TEST_SUITE_P(Keys, HashRowsTest, ::testing::Values(DType::kInt64, DType::kString),
                         [](const auto& test) { return test.param == DType::kInt64 ? "Int64" : "String"; });

// Optimizers give what their kernels for variables give.
class HashEmbeddingUpdateTest : public ::testing::TestWithParam<std::string> {};

TEST_P(HashEmbeddingUpdateTest, TrainsAsAVariable) {
  OpRunner::Env env;
  const std::string rule = GetParam();
  OpRunner make(env, "HashEmbedding",
                {{"key_dtype", DType::kInt64}, {"width", 2}, {"scale", 0.f}, {"shared_name", std::string("t")}});
  const Edge handle = (*make.Run({}))[0];
  OpRunner lookup(env, "HashEmbeddingLookup", {{"Tkeys", DType::kInt64}});
  const Tensor keys = Tensor::Vector<int64_t>({5, -6});
  ASSERT_TRUE(lookup.Run({handle, keys, Tensor::Vector<int64_t>({1, 1}), Tensor::Scalar<int64_t>(0)}).ok());

  std::vector<Edge> slots;
  OpRunner variable(env, "VariableV2", {{"dtype", DType::kFloat}, {"shape", PartialShape({2, 2})}}, "var");
  OpRunner slot1(env, "VariableV2", {{"dtype", DType::kFloat}, {"shape", PartialShape({2, 2})}}, "slot1");
  OpRunner slot2(env, "VariableV2", {{"dtype", DType::kFloat}, {"shape", PartialShape({2, 2})}}, "slot2");
  OpRunner assign(env, "Assign", {{"T", DType::kFloat}});
  const float initial = rule == "Adagrad" ? 0.1f : 0;
  slots.push_back((*variable.Run({}))[0]);
  ASSERT_TRUE(assign.Run({slots[0], Tensor::Of<float>(Shape({2, 2}), {0, 0, 0, 0})}).ok());
  for (OpRunner* slot : {&slot1, &slot2}) {
    slots.push_back((*slot->Run({}))[0]);
    ASSERT_TRUE(
        assign.Run({slots.back(), Tensor::Of<float>(Shape({2, 2}), {initial, initial, initial, initial})}).ok());
  }
  OpRunner hash(env, "HashEmbeddingApply" + rule, {{"Tkeys", DType::kInt64}});
  OpRunner dense(env, "Apply" + rule, {{"T", DType::kFloat}});
  const Edge lr = Tensor::Scalar<float>(0.3f);
  for (int step = 1; step <= 3; ++step) {
    const auto s = static_cast<float>(step);
    const Tensor gradients = Tensor::Of<float>(Shape({2, 2}), {1 * s, -2, 0.5f, s});
    std::vector<Edge> for_hash = {handle, keys, gradients, lr};
    std::vector<Edge> for_dense = {slots[0]};
    if (rule == "GradientDescent") for_dense.insert(for_dense.end(), {lr, gradients});
    if (rule == "Adagrad") for_dense.insert(for_dense.end(), {slots[1], lr, gradients});
    if (rule == "Adam") {
      const Edge power1 = Tensor::Scalar<float>(std::pow(0.9f, s)), power2 = Tensor::Scalar<float>(std::pow(0.99f, s));
      const Edge beta1 = Tensor::Scalar<float>(0.9f), beta2 = Tensor::Scalar<float>(0.99f);
      const Edge epsilon = Tensor::Scalar<float>(1e-3f);
      for_hash.insert(for_hash.end(), {power1, power2, beta1, beta2, epsilon});
      for_dense.insert(for_dense.end(), {slots[1], slots[2], power1, power2, lr, beta1, beta2, epsilon, gradients});
    }
    ASSERT_TRUE(hash.Run(for_hash).ok());
    ASSERT_TRUE(dense.Run(for_dense).ok());
  }
  OpRunner find(env, "HashEmbeddingFind", {{"Tkeys", DType::kInt64}});
  const Tensor rows = *find.Value({handle, keys});
  const Tensor expected = slots[0].ref->Snapshot();
  for (int i = 0; i < 4; ++i) {
    EXPECT_FLOAT_EQ(rows.data<float>()[i], expected.data<float>()[i]) << i;
    EXPECT_NE(rows.data<float>()[i], 0) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Rules, HashEmbeddingUpdateTest, ::testing::Values("GradientDescent", "Adagrad", "Adam"),
                         [](const auto& test) { return test.param; });

TEST(HashEmbeddingTest, ASecondHandleMustHaveTheSameOptions) {
  OpRunner::Env env;
  const auto attrs = [](int64_t width) {
    return std::vector<std::pair<std::string, AttrValue>>{
        {"key_dtype", DType::kString}, {"width", width}, {"shared_name", std::string("t")}};
  };
  OpRunner one(env, "HashEmbedding", attrs(4), "one"), same(env, "HashEmbedding", attrs(4), "same");
  OpRunner other(env, "HashEmbedding", attrs(5), "other"), none(env, "HashEmbedding", attrs(0), "none");
  ASSERT_TRUE(one.Run({}).ok());
  EXPECT_TRUE(same.Run({}).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(other.Run({}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(none.status()));
}

}  // namespace
}  // namespace millstream
