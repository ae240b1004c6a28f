// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/embedding/hash_rows.h"

#include <algorithm>
#include <cstring>

#include "millstream/base/memory_budget.h"
#include "millstream/math/random/philox.h"
#include "millstream/ops/strings/fingerprint.h"

namespace millstream {
namespace {

constexpr int64_t kRowsPerChunk = 4096;

uint64_t HashOf(int64_t key) { return static_cast<uint64_t>(key); }
uint64_t HashOf(const std::string& key) { return Fingerprint64(key); }

// Uniform in [-scale, scale), from 24 bits each.
void FillUniform(uint64_t seed, uint64_t key, float scale, std::span<float> row) {
  math::Philox random(seed, key);
  for (size_t i = 0; i < row.size(); i += 4) {
    const math::Philox::Block block = random.Next();
    for (size_t k = i; k < std::min(i + 4, row.size()); ++k) {
      row[k] = scale * (static_cast<float>(block[k - i] >> 8) * 0x1p-23f - 1);
    }
  }
}

}  // namespace

template <typename Body>
auto HashRows::WithEntries(Body body) {
  return options_.key_dtype == DType::kInt64 ? body(numbers_) : body(strings_);
}

Status HashRows::CheckKeys(const Tensor& keys) const {
  if (keys.dtype() == options_.key_dtype) return OkStatus();
  return errors::InvalidArgument("Embedding ", name_, " has keys of type ", DTypeName(options_.key_dtype), ", not ",
                                 DTypeName(keys.dtype()));
}

// Before keys are added: whether there is memory for their copies, and for a map of twice the size if it has to grow;
// otherwise what the last measurement said.
Status HashRows::CheckRoom(std::initializer_list<const Tensor*> keys) {
  constexpr int64_t kMeasureFrom = int64_t{1} << 20;
  const size_t per_key = sizeof(std::pair<std::string, Entry>) + 1;
  size_t size = numbers_.size() + strings_.size();
  int64_t text_bytes = 0;
  for (const Tensor* const more : keys) {
    size += static_cast<size_t>(more->num_elements());
    if (more->dtype() != DType::kString) continue;
    for (const std::string& key : more->flat<std::string>()) text_bytes += static_cast<int64_t>(key.size());
  }
  if (text_bytes >= kMeasureFrom) RETURN_IF_ERROR(CheckMemory(text_bytes));
  if (size / 7 > (numbers_.capacity() + strings_.capacity()) / 8) {
    return CheckMemory(static_cast<int64_t>(2 * size * per_key));
  }
  return MemoryIsExhausted() ? MemoryExhausted() : OkStatus();
}

float* HashRows::At(Column& column, int64_t row) const {
  return column.chunks[static_cast<size_t>(row / kRowsPerChunk)].data<float>() + row % kRowsPerChunk * options_.width;
}

Status HashRows::Grow(Column* column, int64_t rows) const {
  while (static_cast<int64_t>(column->chunks.size()) * kRowsPerChunk < rows) {
    ASSIGN_OR_RETURN(Tensor chunk, Tensor::Make(DType::kFloat, Shape({kRowsPerChunk, options_.width})));
    std::fill_n(chunk.data<float>(), chunk.num_elements(), column->initial);
    column->chunks.push_back(std::move(chunk));
  }
  return OkStatus();
}

StatusOr<int64_t> HashRows::NewRow(uint64_t key_hash) {
  int64_t row = used_;
  if (free_.empty()) {
    for (Column& column : columns_) RETURN_IF_ERROR(Grow(&column, used_ + 1));
    ++used_;
  } else {
    row = free_.back();
    free_.pop_back();
    for (Column& column : columns_) std::fill_n(At(column, row), options_.width, column.initial);
  }
  FillUniform(static_cast<uint64_t>(options_.seed), key_hash, options_.scale,
              {At(columns_[0], row), static_cast<size_t>(options_.width)});
  return row;
}

StatusOr<size_t> HashRows::SlotColumn(const Slot& slot) {
  for (size_t i = 1; i < columns_.size(); ++i) {
    if (columns_[i].name == slot.name) return i;
  }
  Column column{slot.name, slot.initial, {}};
  RETURN_IF_ERROR(Grow(&column, used_));
  columns_.push_back(std::move(column));
  return columns_.size() - 1;
}

Status HashRows::Find(const Tensor& keys, Tensor* rows) {
  RETURN_IF_ERROR(CheckKeys(keys));
  const size_t width = static_cast<size_t>(options_.width);
  MutexLock lock(mu_);
  return WithEntries([&](auto& entries) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    using Key = typename std::decay_t<decltype(entries)>::key_type;
    float* to = rows->data<float>();
    for (int64_t i = 0; i < keys.num_elements(); ++i, to += width) {
      const auto found = entries.find(keys.data<Key>()[i]);
      if (found == entries.end() || found->second.row < 0)
        std::fill_n(to, width, 0.f);
      else
        std::memcpy(to, At(columns_[0], found->second.row), width * sizeof(float));
    }
    return OkStatus();
  });
}

template <typename Key>
Status HashRows::AddKeys(const Tensor& keys, const Tensor& counts, int64_t step, Tensor* rows) {
  const AllocationsMayFail never(false);  // a hash map that fails to grow is of no use any more
  const size_t width = static_cast<size_t>(options_.width);
  float* to = rows->data<float>();
  for (int64_t i = 0; i < keys.num_elements(); ++i, to += width) {
    const Key& key = keys.data<Key>()[i];
    Entry& entry = entries<Key>()[key];
    const int64_t more = std::max<int64_t>(counts.data<int64_t>()[i], 0);
    entry.count = entry.count > INT64_MAX - more ? INT64_MAX : entry.count + more;
    entry.last_used = std::max(entry.last_used, step);
    if (entry.row < 0 && entry.count >= options_.min_count) {
      ASSIGN_OR_RETURN(entry.row, NewRow(HashOf(key)));
    }
    if (entry.row < 0)
      std::fill_n(to, width, 0.f);
    else
      std::memcpy(to, At(columns_[0], entry.row), width * sizeof(float));
  }
  return OkStatus();
}

Status HashRows::FindOrAdd(const Tensor& keys, const Tensor& counts, int64_t step, Tensor* rows) {
  RETURN_IF_ERROR(CheckKeys(keys));
  if (!(counts.shape() == keys.shape())) {
    return errors::InvalidArgument("There must be one count for each key: keys have shape ", keys.shape().ToString(),
                                   ", counts ", counts.shape().ToString());
  }
  MutexLock lock(mu_);
  RETURN_IF_ERROR(CheckRoom({&keys}));
  return options_.key_dtype == DType::kInt64 ? AddKeys<int64_t>(keys, counts, step, rows)
                                             : AddKeys<std::string>(keys, counts, step, rows);
}

Status HashRows::Update(const Tensor& keys, const Tensor& gradients, std::span<const Slot> slots, const Rule& rule) {
  RETURN_IF_ERROR(CheckKeys(keys));
  const int64_t n = keys.num_elements();
  const size_t width = static_cast<size_t>(options_.width);
  if (gradients.num_elements() != n * options_.width) {
    return errors::InvalidArgument("Gradients of ", n, " keys of embedding ", name_, " must have ", options_.width,
                                   " elements each, got shape ", gradients.shape().ToString());
  }
  MutexLock lock(mu_);
  std::vector<size_t> numbers = {0};
  for (const Slot& slot : slots) {
    ASSIGN_OR_RETURN(const size_t column, SlotColumn(slot));
    numbers.push_back(column);
  }
  std::vector<std::pair<int64_t, int64_t>> named;  // row, which gradient; equal rows side by side, in order
  named.reserve(static_cast<size_t>(n));
  WithEntries([&](auto& entries) {
    using Key = typename std::decay_t<decltype(entries)>::key_type;
    for (int64_t i = 0; i < n; ++i) {
      const auto found = entries.find(keys.data<Key>()[i]);
      if (found != entries.end() && found->second.row >= 0) named.emplace_back(found->second.row, i);
    }
    return 0;
  });
  std::sort(named.begin(), named.end());
  std::vector<float> sum(width);
  std::vector<float*> columns(numbers.size());
  for (size_t i = 0; i < named.size();) {
    const int64_t row = named[i].first;
    const float* gradient = gradients.data<float>() + named[i].second * options_.width;
    if (++i < named.size() && named[i].first == row) {
      std::copy_n(gradient, width, sum.begin());
      for (; i < named.size() && named[i].first == row; ++i) {
        const float* more = gradients.data<float>() + named[i].second * options_.width;
        for (size_t k = 0; k < width; ++k) sum[k] += more[k];
      }
      gradient = sum.data();
    }
    for (size_t c = 0; c < numbers.size(); ++c) columns[c] = At(columns_[numbers[c]], row);
    rule(gradient, columns);
  }
  return OkStatus();
}

int64_t HashRows::num_rows() {
  MutexLock lock(mu_);
  return used_ - static_cast<int64_t>(free_.size());
}

int64_t HashRows::num_candidates() {
  MutexLock lock(mu_);
  return static_cast<int64_t>(numbers_.size() + strings_.size()) - (used_ - static_cast<int64_t>(free_.size()));
}

template <typename Key>
int64_t HashRows::EvictBefore(int64_t before, int64_t max_rows) {
  Entries<Key>& all = entries<Key>();
  std::vector<std::pair<int64_t, int64_t>> rows;  // last used, row
  for (const auto& [key, entry] : all) {
    if (entry.row >= 0 && entry.last_used >= before) rows.emplace_back(entry.last_used, entry.row);
  }
  const auto excess = static_cast<int64_t>(rows.size()) - max_rows;
  std::pair<int64_t, int64_t> first_kept = {INT64_MIN, -1};
  if (max_rows > 0 && excess > 0) {
    std::nth_element(rows.begin(), rows.begin() + excess, rows.end());
    first_kept = rows[static_cast<size_t>(excess)];
  }
  return static_cast<int64_t>(absl::erase_if(all, [&](const auto& entry_of) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const Entry& entry = entry_of.second;
    const bool old = entry.last_used < before || (entry.row >= 0 && std::pair(entry.last_used, entry.row) < first_kept);
    if (old && entry.row >= 0) free_.push_back(entry.row);
    return old;
  }));
}

StatusOr<int64_t> HashRows::Evict(int64_t before, int64_t max_rows) {
  if (max_rows < 0) return errors::InvalidArgument("max_rows must not be negative, got ", max_rows);
  MutexLock lock(mu_);
  return options_.key_dtype == DType::kInt64 ? EvictBefore<int64_t>(before, max_rows)
                                             : EvictBefore<std::string>(before, max_rows);
}

void HashRows::Clear() {
  numbers_.clear();
  strings_.clear();
  columns_ = {Column{}};
  free_.clear();
  used_ = 0;
}

}  // namespace millstream
