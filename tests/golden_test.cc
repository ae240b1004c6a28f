// SPDX-License-Identifier: Apache-2.0
// Everything TensorFlow was recorded to do, done again here. Cases are named family/GoldenTest.Values/Op_what_type, so
// `golden_test --gtest_filter='*Values/AddV2_*'` runs one op. A case with an op that is not there yet is skipped, or
// fails with MILLSTREAM_GOLDEN_STRICT=1.
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "millstream/graph/import.h"
#include "millstream/tensor/tensor_proto.h"
#include "tests/golden_case.h"
#include "tests/golden_compare.h"
#include "tests/golden_engine.h"
#include "tests/golden_shapes.h"

namespace millstream {

void PrintTo(const GoldenCase* c, std::ostream* out) { *out << c->family << "/" << c->name; }

namespace {

std::vector<const GoldenCase*> CasesOf(const std::string& family) {
  std::vector<const GoldenCase*> cases;
  for (const GoldenCase& c : AllGoldenCases()) {
    if (c.family == family) cases.push_back(&c);
  }
  return cases;
}

bool Strict() {
  const char* strict = std::getenv("MILLSTREAM_GOLDEN_STRICT");
  return strict != nullptr && *strict == '1';
}

std::string MissingOps(const GoldenCase& c) {
  std::string missing;
  for (const std::string& type : c.NodeTypes()) {
    if (OpRegistry::Global().Find(type) == nullptr) missing += " " + type;
  }
  return missing;
}

class GoldenTest : public ::testing::TestWithParam<const GoldenCase*> {
 protected:
  const GoldenCase& golden() const { return *GetParam(); }

  void SetUp() override {
    const std::string missing = MissingOps(golden());
    if (missing.empty()) return;
    if (Strict()) FAIL() << "ops that are not there:" << missing;
    GTEST_SKIP() << "ops that are not there yet:" << missing;
  }

  void RunSteps(const std::string& collection) {
    auto graph = std::make_shared<Graph>();
    const Status created = ImportGraph(golden().graph(), {}, graph.get());
    GoldenEngine engine(graph);
    for (const GoldenCase::Step& step : golden().Steps(collection)) {
      RunStep(&engine, created, step);
      if (HasFatalFailure()) return;
    }
  }

 private:
  void RunStep(GoldenEngine* engine, const Status& created, const GoldenCase::Step& step) {
    GoldenEngine::Feeds feeds;
    for (const auto& feed : step.request.feed()) {
      auto tensor = TensorFromProto(feed.tensor());
      ASSERT_TRUE(tensor.ok()) << tensor.status();
      feeds[feed.name()] = *std::move(tensor);
    }
    const std::vector<std::string> fetches(step.request.fetch().begin(), step.request.fetch().end());
    const std::vector<std::string> targets(step.request.target().begin(), step.request.target().end());
    std::vector<Tensor> outputs;
    const Status status = created.ok() ? engine->Run(feeds, fetches, targets, &outputs) : created;
    ASSERT_EQ(static_cast<int>(status.code()), static_cast<int>(step.expected.status_code()))
        << "got " << status << "\nwant " << step.expected.status_error_message();
    if (status.ok()) Compare(step, outputs);
  }

  void Compare(const GoldenCase::Step& step, const std::vector<Tensor>& outputs) {
    ASSERT_EQ(outputs.size(), static_cast<size_t>(step.expected.tensor_size()));
    for (size_t i = 0; i < outputs.size(); ++i) {
      const auto& named = step.expected.tensor(static_cast<int>(i));
      auto want = TensorFromProto(named.tensor());
      ASSERT_TRUE(want.ok()) << want.status();
      EXPECT_TRUE(SameTensor(outputs[i], *want, ToleranceFor(golden(), want->dtype()))) << named.name();
    }
  }
};

TEST_P(GoldenTest, Values) { RunSteps("steps"); }

TEST_P(GoldenTest, Shapes) {
  for (const auto& [name, signature] : golden().meta.signature_def()) {
    if (name.rfind("shapes/", 0) != 0) continue;
    EXPECT_TRUE(SameShapes(golden().graph(), signature)) << name << " " << signature.ShortDebugString();
  }
}

std::string CaseName(const ::testing::TestParamInfo<const GoldenCase*>& info) { return info.param->name; }

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(GoldenTest);
#define GOLDEN_FAMILY(family) \
  INSTANTIATE_TEST_SUITE_P(family, GoldenTest, ::testing::ValuesIn(CasesOf(#family)), CaseName)
GOLDEN_FAMILY(math);
GOLDEN_FAMILY(array);
GOLDEN_FAMILY(nn);
GOLDEN_FAMILY(state);
GOLDEN_FAMILY(training);
GOLDEN_FAMILY(flow);
GOLDEN_FAMILY(random);
GOLDEN_FAMILY(strings);
GOLDEN_FAMILY(io);
GOLDEN_FAMILY(data);
GOLDEN_FAMILY(functions);

// Ops of the registry that no case is about, with the reason.
const std::set<std::string>& WithoutCases() {
  static const auto* ops = new std::set<std::string>{
      "_Arg", "_Retval", "_Send", "_Recv", "_HostSend", "_HostRecv",  // put in by the runtime, never by users
      "PlaceholderV2",                                                // TensorFlow 2.21 refuses it
  };
  return *ops;
}

TEST(GoldenCoverageTest, EveryOpHasCases) {
  if (!Strict()) GTEST_SKIP() << "families are still being recorded";
  std::set<std::string> covered;
  for (const GoldenCase& c : AllGoldenCases()) {
    covered.insert(c.meta.meta_info_def().tags().begin(), c.meta.meta_info_def().tags().end());
  }
  for (const OpEntry* op : OpRegistry::Global().Sorted()) {
    EXPECT_TRUE(covered.count(op->def.name) > 0 || WithoutCases().count(op->def.name) > 0) << op->def.name;
  }
}

}  // namespace
}  // namespace millstream
