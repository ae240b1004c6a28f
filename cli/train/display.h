// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_CLI_TRAIN_DISPLAY_H_
#define MILLSTREAM_CLI_TRAIN_DISPLAY_H_

#include <set>
#include <string>
#include <vector>

#include "cli/live_picture.h"
#include "cli/train/job_state.h"
#include "cli/train/job_text.h"

namespace millstream::cli {

// Shows a training job on standard output: on a terminal as a picture that is drawn over and over, elsewhere as a line
// from time to time, with --json as objects. Not thread-safe.
class Display {
 public:
  enum class Style { kTerminal, kPlain, kJson };
  // As fits standard output.
  static Style ChooseStyle(const TrainOptions& options);

  Display(const TrainOptions& options, Style style, const std::vector<std::string>& tasks);

  void Handle(const TrainEvent& event);
  // Something for people that must not be lost: goes above the picture, and to standard error in the other styles.
  void Print(absl::string_view line);
  // Draws, or says how far it is, when it is time to. To be called some times per second.
  void Tick();
  // The last picture; then, if anything was trained, what came of it.
  void Finish(JobOutcome outcome);

 private:
  using Clock = std::chrono::steady_clock;

  JobText Text() const;
  void Draw();
  void SayPlain();
  void PrintError(const TrainEvent& event);

  JobState job_;
  const Style style_;
  const bool unicode_;
  LivePicture picture_;
  Clock::time_point last_shown_, last_usage_;
  int64_t shown_step_ = -1;
  std::set<std::string> errors_;  // reasons that were printed: several tasks may fail for the same one
};

}  // namespace millstream::cli

#endif  // MILLSTREAM_CLI_TRAIN_DISPLAY_H_
