// SPDX-License-Identifier: Apache-2.0
#include "cli/train/display.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "cli/text_layout.h"

namespace millstream::cli {
namespace {

constexpr double kPlainSecs = 2;  // between lines
constexpr double kDrawSecs = 0.2;
constexpr double kUsageSecs = 0.5;

bool TerminalHasUnicode() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != '\0') return absl::StrContains(absl::AsciiStrToLower(value), "utf");
  }
  return false;
}

// Whole lines in one write.
void Write(std::FILE* to, const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), to);
  std::fflush(to);
}

// An error without the numbers of steps: workers that fail for the same reason fail at different steps.
std::string ReasonOf(absl::string_view error) {
  constexpr absl::string_view kStep = "step ";
  std::string reason;
  while (true) {
    const size_t at = error.find(kStep);
    if (at == absl::string_view::npos) return absl::StrCat(reason, error);
    absl::StrAppend(&reason, error.substr(0, at + kStep.size()));
    error.remove_prefix(at + kStep.size());
    while (!error.empty() && absl::ascii_isdigit(static_cast<unsigned char>(error[0]))) error.remove_prefix(1);
  }
}

bool IsForPeople(TrainEvent::Kind kind) {
  switch (kind) {
    case TrainEvent::Kind::kVariables:
    case TrainEvent::Kind::kRestored:
    case TrainEvent::Kind::kKept:
    case TrainEvent::Kind::kNothingToDo:
    case TrainEvent::Kind::kEval:
    case TrainEvent::Kind::kSaved:
    case TrainEvent::Kind::kNote:
      return true;
    default:
      return false;
  }
}

}  // namespace

Display::Style Display::ChooseStyle(const TrainOptions& options) {
  if (options.json) return Style::kJson;
  const char* terminal = std::getenv("TERM");
  const bool dumb = terminal == nullptr || std::string(terminal) == "dumb";
  return isatty(STDOUT_FILENO) == 1 && !dumb ? Style::kTerminal : Style::kPlain;
}

Display::Display(const TrainOptions& options, Style style, const std::vector<std::string>& tasks)
    : job_(options, tasks), style_(style), unicode_(TerminalHasUnicode()), picture_(STDOUT_FILENO) {
  if (style_ == Style::kPlain) Write(stdout, Text().Headline() + "\n");
}

JobText Display::Text() const {
  // The last column stays free: some terminals wrap as soon as it is filled.
  if (style_ != Style::kTerminal) return {.job = job_, .columns = 1 << 16, .unicode = unicode_};
  const int columns = TerminalColumns(STDOUT_FILENO) - 1;
  return {.job = job_, .columns = columns, .unicode = unicode_, .bar = columns >= 99};
}

void Display::Handle(const TrainEvent& event) {
  job_.Handle(event);
  if (style_ == Style::kJson && event.kind != TrainEvent::Kind::kProgress) Write(stdout, EventToJson(event) + "\n");
  if (event.kind == TrainEvent::Kind::kError) {
    PrintError(event);
  } else if (style_ == Style::kPlain && event.kind == TrainEvent::Kind::kData) {
    Write(stdout, event.text + "\n");
  } else if (style_ != Style::kJson && IsForPeople(event.kind)) {
    Print(EventToText(event));
  }
}

void Display::PrintError(const TrainEvent& event) {
  if (errors_.insert(ReasonOf(event.text)).second)
    Print(absl::StrCat("millstream train: ", event.task, ": ", event.text));
}

void Display::Print(absl::string_view line) {
  if (style_ != Style::kTerminal) return Write(stderr, absl::StrCat(line, "\n"));
  picture_.PrintAbove(line);
}

void Display::Draw() { picture_.Draw(Text().Picture(TerminalRows(STDOUT_FILENO) - 1)); }

void Display::SayPlain() {
  if (!job_.trained() || shown_step_ == job_.global_step()) return;
  shown_step_ = job_.global_step();
  const std::string line = Text().StepLine()[0];
  Write(stdout, absl::StrCat(absl::StripLeadingAsciiWhitespace(line), "\n"));
}

void Display::Tick() {
  const Clock::time_point now = Clock::now();
  if (std::chrono::duration<double>(now - last_usage_).count() >= kUsageSecs) {
    last_usage_ = now;
    job_.ReadUsage();
  }
  const double since = std::chrono::duration<double>(now - last_shown_).count();
  if (since < (style_ == Style::kTerminal ? kDrawSecs : kPlainSecs)) return;
  last_shown_ = now;
  if (style_ == Style::kTerminal) Draw();
  if (style_ == Style::kPlain) SayPlain();
  if (style_ == Style::kJson && job_.trained()) Write(stdout, ProgressJson(job_) + "\n");
}

void Display::Finish(JobOutcome outcome) {
  job_.Finish();
  if (style_ == Style::kJson) return Write(stdout, SummaryJson(job_, outcome) + "\n");
  if (style_ == Style::kTerminal && (job_.trained() || !job_.data().empty())) Draw();
  if (style_ == Style::kPlain) SayPlain();
  if (job_.trained() || job_.nothing_to_do())
    Write(stdout, absl::StrCat(absl::StrJoin(Text().Summary(outcome), "\n"), "\n"));
}

}  // namespace millstream::cli
