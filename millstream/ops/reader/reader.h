// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_READER_READER_H_
#define MILLSTREAM_OPS_READER_READER_H_

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "millstream/ops/queues/queue.h"

namespace millstream {

// Yields the records of one work unit (as a rule a file) with their keys. OutOfRange at the end.
using NextRecord = std::function<Status(std::string* key, std::string* value)>;
using OpenUnit = std::function<StatusOr<NextRecord>(const std::string& unit)>;

// Reads records of work units whose names it takes from a queue. Shared by steps: reads wait for each other, but never
// hold a thread meanwhile. Thread-safe.
class Reader final : public Resource {
 public:
  using Records = std::vector<std::pair<std::string, std::string>>;
  using Done = std::function<void(StatusOr<Records>)>;

  // `one_record`: every unit holds exactly one, so that it is complete once that is read.
  Reader(std::string name, OpenUnit open, bool one_record = false)
      : name_(std::move(name)), open_(std::move(open)), one_record_(one_record) {}
  std::string DebugString() const override { return name_; }

  // Up to `wanted` records, at least one; goes on to the next unit only while it has none. OutOfRange, from the queue,
  // when that is closed and empty. `done` may run on any thread.
  void Read(Ref<Queue> queue, int64_t wanted, Queue::Waiter waiter, Done done);
  int64_t records_produced();
  int64_t units_completed();
  // FailedPrecondition while a read is under way.
  Status Reset();
  // A ReaderBaseState, from which RestoreState() goes on. Unimplemented for units of several records, as in TensorFlow;
  // FailedPrecondition while a read is under way.
  StatusOr<std::string> SerializeState();
  Status RestoreState(const std::string& state);

 private:
  struct Request {
    Ref<Reader> self;  // lives until the answer is given
    Ref<Queue> queue;
    int64_t wanted = 0;
    Queue::Waiter waiter;
    Done done;
  };
  Status CheckState(const char* what) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Goes on with the first request until it has an answer or needs a unit.
  void Work();
  // True if the first request needs another unit.
  bool TryRead(int64_t wanted, Records* records, Status* status);
  void Opened(const StatusOr<std::vector<QueueElement>>& taken);
  void Finish(StatusOr<Records> answer);

  const std::string name_;
  const OpenUnit open_;
  const bool one_record_;
  Mutex mu_;
  std::deque<Request> requests_ ABSL_GUARDED_BY(mu_);  // the first one is being served
  NextRecord next_;  // of the unit that is open; these belong to whoever serves the first request
  std::string unit_;
  int64_t produced_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t started_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t completed_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace millstream

#endif  // MILLSTREAM_OPS_READER_READER_H_
