// SPDX-License-Identifier: Apache-2.0
// Everything TensorFlow was recorded to do, done again here; tests/goldens/README.md says how to run some of it.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "millstream/graph/import/import.h"
#include "millstream/graph/placement/placement.h"
#include "millstream/graph/scope.h"
#include "millstream/runtime/session.h"
#include "millstream/runtime/testing/memory_cluster.h"
#include "millstream/tensor/tensor_proto.h"
#include "tests/golden_case.h"
#include "tests/golden_compare.h"
#include "tests/golden_gradients.h"
#include "tests/golden_shapes.h"

namespace millstream {

void PrintTo(const GoldenCase* c, std::ostream* out) { *out << c->family << "/" << c->name; }

namespace {

constexpr int64_t kStepTimeoutMs = 60'000;

std::string MissingOps(const GoldenCase& c) {
  std::string missing;
  for (const std::string& type : c.NodeTypes()) {
    if (OpRegistry::Global().Find(type) == nullptr) missing += " " + type;
  }
  return missing;
}

void ReplaceInStrings(Tensor* tensor, const std::string& from, const std::string& to) {
  if (tensor->dtype() != DType::kString) return;
  for (std::string& s : tensor->flat<std::string>()) s = absl::StrReplaceAll(s, {{from, to}});
}

// The same recordings are run on an accelerator (the shadow device) where a plug-in is named.
bool OnAccelerator() { return std::getenv("MILLSTREAM_DEVICE_PLUGINS") != nullptr; }

// Cases that cannot run there, each with the reason.
bool RunsOnAccelerator(const GoldenCase& c) {
  // The shape function, as TensorFlow's, divides the image by strides that the kernel, as TensorFlow's, ignores.
  return c.name != "MaxPool_deep_strided_float";
}

class GoldenTest : public ::testing::TestWithParam<const GoldenCase*> {
 protected:
  const GoldenCase& golden() const { return *GetParam(); }

  void SetUp() override {
    if (OnAccelerator() && !RunsOnAccelerator(golden())) GTEST_SKIP() << "not on an accelerator";
    ASSERT_EQ(MissingOps(golden()), "") << "ops that are not registered";
    std::string folder = ::testing::TempDir() + "/golden.XXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    folder_ = folder;
    if (const auto it = golden().meta.collection_def().find("files"); it != golden().meta.collection_def().end()) {
      const auto& files = it->second.bytes_list().value();
      for (int i = 0; i + 1 < files.size(); i += 2) std::ofstream(folder_ / files[i], std::ios::binary) << files[i + 1];
    }
  }

  void TearDown() override {
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }

  // A session with the case's graph, or with `graph`. That may fail: a case may want the error.
  void Start(const Graph* graph = nullptr) {
    auto session = NewSession();
    ASSERT_TRUE(session.ok()) << session.status();
    session_ = *std::move(session);
    created_ = graph == nullptr ? session_->Create(golden().graph()) : session_->Extend(*graph);
  }

  virtual Status Run(const std::map<std::string, Tensor>& feeds, const std::vector<std::string>& fetches,
                     const std::vector<std::string>& targets, std::vector<Tensor>* outputs) {
    RETURN_IF_ERROR(created_);
    RunOptions options;
    options.timeout_ms = kStepTimeoutMs;
    return session_->Run(options, Session::Feeds(feeds.begin(), feeds.end()), fetches, targets, outputs, nullptr);
  }

  void RunSteps(const std::string& collection) {
    int number = 0;
    for (const GoldenCase::Step& step : golden().Steps(collection)) {
      SCOPED_TRACE("step " + std::to_string(number++));
      RunStep(step);
      if (HasFatalFailure() || unseen_error_) return;
    }
  }

 private:
  void RunStep(const GoldenCase::Step& step) {
    std::map<std::string, Tensor> feeds;
    for (const auto& feed : step.request.feed()) {
      auto tensor = TensorFromProto(feed.tensor());
      ASSERT_TRUE(tensor.ok()) << tensor.status();
      ReplaceInStrings(&*tensor, "{TMPDIR}", folder_);
      feeds[feed.name()] = *std::move(tensor);
    }
    std::vector<Tensor> outputs;
    const Status status = Run(feeds, {step.request.fetch().begin(), step.request.fetch().end()},
                              {step.request.target().begin(), step.request.target().end()}, &outputs);
    const auto want = static_cast<absl::StatusCode>(step.expected.status_code());
    // An internal error of TensorFlow's says only that nobody has thought of this: any error will do.
    if (want == absl::StatusCode::kInternal && !status.ok()) return;
    // An accelerator's work is not awaited where nobody reads its results, so its error is not seen.
    unseen_error_ = OnAccelerator() && want != absl::StatusCode::kOk && status.ok() && step.request.fetch().empty();
    if (unseen_error_) return;
    ASSERT_EQ(status.code(), want) << "got " << status << "\nwant " << step.expected.status_error_message();
    if (status.ok()) Compare(step, outputs);
  }

  void Compare(const GoldenCase::Step& step, const std::vector<Tensor>& outputs) {
    ASSERT_EQ(outputs.size(), static_cast<size_t>(step.expected.tensor_size()));
    for (size_t i = 0; i < outputs.size(); ++i) {
      const auto& named = step.expected.tensor(static_cast<int>(i));
      auto want = TensorFromProto(named.tensor());
      ASSERT_TRUE(want.ok()) << want.status();
      ReplaceInStrings(&*want, "{TMPDIR}", folder_);
      EXPECT_TRUE(golden().HasOption("compare_summary")
                      ? SameSummary(outputs[i], *want)
                      : SameTensor(outputs[i], *want, ToleranceFor(golden(), want->dtype())))
          << named.name();
    }
  }

  std::unique_ptr<Session> session_;
  std::filesystem::path folder_;
  bool unseen_error_ = false;

 protected:
  Status created_;  // what became of the case's graph
};

class GoldenValues : public GoldenTest {};
class GoldenShapes : public GoldenTest {};
class GoldenGradients : public GoldenTest {
 protected:
  const proto::SignatureDef& signature() const { return golden().meta.signature_def().at("gradient"); }
};

// The same with the graph cut over three tasks.
class GoldenCut : public GoldenTest {
 protected:
  void Place(std::shared_ptr<Graph> graph) {
    graph_ = std::move(graph);
    int turn = 0;
    for (const auto& node : graph_->nodes()) {
      // What shares state stays where the placer puts it.
      if (!TouchesState(*node)) node->set_device(absl::StrCat("/job:w/task:", turn++ % 3));
    }
    const Status placed = PlaceGraph(cluster_.ListDevices(), {}, graph_.get());
    ASSERT_TRUE(placed.ok()) << placed;
  }

  Status Run(const std::map<std::string, Tensor>& feeds, const std::vector<std::string>& fetches,
             const std::vector<std::string>& targets, std::vector<Tensor>* outputs) override {
    RETURN_IF_ERROR(created_);
    MemoryCluster::Feeds fed;
    for (const auto& [name, value] : feeds) {
      ASSIGN_OR_RETURN(const Output output, graph_->FindOutput(name));
      fed.emplace_back(output, value);
    }
    std::vector<Output> fetched;
    for (const std::string& name : fetches) {
      ASSIGN_OR_RETURN(const Output output, graph_->FindOutput(name));
      fetched.push_back(output);
    }
    std::vector<Node*> nodes;
    for (const std::string& name : targets) nodes.push_back(graph_->Find(name));
    ASSIGN_OR_RETURN(*outputs, cluster_.Run(*graph_, fed, fetched, nodes));
    return OkStatus();
  }

 private:
  static bool TouchesState(const Node& node) {
    const auto is_state = [](DType t) { return t == DType::kResource || t == DType::kVariant || IsRef(t); };
    return node.attrs().Has("_class") || node.IsStateful() ||
           std::any_of(node.output_types().begin(), node.output_types().end(), is_state) ||
           std::any_of(node.inputs().begin(), node.inputs().end(),
                       [&](const Output& in) { return is_state(in.node->output_type(in.index)); });
  }

  MemoryCluster cluster_{{.tasks = 3, .timeout_ms = kStepTimeoutMs}};
  std::shared_ptr<Graph> graph_;
};

TEST_P(GoldenCut, Match) {
  auto graph = std::make_shared<Graph>();
  const Status imported = ImportGraph(golden().graph(), {}, graph.get());
  if (!imported.ok()) {  // then every step of the recording fails with that error
    created_ = imported;
    RunSteps("steps");
    return;
  }
  Place(std::move(graph));
  RunSteps("steps");
}

TEST_P(GoldenCut, Gradients) {
  const auto gradient = golden().meta.signature_def().find("gradient");
  if (gradient == golden().meta.signature_def().end() || gradient->second.method_name() == "missing") return;
  auto graph = std::make_shared<Graph>();
  const Status imported = ImportGraph(golden().graph(), {}, graph.get());
  ASSERT_TRUE(imported.ok()) << imported;
  const Status added = AddGoldenGradients(Scope(graph), gradient->second);
  ASSERT_TRUE(added.ok()) << added;
  Place(std::move(graph));
  RunSteps("gradient_steps");
}

TEST_P(GoldenValues, Match) {
  Start();
  RunSteps("steps");
}

TEST_P(GoldenShapes, Match) {
  for (const auto& [name, signature] : golden().meta.signature_def()) {
    if (!absl::StartsWith(name, "shapes/")) continue;
    EXPECT_TRUE(SameShapes(golden().graph(), signature)) << name << " " << signature.ShortDebugString();
  }
}

TEST_P(GoldenGradients, Match) {
  auto graph = std::make_shared<Graph>();
  const Status imported = ImportGraph(golden().graph(), {}, graph.get());
  ASSERT_TRUE(imported.ok()) << imported;
  const Status added = AddGoldenGradients(Scope(graph), signature());
  if (signature().method_name() == "missing") {
    const bool ours = OpRegistry::Global().Find(golden().meta.meta_info_def().tags(0))->grad != nullptr;
    EXPECT_TRUE(ours || !added.ok()) << "TensorFlow has no gradient for this";
    return;
  }
  ASSERT_TRUE(added.ok()) << added;
  Start(graph.get());
  RunSteps("gradient_steps");
}

TEST_P(GoldenGradients, FiniteDifferences) {
  if (golden().HasOption("no_finite_differences")) return;
  Start();
  for (const GoldenCase::Step& step : golden().Steps("gradient_steps")) {
    EXPECT_TRUE(SameAsDifferences(golden(), step, [this](const auto& feeds, const auto& fetches, auto* outputs) {
      return Run(feeds, fetches, {}, outputs);
    }));
  }
}

std::vector<const GoldenCase*> CasesOf(const std::string& family, const std::string& signature = "") {
  std::vector<const GoldenCase*> cases;
  for (const GoldenCase& c : AllGoldenCases()) {
    if (c.family == family && (signature.empty() || c.meta.signature_def().count(signature) > 0)) cases.push_back(&c);
  }
  return cases;
}

std::string CaseName(const ::testing::TestParamInfo<const GoldenCase*>& info) { return info.param->name; }

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(GoldenValues);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(GoldenShapes);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(GoldenGradients);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(GoldenCut);
std::set<std::string>& FamiliesRun() {
  static auto* families = new std::set<std::string>();
  return *families;
}
// Not function calls (the cluster of this test has no function library), no state whose handle is a string or a lock,
// which does not keep its users on one task, and no name of a device as the result, which has the task in it.
bool CanBeSpreadOverTasks(const GoldenCase& c) {
  if (c.graph().library().function_size() > 0) return false;
  const std::vector<std::string> types = c.NodeTypes();
  return std::none_of(types.begin(), types.end(), [](const std::string& type) {
    return type == "TensorArray" || type == "TensorArrayV2" || type == "MutexLock" || type == "IteratorGetDevice" ||
           type == "ExperimentalIteratorGetDevice";
  });
}

std::vector<const GoldenCase*> CutCasesOf(const std::string& family) {
  std::vector<const GoldenCase*> cases = CasesOf(family);
  std::erase_if(cases, [](const GoldenCase* c) { return !CanBeSpreadOverTasks(*c); });
  return cases;
}

#define GOLDEN_FAMILY(family)                                                                                     \
  [[maybe_unused]] const bool family##_runs = FamiliesRun().insert(#family).second;                               \
  INSTANTIATE_TEST_SUITE_P(family, GoldenValues, ::testing::ValuesIn(CasesOf(#family)), CaseName);                \
  INSTANTIATE_TEST_SUITE_P(family, GoldenShapes, ::testing::ValuesIn(CasesOf(#family, "shapes/0")), CaseName);    \
  INSTANTIATE_TEST_SUITE_P(family, GoldenGradients, ::testing::ValuesIn(CasesOf(#family, "gradient")), CaseName); \
  INSTANTIATE_TEST_SUITE_P(family, GoldenCut, ::testing::ValuesIn(CutCasesOf(#family)), CaseName)
GOLDEN_FAMILY(array);
GOLDEN_FAMILY(audio);
GOLDEN_FAMILY(collective);
GOLDEN_FAMILY(data);
GOLDEN_FAMILY(flow);
GOLDEN_FAMILY(functions);
GOLDEN_FAMILY(image);
GOLDEN_FAMILY(io);
GOLDEN_FAMILY(linalg);
GOLDEN_FAMILY(lookup);
GOLDEN_FAMILY(math);
GOLDEN_FAMILY(nn);
GOLDEN_FAMILY(parsing);
GOLDEN_FAMILY(quantized);
GOLDEN_FAMILY(queues);
GOLDEN_FAMILY(ragged);
GOLDEN_FAMILY(random);
GOLDEN_FAMILY(reader);
GOLDEN_FAMILY(signal);
GOLDEN_FAMILY(sparse);
GOLDEN_FAMILY(special);
GOLDEN_FAMILY(state);
GOLDEN_FAMILY(strings);
GOLDEN_FAMILY(summary);
GOLDEN_FAMILY(tensor_array);
GOLDEN_FAMILY(tensor_list);
GOLDEN_FAMILY(training);

TEST(GoldenCoverageTest, EveryFamilyRuns) {
  for (const GoldenCase& c : AllGoldenCases()) {
    EXPECT_TRUE(FamiliesRun().contains(c.family)) << "add GOLDEN_FAMILY(" << c.family << ")";
  }
}

}  // namespace
}  // namespace millstream
