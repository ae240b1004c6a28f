// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_CLI_TRAIN_DISPLAY_H_
#define MILLSTREAM_CLI_TRAIN_DISPLAY_H_

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cli/train/events.h"
#include "cli/train/options.h"

namespace millstream::cli {

// What a training job looks like from outside, made from the events of its tasks. It is shown on standard output: on a
// terminal as a picture that is drawn over and over, elsewhere as a line from time to time, with --json as objects. Not
// thread-safe.
class Display {
 public:
  enum class Style { kTerminal, kPlain, kJson };
  // As fits standard output.
  static Style ChooseStyle(const TrainOptions& options);

  Display(const TrainOptions& options, Style style, std::vector<std::string> tasks);

  void Handle(const TrainEvent& event);
  // Something for people that must not be lost: goes above the picture, and to standard error in the other styles.
  void Print(absl::string_view line);
  // Draws, or says how far it is, when it is time to. To be called some times per second.
  void Tick();
  // The last picture; then, if anything was trained, what came of it.
  void Finish(bool interrupted);

  bool trained() const { return first_step_secs_ >= 0; }

 private:
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
  };

  double Elapsed() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  Task* FindTask(const std::string& name);
  void Progress(const TrainEvent& event, Task* task);
  double StepsPerSec() const;  // of all workers, lately
  double ExamplesPerSec() const;
  std::pair<double, double> LossAndScore() const;  // over the workers
  void ReadUsage();

  std::vector<std::string> Picture() const;
  std::string Headline() const;
  std::string StepLine(int columns) const;
  std::string TaskLine(const Task& task) const;
  void Draw();
  void Erase();
  void SayPlain();
  void SayJson(bool done, bool interrupted) const;
  void Summary(bool interrupted) const;

  const TrainOptions options_;
  const Style style_;
  const bool unicode_;
  const Clock::time_point start_ = Clock::now();
  std::vector<Task> tasks_;
  Clock::time_point last_shown_, last_usage_;
  int lines_drawn_ = 0;

  bool classes_ = true, finished_ = false;
  int64_t global_step_ = 0, first_global_step_ = -1;
  int64_t shown_step_ = -1;
  double first_step_secs_ = -1, last_step_secs_ = -1;
  std::deque<std::pair<double, int64_t>> history_;  // (seconds, global step) of the last moments
  std::string data_, checkpoint_, status_page_, restored_;
  TrainEvent eval_;  // the last one
};

}  // namespace millstream::cli

#endif  // MILLSTREAM_CLI_TRAIN_DISPLAY_H_
