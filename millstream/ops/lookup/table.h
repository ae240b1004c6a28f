// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_LOOKUP_TABLE_H_
#define MILLSTREAM_OPS_LOOKUP_TABLE_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "millstream/base/mutex.h"
#include "millstream/tensor/tensor.h"

namespace millstream {

// Rows of one type and shape in a buffer that grows.
class RowStore {
 public:
  RowStore(DType dtype, Shape row) : dtype_(dtype), row_(std::move(row)) {}
  // Makes room for `rows` rows.
  Status Reserve(int64_t rows);
  // Copies row `from` of `t`, in which rows follow each other, to row `to`; and back. REQUIRES: reserved; the type
  // fits.
  void Put(const Tensor& t, int64_t from, int64_t to);
  void Get(int64_t from, Tensor* t, int64_t to) const;
  bool Equal(const Tensor& t, int64_t from, int64_t row) const;
  DType dtype() const { return dtype_; }
  const Shape& row() const { return row_; }

 private:
  const DType dtype_;
  const Shape row_;
  Tensor rows_;
};

// A table from keys to values, which are scalars or tensors of one shape. Thread-safe.
class LookupTable final : public Resource {
 public:
  enum class Kind {
    kInitializable,  // filled once, then only read
    kMutable,
    kDense,  // as kMutable, with two keys that nobody may use; exported as the buckets of an open hash table
  };
  struct Options {
    Kind kind = Kind::kMutable;
    DType key_dtype = DType::kInvalid, value_dtype = DType::kInvalid;
    Shape key_shape, value_shape;
    // kDense
    Tensor empty_key, deleted_key;
    int64_t buckets = 0;  // at first
    float max_load = 1;   // more keys per bucket double the number of buckets
  };
  LookupTable(Options options, std::string name);

  const Options& options() const { return options_; }
  std::string DebugString() const override { return "LookupTable " + name_; }

  // InvalidArgument unless a client may use the table with these types.
  Status CheckTypes(DType key, DType value) const;
  // The shape of the values of `keys`. InvalidArgument if keys are not a batch of keys.
  StatusOr<Shape> ValuesShape(const Tensor& keys) const;

  // Fills an empty kInitializable table, or does nothing if it has just these entries. FailedPrecondition if it has
  // others, or if `keys` give one key different values.
  Status Initialize(const Tensor& keys, const Tensor& values);
  // `defaults` is one value, or one for each key. FailedPrecondition if the table is not initialized.
  Status Find(const Tensor& keys, const Tensor& defaults, Tensor* values);
  // Unimplemented for kInitializable.
  Status Insert(const Tensor& keys, const Tensor& values);
  // As Insert() into an empty table; of a kInitializable one: as Initialize(). Of a kDense one, what Export() gave.
  Status Import(const Tensor& keys, const Tensor& values);
  Status Remove(const Tensor& keys);
  int64_t Size();
  // Of a kDense table matrices with one row for each bucket: empty ones have the empty key, those of removed keys the
  // deleted key.
  Status Export(Tensor* keys, Tensor* values);

 private:
  using Slot = int64_t;
  // The slot of row i of `keys`; -1 if it is not there.
  Slot Lookup(const Tensor& keys, int64_t i) const ABSL_SHARED_LOCKS_REQUIRED(mu_);
  Status InsertLocked(const Tensor& keys, const Tensor& values) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Status CheckRoom(size_t more) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Slot TakeSlot() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Doubles the buckets of a kDense table until `more` keys fit; then nothing remembers removed keys.
  void GrowBuckets(int64_t more) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Status ImportBuckets(const Tensor& keys, const Tensor& values);
  Status ExportBuckets(Tensor* keys, Tensor* values) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Status CheckReserved(const Tensor& keys) const;
  void Clear() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Status CheckKeys(const Tensor& keys) const;
  Status CheckMutable(const char* what) const;
  Status CheckPairs(const Tensor& keys, const Tensor& values) const;
  // Keys are found as numbers or as bytes.
  bool numbers() const { return options_.key_shape.IsScalar() && options_.key_dtype != DType::kString; }
  std::string Bytes(const Tensor& keys, int64_t i) const;

  const Options options_;
  const std::string name_;
  Mutex mu_;
  bool initialized_ ABSL_GUARDED_BY(mu_) = false;
  absl::flat_hash_map<int64_t, Slot> by_number_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<std::string, Slot> by_bytes_ ABSL_GUARDED_BY(mu_);
  RowStore keys_ ABSL_GUARDED_BY(mu_);
  RowStore values_ ABSL_GUARDED_BY(mu_);
  std::vector<bool> used_ ABSL_GUARDED_BY(mu_);  // by slot
  std::vector<Slot> free_ ABSL_GUARDED_BY(mu_);
  std::vector<bool> removed_ ABSL_GUARDED_BY(mu_);  // kDense, by slot: free, and the bucket still has the value
  int64_t buckets_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millstream

#endif  // MILLSTREAM_OPS_LOOKUP_TABLE_H_
