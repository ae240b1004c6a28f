// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_CLI_TRAIN_JOB_STATE_H_
#define MILLSTREAM_CLI_TRAIN_JOB_STATE_H_

#include <chrono>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "cli/train/events.h"
#include "cli/train/options.h"

namespace millstream::cli {

// A training job seen from outside, made from the events of its tasks and from what the operating system says of their
// processes. Not thread-safe.
class JobState {
 public:
  using Clock = std::chrono::steady_clock;
  struct Task {
    std::string name;
    std::string state = "starting";
    int64_t pid = 0;
    int64_t local_step = 0;
    double steps_per_sec = 0, loss = -1, score = -1;
    double memory_mb = 0, cpu = 0;  // of the operating system; cpu in cores
    double cpu_secs = -1;
    Clock::time_point cpu_at;
    int64_t variable_bytes = -1;
  };

  JobState(const TrainOptions& options, const std::vector<std::string>& tasks);

  void Handle(const TrainEvent& event);
  void ReadUsage();  // of all processes
  void Finish() { finished_ = true; }

  double Elapsed() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  const TrainOptions& options() const { return options_; }
  const std::vector<Task>& tasks() const { return tasks_; }
  bool finished() const { return finished_; }
  bool trained() const { return first_step_secs_ >= 0; }
  bool nothing_to_do() const { return nothing_to_do_; }
  bool classes() const { return classes_; }  // rather than values
  int64_t global_step() const { return global_step_; }
  int64_t steps_made() const { return global_step_ - first_global_step_; }
  double first_step_secs() const { return first_step_secs_; }  // after the start
  double train_secs() const { return last_step_secs_ - first_step_secs_; }
  double StepsPerSec() const;  // of all workers, lately; of all the time once finished
  double ExamplesPerSec() const;
  std::pair<double, double> LossAndScore() const;  // over the workers; -1: not known
  const std::string& data() const { return data_; }
  const std::string& checkpoint() const { return checkpoint_; }
  const std::string& status_page() const { return status_page_; }
  const TrainEvent& eval() const { return eval_; }  // the last one; score -1: none

 private:
  Task* FindTask(const std::string& name);
  void Progress(const TrainEvent& event, Task* task);

  const TrainOptions options_;
  const Clock::time_point start_ = Clock::now();
  std::vector<Task> tasks_;
  bool classes_ = true, finished_ = false, nothing_to_do_ = false;
  int64_t global_step_ = 0, first_global_step_ = -1;
  double first_step_secs_ = -1, last_step_secs_ = -1;
  std::deque<std::pair<double, int64_t>> history_;  // (seconds, global step) of the last moments
  std::string data_, checkpoint_, status_page_;
  TrainEvent eval_;
};

}  // namespace millstream::cli

#endif  // MILLSTREAM_CLI_TRAIN_JOB_STATE_H_
