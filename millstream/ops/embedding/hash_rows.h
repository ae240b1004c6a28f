// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_EMBEDDING_HASH_ROWS_H_
#define MILLSTREAM_OPS_EMBEDDING_HASH_ROWS_H_

#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "millstream/base/mutex.h"
#include "millstream/tensor/tensor.h"

namespace millstream {

// The rows of an embedding whose keys are integers or strings: a table that grows with the vocabulary. Thread-safe.
//
// A key gets a row when lookups of training have seen it `min_count` times; until then it is a candidate, which has a
// count and no row. Each row has a value and, once an optimizer has asked for them, slots of the same width. Memory
// grows by chunks: rows never move, and no call costs more than the keys that it names, but for Evict(), Export() and
// Import().
class HashRows final : public Resource {
 public:
  struct Options {
    DType key_dtype = DType::kInvalid;  // int64 or string
    int64_t width = 0;
    int64_t min_count = 1;
    float scale = 0;  // new rows are uniform in [-scale, scale), by seed and key: the same in every run
    int64_t seed = 0;
    friend bool operator==(const Options&, const Options&) = default;
  };
  struct Slot {
    std::string name;
    float initial = 0;
  };
  // What checkpoints hold. `rows` has a line for each key: its value, then its slots one after the other.
  struct State {
    Tensor keys, counts, last_used, rows, slot_names, slot_initials;
    Tensor candidates, candidate_counts, candidate_last_used;
  };

  HashRows(const Options& options, std::string name) : options_(options), name_(std::move(name)) {}

  const Options& options() const { return options_; }
  std::string DebugString() const override { return "HashRows " + name_; }

  // Values of keys, zeros for keys without a row; `rows` has one for each key. With `counts`, one for each key, they
  // are counted and may become rows, and `step` is when they were used last.
  Status Find(const Tensor& keys, Tensor* rows);
  Status FindOrAdd(const Tensor& keys, const Tensor& counts, int64_t step, Tensor* rows);

  // Calls rule(gradient, columns) for each row that `keys` name, once, with the sum of its gradients; columns[0] is its
  // value, the others the slots asked for. Keys without a row are ignored.
  using Rule = std::function<void(const float* gradient, std::span<float* const> columns)>;
  Status Update(const Tensor& keys, const Tensor& gradients, std::span<const Slot> slots, const Rule& rule);

  int64_t num_rows();
  int64_t num_candidates();
  // Removes keys that were used last before `before`, then the least recently used rows beyond `max_rows` (0: no
  // limit). Returns how many keys it has removed.
  StatusOr<int64_t> Evict(int64_t before, int64_t max_rows);

  Status Export(State* state);
  // Replaces everything. InvalidArgument if the parts do not fit each other or the options.
  Status Import(const State& state);

 private:
  struct Entry {
    int64_t row = -1;  // none: a candidate
    int64_t count = 0;
    int64_t last_used = 0;
  };
  template <typename Key>
  using Entries = absl::flat_hash_map<Key, Entry>;
  // Floats of all rows, in chunks.
  struct Column {
    std::string name;
    float initial = 0;
    std::vector<Tensor> chunks;
  };

  template <typename Key>
  Entries<Key>& entries() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if constexpr (std::is_same_v<Key, int64_t>)
      return numbers_;
    else
      return strings_;
  }
  // Calls body(entries) with the entries of the table's type of keys.
  template <typename Body>
  auto WithEntries(Body body) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Status CheckKeys(const Tensor& keys) const;
  Status CheckRoom(std::initializer_list<const Tensor*> keys) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  float* At(Column& column, int64_t row) const;
  Status Grow(Column* column, int64_t rows) const;
  StatusOr<int64_t> NewRow(uint64_t key_hash) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The number of the column of a slot, made if there is none.
  StatusOr<size_t> SlotColumn(const Slot& slot) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  template <typename Key>
  Status AddKeys(const Tensor& keys, const Tensor& counts, int64_t step, Tensor* rows)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  template <typename Key>
  int64_t EvictBefore(int64_t before, int64_t max_rows) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  template <typename Key>
  Status ExportKeys(State* state) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  template <typename Key>
  Status ImportKeys(const State& state) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Status CheckState(const State& state) const;
  void Clear() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Options options_;
  const std::string name_;
  Mutex mu_;
  Entries<int64_t> numbers_ ABSL_GUARDED_BY(mu_);
  Entries<std::string> strings_ ABSL_GUARDED_BY(mu_);
  std::vector<Column> columns_ ABSL_GUARDED_BY(mu_) = {Column{}};  // the values, then slots
  std::vector<int64_t> free_ ABSL_GUARDED_BY(mu_);                 // rows of keys that were evicted
  int64_t used_ ABSL_GUARDED_BY(mu_) = 0;                          // rows that have ever been used
};

}  // namespace millstream

#endif  // MILLSTREAM_OPS_EMBEDDING_HASH_ROWS_H_
