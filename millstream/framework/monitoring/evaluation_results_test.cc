// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/monitoring/evaluation_results.h"

#include <gtest/gtest.h>

#include <vector>

namespace millstream {
namespace {

TEST(EvaluationResultsTest, RunsAreNamedByFoldersOfEvaluations) {
  for (const char* name :
       {"eval", "eval_holdout", "eval-2", "test", "Test.1", "val", "valid", "validation", "testing", "evaluation"})
    EXPECT_EQ(EvaluationResults::RunOf(std::string("/logs/mnist/") + name), name);
  EXPECT_EQ(EvaluationResults::RunOf("eval"), "eval");
  EXPECT_EQ(EvaluationResults::RunOf("/logs/eval//"), "eval");
  for (const char* name : {"train", "mnist", "value_net", "tested", "evaluator", "my_test", "", "/", "/eval/train"})
    EXPECT_EQ(EvaluationResults::RunOf(name), "") << name;
}

TEST(EvaluationResultsTest, ListenersHearUntilTheyAreRemoved) {
  EvaluationResults results;
  std::vector<double> first, second;
  results.Report({"eval", "loss", 1});  // nobody listens
  const int one = results.AddListener([&](const EvaluationResult& r) { first.push_back(r.value); });
  const int two = results.AddListener([&](const EvaluationResult& r) { second.push_back(r.value); });
  results.Report({"eval", "loss", 2, 10});
  results.RemoveListener(one);
  results.RemoveListener(one);
  results.Report({"eval", "loss", 3, 20});
  results.RemoveListener(two);
  results.Report({"eval", "loss", 4, 30});
  EXPECT_EQ(first, std::vector<double>({2}));
  EXPECT_EQ(second, std::vector<double>({2, 3}));
}

}  // namespace
}  // namespace millstream
