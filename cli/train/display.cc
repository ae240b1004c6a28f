// SPDX-License-Identifier: Apache-2.0
#include "cli/train/display.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace millstream::cli {
namespace {

constexpr double kRateSecs = 3;   // rates are over this long
constexpr double kPlainSecs = 2;  // between lines
constexpr double kDrawSecs = 0.2;
constexpr double kUsageSecs = 0.5;

// 12345 as "12,345".
std::string Thousands(int64_t n) {
  const std::string digits = absl::StrCat(n);
  std::string grouped;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) grouped += ',';
    grouped += digits[i];
  }
  return grouped;
}

std::string Minutes(double seconds) {
  const int64_t s = std::llround(seconds);
  return s >= 3600 ? absl::StrFormat("%d:%02d:%02d", s / 3600, s / 60 % 60, s % 60)
                   : absl::StrFormat("%d:%02d", s / 60, s % 60);
}

bool TerminalHasUnicode() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != '\0') return absl::StrContains(absl::AsciiStrToLower(value), "utf");
  }
  return false;
}

int TerminalColumns() {
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

// Cut to that many characters, so that a line takes one row: the picture is erased by counting rows.
std::string Cut(const std::string& line, int columns) {
  int seen = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    if ((static_cast<uint8_t>(line[i]) & 0xC0) != 0x80 && ++seen > columns) return line.substr(0, i);
  }
  return line;
}

void Write(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

// Resident memory in MB and processor time in seconds of a process; false if it is gone (or nobody has waited for it).
bool ReadProcess(int64_t pid, double* memory_mb, double* cpu_secs) {
  std::FILE* file = std::fopen(absl::StrCat("/proc/", pid, "/stat").c_str(), "r");
  if (file == nullptr) return false;
  char line[1024];
  const bool read = std::fgets(line, sizeof(line), file) != nullptr;
  std::fclose(file);
  const char* after_name = read ? std::strrchr(line, ')') : nullptr;
  if (after_name == nullptr) return false;
  int64_t user = 0, system = 0, pages = 0;
  if (std::sscanf(after_name,
                  ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %ld %ld %*d %*d %*d %*d %*d %*d %*u %*u %ld", &user,
                  &system, &pages) != 3 ||
      pages == 0) {
    return false;
  }
  *memory_mb = static_cast<double>(pages) * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1e6;
  *cpu_secs = static_cast<double>(user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
  return true;
}

}  // namespace

Display::Style Display::ChooseStyle(const TrainOptions& options) {
  if (options.json) return Style::kJson;
  const char* terminal = std::getenv("TERM");
  const bool dumb = terminal == nullptr || std::string(terminal) == "dumb";
  return isatty(STDOUT_FILENO) == 1 && !dumb ? Style::kTerminal : Style::kPlain;
}

Display::Display(const TrainOptions& options, Style style, std::vector<std::string> tasks)
    : options_(options), style_(style), unicode_(TerminalHasUnicode()) {
  for (std::string& name : tasks) {
    tasks_.emplace_back();
    tasks_.back().name = std::move(name);
  }
  if (style_ == Style::kPlain) Write(Headline() + "\n");
}

Display::Task* Display::FindTask(const std::string& name) {
  for (Task& task : tasks_) {
    if (task.name == name) return &task;
  }
  return nullptr;
}

void Display::Progress(const TrainEvent& event, Task* task) {
  classes_ = event.classes;
  if (first_global_step_ < 0) first_global_step_ = std::max<int64_t>(event.global_step - 1, 0);
  global_step_ = std::max(global_step_, event.global_step);
  const double now = Elapsed();
  if (first_step_secs_ < 0) first_step_secs_ = now;
  last_step_secs_ = now;
  history_.emplace_back(now, global_step_);
  while (history_.size() > 2 && history_[1].first < now - kRateSecs) history_.pop_front();
  if (task == nullptr) return;
  task->state = "training";
  task->local_step = event.local_step;
  task->steps_per_sec = event.steps_per_sec;
  task->loss = event.loss;
  task->score = event.score;
}

void Display::Handle(const TrainEvent& event) {
  Task* task = FindTask(event.task);
  switch (event.kind) {
    case TrainEvent::Kind::kStarted:
      if (task != nullptr) {
        task->pid = event.pid;
        task->state = absl::StartsWith(task->name, "ps") ? "serving" : "loading data";
      }
      if (!event.status_page.empty()) status_page_ = event.status_page;
      break;
    case TrainEvent::Kind::kData:
      data_ = event.text;
      break;
    case TrainEvent::Kind::kRestored:
      restored_ = event.path;
      break;
    case TrainEvent::Kind::kProgress:
      Progress(event, task);
      break;
    case TrainEvent::Kind::kEval:
      eval_ = event;
      classes_ = event.classes;
      break;
    case TrainEvent::Kind::kSaved:
      checkpoint_ = event.path;
      break;
    case TrainEvent::Kind::kNote:
      break;
    case TrainEvent::Kind::kDone:
      if (task != nullptr) {
        task->state = "done";
        task->local_step = event.local_step;
      }
      global_step_ = std::max(global_step_, event.global_step);
      ReadUsage();  // the last chance: tasks end now, perhaps the first time that anybody looks
      break;
  }
  if (style_ == Style::kJson) {
    if (event.kind != TrainEvent::Kind::kProgress) Write(EventToJson(event) + "\n");
  } else if (event.kind == TrainEvent::Kind::kNote || event.kind == TrainEvent::Kind::kEval ||
             event.kind == TrainEvent::Kind::kRestored) {
    Print(EventToText(event));
  } else if (event.kind == TrainEvent::Kind::kData && style_ == Style::kPlain) {
    Write(event.text + "\n");
  }
}

void Display::Print(absl::string_view line) {
  if (style_ != Style::kTerminal) {
    std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
    return;
  }
  Erase();
  Write(absl::StrCat(line, "\n"));
  Draw();
}

double Display::StepsPerSec() const {
  if (finished_)
    return static_cast<double>(global_step_ - first_global_step_) / std::max(last_step_secs_ - first_step_secs_, 1e-3);
  if (history_.size() < 2) return 0;
  const double seconds = history_.back().first - history_.front().first;
  return seconds <= 0 ? 0 : static_cast<double>(history_.back().second - history_.front().second) / seconds;
}

// Each worker's own steps: in synchronous training several of them make one global step.
double Display::ExamplesPerSec() const {
  double rate = 0;
  for (const Task& task : tasks_) {
    if (finished_)
      rate += static_cast<double>(task.local_step) / std::max(last_step_secs_ - first_step_secs_, 1e-3);
    else
      rate += task.state == "training" ? task.steps_per_sec : 0;
  }
  return rate * static_cast<double>(options_.batch_size);
}

std::pair<double, double> Display::LossAndScore() const {
  double loss = 0, score = 0;
  int known = 0;
  for (const Task& task : tasks_) {
    if (task.loss == -1) continue;
    loss += task.loss;
    score += task.score;
    ++known;
  }
  return known == 0 ? std::pair(-1.0, -1.0) : std::pair(loss / known, score / known);
}

void Display::ReadUsage() {
  const Clock::time_point now = Clock::now();
  last_usage_ = now;
  for (Task& task : tasks_) {
    double cpu_secs;
    if (task.pid == 0 || !ReadProcess(task.pid, &task.memory_mb, &cpu_secs)) continue;
    const double seconds = std::chrono::duration<double>(now - task.cpu_at).count();
    if (task.cpu_secs >= 0 && seconds < kUsageSecs / 2) continue;  // too short to tell
    if (task.cpu_secs >= 0) task.cpu = (cpu_secs - task.cpu_secs) / seconds;
    task.cpu_secs = cpu_secs;
    task.cpu_at = now;
  }
}

std::string Display::Headline() const {
  const char* dot = unicode_ ? " · " : ", ";
  return absl::StrCat("millstream train: ", options_.model, dot, options_.mode, dot, options_.ps, " ps + ",
                      options_.workers, " workers", dot, "batch ", options_.batch_size, dot, options_.optimizer, " ",
                      options_.learning_rate);
}

std::string Display::StepLine(int columns) const {
  const auto [loss, score] = LossAndScore();
  std::string line = absl::StrFormat("  step %s/%s", Thousands(global_step_), Thousands(options_.train_steps));
  const double share =
      std::clamp(static_cast<double>(global_step_) / static_cast<double>(options_.train_steps), 0.0, 1.0);
  if (columns >= 100) {
    constexpr int kWidth = 20;
    line += "  ";
    for (int i = 0; i < kWidth; ++i) line += i < share * kWidth ? (unicode_ ? "█" : "#") : (unicode_ ? "░" : ".");
  }
  absl::StrAppendFormat(&line, " %3.0f %%", share * 100);
  if (!trained()) return line;
  const double rate = StepsPerSec();
  absl::StrAppendFormat(&line, "  %s steps/s  %s examples/s", Thousands(static_cast<int64_t>(rate)),
                        Thousands(static_cast<int64_t>(ExamplesPerSec())));
  if (loss != -1) absl::StrAppendFormat(&line, "  loss %.4f  %s", loss, ScoreText(score, classes_));
  if (rate > 0 && !finished_)
    absl::StrAppend(&line, "  ETA ",
                    Minutes(std::max(0.0, static_cast<double>(options_.train_steps - global_step_) / rate)));
  return line;
}

std::string Display::TaskLine(const Task& task) const {
  std::string line = absl::StrFormat("  %-10s %-13s", task.name, task.state);
  if (task.local_step > 0)
    absl::StrAppendFormat(&line, "%9s steps %7.0f/s", Thousands(task.local_step), task.steps_per_sec);
  if (task.loss != -1) absl::StrAppendFormat(&line, "  loss %.4f  %s", task.loss, ScoreText(task.score, classes_));
  if (task.memory_mb > 0 && task.state != "done")
    absl::StrAppendFormat(&line, "  %4.0f MB  %3.0f %% cpu", task.memory_mb, task.cpu * 100);
  return line;
}

std::vector<std::string> Display::Picture() const {
  const int columns = TerminalColumns();
  std::vector<std::string> lines = {Headline(), data_.empty() ? "  reading data" : "  " + data_, StepLine(columns)};
  for (const Task& task : tasks_) lines.push_back(TaskLine(task));
  if (!status_page_.empty()) lines.push_back("  status page " + status_page_);
  for (std::string& line : lines) line = Cut(line, columns - 1);
  return lines;
}

void Display::Erase() {
  if (lines_drawn_ > 0) Write(absl::StrFormat("\x1b[%dA\x1b[J", lines_drawn_));
  lines_drawn_ = 0;
}

void Display::Draw() {
  const std::vector<std::string> lines = Picture();
  // One write, and lines are cleared as they are written over: no flicker.
  std::string text = lines_drawn_ > 0 ? absl::StrFormat("\x1b[%dA", lines_drawn_) : "";
  for (const std::string& line : lines) absl::StrAppend(&text, line, "\x1b[K\n");
  Write(text + "\x1b[J");
  lines_drawn_ = static_cast<int>(lines.size());
}

void Display::SayPlain() {
  if (!trained() || shown_step_ == global_step_) return;
  shown_step_ = global_step_;
  Write(StepLine(80).substr(2) + "\n");
}

void Display::Tick() {
  const Clock::time_point now = Clock::now();
  if (std::chrono::duration<double>(now - last_usage_).count() >= kUsageSecs) ReadUsage();
  const double since = std::chrono::duration<double>(now - last_shown_).count();
  if (since < (style_ == Style::kTerminal ? kDrawSecs : kPlainSecs)) return;
  last_shown_ = now;
  switch (style_) {
    case Style::kTerminal:
      Draw();
      break;
    case Style::kPlain:
      SayPlain();
      break;
    case Style::kJson:
      if (trained()) SayJson(false, false);
      break;
  }
}

void Display::SayJson(bool done, bool interrupted) const {
  const auto [loss, score] = LossAndScore();
  nlohmann::ordered_json json;
  json["event"] = done ? "summary" : "progress";
  json["seconds"] = Elapsed();
  json["global_step"] = global_step_;
  json["train_steps"] = options_.train_steps;
  if (trained()) json["steps_per_sec"] = StepsPerSec();
  if (trained()) json["examples_per_sec"] = ExamplesPerSec();
  const char* name = classes_ ? "accuracy" : "r2";
  if (done && eval_.score != -1) {
    json["loss"] = eval_.loss;
    json[name] = eval_.score;
    json["test_examples"] = eval_.examples;
  } else if (!done && loss != -1) {
    json["loss"] = loss;
    json[name] = score;
  }
  for (const Task& task : tasks_) {
    json["tasks"][task.name] = {{"state", task.state}, {"steps", task.local_step}, {"memory_mb", task.memory_mb}};
  }
  if (done) {
    json["interrupted"] = interrupted;
    if (trained()) json["first_step_secs"] = first_step_secs_;
    if (trained()) json["train_secs"] = last_step_secs_ - first_step_secs_;
    if (!checkpoint_.empty()) json["checkpoint"] = checkpoint_;
    if (!options_.no_logdir) json["logdir"] = options_.logdir;
  }
  Write(json.dump() + "\n");
}

void Display::Summary(bool interrupted) const {
  std::string text = absl::StrFormat("\n%s after %.1f s\n", interrupted ? "Stopped" : "Done", Elapsed());
  if (eval_.score != -1) {
    absl::StrAppendFormat(&text, "  result       %s on %s examples that were not trained on (loss %.4f)\n",
                          ScoreText(eval_.score, eval_.classes), Thousands(eval_.examples), eval_.loss);
  }
  absl::StrAppendFormat(
      &text, "  speed        %s steps in %.1f s: %s steps/s, %s examples/s; the first one %.2f s after the start\n",
      Thousands(global_step_ - first_global_step_), last_step_secs_ - first_step_secs_,
      Thousands(static_cast<int64_t>(StepsPerSec())), Thousands(static_cast<int64_t>(ExamplesPerSec())),
      first_step_secs_);
  if (!checkpoint_.empty()) absl::StrAppend(&text, "  checkpoint   ", checkpoint_, "\n");
  if (options_.no_logdir) {
    text += "  nothing was written (--logdir '')\n";
  } else {
    absl::StrAppend(&text, "  event files  ", options_.logdir, "   open them: tensorboard --logdir ", options_.logdir,
                    "\n");
    if (interrupted) absl::StrAppend(&text, "  go on        the same command with --logdir ", options_.logdir, "\n");
  }
  if (!status_page_.empty())
    text += "  status page  was at " + status_page_ + "; a longer run (--train_steps) gives time to look\n";
  Write(text);
}

void Display::Finish(bool interrupted) {
  finished_ = true;
  if (style_ == Style::kTerminal && (trained() || !data_.empty())) Draw();
  if (style_ == Style::kPlain) SayPlain();
  if (style_ == Style::kJson) {
    SayJson(true, interrupted);
  } else if (trained()) {
    Summary(interrupted);
  }
}

}  // namespace millstream::cli
