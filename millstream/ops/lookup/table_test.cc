// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/lookup/table.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "millstream/framework/op.h"

namespace millstream {
namespace {

Ref<LookupTable> DenseTable() {
  LookupTable::Options options;
  options.kind = LookupTable::Kind::kDense;
  options.key_dtype = options.value_dtype = DType::kInt64;
  options.empty_key = Tensor::Scalar<int64_t>(100);
  options.deleted_key = Tensor::Scalar<int64_t>(200);
  options.buckets = 4;
  options.max_load = 0.8f;
  return MakeRef<LookupTable>(std::move(options), "dense");
}

// What a checkpoint of a table holds is its buckets; another table takes the keys and values from them.
TEST(LookupTableTest, DenseTableComesBackFromItsBuckets) {
  const Ref<LookupTable> table = DenseTable();
  ASSERT_TRUE(table->Insert(Tensor::Vector<int64_t>({1, 2, 3}), Tensor::Vector<int64_t>({10, 20, 30})).ok());
  ASSERT_TRUE(table->Remove(Tensor::Vector<int64_t>({2})).ok());
  Tensor keys, values;
  ASSERT_TRUE(table->Export(&keys, &values).ok());
  EXPECT_EQ(keys.shape(), Shape({4, 1}));
  const std::span<const int64_t> all = keys.flat<int64_t>();
  EXPECT_EQ(std::count(all.begin(), all.end(), 100), 1);
  EXPECT_EQ(std::count(all.begin(), all.end(), 200), 1);

  const Ref<LookupTable> other = DenseTable();
  ASSERT_TRUE(other->Insert(Tensor::Vector<int64_t>({7}), Tensor::Vector<int64_t>({70})).ok());
  ASSERT_TRUE(other->Import(keys, values).ok());
  EXPECT_EQ(other->Size(), 2);
  Tensor found(DType::kInt64, Shape({4}));
  ASSERT_TRUE(other->Find(Tensor::Vector<int64_t>({1, 2, 3, 7}), Tensor::Scalar<int64_t>(-1), &found).ok());
  EXPECT_EQ(found.flat<int64_t>()[0], 10);
  EXPECT_EQ(found.flat<int64_t>()[1], -1);
  EXPECT_EQ(found.flat<int64_t>()[2], 30);
  EXPECT_EQ(found.flat<int64_t>()[3], -1);
}

TEST(LookupTableTest, DenseTableRefusesWhatAreNoBuckets) {
  const Ref<LookupTable> table = DenseTable();
  for (const int64_t n : {0, 1, 2, 5}) {
    const Tensor keys(DType::kInt64, Shape({n}));
    EXPECT_TRUE(absl::IsInvalidArgument(table->Import(keys, keys))) << n;
  }
  const Tensor keys = Tensor::Vector<int64_t>({1, 2, 3, 4});
  EXPECT_TRUE(absl::IsInvalidArgument(table->Import(keys, Tensor::Vector<int64_t>({1, 2, 3}))));
  EXPECT_TRUE(absl::IsInvalidArgument(table->Import(keys, Tensor::Scalar<int64_t>(1))));
}

// Keys are looked up as numbers or strings: no table of anything else is made.
TEST(LookupTableTest, KeysAreNumbersOrStrings) {
  for (const char* name :
       {"HashTableV2", "MutableHashTable", "AnonymousMutableHashTableOfTensors", "MutableDenseHashTableV2"}) {
    const OpEntry& op = *OpRegistry::Global().Find(name);
    for (const DType key : {DType::kInt32, DType::kInt64, DType::kString, DType::kFloat, DType::kBool, DType::kUint8}) {
      AttrMap attrs;
      attrs.Set("key_dtype", key);
      attrs.Set("value_dtype", DType::kFloat);
      const bool taken = key == DType::kInt32 || key == DType::kInt64 || key == DType::kString;
      EXPECT_EQ(FindKernel(op, "CPU", attrs, "table").ok(), taken) << name << " " << DTypeName(key);
    }
  }
}

}  // namespace
}  // namespace millstream
