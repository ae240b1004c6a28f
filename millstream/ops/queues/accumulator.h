// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_QUEUES_ACCUMULATOR_H_
#define MILLSTREAM_OPS_QUEUES_ACCUMULATOR_H_

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "millstream/base/cancellation.h"
#include "millstream/base/thread_pool.h"
#include "millstream/framework/monitoring/census.h"
#include "millstream/tensor/tensor.h"

namespace millstream {

// A gradient, dense (values alone) or as rows of it.
struct AccumulatedGradient {
  Tensor values;
  Tensor indices;           // int64, one for each row of values; uninitialized in dense
                            // gradients
  Tensor dense_shape;       // int64; may be uninitialized
  int64_t global_step = 0;  // of the accumulator, once this was taken
};

// Where the gradients of one variable meet: workers apply theirs, and whoever
// takes gets the mean (or sum) of all once there are enough of them. Gradients
// computed from older state than the global step are dropped without an error.
// Thread-safe; takes never block, but wait in order and go on when somebody
// applies (see Queue for how `done` is called).
class Accumulator final : public Resource {
 public:
  struct Options {
    std::string name;
    std::string device;  // full name of the device it lives on
    Ref<Census> census;  // where it is listed; null: nowhere
    DType dtype = DType::kInvalid;
    PartialShape shape;
    bool mean = true;
    bool sparse = false;
  };
  using TakeDone = std::function<void(StatusOr<AccumulatedGradient>)>;

  explicit Accumulator(Options options);

  const Options& options() const { return options_; }
  std::string DebugString() const override { return absl::StrCat("Accumulator ", options_.name); }

  // InvalidArgument if the gradient cannot be of the accumulator's shape. Adding uses `pool` (null: this thread alone);
  // a dense gradient that comes while others are being added is left to the thread that adds them, so that nobody
  // blocks a thread.
  Status Apply(int64_t local_step, AccumulatedGradient gradient, ThreadPool* pool);
  // Once at least `num_required` gradients are there: gives their mean or sum,
  // starts anew, and moves the global step on.
  void Take(int64_t num_required, Cancellation* cancellation, ThreadPool* pool, TakeDone done);
  // Gradients of older steps are dropped from now on.
  void SetGlobalStep(int64_t step);
  // A take that had moved the global step to `step` is part of the state, though the step may have been set back since.
  void WasTaken(int64_t step);
  int64_t NumAccumulated();

 private:
  struct Attempt {
    int64_t required = 0;
    Cancellation* cancellation = nullptr;
    ThreadPool* pool = nullptr;
    TakeDone done;
    Cancellation::Token token = -1;
    bool finished = false;
    StatusOr<AccumulatedGradient> result = AccumulatedGradient();
  };
  using AttemptPtr = std::shared_ptr<Attempt>;
  using Attempts = std::list<AttemptPtr>;
  // The dense gradients of one take. One thread at a time adds; it alone uses `values`.
  struct Sum {
    Tensor values;
    bool adding = false;
    // Under the accumulator's lock:
    std::vector<Tensor> waiting;  // to be added
    Shape shape;
    AttemptPtr taker;         // set: it is complete once `waiting` was added
    int64_t count = 0;        // of gradients, once there is a taker
    int64_t global_step = 0;  // likewise
    Status status;
  };
  using SumPtr = std::shared_ptr<Sum>;
  // A row of a sparse sum, and how many gradients had it.
  struct Row {
    Tensor values;
    int64_t count = 0;
  };

  Status CheckDense(const Tensor& values) const;
  Status CheckSparse(const AccumulatedGradient& gradient) const;
  bool IsLate(int64_t local_step) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Status ApplyDense(int64_t local_step, Tensor values, ThreadPool* pool);
  Status ApplySparse(int64_t local_step, const AccumulatedGradient& gradient);
  // The first take gets what has been accumulated, if that is enough.
  void CloseIfDue(Attempts* finished) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // True: the caller is to call AddWaiting(), which adds what waits and, if that completes the sum, says so.
  bool BeginAdding(Sum& sum) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Status AddWaiting(const SumPtr& sum, ThreadPool* pool, const Attempt* own);
  Status AddSparse(const AccumulatedGradient& gradient) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  StatusOr<AccumulatedGradient> TakeSparse() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Cancel(const AttemptPtr& attempt);
  static void Report(const Attempts& finished, const Attempt* own);
  // Shows what it has come to.
  void Show() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Options options_;
  const std::shared_ptr<ObservedAccumulator> observed_;
  Mutex mu_;
  int64_t count_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t global_step_ ABSL_GUARDED_BY(mu_) = 0;
  SumPtr sum_ ABSL_GUARDED_BY(mu_) = std::make_shared<Sum>();
  std::map<int64_t, Row> rows_ ABSL_GUARDED_BY(mu_);
  Shape row_shape_ ABSL_GUARDED_BY(mu_);  // of sparse gradients, once there is one
  bool row_shape_known_ ABSL_GUARDED_BY(mu_) = false;
  Attempts takes_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millstream

#endif  // MILLSTREAM_OPS_QUEUES_ACCUMULATOR_H_
