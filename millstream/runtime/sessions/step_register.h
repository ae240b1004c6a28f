// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_RUNTIME_SESSIONS_STEP_REGISTER_H_
#define MILLSTREAM_RUNTIME_SESSIONS_STEP_REGISTER_H_

#include <limits>
#include <utility>
#include <vector>

#include "millstream/base/mutex.h"
#include "millstream/base/status.h"

namespace millstream {

// A step that can be registered, with one register at a time.
class RegisteredStep {
 private:
  template <typename Step>
  friend class StepRegister;
  size_t place_ = 0;  // guarded by the register's lock
};

// The running steps of a session or a task: which they are, so that they can be cancelled, how many there may be, and
// when the last has ended. `Step` derives from RegisteredStep and lives until it has left. Entering and leaving
// allocate nothing in the steady state. Thread-safe.
template <typename Step>
class StepRegister {
 public:
  explicit StepRegister(size_t most = std::numeric_limits<size_t>::max()) : most_(most) {}
  StepRegister(const StepRegister&) = delete;
  StepRegister& operator=(const StepRegister&) = delete;

  // Each OK asks for one Leave(). Fails with what Close() said, and when so many steps run already.
  Status Enter(Step* step) {
    MutexLock lock(mu_);
    if (!closed_.ok()) [[unlikely]]
      return closed_;
    if (steps_.size() >= most_) [[unlikely]]
      return errors::ResourceExhausted("The session runs ", steps_.size(), " steps at a time already");
    step->RegisteredStep::place_ = steps_.size();
    steps_.push_back(step);
    return OkStatus();
  }

  // The register may be destroyed as soon as its last step has left and AwaitNone() has returned.
  void Leave(Step* step) {
    MutexLock lock(mu_);
    Step* last = steps_.back();
    last->RegisteredStep::place_ = step->RegisteredStep::place_;
    steps_[step->RegisteredStep::place_] = last;
    steps_.pop_back();
    if (steps_.empty()) none_.NotifyAll();
  }

  // From now on Enter() fails with `why`, or with what an earlier call said.
  void Close(Status why) {
    MutexLock lock(mu_);
    if (closed_.ok()) closed_ = std::move(why);
  }
  // OK until Close().
  Status closed() const {
    MutexLock lock(mu_);
    return closed_;
  }

  // Calls visit(Step&) for each running step, under the lock: none of them leaves meanwhile, and `visit` must not make
  // one leave.
  template <typename Visit>
  void ForEach(Visit visit) const {
    MutexLock lock(mu_);
    for (Step* step : steps_) visit(*step);
  }

  size_t size() const {
    MutexLock lock(mu_);
    return steps_.size();
  }

  // Blocks until no step runs. Others can enter afterwards unless Close() came before.
  void AwaitNone() {
    MutexLock lock(mu_);
    while (!steps_.empty()) none_.Wait(mu_);
  }

 private:
  const size_t most_;
  mutable Mutex mu_;
  CondVar none_;
  std::vector<Step*> steps_ ABSL_GUARDED_BY(mu_);
  Status closed_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millstream

#endif  // MILLSTREAM_RUNTIME_SESSIONS_STEP_REGISTER_H_
