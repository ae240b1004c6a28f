// SPDX-License-Identifier: Apache-2.0
#include "millstream/status/scalar_curves.h"

#include <gtest/gtest.h>

#include <cmath>

#include "millstream/status/evaluation_message.h"
#include "millstream/status/json_text.h"

namespace millstream {
namespace {

using Source = ScalarCurves::Source;

TEST(ScalarCurvesTest, OneNameHasACurveForEachSourceAndRun) {
  ScalarCurves curves;
  curves.Add({"loss", Source::kFetch, ""}, 7, {1, 10, 2.0});
  curves.Add({"loss", Source::kFetch, ""}, 7, {2, 20, 2.0});  // no new value since
  curves.Add({"loss", Source::kFetch, ""}, 8, {3, -1, 1.5});
  curves.Add({"loss", Source::kRead, ""}, 1, {3, 30, 9.0});
  curves.AddNext({"loss", Source::kEvaluation, "eval"}, {4, 40, 3.0});
  curves.AddNext({"loss", Source::kEvaluation, "eval"}, {5, 50, 3.0});  // the same value, but a new evaluation
  curves.AddNext({"loss", Source::kEvaluation, "test"}, {5, 50, std::nan("")});
  const Json all = ParseJson(ToText(curves.ToJson(0)));
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(ToText(all[0]),
            R"({"name":"loss","source":"fetch","count":8,"value":1.5,"points":[[1.0,10,2.0],[3.0,null,1.5]]})");
  EXPECT_EQ(all[1]["source"], "read");
  EXPECT_EQ(all[2]["run"], "eval");
  EXPECT_EQ(all[2]["points"].size(), 2u);
  EXPECT_TRUE(all[3]["value"].is_null());
  EXPECT_TRUE(curves.ToJson(3)[0]["points"].empty());
  EXPECT_EQ(curves.ToJson(4)[2]["points"].size(), 1u);
}

TEST(ScalarCurvesTest, IsBounded) {
  ScalarCurves curves;
  for (int i = 0; i < 200; ++i) curves.AddNext({"x" + std::to_string(i), Source::kSummary, ""}, {1, 1, 1});
  for (int i = 0; i < 5000; ++i) curves.AddNext({"x0", Source::kSummary, ""}, {2.0 + i, i, 1});
  const Json all = curves.ToJson(0);
  EXPECT_EQ(all.size(), ScalarCurves::kMaxCurves);
  EXPECT_EQ(all[0]["count"], 5001);
  EXPECT_LE(all[0]["points"].size(), ScalarCurves::kMaxPoints);
}

TEST(EvaluationMessageTest, ThereAndBack) {
  const std::string message =
      EvaluationMessage({{"eval", "accuracy", 0.5, 1000}, {"eval", "\xff\"", std::nan(""), -1}});
  const StatusOr<std::vector<EvaluationResult>> results = ParseEvaluationMessage(message);
  ASSERT_TRUE(results.ok()) << results.status();
  ASSERT_EQ(results->size(), 2u);
  EXPECT_EQ((*results)[0].run, "eval");
  EXPECT_EQ((*results)[0].tag, "accuracy");
  EXPECT_EQ((*results)[0].value, 0.5);
  EXPECT_EQ((*results)[0].step, 1000);
  EXPECT_TRUE(std::isnan((*results)[1].value));
  EXPECT_EQ((*results)[1].step, -1);
  for (const char* bad :
       {"", "since=1", "evaluation=", "evaluation=7", "evaluation=[1]", "evaluation=[{}]", "evaluation=[{\"tag\":1}]"})
    EXPECT_FALSE(ParseEvaluationMessage(bad).ok()) << bad;
}

}  // namespace
}  // namespace millstream
