// SPDX-License-Identifier: Apache-2.0
#include "millstream/runtime/sessions/step_register.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>

namespace millstream {
namespace {

struct NumberedStep : RegisteredStep {
  explicit NumberedStep(int value) : number(value) {}
  const int number;
};
using NumberedSteps = StepRegister<NumberedStep>;

std::set<int> Numbers(const NumberedSteps& steps) {
  std::set<int> numbers;
  steps.ForEach([&](const NumberedStep& step) { numbers.insert(step.number); });
  return numbers;
}

TEST(StepRegisterTest, KeepsThoseThatHaveNotLeft) {
  NumberedSteps steps;
  NumberedStep a(1), b(2), c(3);
  for (NumberedStep* step : {&a, &b, &c}) ASSERT_TRUE(steps.Enter(step).ok());
  EXPECT_EQ(Numbers(steps), (std::set<int>{1, 2, 3}));
  steps.Leave(&a);
  EXPECT_EQ(Numbers(steps), (std::set<int>{2, 3}));
  ASSERT_TRUE(steps.Enter(&a).ok());
  steps.Leave(&c);
  steps.Leave(&a);
  EXPECT_EQ(Numbers(steps), std::set<int>{2});
  steps.Leave(&b);
  EXPECT_EQ(steps.size(), 0u);
}

TEST(StepRegisterTest, RefusesMoreThanItMayHold) {
  NumberedSteps steps(2);
  NumberedStep a(1), b(2), c(3);
  ASSERT_TRUE(steps.Enter(&a).ok());
  ASSERT_TRUE(steps.Enter(&b).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(steps.Enter(&c)));
  EXPECT_EQ(steps.size(), 2u);
  steps.Leave(&a);
  EXPECT_TRUE(steps.Enter(&c).ok());
  steps.Leave(&b);
  steps.Leave(&c);
}

TEST(StepRegisterTest, RefusesAfterCloseWithTheFirstReason) {
  NumberedSteps steps;
  NumberedStep a(1), b(2);
  ASSERT_TRUE(steps.Enter(&a).ok());
  EXPECT_TRUE(steps.closed().ok());
  steps.Close(errors::Aborted("first"));
  steps.Close(errors::Cancelled("second"));
  EXPECT_EQ(steps.Enter(&b), errors::Aborted("first"));
  EXPECT_EQ(steps.closed(), errors::Aborted("first"));
  EXPECT_EQ(Numbers(steps), std::set<int>{1});
  steps.Leave(&a);
  steps.AwaitNone();
}

TEST(StepRegisterTest, AwaitsTheLastOfManyThreads) {
  NumberedSteps steps;
  std::atomic<int> inside{0}, entered{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      while (true) {
        NumberedStep step(0);
        if (!steps.Enter(&step).ok()) return;
        ++inside;
        ++entered;
        --inside;
        steps.Leave(&step);
      }
    });
  }
  while (entered < 1000) std::this_thread::yield();
  steps.Close(errors::Cancelled("enough"));
  steps.AwaitNone();
  EXPECT_EQ(inside, 0);
  EXPECT_EQ(steps.size(), 0u);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace millstream
