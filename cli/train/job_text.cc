// SPDX-License-Identifier: Apache-2.0
#include "cli/train/job_text.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/text_layout.h"

namespace millstream::cli {
namespace {

constexpr int kIndent = 4;  // of lines that continue another

std::string Minutes(double seconds) {
  const int64_t s = std::llround(seconds);
  return s >= 3600 ? absl::StrFormat("%d:%02d:%02d", s / 3600, s / 60 % 60, s % 60)
                   : absl::StrFormat("%d:%02d", s / 60, s % 60);
}

std::string Bar(double share, bool unicode) {
  constexpr int kWidth = 20;
  std::string bar;
  for (int i = 0; i < kWidth; ++i) bar += i < share * kWidth ? (unicode ? "█" : "#") : (unicode ? "░" : ".");
  return bar;
}

void Append(const std::vector<std::string>& more, std::vector<std::string>* lines) {
  lines->insert(lines->end(), more.begin(), more.end());
}

}  // namespace

std::string JobText::Headline() const {
  const TrainOptions& options = job.options();
  const char* dot = unicode ? " · " : ", ";
  return absl::StrCat("millstream train: ", options.model, dot, options.mode, dot, options.ps, " ps + ",
                      options.workers, " workers", dot, "batch ", options.batch_size, dot, options.optimizer, " ",
                      options.learning_rate);
}

std::vector<std::string> JobText::StepLine() const {
  const int64_t last = job.options().train_steps;
  const double share = std::clamp(static_cast<double>(job.global_step()) / static_cast<double>(last), 0.0, 1.0);
  std::vector<std::string> fields = {absl::StrCat("  step ", WithCommas(job.global_step()), "/", WithCommas(last))};
  if (bar) fields.push_back(Bar(share, unicode));
  fields.push_back(absl::StrFormat("%.0f %%", share * 100));
  if (job.trained()) {
    const double rate = job.StepsPerSec();
    const auto [loss, score] = job.LossAndScore();
    fields.push_back(absl::StrCat(WithCommas(static_cast<int64_t>(rate)), " steps/s"));
    fields.push_back(absl::StrCat(WithCommas(static_cast<int64_t>(job.ExamplesPerSec())), " examples/s"));
    if (loss != -1) fields.push_back(absl::StrFormat("loss %.4f", loss));
    if (loss != -1) fields.push_back(ScoreText(score, job.classes()));
    const auto left = static_cast<double>(std::max<int64_t>(0, last - job.global_step()));
    if (rate > 0 && !job.finished()) fields.push_back(absl::StrCat("ETA ", Minutes(left / rate)));
  }
  return WrapFields(fields, columns, kIndent);
}

std::vector<std::string> JobText::TaskLine(const JobState::Task& task) const {
  std::vector<std::string> fields = {absl::StrFormat("  %-9s %-12s", task.name, task.state)};
  if (task.local_step > 0) {
    fields.push_back(absl::StrFormat("%s steps", WithCommas(task.local_step)));
    fields.push_back(absl::StrFormat("%.0f/s", task.steps_per_sec));
  }
  if (task.loss != -1) fields.push_back(absl::StrFormat("loss %.4f", task.loss));
  if (task.loss != -1) fields.push_back(ScoreText(task.score, job.classes()));
  if (task.variable_bytes >= 0) fields.push_back(absl::StrCat(BytesText(task.variable_bytes), " of variables"));
  if (task.memory_mb > 0 && task.state != "done") {
    fields.push_back(absl::StrFormat("%.0f MB", task.memory_mb));
    fields.push_back(absl::StrFormat("%.0f %% cpu", task.cpu * 100));
  }
  return WrapFields(fields, columns, kIndent);
}

std::vector<std::string> JobText::Picture(int rows) const {
  std::vector<std::string> lines = WrapWords("", Headline(), columns);
  Append(WrapWords("  ", job.data().empty() ? "reading data" : job.data(), columns), &lines);
  Append(StepLine(), &lines);
  std::vector<std::string> page;
  if (!job.status_page().empty()) page = WrapWords("  ", "status page " + job.status_page(), columns);
  const auto room =
      static_cast<size_t>(std::max(1, rows)) - std::min<size_t>(page.size(), static_cast<size_t>(rows) / 2);
  for (size_t i = 0; i < job.tasks().size(); ++i) {
    const std::vector<std::string> task = TaskLine(job.tasks()[i]);
    const size_t reserved = i + 1 < job.tasks().size() ? 1 : 0;  // for the line that says how many are left out
    if (lines.size() + task.size() + reserved > room) {
      lines.push_back(absl::StrCat("  and ", job.tasks().size() - i, " more tasks"));
      break;
    }
    Append(task, &lines);
  }
  Append(page, &lines);
  return lines;
}

std::vector<std::string> JobText::Summary(JobOutcome outcome) const {
  std::vector<std::string> lines = {""};
  const auto row = [&](const std::string& name, const std::string& text) {
    Append(WrapWords(absl::StrFormat("  %-13s", name), text, columns, LongWords::kKeep), &lines);
  };
  const char* heading = outcome == JobOutcome::kFailed        ? "Failed"
                        : outcome == JobOutcome::kInterrupted ? "Stopped"
                        : job.nothing_to_do()                 ? "Nothing to train"
                                                              : "Done";
  lines.push_back(absl::StrFormat("%s after %.1f s", heading, job.Elapsed()));
  const TrainOptions& options = job.options();
  if (job.nothing_to_do()) {
    row("step", absl::StrCat("the checkpoint is at step ", WithCommas(job.global_step()), ", --train_steps is ",
                             WithCommas(options.train_steps)));
  }
  if (const TrainEvent& eval = job.eval(); eval.score != -1) {
    row("result", absl::StrFormat("%s on %s examples that were not trained on (loss %.4f)",
                                  ScoreText(eval.score, eval.classes), WithCommas(eval.examples), eval.loss));
  }
  if (job.trained()) {
    row("speed", absl::StrFormat("%s steps in %.1f s: %s steps/s, %s examples/s; the first one %.2f s after the start",
                                 WithCommas(job.steps_made()), job.train_secs(),
                                 WithCommas(static_cast<int64_t>(job.StepsPerSec())),
                                 WithCommas(static_cast<int64_t>(job.ExamplesPerSec())), job.first_step_secs()));
  }
  if (!job.checkpoint().empty()) row("checkpoint", job.checkpoint());
  if (options.no_logdir) {
    row("event files", "none: nothing was written (--logdir '')");
  } else {
    row("event files", options.logdir);
    row("", "open them: tensorboard --logdir " + options.logdir);
    if (outcome != JobOutcome::kDone) row("go on", "the same command with --logdir " + options.logdir);
  }
  if (!job.status_page().empty() && job.trained())
    row("status page", "was at " + job.status_page() + "; a longer run (--train_steps) gives time to look");
  return lines;
}

}  // namespace millstream::cli
