// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/variables/partitioners.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "millstream/graph/scope.h"
#include "millstream/graph/variables/save_slice.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;

TEST(PartitionersTest, CountsAreTensorFlows) {
  const Shape shape({10, 4});
  EXPECT_THAT(FixedSizePartitioner(3)(shape, DType::kFloat), ElementsAre(3, 1));
  EXPECT_THAT(FixedSizePartitioner(30, 1)(shape, DType::kFloat), ElementsAre(1, 4));
  // 16 bytes a row
  EXPECT_THAT(VariableAxisSizePartitioner({.max_shard_bytes = 50})(shape, DType::kFloat), ElementsAre(4, 1));
  EXPECT_THAT(VariableAxisSizePartitioner({.max_shard_bytes = 1})(shape, DType::kFloat), ElementsAre(10, 1));
  EXPECT_THAT(VariableAxisSizePartitioner({.max_shard_bytes = 1, .max_shards = 2})(shape, DType::kFloat),
              ElementsAre(2, 1));
  EXPECT_THAT(MinMaxVariablePartitioner({.max_partitions = 8, .min_slice_size = 64})(shape, DType::kFloat),
              ElementsAre(3, 1));
  EXPECT_THAT(MinMaxVariablePartitioner({.max_partitions = 2, .min_slice_size = 64})(shape, DType::kFloat),
              ElementsAre(2, 1));
  EXPECT_THAT(MinMaxVariablePartitioner({.max_partitions = 4})(shape, DType::kFloat), ElementsAre(1, 1));
}

TEST(PartitionersTest, FirstPartsAreLarger) {
  const StatusOr<std::vector<VariablePart>> parts = PartsOf(Shape({2, 10}), {1, 4});
  ASSERT_TRUE(parts.ok()) << parts.status();
  std::vector<int64_t> sizes, starts;
  for (const VariablePart& part : *parts) {
    EXPECT_EQ(part.shape.dim(0), 2);
    sizes.push_back(part.shape.dim(1));
    starts.push_back(part.offset[1]);
  }
  EXPECT_THAT(sizes, ElementsAre(3, 3, 2, 2));
  EXPECT_THAT(starts, ElementsAre(0, 3, 6, 8));
}

TEST(PartitionersTest, RefusesWhatDoesNotFit) {
  const auto refused = [](const Shape& shape, const std::vector<int64_t>& partitions) {
    return absl::IsInvalidArgument(PartsOf(shape, partitions).status());
  };
  EXPECT_TRUE(refused(Shape(), {}));
  EXPECT_TRUE(refused(Shape({4, 4}), {2}));
  EXPECT_TRUE(refused(Shape({4, 4}), {0, 1}));
  EXPECT_TRUE(refused(Shape({4, 4}), {2, 2}));
  EXPECT_TRUE(refused(Shape({4, 4}), {5, 1}));
  EXPECT_TRUE(refused(Shape({4}), FixedSizePartitioner(2, 1)(Shape({4}), DType::kFloat)));
  EXPECT_FALSE(refused(Shape({0, 4}), {1, 1}));
}

TEST(SaveSliceTest, IsKeptWithTheNode) {
  const Scope s = Scope::Root();
  Node* v = s.Add("VariableV2", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape({5, 4})}});
  EXPECT_FALSE(SaveSliceOf(*v).has_value());
  SetSaveSlice(v, {"a/w", {10, 4}, {5, 0}, {5, 4}});
  const std::optional<SaveSlice> slice = SaveSliceOf(*v);
  ASSERT_TRUE(slice.has_value());
  EXPECT_EQ(slice->full_name, "a/w");
  EXPECT_EQ(slice->Spec(), "10 4 5,5:0,4");
  for (const char* malformed : {"", "w", "w 10", "w x 0,1", "w 10 0", "w 10 4 0,5", "w 10 0,x"}) {
    v->attrs().Set("_save_slice", std::string(malformed));
    EXPECT_FALSE(SaveSliceOf(*v).has_value()) << malformed;
  }
}

}  // namespace
}  // namespace millstream
