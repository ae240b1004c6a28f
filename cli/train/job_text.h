// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_CLI_TRAIN_JOB_TEXT_H_
#define MILLSTREAM_CLI_TRAIN_JOB_TEXT_H_

#include <string>
#include <vector>

#include "cli/train/job_state.h"

namespace millstream::cli {

enum class JobOutcome { kDone, kInterrupted, kFailed };

// A job in lines for people that fit into `columns`. Nothing is cut: what does not fit goes to the next line.
struct JobText {
  const JobState& job;
  int columns = 80;
  bool unicode = false;
  bool bar = false;  // draw how far it is

  std::string Headline() const;               // "millstream train: mlp, async, ..."; not wrapped
  std::vector<std::string> StepLine() const;  // "step 1,234/3,000  41 %  ..."
  // All of it, in at most `rows` lines if tasks can be left out for that.
  std::vector<std::string> Picture(int rows) const;
  std::vector<std::string> Summary(JobOutcome outcome) const;

 private:
  std::vector<std::string> TaskLine(const JobState::Task& task) const;
};

// The job as a JSON object: an event "progress", or "summary" at the end.
std::string ProgressJson(const JobState& job);
std::string SummaryJson(const JobState& job, JobOutcome outcome);

}  // namespace millstream::cli

#endif  // MILLSTREAM_CLI_TRAIN_JOB_TEXT_H_
