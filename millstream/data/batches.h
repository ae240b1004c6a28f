// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DATA_BATCHES_H_
#define MILLSTREAM_DATA_BATCHES_H_

#include <cstdint>
#include <random>
#include <vector>

#include "millstream/data/examples.h"

namespace millstream {

// What a model is fed.
struct Batch {
  Tensor numbers;     // float [batch, width]
  Tensor categories;  // int32 [batch, columns]
  Tensor labels;      // int32 or float [batch]
};

// Examples `begin` to `end` of a set. REQUIRES: 0 <= begin < end <= set.size().
Batch TakeBatch(const ExampleSet& set, int64_t begin, int64_t end);

// Shuffled batches of one worker's share of a set (every shards-th example from `shard` on), epoch after epoch; a new
// order for each. The set must outlive it. Not thread-safe.
class Batches {
 public:
  // InvalidArgument if the share is empty.
  static StatusOr<Batches> Make(const ExampleSet& set, int64_t batch, int shard, int shards, uint64_t seed);

  // Fills *batch, whose memory is used again where nobody else holds it.
  void Next(Batch* batch);
  int64_t share() const { return static_cast<int64_t>(order_.size()); }  // examples of this worker
  int64_t epochs_completed() const { return epochs_; }

 private:
  Batches(const ExampleSet& set, int64_t batch, uint64_t seed) : set_(&set), batch_(batch), random_(seed) {}
  const ExampleSet* set_;
  int64_t batch_;
  std::vector<int32_t> order_;
  size_t next_ = 0;
  int64_t epochs_ = 0;
  std::mt19937_64 random_;
};

}  // namespace millstream

#endif  // MILLSTREAM_DATA_BATCHES_H_
