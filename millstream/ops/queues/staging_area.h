// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_QUEUES_STAGING_AREA_H_
#define MILLSTREAM_OPS_QUEUES_STAGING_AREA_H_

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "millstream/base/cancellation.h"
#include "millstream/base/thread_pool.h"
#include "millstream/tensor/tensor.h"

namespace millstream {

// Tuples of tensors that steps leave for other steps, under keys or, without keys, in order of arrival. A tuple put
// piece by piece can be taken once it is whole; one that is taken piece by piece is gone with its last piece.
// Thread-safe.
//
// Operations never block: what cannot go on yet is parked, and tried again whenever something changes. `done` is called
// exactly once; for operations that finish later it runs on their step's pool.
class StagingArea final : public Resource {
 public:
  // Zero means no limit. Pieces of tuples that are not whole count as memory, not as tuples.
  struct Limits {
    int64_t tuples = 0;
    int64_t bytes = 0;
  };
  struct Operation {
    enum class Kind {
      kPut,        // `values` at `indices` of the tuple of `width` pieces under `key`
      kAppend,     // `values`, a whole tuple, after all others
      kPeek,       // copies of the pieces `indices` under `key`
      kPeekAt,     // a copy of the tuple at place `key`, counted from the oldest
      kTake,       // the pieces `indices` under `key`
      kTakeFirst,  // the pieces `indices` (all, if there are no indices) of the first tuple; sets `key`
    } kind;
    int64_t key = 0;
    std::vector<int32_t> indices;
    size_t width = 0;
    std::vector<Tensor> values;  // what is put, or what was found
  };
  using OperationPtr = std::shared_ptr<Operation>;

  explicit StagingArea(const Limits& limits) : limits_(limits) {}
  std::string DebugString() const override { return "StagingArea"; }

  // REQUIRES: `cancellation` and `pool` (either may be null) live until `done` is called.
  void Submit(OperationPtr operation, Cancellation* cancellation, ThreadPool* pool, std::function<void(Status)> done);
  void Clear();
  int64_t size();
  int64_t incomplete_size();

 private:
  using Tuple = std::vector<std::optional<Tensor>>;
  struct Parked {
    OperationPtr operation;
    Cancellation* cancellation;
    ThreadPool* pool;
    std::function<void(Status)> done;
    Cancellation::Token token = -1;
    bool finished = false;
    Status status;
  };
  using ParkedPtr = std::shared_ptr<Parked>;
  using ParkedList = std::list<ParkedPtr>;

  // Tries all parked operations, oldest first, until nothing moves.
  void Sweep(ParkedList* finished) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Cancel(const ParkedPtr& parked);
  static void Report(const ParkedList& finished, const Parked* own);

  // False if it has to wait.
  bool Try(Operation& operation, Status* status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool TryPut(Operation& operation, Status* status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool TryFind(Operation& operation, Status* status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Status PutPieces(Operation& operation, int64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Limits limits_;
  Mutex mu_;
  std::map<int64_t, Tuple> whole_ ABSL_GUARDED_BY(mu_);
  std::map<int64_t, Tuple> incomplete_ ABSL_GUARDED_BY(mu_);
  int64_t bytes_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t next_key_ ABSL_GUARDED_BY(mu_) = 0;
  ParkedList parked_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millstream

#endif  // MILLSTREAM_OPS_QUEUES_STAGING_AREA_H_
