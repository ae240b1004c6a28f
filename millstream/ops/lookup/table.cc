// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/lookup/table.h"

#include <algorithm>
#include <cstring>

#include "millstream/base/memory_budget.h"
#include "millstream/ops/elements/blob.h"

namespace millstream {

Status RowStore::Reserve(int64_t rows) {
  if (rows_.IsInitialized() && rows_.dim(0) >= rows) return OkStatus();
  const int64_t old = rows_.IsInitialized() ? rows_.dim(0) : 0;
  const std::vector<int64_t> dims{std::max<int64_t>({rows, 2 * old, 8}), row_.num_elements()};
  ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  ASSIGN_OR_RETURN(Tensor larger, Tensor::Make(dtype_, shape));
  if (old > 0) {
    DispatchBlob(dtype_, [&](auto type) {
      using T = typename decltype(type)::type;
      CopyRun(BlobData<T>(rows_), rows_.num_elements(), BlobData<T>(&larger));
    });
  }
  rows_ = std::move(larger);
  return OkStatus();
}

void RowStore::Put(const Tensor& t, int64_t from, int64_t to) {
  const int64_t n = row_.num_elements();
  DispatchBlob(dtype_, [&](auto type) {
    using T = typename decltype(type)::type;
    CopyRun(BlobData<T>(t) + from * n, n, BlobData<T>(&rows_) + to * n);
  });
}

void RowStore::Get(int64_t from, Tensor* t, int64_t to) const {
  const int64_t n = row_.num_elements();
  DispatchBlob(dtype_, [&](auto type) {
    using T = typename decltype(type)::type;
    CopyRun(BlobData<T>(rows_) + from * n, n, BlobData<T>(t) + to * n);
  });
}

bool RowStore::Equal(const Tensor& t, int64_t from, int64_t row) const {
  const int64_t n = row_.num_elements();
  if (dtype_ == DType::kString) {
    const std::string* a = t.data<std::string>() + from * n;
    return std::equal(a, a + n, rows_.data<std::string>() + row * n);
  }
  const size_t size = DTypeSize(dtype_) * static_cast<size_t>(n);
  return std::memcmp(ElementAt(t, from * n), ElementAt(rows_, row * n), size) == 0;
}

LookupTable::LookupTable(Options options, std::string name)
    : options_(std::move(options)),
      name_(std::move(name)),
      keys_(options_.key_dtype, options_.key_shape),
      values_(options_.value_dtype, options_.value_shape),
      buckets_(options_.buckets) {}

Status LookupTable::CheckTypes(DType key, DType value) const {
  if (key == options_.key_dtype && value == options_.value_dtype) return OkStatus();
  return errors::InvalidArgument("Conflicting key/value dtypes ", DTypeName(key), "->", DTypeName(value), " with ",
                                 DTypeName(options_.key_dtype), "-", DTypeName(options_.value_dtype), " for table ",
                                 name_);
}

Status LookupTable::CheckKeys(const Tensor& keys) const {
  const auto want = options_.key_shape.dims();
  const auto got = keys.shape().dims();
  if (options_.kind == Kind::kDense) {
    const int64_t rows = keys.rank() == 0 ? 1 : keys.dim(0);
    if (keys.num_elements() != rows * options_.key_shape.num_elements()) {
      return errors::InvalidArgument("Expected key shape ", options_.key_shape.ToString(), " for each of ", rows,
                                     " keys, got ", keys.shape().ToString());
    }
  }
  if (got.size() >= want.size() && std::equal(want.begin(), want.end(), got.end() - want.size())) return OkStatus();
  return errors::InvalidArgument("Input key shape ", keys.shape().ToString(), " must end with the table's key shape ",
                                 options_.key_shape.ToString());
}

StatusOr<Shape> LookupTable::ValuesShape(const Tensor& keys) const {
  RETURN_IF_ERROR(CheckKeys(keys));
  std::vector<int64_t> dims(keys.shape().dims().begin(), keys.shape().dims().end() - options_.key_shape.rank());
  dims.insert(dims.end(), options_.value_shape.dims().begin(), options_.value_shape.dims().end());
  return Shape::Make(dims);
}

Status LookupTable::CheckPairs(const Tensor& keys, const Tensor& values) const {
  ASSIGN_OR_RETURN(const Shape expected, ValuesShape(keys));
  if (values.shape() == expected) return OkStatus();
  return errors::InvalidArgument("Expected shape ", expected.ToString(), " for value, got ", values.shape().ToString());
}

Status LookupTable::CheckMutable(const char* what) const {
  if (options_.kind != Kind::kInitializable) return OkStatus();
  return errors::Unimplemented(what, " not supported by InitializableLookupTable implementations");
}

std::string LookupTable::Bytes(const Tensor& keys, int64_t i) const {
  const int64_t n = options_.key_shape.num_elements();
  if (options_.key_dtype != DType::kString) {
    return std::string(static_cast<const char*>(ElementAt(keys, i * n)),
                       DTypeSize(options_.key_dtype) * static_cast<size_t>(n));
  }
  const std::string* strings = keys.data<std::string>() + i * n;
  if (options_.key_shape.IsScalar()) return *strings;
  std::string bytes;
  for (int64_t k = 0; k < n; ++k) absl::StrAppend(&bytes, strings[k].size(), ":", strings[k]);
  return bytes;
}

namespace {
int64_t NumberAt(const Tensor& keys, int64_t i) {
  return keys.dtype() == DType::kInt32 ? keys.data<int32_t>()[i] : keys.data<int64_t>()[i];
}
}  // namespace

LookupTable::Slot LookupTable::Lookup(const Tensor& keys, int64_t i) const {
  if (numbers()) {
    const auto it = by_number_.find(NumberAt(keys, i));
    return it == by_number_.end() ? -1 : it->second;
  }
  const auto it =
      options_.key_shape.IsScalar() ? by_bytes_.find(keys.data<std::string>()[i]) : by_bytes_.find(Bytes(keys, i));
  return it == by_bytes_.end() ? -1 : it->second;
}

LookupTable::Slot LookupTable::TakeSlot() {
  if (!free_.empty()) {
    const Slot slot = free_.back();
    free_.pop_back();
    used_[slot] = true;
    removed_[slot] = false;
    return slot;
  }
  used_.push_back(true);
  removed_.push_back(false);
  return static_cast<Slot>(used_.size()) - 1;
}

void LookupTable::Clear() {
  by_number_.clear();
  by_bytes_.clear();
  used_.clear();
  removed_.clear();
  free_.clear();
}

void LookupTable::GrowBuckets(int64_t more) {
  const auto keys = static_cast<double>(static_cast<int64_t>(used_.size() - free_.size()) + more);
  if (keys <= static_cast<double>(buckets_) * options_.max_load) return;
  while (keys > static_cast<double>(buckets_) * options_.max_load) buckets_ *= 2;
  removed_.assign(removed_.size(), false);
}

// Before the map doubles, whether there is memory for that; otherwise what the last measurement said.
Status LookupTable::CheckRoom(size_t more) const {
  constexpr size_t kBytesPerKey = sizeof(std::pair<std::string, Slot>) + 1;
  const size_t size = by_number_.size() + by_bytes_.size(), capacity = by_number_.capacity() + by_bytes_.capacity();
  if ((size + more) / 7 > capacity / 8) return CheckMemory(static_cast<int64_t>(2 * (size + more) * kBytesPerKey));
  return MemoryIsExhausted() ? MemoryExhausted() : OkStatus();
}

Status LookupTable::InsertLocked(const Tensor& keys, const Tensor& values) {
  const AllocationsMayFail never(false);  // a hash map that fails to grow is of no use any more
  const int64_t n = keys.num_elements() / std::max<int64_t>(options_.key_shape.num_elements(), 1);
  RETURN_IF_ERROR(CheckRoom(static_cast<size_t>(n)));
  RETURN_IF_ERROR(keys_.Reserve(static_cast<int64_t>(used_.size()) + n));
  RETURN_IF_ERROR(values_.Reserve(static_cast<int64_t>(used_.size()) + n));
  for (int64_t i = 0; i < n; ++i) {
    Slot slot = Lookup(keys, i);
    if (slot >= 0 && options_.kind == Kind::kInitializable) {
      if (values_.Equal(values, i, slot)) continue;
      return errors::FailedPrecondition("HashTable has different value for same key. Key number ", i,
                                        " was given another value before");
    }
    if (slot < 0) {
      slot = TakeSlot();
      keys_.Put(keys, i, slot);
      if (numbers())
        by_number_[NumberAt(keys, i)] = slot;
      else
        by_bytes_[Bytes(keys, i)] = slot;
    }
    values_.Put(values, i, slot);
  }
  return OkStatus();
}

Status LookupTable::Initialize(const Tensor& keys, const Tensor& values) {
  if (options_.kind != Kind::kInitializable) {
    return errors::InvalidArgument("Table ", name_, " is not initializable");
  }
  RETURN_IF_ERROR(CheckPairs(keys, values));
  MutexLock lock(mu_);
  if (!initialized_) {
    if (Status status = InsertLocked(keys, values); !status.ok()) {
      Clear();
      return status;
    }
    initialized_ = true;
    return OkStatus();
  }
  for (int64_t i = 0; i < keys.num_elements(); ++i) {
    const Slot slot = Lookup(keys, i);
    if (slot < 0 || !values_.Equal(values, i, slot)) return errors::FailedPrecondition("Table already initialized.");
  }
  return static_cast<size_t>(keys.num_elements()) >= used_.size()
             ? OkStatus()
             : errors::FailedPrecondition("Table already initialized.");
}

namespace {
// InvalidArgument if some row of `keys` is `reserved`.
Status CheckNotReserved(const Tensor& keys, const Tensor& reserved, const char* what) {
  if (!reserved.IsInitialized() || reserved.num_elements() == 0) return OkStatus();
  RowStore row(reserved.dtype(), reserved.shape());
  RETURN_IF_ERROR(row.Reserve(1));
  row.Put(reserved, 0, 0);
  for (int64_t i = 0; i < keys.num_elements() / reserved.num_elements(); ++i) {
    if (row.Equal(keys, i, 0)) return errors::InvalidArgument("Using the ", what, " as a table key is not allowed");
  }
  return OkStatus();
}
}  // namespace

Status LookupTable::CheckReserved(const Tensor& keys) const {
  RETURN_IF_ERROR(CheckNotReserved(keys, options_.empty_key, "empty_key"));
  return CheckNotReserved(keys, options_.deleted_key, "deleted_key");
}

Status LookupTable::Find(const Tensor& keys, const Tensor& defaults, Tensor* values) {
  const int64_t row = options_.value_shape.num_elements();
  RETURN_IF_ERROR(CheckReserved(keys));
  const bool one_each = values->shape() == defaults.shape();
  if (!one_each && !(defaults.shape() == options_.value_shape)) {
    return errors::InvalidArgument("Expected shape ", options_.value_shape.ToString(), " or ",
                                   values->shape().ToString(), " for default value, got ", defaults.shape().ToString());
  }
  const int64_t n = values->num_elements() / std::max<int64_t>(row, 1);
  MutexLock lock(mu_);
  if (options_.kind == Kind::kInitializable && !initialized_) {
    return errors::FailedPrecondition("Table not initialized.");
  }
  // The analysis does not see that a lambda runs under the lock of its caller.
  DispatchBlob(options_.value_dtype, [&](auto type) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    using T = typename decltype(type)::type;
    for (int64_t i = 0; i < n; ++i) {
      const Slot slot = Lookup(keys, i);
      if (slot >= 0)
        values_.Get(slot, values, i);
      else
        CopyRun(BlobData<T>(defaults) + (one_each ? i * row : 0), row, BlobData<T>(values) + i * row);
    }
  });
  return OkStatus();
}

Status LookupTable::Insert(const Tensor& keys, const Tensor& values) {
  RETURN_IF_ERROR(CheckMutable("Insert"));
  RETURN_IF_ERROR(CheckPairs(keys, values));
  RETURN_IF_ERROR(CheckReserved(keys));
  MutexLock lock(mu_);
  if (options_.kind == Kind::kDense) GrowBuckets(keys.rank() == 0 ? 1 : keys.dim(0));
  return InsertLocked(keys, values);
}

Status LookupTable::Import(const Tensor& keys, const Tensor& values) {
  if (options_.kind == Kind::kInitializable) {
    if (keys.num_elements() == 0) return errors::InvalidArgument("keys and values cannot be empty tensors.");
    return Initialize(keys, values);
  }
  if (options_.kind == Kind::kDense) return ImportBuckets(keys, values);
  RETURN_IF_ERROR(CheckPairs(keys, values));
  MutexLock lock(mu_);
  Clear();
  return InsertLocked(keys, values);
}

Status LookupTable::ImportBuckets(const Tensor& keys, const Tensor& values) {
  const int64_t n = keys.rank() == 0 ? 1 : keys.dim(0);
  if (n < 4 || (n & (n - 1)) != 0) {
    return errors::InvalidArgument("Number of buckets must be at least 4 and a power of 2, got: ", n);
  }
  if (keys.num_elements() != n * options_.key_shape.num_elements() || values.rank() == 0 || values.dim(0) != n ||
      values.num_elements() != n * options_.value_shape.num_elements()) {
    return errors::InvalidArgument("Expected the keys and values of ", n, " buckets, got shapes ",
                                   keys.shape().ToString(), " and ", values.shape().ToString());
  }
  MutexLock lock(mu_);
  Clear();
  buckets_ = n;
  const Shape key = options_.key_shape, value = options_.value_shape;
  for (int64_t i = 0; i < n; ++i) {
    const Tensor one = keys.SliceRows(i, i + 1);
    if (!CheckReserved(one).ok()) continue;
    RETURN_IF_ERROR(InsertLocked(one.Reshaped(key), values.SliceRows(i, i + 1).Reshaped(value)));
  }
  GrowBuckets(0);
  return OkStatus();
}

Status LookupTable::Remove(const Tensor& keys) {
  RETURN_IF_ERROR(CheckMutable("Remove"));
  RETURN_IF_ERROR(CheckKeys(keys));
  RETURN_IF_ERROR(CheckReserved(keys));
  const int64_t n = keys.num_elements() / std::max<int64_t>(options_.key_shape.num_elements(), 1);
  MutexLock lock(mu_);
  for (int64_t i = 0; i < n; ++i) {
    const Slot slot = Lookup(keys, i);
    if (slot < 0) continue;
    if (numbers())
      by_number_.erase(NumberAt(keys, i));
    else
      by_bytes_.erase(Bytes(keys, i));
    used_[slot] = false;
    removed_[slot] = options_.kind == Kind::kDense;
    free_.push_back(slot);
  }
  return OkStatus();
}

int64_t LookupTable::Size() {
  MutexLock lock(mu_);
  return static_cast<int64_t>(used_.size() - free_.size());
}

Status LookupTable::Export(Tensor* keys, Tensor* values) {
  MutexLock lock(mu_);
  if (options_.kind == Kind::kInitializable && !initialized_) {
    return errors::Aborted("HashTable is not initialized.");
  }
  const bool dense = options_.kind == Kind::kDense;
  const auto n = dense ? buckets_ : static_cast<int64_t>(used_.size() - free_.size());
  for (Tensor* t : {keys, values}) {
    const RowStore& store = t == keys ? keys_ : values_;
    std::vector<int64_t> dims{n};
    if (dense)
      dims.push_back(store.row().num_elements());
    else
      dims.insert(dims.end(), store.row().dims().begin(), store.row().dims().end());
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    ASSIGN_OR_RETURN(*t, Tensor::Make(store.dtype(), shape));
  }
  if (dense) return ExportBuckets(keys, values);
  int64_t row = 0;
  for (size_t slot = 0; slot < used_.size(); ++slot) {
    if (!used_[slot]) continue;
    keys_.Get(static_cast<int64_t>(slot), keys, row);
    values_.Get(static_cast<int64_t>(slot), values, row++);
  }
  return OkStatus();
}

Status LookupTable::ExportBuckets(Tensor* keys, Tensor* values) {
  RowStore reserved(options_.key_dtype, options_.key_shape);
  RETURN_IF_ERROR(reserved.Reserve(2));
  reserved.Put(options_.empty_key, 0, 0);
  const bool deletes = options_.deleted_key.IsInitialized();
  if (deletes) reserved.Put(options_.deleted_key, 0, 1);
  if (IsPlainBytes(values->dtype())) std::memset(values->raw(), 0, values->ByteSize());
  int64_t row = 0;
  for (size_t i = 0; i < used_.size() && row < buckets_; ++i) {
    const auto slot = static_cast<Slot>(i);
    if (used_[i])
      keys_.Get(slot, keys, row);
    else if (removed_[i] && deletes)
      reserved.Get(1, keys, row);
    else
      continue;
    values_.Get(slot, values, row++);
  }
  for (; row < buckets_; ++row) reserved.Get(0, keys, row);
  return OkStatus();
}

}  // namespace millstream
