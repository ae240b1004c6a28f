// SPDX-License-Identifier: Apache-2.0
// Trainings at a cluster: servers of this process, which are stopped and started again on their ports.
#include "millstream/train/sessions/training_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <thread>

#include "millstream/base/mutex.h"
#include "millstream/distributed/link/sockets.h"
#include "millstream/distributed/server.h"
#include "millstream/proto/config.pb.h"
#include "millstream/train/saving/checkpoint_management.h"
#include "millstream/train/sessions/basic_hooks.h"
#include "millstream/train/testing/small_model.h"

namespace millstream {
namespace {

using testing::SmallModel;
using testing::TemporaryFolder;
using testing::Train;
using testing::Value;

class TrainingSessionTest : public ::testing::Test {
 protected:
  TrainingSessionTest() {
    std::vector<UniqueFd> held;  // so that the ports differ
    const auto address = [&] {
      int port = 0;
      held.push_back(std::move(ListenTcp("127.0.0.1", &port)).value());
      return absl::StrCat("127.0.0.1:", port);
    };
    cluster_ = *ClusterSpec::Make({{"ps", {{0, address()}}}, {"worker", {{0, address()}, {1, address()}}}});
  }

  std::unique_ptr<Server> StartServer(const std::string& job, int task) {
    ServerOptions options;
    options.cluster = cluster_;
    options.job_name = job;
    options.task_index = task;
    StatusOr<std::unique_ptr<Server>> server = Server::Start(options);
    EXPECT_EQ(server.status(), OkStatus());
    return std::move(server).value();
  }

  StatusOr<std::unique_ptr<MonitoredSession>> Start(SmallModel& model, Server& server, bool is_chief,
                                                    int64_t last_step = 1000000, const SessionOptions& config = {}) {
    TrainingSessionOptions options;
    options.config = server.WithThisServer(config);
    options.is_chief = is_chief;
    options.checkpoint_dir = folder_.path();
    options.save_checkpoint_steps = 10;
    options.hooks = {StopAtStepHook::AtStep(last_step)};
    options.on_saved = [this](const std::string& path, int64_t step) { Note(absl::StrCat("saved ", step), path); };
    options.on_restore = [this](const std::string& path, bool restored) { Note(restored ? "restored" : "kept", path); };
    return MonitoredTrainingSession(model.scope, options);
  }

  // The first worker's session, which need not wait for others.
  static SessionOptions OnlyPs() {
    proto::ConfigProto config;
    config.add_device_filters("/job:ps");
    config.add_device_filters("/job:worker/task:0");
    return *SessionOptions::FromProto(config);
  }

  static Status TrainToTheEnd(MonitoredSession& session) {
    Status status;
    while (status.ok() && !session.ShouldStop()) status = Train(session);
    return session.Close(status);
  }

  void Note(const std::string& what, const std::string& path) {
    MutexLock lock(mu_);
    checkpoints_.push_back(absl::StrCat(what, " ", path.substr(path.rfind('/') + 1)));
  }
  std::vector<std::string> TakeCheckpoints() {
    MutexLock lock(mu_);
    return std::exchange(checkpoints_, {});
  }

  ClusterSpec cluster_;
  TemporaryFolder folder_;
  Mutex mu_;
  std::vector<std::string> checkpoints_ ABSL_GUARDED_BY(mu_);  // what was saved and restored
};

constexpr char kPs[] = "/job:ps/task:0";

TEST_F(TrainingSessionTest, ALostPsIsRestoredAndPsTasksEndWithTheLastWorker) {
  std::unique_ptr<Server> ps = StartServer("ps", 0);
  std::vector<std::unique_ptr<Server>> servers;
  for (int i = 0; i < 2; ++i) servers.push_back(StartServer("worker", i));
  std::atomic<int64_t> steps = 0;
  std::vector<Status> ends(2);
  std::vector<std::thread> workers;
  for (int i = 0; i < 2; ++i) {
    workers.emplace_back([&, i] {
      SmallModel model(kPs);
      auto session = Start(model, *servers[i], /*is_chief=*/i == 0, 300);
      ends[i] = session.status();
      while (ends[i].ok() && !(*session)->ShouldStop()) {
        ends[i] = Train(**session);
        ++steps;
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      }
      if (session.ok()) ends[i] = (*session)->Close(ends[i]);
      session = absl::CancelledError("");  // the session goes before its server
      servers[i].reset();
    });
  }
  while (steps < 60) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  ps.reset();
  ps = StartServer("ps", 0);  // its variables are gone
  for (std::thread& worker : workers) worker.join();
  EXPECT_EQ(ends[0], OkStatus());
  EXPECT_EQ(ends[1], OkStatus());
  EXPECT_TRUE(ps->job_done());
  const std::string latest = LatestCheckpoint(folder_.path()).value_or("");
  EXPECT_TRUE(latest == folder_ / "model.ckpt-300" || latest == folder_ / "model.ckpt-301")
      << latest;  // two may take the last step
}

// Loses the session after a step that was applied and answered.
class LosesAnswers : public SessionRunHook {
 public:
  Status AfterRun(SessionRunContext&, const SessionRunValues&) override {
    return ++steps_ % 3 == 0 ? errors::Unavailable("the answer was lost") : OkStatus();
  }

 private:
  int steps_ = 0;
};

TEST_F(TrainingSessionTest, ARepeatedStepIsAppliedOnce) {
  const std::unique_ptr<Server> ps = StartServer("ps", 0);
  const std::unique_ptr<Server> worker = StartServer("worker", 0);
  for (const bool in_this_process : {true, false}) {
    SmallModel model(kPs);
    TrainingSessionOptions options;
    options.config = in_this_process ? worker->WithThisServer(OnlyPs()) : OnlyPs();
    if (!in_this_process) options.config.target = worker->target();
    options.hooks = {std::make_shared<LosesAnswers>()};
    auto session = std::move(MonitoredTrainingSession(model.scope, options)).value();
    const double before = Value(*session, "global_step:0");
    for (int i = 0; i < 10; ++i) EXPECT_EQ(Train(*session), OkStatus());
    EXPECT_EQ(Value(*session, "global_step:0") - before, 10);
    EXPECT_EQ(Value(*session, "w:0") - 1, before + 10);
    EXPECT_EQ(Value(*session, model.r.value.name()) - 5, before + 10);
    EXPECT_FALSE(session->Close(errors::Cancelled("not the end of the job")).ok());
  }
}

TEST_F(TrainingSessionTest, ARestartedChiefDoesNotSetLiveVariablesBack) {
  const std::unique_ptr<Server> ps = StartServer("ps", 0);
  const std::unique_ptr<Server> worker = StartServer("worker", 1);
  std::unique_ptr<Server> chief = StartServer("worker", 0);
  SmallModel model(kPs), workers_model(kPs), again(kPs);
  auto first = std::move(Start(model, *chief, true)).value();
  auto others = std::move(Start(workers_model, *worker, false)).value();
  first.reset();  // dies without a last checkpoint: there is one of step 0
  chief.reset();
  for (int i = 0; i < 5; ++i) ASSERT_EQ(Train(*others), OkStatus());
  chief = StartServer("worker", 0);
  EXPECT_THAT(TakeCheckpoints(), ::testing::ElementsAre("saved 0 model.ckpt-0"));
  auto second = std::move(Start(again, *chief, true)).value();
  EXPECT_THAT(TakeCheckpoints(), ::testing::ElementsAre("kept model.ckpt-0", "saved 5 model.ckpt-5"));
  EXPECT_EQ(Value(*second, "global_step:0"), 5);
  EXPECT_EQ(Value(*second, "w:0"), 6);
  EXPECT_EQ(second->Close(), OkStatus());
  EXPECT_EQ(others->Close(), OkStatus());
  EXPECT_FALSE(ps->job_done());  // workers are still there
}

TEST_F(TrainingSessionTest, SavesAndRestoresAreTold) {
  {
    const std::unique_ptr<Server> ps = StartServer("ps", 0), chief = StartServer("worker", 0);
    SmallModel model(kPs);
    auto session = std::move(Start(model, *chief, true, 25, OnlyPs())).value();
    EXPECT_EQ(TrainToTheEnd(*session), OkStatus());
  }
  EXPECT_THAT(TakeCheckpoints(), ::testing::ElementsAre("saved 0 model.ckpt-0", "saved 10 model.ckpt-10",
                                                        "saved 20 model.ckpt-20", "saved 25 model.ckpt-25"));
  const std::unique_ptr<Server> ps = StartServer("ps", 0), chief = StartServer("worker", 0);
  SmallModel model(kPs);
  auto session = std::move(Start(model, *chief, true, 30, OnlyPs())).value();
  EXPECT_THAT(TakeCheckpoints(), ::testing::ElementsAre("restored model.ckpt-25", "saved 25 model.ckpt-25"));
  EXPECT_EQ(session->Close(), OkStatus());
}

TEST_F(TrainingSessionTest, ShardsAreWrittenByTasksOrByTheChief) {
  const std::unique_ptr<Server> ps = StartServer("ps", 0), chief = StartServer("worker", 0),
                                worker = StartServer("worker", 1);
  const SessionOptions config = chief->session_options();
  int trained = 0;  // the second chief finds live variables
  for (const std::optional<bool> through_chief : {std::optional<bool>(), std::optional<bool>(true)}) {
    SmallModel model(kPs);
    SaverOptions options;
    options.sharded = true;
    options.through_chief = through_chief;
    const std::shared_ptr<Saver> saver = *Saver::Make(model.scope, options);
    const auto scaffold = std::make_shared<Scaffold>();
    scaffold->saver = saver;
    ChiefSessionCreator creator(model.scope, scaffold, config);
    ASSERT_EQ(creator.Finalize(), OkStatus());
    const std::unique_ptr<Session> session = std::move(creator.CreateSession()).value();
    ASSERT_EQ(Train(*session), OkStatus());
    const std::string path = *saver->Save(*session, folder_ / "m");
    ASSERT_EQ(Train(*session), OkStatus());
    ASSERT_EQ(saver->Restore(*session, path), OkStatus());
    ++trained;
    EXPECT_EQ(Value(*session, "w:0"), 1 + trained);
    EXPECT_EQ(Value(*session, model.r.value.name()), 5 + trained);
  }
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()), {}),
            4);  // data, index, meta, checkpoint: no probe
}

TEST_F(TrainingSessionTest, ALateWorkerEndsWithSuccess) {
  {
    const std::unique_ptr<Server> ps = StartServer("ps", 0);
    std::unique_ptr<Server> chief = StartServer("worker", 0);
    std::unique_ptr<Server> worker = StartServer("worker", 1);  // a session needs all tasks of its cluster
    SmallModel model(kPs);
    auto session = std::move(Start(model, *chief, true, 7)).value();
    ASSERT_EQ(TrainToTheEnd(*session), OkStatus());
    session.reset();
    worker.reset();
    chief.reset();
    EXPECT_TRUE(ps->job_done());
  }
  const std::unique_ptr<Server> late = StartServer("worker", 1);
  SmallModel model(kPs);
  auto session = std::move(Start(model, *late, false, 7)).value();
  EXPECT_TRUE(session->ShouldStop());
  EXPECT_EQ(TrainToTheEnd(*session), OkStatus());
}

// In-graph replication: all tasks wait in Join(), the client is no task of the cluster.
TEST_F(TrainingSessionTest, TasksEndWithTheirOnlyClient) {
  std::vector<std::unique_ptr<Server>> servers;
  servers.push_back(StartServer("ps", 0));
  for (int i = 0; i < 2; ++i) servers.push_back(StartServer("worker", i));
  std::vector<std::thread> joins;
  for (const auto& server : servers) {
    server->BeginJoin();
    joins.emplace_back([&server] {
      server->Join();
      server->Stop();  // as programs do; the ps stays until the workers have left
    });
  }
  for (const bool ends_well : {false, true}) {
    SmallModel model(kPs);
    TrainingSessionOptions options;
    options.config.target = servers[1]->target();
    options.hooks = {StopAtStepHook::AtStep(ends_well ? 7 : 3)};
    auto session = std::move(MonitoredTrainingSession(model.scope, options)).value();
    if (ends_well) {
      EXPECT_EQ(TrainToTheEnd(*session), OkStatus());
    } else {
      EXPECT_FALSE(session->Close(errors::InvalidArgument("this client fails")).ok());
      for (const auto& server : servers) EXPECT_FALSE(server->ended());
    }
  }
  const auto all_ended = [&] {
    return std::all_of(servers.begin(), servers.end(), [](const auto& server) { return server->ended(); });
  };
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!all_ended() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_TRUE(all_ended());
  for (const auto& server : servers) server->Stop();
  for (std::thread& join : joins) join.join();
}

// The port of the second worker is not bound yet when the chief ends.
TEST_F(TrainingSessionTest, APsTellsALateWorkerThatTheJobIsDone) {
  const std::unique_ptr<Server> ps = StartServer("ps", 0);
  std::unique_ptr<Server> chief = StartServer("worker", 0);
  {
    SmallModel model(kPs);
    auto session = std::move(Start(model, *chief, true, 7, OnlyPs())).value();
    ASSERT_EQ(TrainToTheEnd(*session), OkStatus());
  }
  chief.reset();
  EXPECT_TRUE(ps->job_done());
  EXPECT_FALSE(ps->ended());
  std::unique_ptr<Server> late = StartServer("worker", 1);
  {
    SmallModel model(kPs);
    auto session = std::move(Start(model, *late, false, 1000)).value();
    EXPECT_TRUE(session->ShouldStop());
    EXPECT_EQ(session->Run({}, {}, {"train"}, nullptr).code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(TrainToTheEnd(*session), OkStatus());
  }
  ps->Join();  // it was told
}

// It answers at its port, but has no session yet, when the chief ends.
TEST_F(TrainingSessionTest, ASessionDoesWithoutAWorkerThatHasLeft) {
  const std::unique_ptr<Server> ps = StartServer("ps", 0);
  std::unique_ptr<Server> chief = StartServer("worker", 0);
  std::unique_ptr<Server> worker = StartServer("worker", 1);
  {
    SmallModel model(kPs);
    auto session = std::move(Start(model, *chief, true, 7)).value();
    ASSERT_EQ(TrainToTheEnd(*session), OkStatus());
  }
  chief.reset();
  EXPECT_FALSE(ps->job_done());
  {
    SmallModel model(kPs);
    auto session = std::move(Start(model, *worker, false, 9)).value();
    EXPECT_FALSE(session->ShouldStop());
    EXPECT_EQ(TrainToTheEnd(*session), OkStatus());
  }
  worker.reset();
  ps->Join();
}

}  // namespace
}  // namespace millstream
