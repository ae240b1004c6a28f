// SPDX-License-Identifier: Apache-2.0
// Chiefs that are started again at a cluster whose variables are live, some of them live, or none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "millstream/base/file.h"
#include "millstream/distributed/link/sockets.h"
#include "millstream/distributed/server.h"
#include "millstream/train/sessions/supervisor.h"
#include "millstream/train/sessions/training_session.h"
#include "millstream/train/testing/small_model.h"
#include "millstream/train/variables/variables.h"

namespace millstream {
namespace {

using testing::TemporaryFolder;
using testing::Train;
using testing::Value;

constexpr int kVariables = 4;  // more than ps tasks: each has some

// Variables "w0".. on all ps tasks, first 0, references and resources in turn, and the global step; "train" adds 1 to
// all.
struct Model {
  explicit Model(int num_ps) {
    std::vector<Node*> adds;
    for (int i = 0; i < kVariables; ++i) {
      const VariableScope variables(scope.WithDevice(absl::StrCat("/job:ps/task:", i % num_ps)));
      VariableOptions options;
      options.initializer = ConstantInitializer(0);
      options.resource = i / num_ps % 2 == 0;
      const GraphVariable v = variables.Get(absl::StrCat("w", i), Shape(), options);
      adds.push_back(AddToVariable(scope, v, scope.Const(1.0f)).node);
      values.push_back(v.value.name());
    }
    CreateGlobalStep(VariableScope(scope.WithDevice("/job:ps/task:0")));
    adds.push_back(AddToVariable(scope, VariablesIn(scope, graph_keys::kGlobalStep)[0], scope.Const<int64_t>(1)).node);
    values.emplace_back("global_step:0");
    scope.WithOpName("train").WithControlDependencies(adds).Add("NoOp", {});
    EXPECT_EQ(scope.status(), OkStatus());
  }
  template <typename AnySession>
  std::vector<double> Values(AnySession& session) const {
    std::vector<double> numbers;
    for (const std::string& name : values) numbers.push_back(Value(session, name));
    return numbers;
  }
  Scope scope = Scope::Root();
  std::vector<std::string> values;
};

struct Case {
  int num_ps;
  bool supervisor;
  std::string state_file;  // the contents of the file `checkpoint`; "none": no folder; "missing": no such file
};

class LiveVariablesTest : public ::testing::TestWithParam<Case> {
 protected:
  LiveVariablesTest() {
    std::vector<UniqueFd> held;  // so that the ports differ
    std::map<int, std::string> addresses;
    for (int i = 0; i <= GetParam().num_ps; ++i) {
      int port = 0;
      held.push_back(std::move(ListenTcp("127.0.0.1", &port)).value());
      addresses[i] = absl::StrCat("127.0.0.1:", port);
    }
    const std::string worker = addresses[GetParam().num_ps];
    addresses.erase(GetParam().num_ps);
    cluster_ = *ClusterSpec::Make({{"ps", addresses}, {"worker", {{0, worker}}}});
    held.clear();
    for (int i = 0; i < GetParam().num_ps; ++i) ps_.push_back(StartServer("ps", i));
    worker_ = StartServer("worker", 0);
    if (GetParam().state_file != "none" && GetParam().state_file != "missing") {
      EXPECT_EQ(WriteFileAtomically(folder_ / "checkpoint", GetParam().state_file), OkStatus());
    }
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

  // A client that is not a member of the job, so that the job does not end with it.
  SessionOptions Client() const {
    SessionOptions options;
    options.target = worker_->target();
    return options;
  }

  // What a new chief finds. It trains `steps` steps and saves nothing.
  std::vector<double> RunChief(int steps) {
    Model model(GetParam().num_ps);
    std::vector<double> values;
    const auto init_fn = [this](Session&) {
      ++init_calls_;
      return OkStatus();
    };
    const std::string folder = GetParam().state_file == "none" ? "" : folder_.path();
    if (GetParam().supervisor) {
      SupervisorOptions options;
      options.logdir = folder;
      options.scaffold.init_fn = init_fn;
      options.save_model_secs = options.save_summaries_secs = 0;
      auto supervisor = std::move(Supervisor::Make(model.scope, options)).value();
      const StatusOr<Session*> session = supervisor->PrepareOrWaitForSession(Client());
      EXPECT_EQ(session.status(), OkStatus());
      if (!session.ok()) return {};
      values = model.Values(**session);
      for (int i = 0; i < steps; ++i) EXPECT_EQ(Train(**session), OkStatus());
    } else {
      TrainingSessionOptions options;
      options.config = Client();
      options.checkpoint_dir = folder;
      options.save_checkpoint_steps = 0;
      options.scaffold = std::make_shared<Scaffold>();
      options.scaffold->init_fn = init_fn;
      const auto session = MonitoredTrainingSession(model.scope, options);
      EXPECT_EQ(session.status(), OkStatus());
      if (!session.ok()) return {};
      values = model.Values(**session);
      for (int i = 0; i < steps; ++i) EXPECT_EQ(Train(**session), OkStatus());
    }
    return values;
  }

  TemporaryFolder folder_;
  ClusterSpec cluster_;
  std::vector<std::unique_ptr<Server>> ps_;
  std::unique_ptr<Server> worker_;
  int init_calls_ = 0;
};

TEST_P(LiveVariablesTest, ARestartedChiefKeepsThem) {
  EXPECT_THAT(RunChief(3), ::testing::Each(0));
  EXPECT_THAT(RunChief(1), ::testing::Each(3));
  worker_.reset();
  worker_ = StartServer("worker", 0);
  EXPECT_THAT(RunChief(0), ::testing::Each(4));
  EXPECT_EQ(init_calls_, 1);
}

TEST_P(LiveVariablesTest, AFreshPsIsInitializedBesideThem) {
  RunChief(3);
  ps_.back().reset();
  ps_.back() = StartServer("ps", GetParam().num_ps - 1);
  const std::vector<double> values = RunChief(0);
  ASSERT_EQ(values.size(), kVariables + 1);
  for (int i = 0; i < kVariables; ++i)
    EXPECT_EQ(values[i], i % GetParam().num_ps == GetParam().num_ps - 1 ? 0 : 3) << i;
  EXPECT_EQ(values.back(), GetParam().num_ps == 1 ? 0 : 3);
  EXPECT_EQ(init_calls_, GetParam().num_ps == 1 ? 2 : 1);  // nothing was live
}

TEST_P(LiveVariablesTest, WithACheckpointAllGoBackTogether) {
  if (GetParam().state_file == "none") GTEST_SKIP() << "no folder";
  RunChief(2);
  {
    Model model(GetParam().num_ps);
    const auto saver = std::move(Saver::Make(model.scope, {})).value();
    const auto session = std::move(NewSession(Client())).value();
    ASSERT_EQ(session->Extend(*model.scope.graph()), OkStatus());
    SaveOptions options;
    options.global_step = 2;
    ASSERT_EQ(saver->Save(*session, folder_ / "model.ckpt", options).status(), OkStatus());
  }
  if (GetParam().state_file == "missing") {
    std::filesystem::remove(folder_ / "checkpoint");
  } else {
    ASSERT_EQ(WriteFileAtomically(folder_ / "checkpoint", GetParam().state_file), OkStatus());
  }
  EXPECT_THAT(RunChief(1), ::testing::Each(2));
  EXPECT_THAT(RunChief(0), ::testing::Each(3));  // live
  ps_[0].reset();
  ps_[0] = StartServer("ps", 0);
  EXPECT_THAT(RunChief(0), ::testing::Each(2));
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (int num_ps = 1; num_ps <= 3; ++num_ps) {
    for (const bool supervisor : {false, true}) {
      for (const char* state : {"none", "missing", "", "model_checkpoint_path: \"mod"}) {
        cases.push_back({num_ps, supervisor, state});
      }
    }
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, LiveVariablesTest, ::testing::ValuesIn(Cases()));

}  // namespace
}  // namespace millstream
