// SPDX-License-Identifier: Apache-2.0
#include "cli/train/job_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "cli/text_layout.h"

namespace millstream::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TrainOptions Options() {
  TrainOptions options;
  options.model = "a-model-with-a-long-name";
  options.mode = "a-mode";
  options.optimizer = "adam";
  options.learning_rate = 0.002;
  options.batch_size = 100;
  options.train_steps = 3000;
  options.logdir = "/a/rather/long/path/to/the/folder/with/logs/of/a/training/run/20261116-110000";
  return options;
}

JobState Trained(const TrainOptions& options) {
  JobState job(options, {"worker:0", "worker:1", "ps:0"});
  TrainEvent event;
  event.kind = TrainEvent::Kind::kStarted;
  event.task = "worker:0";
  event.status_page = "http://localhost:6006/?token=abc";
  job.Handle(event);
  event = {};
  event.kind = TrainEvent::Kind::kData;
  event.text = "60000 + 10000 examples of 28x28 numbers and 12 categories, 10 classes (CSV)";
  job.Handle(event);
  event = {};
  event.kind = TrainEvent::Kind::kVariables;
  event.bytes = {{"ps:0", 12'800'000}};
  job.Handle(event);
  event = {};
  event.kind = TrainEvent::Kind::kProgress;
  event.task = "worker:0";
  event.global_step = 1234;
  event.local_step = 617;
  event.steps_per_sec = 99;
  event.loss = 0.1234;
  event.score = 0.9781;
  job.Handle(event);
  return job;
}

std::string WithoutBlanks(const std::vector<std::string>& lines) {
  return absl::StrReplaceAll(absl::StrJoin(lines, ""), {{" ", ""}});
}

TEST(JobTextTest, NothingIsCutAtAnyWidth) {
  const TrainOptions options = Options();
  const JobState job = Trained(options);
  const std::string step = WithoutBlanks(JobText{.job = job, .columns = 99}.StepLine());
  for (const int columns : {20, 40, 60, 79, 80, 99}) {
    const JobText text{.job = job, .columns = columns};
    for (const std::string& line : text.Picture(100)) EXPECT_LE(ColumnsOf(line), columns) << line;
    // Paths stay whole, so that they can be copied.
    EXPECT_THAT(absl::StrJoin(text.Summary(JobOutcome::kDone), "\n"), HasSubstr(options.logdir)) << columns;
    EXPECT_EQ(WithoutBlanks(text.StepLine()), step) << columns;
    const std::string all = WithoutBlanks(text.Picture(100));
    for (const char* words : {"accuracy97.81%", "loss0.1234", "10classes(CSV)", "token=abc", "12.8MBofvariables"})
      EXPECT_THAT(all, HasSubstr(words)) << columns;
  }
}

TEST(JobTextTest, TasksThatDoNotFitAreCounted) {
  std::vector<std::string> names;
  for (int i = 0; i < 50; ++i) names.push_back(absl::StrCat("worker:", i));
  const JobState job(Options(), names);
  const std::vector<std::string> lines = JobText{.job = job, .columns = 79}.Picture(20);
  EXPECT_LE(lines.size(), 20u);
  EXPECT_THAT(lines.back(), HasSubstr("more tasks"));
}

TEST(JobTextTest, TheHeadingSaysHowItEnded) {
  const TrainOptions options = Options();
  const JobState job = Trained(options);
  const JobText text{.job = job, .columns = 79};
  EXPECT_THAT(absl::StrJoin(text.Summary(JobOutcome::kDone), "\n"), HasSubstr("Done after"));
  const std::string failed = absl::StrJoin(text.Summary(JobOutcome::kFailed), "\n");
  EXPECT_THAT(failed, HasSubstr("Failed after"));
  EXPECT_THAT(failed, Not(HasSubstr("Done")));
  EXPECT_THAT(absl::StrJoin(text.Summary(JobOutcome::kInterrupted), "\n"), HasSubstr("Stopped after"));
}

TEST(JobTextTest, AFinishedRunThatIsStartedAgain) {
  JobState job(Options(), {"worker:0"});
  TrainEvent event;
  event.kind = TrainEvent::Kind::kNothingToDo;
  event.global_step = 3000;
  job.Handle(event);
  const std::string summary = absl::StrJoin(JobText{.job = job, .columns = 79}.Summary(JobOutcome::kDone), "\n");
  EXPECT_THAT(summary, HasSubstr("Nothing to train"));
  EXPECT_THAT(summary, HasSubstr("3,000"));
  EXPECT_THAT(SummaryJson(job, JobOutcome::kDone), HasSubstr("\"nothing_to_do\":true"));
}

TEST(TrainEventTest, EventsSurviveTheWayThroughJson) {
  TrainEvent event;
  event.kind = TrainEvent::Kind::kData;
  event.label = "income";
  event.categories = {"city", "zip"};
  event.bytes = {{"ps:0", 5}};
  const std::optional<TrainEvent> read = EventFromJson(EventToJson(event));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->kind, event.kind);
  EXPECT_EQ(read->label, "income");
  EXPECT_EQ(read->categories, event.categories);
  EXPECT_EQ(read->bytes, event.bytes);
  for (int kind = 0; kind <= static_cast<int>(TrainEvent::Kind::kDone); ++kind) {
    event.kind = static_cast<TrainEvent::Kind>(kind);
    EXPECT_EQ(EventFromJson(EventToJson(event))->kind, event.kind);
  }
}

}  // namespace
}  // namespace millstream::cli
