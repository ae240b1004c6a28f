// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/sessions/basic_hooks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "millstream/base/file.h"
#include "millstream/io/record_reader.h"
#include "millstream/proto/config.pb.h"
#include "millstream/proto/event.pb.h"
#include "millstream/train/saving/checkpoint_management.h"
#include "millstream/train/sessions/saver_hooks.h"
#include "millstream/train/sessions/training_session.h"
#include "millstream/train/testing/small_model.h"

namespace millstream {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::SmallModel;
using testing::TemporaryFolder;
using testing::Train;
using testing::Value;

// All events of the files of a folder.
std::vector<proto::Event> EventsIn(const std::string& folder) {
  std::vector<proto::Event> events;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().filename().string().find("tfevents") == std::string::npos) continue;
    const auto reader = std::move(RecordReader::Open(entry.path().string())).value();
    std::string record;
    while (reader->Read(&record).ok()) EXPECT_TRUE(events.emplace_back().ParseFromString(record));
  }
  return events;
}

Status RunAll(SmallModel& model, SessionRunHooks hooks, int steps, TrainingSessionOptions options = {}) {
  options.hooks = std::move(hooks);
  ASSIGN_OR_RETURN(const auto session, MonitoredTrainingSession(model.scope, options));
  Status status;
  for (int i = 0; i < steps && status.ok() && !session->ShouldStop(); ++i) status = Train(*session);
  return session->Close(status);
}

TEST(HooksTest, StopAtAStepOrAfterSoMany) {
  SmallModel model;
  const auto final_ops = std::make_shared<FinalOpsHook>(std::vector<std::string>{"global_step:0"});
  EXPECT_EQ(RunAll(model, {StopAtStepHook::AtStep(3), final_ops}, 100), OkStatus());
  EXPECT_EQ(final_ops->final_ops_values()[0].scalar<int64_t>(), 3);
  SmallModel other;
  const auto stop = StopAtStepHook::AfterSteps(4);
  EXPECT_EQ(RunAll(other, {stop, final_ops}, 100), OkStatus());
  EXPECT_EQ(stop->last_step(), 4);
  EXPECT_EQ(final_ops->final_ops_values()[0].scalar<int64_t>(), 4);
}

TEST(HooksTest, ThoseThatNeedAStepSaySo) {
  const Scope scope = Scope::Root();
  TemporaryFolder folder;
  CheckpointSaverHook::Options checkpoints;
  checkpoints.checkpoint_dir = folder.path();
  checkpoints.every = HookInterval::Steps(1);
  checkpoints.scaffold = std::make_shared<Scaffold>();
  SummarySaverHook::Options summaries;
  summaries.every = HookInterval::Secs(1);
  summaries.scaffold = checkpoints.scaffold;
  const SessionRunHooks hooks = {StopAtStepHook::AtStep(1),
                                 std::make_shared<StepCounterHook>(),
                                 std::make_shared<GlobalStepWaiterHook>(1),
                                 std::make_shared<ProfilerHook>(HookInterval::Steps(1), folder.path()),
                                 std::make_shared<CheckpointSaverHook>(checkpoints),
                                 std::make_shared<SummarySaverHook>(summaries)};
  for (const auto& hook : hooks) {
    const Status status = hook->Begin(scope);
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(status.message(), HasSubstr("Global step should be created"));
  }
  SmallModel model;
  EXPECT_EQ(StepCounterHook(HookInterval()).Begin(model.scope).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(LoggingTensorHook({{"w", "w"}}, HookInterval()).Begin(model.scope).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(LoggingTensorHook({{"w", "none"}}, HookInterval::Steps(1)).Begin(model.scope).code(),
            absl::StatusCode::kNotFound);
}

TEST(HooksTest, LogsTensorsEverySoManySteps) {
  SmallModel model;
  std::vector<double> seen;
  const auto note = [&](const std::vector<Tensor>& values) {
    seen.push_back(*values[0].data<float>());
    return std::string("noted");
  };
  const auto hook = std::make_shared<LoggingTensorHook>(std::vector<LoggingTensorHook::TaggedTensor>{{"w", "w"}},
                                                        HookInterval::Steps(2), /*at_end=*/true, note);
  ASSERT_EQ(
      RunAll(model,
             {hook, std::make_shared<LoggingTensorHook>(
                        std::vector<LoggingTensorHook::TaggedTensor>{{"step", "global_step"}}, HookInterval::Steps(1))},
             5),
      OkStatus());
  EXPECT_EQ(seen.size(), 4u);  // steps 1, 3, 5 and the end
  EXPECT_EQ(seen.back(), 6);
}

TEST(HooksTest, NanStopsOrFails) {
  for (const bool fail : {true, false}) {
    SmallModel model;
    model.scope.WithOpName("loss").Const(std::nanf(""));
    const auto final_ops = std::make_shared<FinalOpsHook>(std::vector<std::string>{"global_step:0"});
    const Status status = RunAll(model, {std::make_shared<NanTensorHook>("loss:0", fail), final_ops}, 5);
    if (fail) {
      EXPECT_THAT(status.message(), HasSubstr("NaN loss during training."));
    } else {
      EXPECT_EQ(status, OkStatus());
      EXPECT_EQ(final_ops->final_ops_values()[0].scalar<int64_t>(), 1);
    }
  }
}

TEST(HooksTest, WaitsForAStep) {
  SmallModel model;
  const auto session =
      std::move(SingularMonitoredSession::Make(model.scope, {std::make_shared<GlobalStepWaiterHook>(2)})).value();
  std::thread others([&] {
    for (int i = 0; i < 2; ++i) EXPECT_EQ(Train(session->raw_session()), OkStatus());
  });
  EXPECT_GE(Value(*session, "global_step:0"), 2);
  others.join();
}

TEST(HooksTest, CheckpointsSummariesAndTracesAreWritten) {
  SmallModel model;
  const Output summary =
      model.scope.Op("ScalarSummary", {model.scope.Const(Tensor::Scalar("loss")), model.scope.Const(0.5f)});
  model.scope.AddToCollection("summaries", summary);
  TemporaryFolder folder;
  TrainingSessionOptions options;
  options.checkpoint_dir = folder.path();
  options.save_checkpoint_steps = 4;
  options.save_summaries_steps = 3;
  options.log_step_count_steps = 2;
  ASSERT_EQ(RunAll(model, {std::make_shared<ProfilerHook>(HookInterval::Steps(5), folder / "traces")}, 10, options),
            OkStatus());
  EXPECT_EQ(LatestCheckpoint(folder.path()), folder / "model.ckpt-10");
  EXPECT_TRUE(CheckpointExists(folder / "model.ckpt-0"));
  EXPECT_TRUE(FileExists(folder / "graph.pbtxt"));
  // A step's fetch of the global step may be from before or after its update, so what is done every so often may come a
  // step earlier.
  int traces = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "traces")) {
    EXPECT_THAT(*ReadFile(entry.path().string()), HasSubstr("traceEvents"));
    ++traces;
  }
  EXPECT_GE(traces, 1);
  std::vector<std::string> kinds;
  for (const proto::Event& event : EventsIn(folder.path())) {
    if (!event.graph_def().empty()) kinds.emplace_back("graph");
    if (!event.meta_graph_def().empty()) kinds.emplace_back("meta");
    if (event.has_session_log())
      kinds.push_back(absl::StrCat("log ", event.session_log().status(), " at ", event.step()));
    for (const auto& value : event.summary().value()) kinds.push_back(absl::StrCat(value.tag(), " at ", event.step()));
  }
  for (const char* expected : {"graph", "meta", "log 1 at 1", "log 3 at 0", "log 3 at 10", "loss at 1"}) {
    EXPECT_THAT(kinds, Contains(expected));
  }
  const auto count = [&](const char* beginning) {
    return std::count_if(kinds.begin(), kinds.end(),
                         [&](const std::string& kind) { return kind.find(beginning) == 0; });
  };
  EXPECT_GE(count("loss at "), 3);
  EXPECT_GE(count("log 3 "), 4);
  EXPECT_GE(count("global_step/sec at "), 3);
}

// Fails what the hook's thread asks for.
class BrokenFolder : public SessionRunHook {
 public:
  explicit BrokenFolder(std::string folder) : folder_(std::move(folder)) {}
  Status BeforeRun(SessionRunContext&, SessionRunArgs*) override {
    std::filesystem::remove_all(folder_);
    return WriteFileAtomically(folder_, "a file");
  }

 private:
  const std::string folder_;
};

TEST(HooksTest, ErrorsOfSavesInTheBackgroundEndTheTraining) {
  SmallModel model;
  TemporaryFolder folder;
  TrainingSessionOptions options;
  options.checkpoint_dir = folder / "checkpoints";
  options.save_checkpoint_steps = 1;
  EXPECT_FALSE(RunAll(model, {std::make_shared<BrokenFolder>(folder / "checkpoints")}, 1000000, options).ok());
}

class StopsAfterSaves : public CheckpointSaverListener {
 public:
  Status BeforeSave(Session&, int64_t) override {
    ++before;
    return OkStatus();
  }
  Status AfterSave(Session&, int64_t step, bool* stop) override {
    steps.push_back(step);
    *stop = step >= 2;
    return OkStatus();
  }
  int before = 0;
  std::vector<int64_t> steps;
};

TEST(HooksTest, ListenersHearOfSavesAndMayStop) {
  SmallModel model;
  TemporaryFolder folder;
  const auto listener = std::make_shared<StopsAfterSaves>();
  CheckpointSaverHook::Options options;
  options.checkpoint_dir = folder.path();
  options.every = HookInterval::Steps(1);
  options.saver = *Saver::Make(model.scope);
  options.listeners = {listener};
  ASSERT_EQ(RunAll(model, {std::make_shared<CheckpointSaverHook>(options)}, 9), OkStatus());
  EXPECT_THAT(listener->steps, ElementsAre(0, 1, 2));
  EXPECT_EQ(listener->before, 3);
}

TEST(FileWriterTest, WritesReopensAndDropsWhenClosed) {
  TemporaryFolder folder;
  const auto writer = std::move(FileWriter::Make(folder.path())).value();
  writer->AddScalar("a", 1, 5);
  EXPECT_EQ(writer->AddRunMetadata(proto::RunMetadata(), "run"), OkStatus());
  EXPECT_EQ(writer->AddRunMetadata(proto::RunMetadata(), "run").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(writer->AddSummary("not a summary").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(writer->Flush(), OkStatus());
  EXPECT_EQ(EventsIn(folder.path()).size(), 3u);
  EXPECT_EQ(writer->Close(), OkStatus());
  writer->AddScalar("b", 1);
  EXPECT_EQ(EventsIn(folder.path()).size(), 3u);
  writer->Reopen();
  for (int i = 0; i < 100; ++i) writer->AddScalar("c", 1);
  EXPECT_EQ(writer->Close(), OkStatus());
  EXPECT_EQ(EventsIn(folder.path()).size(), 104u);
  EXPECT_EQ(FileWriter::Make("").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(*FileWriter::Shared(folder.path()), *FileWriter::Shared(folder.path()));
}

}  // namespace
}  // namespace millstream
