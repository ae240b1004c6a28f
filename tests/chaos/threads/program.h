// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TESTS_CHAOS_THREADS_PROGRAM_H_
#define MILLSTREAM_TESTS_CHAOS_THREADS_PROGRAM_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "millstream/graph/scope.h"
#include "millstream/train/optimizers/optimizer.h"
#include "millstream/train/sessions/session_run_hook.h"

namespace millstream::chaos {

// How the workers of a job train.
enum class Mode {
  kAsync,     // each adds 1 to counters of its own, one on each ps
  kSync,      // SyncReplicasOptimizer: each round adds 1 to a variable on each ps
  kAllReduce  // DistributedOptimizer without ps tasks: each step adds 1 to the variables of every worker
};

const char* NameOf(Mode mode);
std::optional<Mode> ModeNamed(const std::string& name);

// What one worker runs.
struct Program {
  Scope scope = Scope::Root();
  // Tensors: the values that the record checks, then the global step. Those of `step` are the values after the step;
  // empty: `train` is run, then `reads` are read.
  std::vector<std::string> reads, step;
  std::string train;
  std::vector<std::shared_ptr<SessionRunHook>> hooks;
  std::shared_ptr<Optimizer> optimizer;  // lives as long as the hooks
};

Program MakeProgram(Mode mode, int worker, int num_workers, int num_ps);

}  // namespace millstream::chaos

#endif  // MILLSTREAM_TESTS_CHAOS_THREADS_PROGRAM_H_
