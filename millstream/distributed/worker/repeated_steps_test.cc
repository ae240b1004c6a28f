// SPDX-License-Identifier: Apache-2.0
// Steps that a client repeats after an outage update each variable once.
#include <gtest/gtest.h>

#include <thread>

#include "millstream/distributed/testing/direct_cluster.h"
#include "millstream/graph/scope.h"

namespace millstream {
namespace {

using testing::DirectCluster;

constexpr size_t kMasterIndex = 0, kPs0Index = 1, kPs1Index = 2;

// A counter on each of two ps tasks, and steps that add to them. The parameter: as resources, or as references.
class RepeatedStepsTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    one_ = root_.WithDevice(tasks_[kMasterIndex]).WithOpName("one").Op("Placeholder", {}, {{"dtype", DType::kFloat}});
    AddCounter(kPs0Index, "a");
    AddCounter(kPs1Index, "b");
    // A second update at ps:0, of a variable of its own, that has to wait for an element of a queue there.
    const Scope ps0 = root_.WithDevice(tasks_[kPs0Index]);
    const std::vector<DType> types{DType::kFloat};
    const Output queue = ps0.WithOpName("queue").Op("FIFOQueueV2", {}, {{"component_types", types}});
    ps0.WithOpName("put").Add("QueueEnqueueV2", {queue, ps0.Const(1.f)}, {{"Tcomponents", types}});
    Node* taken = ps0.WithOpName("taken").Add("QueueDequeueV2", {queue}, {{"component_types", types}});
    AddVariable(ps0, "late");
    Update(ps0, "add_late", "late", Output(taken, 0));
    ASSERT_TRUE(root_.ok()) << root_.status();
    session_ = NewSession();
    ASSERT_EQ(session_->Run({}, {}, {"init_a", "init_b", "init_late"}, nullptr), OkStatus());
  }

  void AddCounter(size_t task, const std::string& name) {
    const Scope ps = root_.WithDevice(tasks_[task]);
    AddVariable(ps, name);
    Update(ps, "add_" + name, name, one_);
    // As a restore does.
    Assign(ps, "set_" + name, name,
           root_.WithOpName("value_" + name).Op("Placeholder", {}, {{"dtype", DType::kFloat}}));
    // Reads, and writes what it has read plus one.
    const Output more = ps.Op("Add", {Read(ps, name), ps.Const(1.f)});
    Assign(ps, "more_" + name, name, more);
  }
  void AddVariable(const Scope& ps, const std::string& name) {
    variables_[name] = ps.WithOpName(name).Op(resource() ? "VarHandleOp" : "VariableV2", {},
                                              {{"dtype", DType::kFloat}, {"shape", PartialShape({})}});
    Assign(ps, "init_" + name, name, ps.Const(0.f));
    ps.WithOpName("read_" + name).Op("Identity", {Read(ps, name)});
  }
  Output Read(const Scope& ps, const std::string& name) {
    return resource() ? ps.Op("ReadVariableOp", {variables_[name]}, {{"dtype", DType::kFloat}}) : variables_[name];
  }
  void Assign(const Scope& ps, const std::string& node, const std::string& name, const Output& value) {
    ps.WithOpName(node).Add(resource() ? "AssignVariableOp" : "Assign", {variables_[name], value});
  }
  void Update(const Scope& ps, const std::string& node, const std::string& name, const Output& value) {
    ps.WithOpName(node).Add(resource() ? "AssignAddVariableOp" : "AssignAdd", {variables_[name], value});
  }
  bool resource() const { return GetParam(); }

  std::unique_ptr<MasterSession> NewSession() {
    auto session = cluster_.NewSession();
    EXPECT_TRUE(session->Extend(*root_.graph()).ok());
    return session;
  }
  static Status Run(MasterSession& session, StepIdentity identity, const std::vector<std::string>& targets,
                    std::vector<std::string> fetches = {}, std::vector<Tensor>* out = nullptr) {
    RunOptions options;
    options.timeout_ms = 60'000;  // a step that hangs
    options.identity = identity;
    return session.Run(options, {{"one:0", Tensor::Scalar(1.f)}}, fetches, targets, out, nullptr);
  }
  float Value(const std::string& name) {
    auto session = NewSession();
    std::vector<Tensor> out;
    const Status status = session->Run({}, {"read_" + name + ":0"}, {}, &out);
    EXPECT_EQ(status, OkStatus());
    return status.ok() ? out[0].scalar<float>() : -1.f;
  }
  void Set(const std::string& name, float value) {
    auto session = NewSession();
    EXPECT_EQ(session->Run({{"value_" + name + ":0", Tensor::Scalar(value)}}, {}, {"set_" + name}, nullptr),
              OkStatus());
  }

  const std::vector<std::string> tasks_ = {"/job:worker/replica:0/task:0", "/job:ps/replica:0/task:0",
                                           "/job:ps/replica:0/task:1"};
  DirectCluster cluster_{tasks_, std::chrono::milliseconds(50)};
  Scope root_ = Scope::Root();
  Output one_;
  std::map<std::string, Output> variables_;
  std::unique_ptr<MasterSession> session_;
};

TEST_P(RepeatedStepsTest, UpdateOnceForEachIdentity) {
  const std::vector<std::string> train = {"add_a", "add_b"};
  for (const StepIdentity identity : {StepIdentity{7, 1}, StepIdentity{7, 2}, StepIdentity{8, 2}}) {
    for (int attempt = 0; attempt < 3; ++attempt) EXPECT_EQ(Run(*NewSession(), identity, train), OkStatus());
  }
  EXPECT_EQ(Run(*session_, {8, 2}, train), OkStatus());  // in another session, while the others are gone
  EXPECT_EQ(Value("a"), 3);
  EXPECT_EQ(Value("b"), 3);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(Run(*session_, {}, train), OkStatus());
  EXPECT_EQ(Value("a"), 5);
}

// The answer of a step that is repeated: a reference shows the variable as it is.
TEST_P(RepeatedStepsTest, AreAnswered) {
  if (resource()) return;
  for (int attempt = 0; attempt < 2; ++attempt) {
    std::vector<Tensor> out;
    ASSERT_EQ(Run(*NewSession(), {7, 1}, {}, {"add_a:0", "add_b:0"}, &out), OkStatus());
    EXPECT_EQ(out[0].scalar<float>(), 1);
    EXPECT_EQ(out[1].scalar<float>(), 1);
  }
}

// The request does not reach one of two tasks.
TEST_P(RepeatedStepsTest, ThatReachedOneTask) {
  const std::vector<std::string> train = {"add_a", "add_b"};
  ASSERT_EQ(Run(*session_, {7, 1}, train), OkStatus());
  const PartCounters& counters = cluster_.worker(kPs0Index).counters();
  const uint64_t before = counters.ended.value();
  cluster_.Hold(kMasterIndex, kPs1Index);
  Status status;
  std::thread step([&] { status = Run(*session_, {7, 2}, train); });
  while (counters.ended.value() == before) std::this_thread::yield();
  cluster_.Lose(kMasterIndex, kPs1Index);
  step.join();
  ASSERT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_EQ(Value("a"), 2);
  EXPECT_EQ(Value("b"), 1);
  EXPECT_EQ(Run(*NewSession(), {7, 2}, train), OkStatus());
  EXPECT_EQ(Value("a"), 2);
  EXPECT_EQ(Value("b"), 2);
}

// The link ends when both tasks have applied the step.
TEST_P(RepeatedStepsTest, WhoseAnswerWasLost) {
  const std::vector<std::string> train = {"add_a", "add_b"};
  ASSERT_EQ(Run(*session_, {7, 1}, train), OkStatus());
  cluster_.Lose(kMasterIndex, kPs1Index);
  EXPECT_FALSE(Run(*session_, {7, 1}, train).ok());
  EXPECT_EQ(Run(*NewSession(), {7, 1}, train), OkStatus());
  EXPECT_EQ(Value("a"), 1);
  EXPECT_EQ(Value("b"), 1);
}

// One task has applied one of two updates when the step fails.
TEST_P(RepeatedStepsTest, ThatWereAppliedInPart) {
  const std::vector<std::string> train = {"add_a", "add_late"};
  Status status;
  std::thread step([&] { status = Run(*session_, {7, 1}, train); });
  while (Value("a") == 0) std::this_thread::yield();
  cluster_.Lose(kMasterIndex, kPs0Index);
  step.join();
  ASSERT_TRUE(absl::IsUnavailable(status)) << status;
  auto session = NewSession();
  ASSERT_EQ(session->Run({}, {}, {"put"}, nullptr), OkStatus());
  EXPECT_EQ(Run(*session, {7, 1}, train), OkStatus());
  EXPECT_EQ(Value("a"), 1);
  EXPECT_EQ(Value("late"), 1);
}

// Hooks may ask for other things when a step is repeated.
TEST_P(RepeatedStepsTest, WithOtherUpdatesBesides) {
  ASSERT_EQ(Run(*NewSession(), {7, 1}, {"add_a"}), OkStatus());
  ASSERT_EQ(Run(*NewSession(), {7, 1}, {"add_a", "more_a"}), OkStatus());
  EXPECT_EQ(Value("a"), 2);
  ASSERT_EQ(Run(*NewSession(), {7, 1}, {"add_a", "more_a"}), OkStatus());
  ASSERT_EQ(Run(*NewSession(), {7, 1}, {"more_a"}), OkStatus());
  ASSERT_EQ(Run(*NewSession(), {7, 1}, {"add_a"}), OkStatus());
  EXPECT_EQ(Value("a"), 2);
}

// A restore takes back what was applied: the repeated step applies it again.
TEST_P(RepeatedStepsTest, AfterARestore) {
  const std::vector<std::string> train = {"add_a", "add_b"};
  ASSERT_EQ(Run(*session_, {7, 1}, train), OkStatus());
  Set("a", 10);
  ASSERT_EQ(Run(*NewSession(), {7, 1}, train), OkStatus());
  EXPECT_EQ(Value("a"), 11);
  EXPECT_EQ(Value("b"), 1);
  ASSERT_EQ(Run(*NewSession(), {7, 1}, train), OkStatus());
  EXPECT_EQ(Value("a"), 11);
}

// An assignment of the step itself takes nothing back.
TEST_P(RepeatedStepsTest, ThatAssign) {
  for (int attempt = 0; attempt < 3; ++attempt) ASSERT_EQ(Run(*NewSession(), {7, 1}, {"more_a"}), OkStatus());
  EXPECT_EQ(Value("a"), 1);
}

// A client that has run many steps since asks for none of the old ones again; memory for them is bounded.
TEST_P(RepeatedStepsTest, OfManyClients) {
  for (uint64_t client = 1; client < 50; ++client) {
    for (uint64_t number = 1; number < 20; ++number)
      ASSERT_EQ(Run(*session_, {client, number}, {"add_a", "add_b"}), OkStatus());
  }
  EXPECT_EQ(Value("a"), 49 * 19);
  ASSERT_EQ(Run(*NewSession(), {1, 19}, {"add_a", "add_b"}), OkStatus());
  EXPECT_EQ(Value("b"), 49 * 19);
}

INSTANTIATE_TEST_SUITE_P(Variables, RepeatedStepsTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Resources" : "References"; });

}  // namespace
}  // namespace millstream
