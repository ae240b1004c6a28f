// SPDX-License-Identifier: Apache-2.0
// On which threads the nodes of a step run.
#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "millstream/framework/op.h"
#include "millstream/graph/control_flow/control_flow_builders.h"
#include "millstream/runtime/session.h"

namespace millstream {
namespace {

int64_t ThisThread() { return static_cast<int64_t>(std::hash<std::thread::id>()(std::this_thread::get_id())); }

OP("StepThreadsTestThread")
    .Input("x: float")
    .Output("thread: int64")
    .Shape(UnchangedShape)
    .Cpu([](KernelContext& ctx) -> Status {
      ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, ctx.input(0).shape()));
      std::fill_n(out->data<int64_t>(), out->num_elements(), ThisThread());
      return OkStatus();
    })
    .Expensive()  // the kernel above
    .Doc("The thread that runs its kernel.");

SessionOptions TwoThreads() {
  SessionOptions options;
  options.inter_op_threads = 2;
  options.intra_op_threads = 2;
  options.rewrite = RewriteOptions::None();
  return options;
}

// Fetches the threads of ten expensive nodes that become ready together, all after `x`.
void ExpectAllOnThisThread(Scope& s, const Output& x, const std::vector<std::string>& targets) {
  std::vector<std::string> fetches;
  for (int i = 0; i < 10; ++i) {
    const std::string name = "thread" + std::to_string(i);
    s.WithOpName(name).Op("StepThreadsTestThread", {x});
    fetches.push_back(name + ":0");
  }
  ASSERT_TRUE(s.ok()) << s.status();
  auto session = NewSession(TwoThreads());
  ASSERT_TRUE(session.ok()) << session.status();
  ASSERT_TRUE((*session)->Extend(*s.graph()).ok());
  for (int round = 0; round < 20; ++round) {
    std::vector<Tensor> threads;
    const Status run = (*session)->Run({{"p:0", Tensor::Scalar(1.0f)}}, fetches, targets, &threads);
    ASSERT_TRUE(run.ok()) << run;
    for (const Tensor& thread : threads) EXPECT_EQ(thread.data<int64_t>()[0], ThisThread());
  }
}

// The worker then helps each kernel. Were a node handed to it, it would go on alone with all that follows, while the
// caller waits.
TEST(StepThreadsTest, StepsWithBranchesStayOnTheCallingThreadOfTwo) {
  Scope s = Scope::Root();
  const Output p = s.WithOpName("p").Op("Placeholder", {}, {{"dtype", DType::kFloat}});
  const std::vector<Output> x = Cond(
      s, s.Op("Less", {p, s.Const(2.0f)}), [&](const Scope& c) { return std::vector<Output>{c.Op("Neg", {p})}; },
      [&](const Scope& c) { return std::vector<Output>{c.Op("Identity", {p})}; });
  ExpectAllOnThisThread(s, x[0], {});
}

TEST(StepThreadsTest, StepsWithQueuesStayOnTheCallingThreadOfTwo) {
  Scope s = Scope::Root();
  const Output p = s.WithOpName("p").Op("Placeholder", {}, {{"dtype", DType::kFloat}});
  const Output queue = s.Op("FIFOQueueV2", {}, {{"component_types", std::vector<DType>{DType::kFloat}}});
  s.WithOpName("enqueue").Add("QueueEnqueueV2", {queue, p});
  ExpectAllOnThisThread(s, s.Op("Neg", {p}), {"enqueue"});
}

}  // namespace
}  // namespace millstream
