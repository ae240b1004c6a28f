// SPDX-License-Identifier: Apache-2.0
#include "millstream/runtime/sessions/partial_run.h"

#include <gtest/gtest.h>

namespace millstream {
namespace {

std::shared_ptr<PartialStep> StepThatDidNotStart() {
  return std::make_shared<PartialStep>(std::vector<std::string>{}, std::vector<std::string>{"x:0"},
                                       std::vector<std::vector<bool>>(1));
}

TEST(PartialStepsTest, RefusesStepsAfterClose) {
  PartialSteps steps;
  EXPECT_EQ(steps.Add(StepThatDidNotStart()).value(), "partial_0");
  const std::shared_ptr<PartialStep> late = StepThatDidNotStart();
  steps.Close(errors::Cancelled("Session has been closed."));
  EXPECT_EQ(steps.Add(late).status(), errors::Cancelled("Session has been closed."));
  EXPECT_EQ(late.use_count(), 1);
}

TEST(PartialStepsTest, TakesStepsAfterGiveUp) {
  PartialSteps steps;
  steps.GiveUp();
  EXPECT_TRUE(steps.Add(StepThatDidNotStart()).ok());
}

}  // namespace
}  // namespace millstream
