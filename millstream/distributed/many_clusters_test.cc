// SPDX-License-Identifier: Apache-2.0
// Several clusters with the same task names in one process, at the same time: nothing of one is seen in another.
#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "millstream/base/file.h"
#include "millstream/distributed/link/hub_registry.h"
#include "millstream/distributed/link/sockets.h"
#include "millstream/distributed/server.h"
#include "millstream/framework/monitoring/census.h"
#include "millstream/graph/scope.h"
#include "millstream/proto/config.pb.h"
#include "millstream/runtime/local_server.h"

namespace millstream {
namespace {

constexpr int kClusters = 3;
constexpr int kSteps = 100;

// One ps and one worker that share a variable, a queue and a summary, under the same names in every cluster.
class Cluster {
 public:
  explicit Cluster(int number) : number_(number) {
    std::vector<UniqueFd> held;  // so that the ports differ
    const auto address = [&] {
      int port = 0;
      held.push_back(std::move(ListenTcp("127.0.0.1", &port)).value());
      return absl::StrCat("127.0.0.1:", port);
    };
    spec_ = *ClusterSpec::Make({{"ps", {{0, address()}}}, {"worker", {{0, address()}}}});
    held.clear();
    // The last one has none: its tasks meet as those of two processes do.
    if (number < kClusters - 1) neighbours_ = std::make_shared<HubRegistry>();
    ps = Start("ps");
    worker = Start("worker");
    BuildGraph();
  }

  // Opens the session anew and adds to the variable, step after step.
  Status Train() {
    ASSIGN_OR_RETURN(session, NewSession(worker->session_options()));
    RETURN_IF_ERROR(session->Extend(*root_.graph()));
    RETURN_IF_ERROR(session->Run({}, {}, {"init"}, nullptr));
    RETURN_IF_ERROR(session->Run({}, {}, {"enqueue"}, nullptr));
    const Session::Feeds feeds = {{"x:0", Tensor::Scalar(static_cast<float>(-number_))}};
    for (int i = 0; i < kSteps; ++i) RETURN_IF_ERROR(session->Run(feeds, {"summary:0"}, {"add"}, &out));
    return session->Run({}, {"v:0", "size:0"}, {}, &out);
  }

  std::unique_ptr<Server> ps, worker;
  std::unique_ptr<Session> session;
  std::vector<Tensor> out;

 private:
  std::unique_ptr<Server> Start(const std::string& job) {
    ServerOptions options;
    options.cluster = spec_;
    options.job_name = job;
    options.neighbours = neighbours_;
    StatusOr<std::unique_ptr<Server>> server = Server::Start(options);
    EXPECT_EQ(server.status(), OkStatus());
    return std::move(server).value();
  }

  void BuildGraph() {
    const Scope on_ps = root_.WithDevice("/job:ps"), on_worker = root_.WithDevice("/job:worker");
    const auto number = static_cast<float>(number_);
    // Fed, so that nothing is folded away before the steps run.
    const Output x = on_worker.WithOpName("x").Op("Placeholder", {}, {{"dtype", DType::kFloat}});
    const Output delta = on_worker.Op("Neg", {x});
    const Output v =
        on_ps.WithOpName("v").Op("VariableV2", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape(Shape())}});
    on_ps.WithOpName("init").Op("Assign", {v, on_ps.Const(1000 * number)});
    on_ps.WithOpName("add").Op("AssignAdd", {v, delta});
    const Output queue = on_ps.WithOpName("jobs").Op("FIFOQueueV2", {},
                                                     {{"component_types", std::vector<DType>{DType::kFloat}},
                                                      {"capacity", int64_t{10} + number_},
                                                      {"shared_name", std::string("jobs")}});
    on_ps.WithOpName("enqueue").Op("QueueEnqueueV2", {queue, v}, {{"Tcomponents", std::vector<DType>{DType::kFloat}}});
    on_ps.WithOpName("size").Op("QueueSizeV2", {queue});
    on_worker.WithOpName("summary").Op("ScalarSummary", {on_worker.Const(std::string("loss")), delta});
    EXPECT_EQ(root_.status(), OkStatus());
  }

  const int number_;
  std::shared_ptr<HubRegistry> neighbours_;
  ClusterSpec spec_;
  const Scope root_ = Scope::Root();
};

TEST(ManyClustersTest, WithTheSameNamesDoNotMeet) {
  std::vector<std::unique_ptr<Cluster>> clusters;
  for (int i = 0; i < kClusters; ++i) clusters.push_back(std::make_unique<Cluster>(i));
  std::vector<Status> ends(kClusters);
  std::vector<std::thread> threads;
  for (int i = 0; i < kClusters; ++i) threads.emplace_back([&, i] { ends[i] = clusters[i]->Train(); });
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < kClusters; ++i) {
    SCOPED_TRACE(i);
    Cluster& cluster = *clusters[i];
    ASSERT_EQ(ends[i], OkStatus());
    EXPECT_EQ(cluster.out[0].scalar<float>(), 1000.f * static_cast<float>(i) + kSteps * static_cast<float>(i));
    EXPECT_EQ(cluster.out[1].scalar<int32_t>(), 1);
    const auto queues = cluster.ps->worker().census().Queues();
    ASSERT_EQ(queues.size(), 1u);
    EXPECT_EQ(queues[0]->capacity, 10 + i);
    const auto scalars = cluster.worker->worker().census().Scalars();
    ASSERT_EQ(scalars.size(), 1u);
    EXPECT_EQ(scalars[0].value, i);
    EXPECT_EQ(scalars[0].count, static_cast<uint64_t>(kSteps));
    EXPECT_EQ(cluster.worker->master().steps().ended.value(), static_cast<uint64_t>(kSteps) + 3);
  }
}

TEST(ManyClustersTest, OneEndsAndTheOthersGoOn) {
  Cluster ending(0), staying(1);
  ASSERT_EQ(ending.Train(), OkStatus());
  ASSERT_EQ(staying.Train(), OkStatus());
  const SessionOptions options = ending.worker->session_options();
  JobOf(options)->TrainingBegins();
  JobOf(options)->TrainingEnded();
  ending.session.reset();
  ending.worker->Stop();  // the last worker of its job: it tells the ps
  ending.ps->Join();
  EXPECT_TRUE(ending.ps->job_done());
  EXPECT_TRUE(absl::IsFailedPrecondition(NewSession(options).status()));
  EXPECT_FALSE(staying.ps->job_done());
  EXPECT_FALSE(staying.worker->job_done());
  EXPECT_EQ(staying.Train(), OkStatus());
}

// Two servers, each with a folder where its graphs may touch files.
class FileRootsTest : public ::testing::Test {
 protected:
  struct Task {
    std::string folder;
    std::unique_ptr<Server> server;
    std::unique_ptr<Session> session;
    std::unique_ptr<Scope> root = std::make_unique<Scope>(Scope::Root());

    Output Name(const std::string& path) const { return root->Const(path); }
    Status Run(Output value, std::vector<Tensor>* out) const {
      RETURN_IF_ERROR(root->status());
      RETURN_IF_ERROR(session->Extend(*root->graph()));
      return session->Run({}, {value.node->name() + ":0"}, {}, out);
    }
    Status Run(Node* node) const {
      RETURN_IF_ERROR(root->status());
      RETURN_IF_ERROR(session->Extend(*root->graph()));
      return session->Run({}, {}, {node->name()}, nullptr);
    }
    Status Write(const std::string& path) const {
      return Run(root->Add("WriteFile", {Name(path), Name("of " + folder)}));
    }
    StatusOr<std::string> Read(const std::string& path) const {
      std::vector<Tensor> out;
      RETURN_IF_ERROR(Run(root->Op("ReadFile", {Name(path)}), &out));
      return out[0].scalar<std::string>();
    }
  };

  static Task Start(const std::string& name, bool isolated = false) {
    Task task;
    task.folder = ::testing::TempDir() + "/many_clusters_test/" + name;
    std::filesystem::remove_all(task.folder);
    std::filesystem::create_directories(task.folder);
    task.folder = std::filesystem::canonical(task.folder);  // as messages name it
    ServerOptions options;
    options.cluster = *ClusterSpec::Make({{"local", {{0, "localhost:0"}}}});
    options.job_name = "local";
    options.file_roots = {task.folder};
    task.server = Server::Start(options).value();
    SessionOptions session = task.server->session_options();
    proto::ConfigProto config;
    config.set_isolate_session_state(isolated);
    session.config = std::make_shared<const proto::ConfigProto>(config);
    task.session = NewSession(session).value();
    return task;
  }
};

TEST_F(FileRootsTest, BelongToTheirServer) {
  for (const bool isolated : {false, true}) {
    SCOPED_TRACE(isolated);
    const Task a = Start("a", isolated), b = Start("b", isolated);
    EXPECT_EQ(a.Write(a.folder + "/file"), OkStatus());
    EXPECT_EQ(b.Write(b.folder + "/file"), OkStatus());
    EXPECT_EQ(a.Read(a.folder + "/file").value(), "of " + a.folder);
    EXPECT_EQ(b.Read(b.folder + "/file").value(), "of " + b.folder);
    for (const auto& [task, other] : {std::pair(&a, &b), std::pair(&b, &a)}) {
      const Status read = task->Read(other->folder + "/file").status();
      EXPECT_TRUE(absl::IsPermissionDenied(read)) << read;
      EXPECT_NE(read.message().find(task->folder), std::string::npos) << read;
      EXPECT_TRUE(absl::IsPermissionDenied(task->Write(other->folder + "/new")));
      EXPECT_FALSE(std::filesystem::exists(other->folder + "/new"));
    }
  }
}

TEST_F(FileRootsTest, OneEndsAndTheOtherStaysConfined) {
  Task a = Start("a");
  const Task b = Start("b");
  ASSERT_EQ(a.Write(a.folder + "/file"), OkStatus());
  a.session.reset();
  a.server.reset();
  EXPECT_EQ(b.Write(b.folder + "/file"), OkStatus());
  EXPECT_TRUE(absl::IsPermissionDenied(b.Read(a.folder + "/file").status()));
  for (int number = 0; number < 20; ++number) {  // as names within this process are
    const std::string forged = absl::StrCat("confined:", number, ":", a.folder, "/file");
    EXPECT_TRUE(absl::IsPermissionDenied(b.Read(forged).status())) << forged;
  }
}

// Ops that destroy resources by their names, and resets of containers, leave them alone.
TEST_F(FileRootsTest, CannotBeRemovedByAGraph) {
  const Task a = Start("a");
  ASSERT_EQ(WriteFileAtomically(a.folder + "/../secret", "x"), OkStatus());
  for (const char* container : {"_files", "_census", "_collective"}) {
    for (const char* name : {"_files", "_census", "ops"}) {
      const Output handle = a.root->Op("VarHandleOp", {},
                                       {{"container", std::string(container)},
                                        {"shared_name", std::string(name)},
                                        {"dtype", DType::kFloat},
                                        {"shape", PartialShape(Shape())}});
      a.Run(a.root->Add("DestroyResourceOp", {handle})).IgnoreError();
    }
  }
  a.server->worker().resources().ClearContainer("_files");
  EXPECT_TRUE(absl::IsPermissionDenied(a.Read(a.folder + "/../secret").status()));
}

}  // namespace
}  // namespace millstream
