// SPDX-License-Identifier: Apache-2.0
#include "millstream/runtime/sessions/session_runtime.h"

#include <gtest/gtest.h>

#include "millstream/graph/scope.h"
#include "millstream/runtime/executor.h"
#include "millstream/runtime/testing/function_text.h"

namespace millstream {
namespace {

using Placement = SessionRuntime::FunctionPlacement;

constexpr char kTask[] = "/job:localhost/replica:0/task:0";

class SessionRuntimeTest : public ::testing::Test {
 protected:
  std::unique_ptr<SessionRuntime> MakeRuntime(Placement placement = Placement::kAsAsked) {
    SessionRuntime::Environment environment;
    environment.devices = &devices_;
    environment.pool = &pool_;
    environment.resources = &resources_;
    environment.library = library_;
    environment.function_placement = placement;
    return std::make_unique<SessionRuntime>(SessionOptions(), environment);
  }

  // A plan that computes `output`.
  static StatusOr<std::shared_ptr<const Plan>> PlanFor(SessionRuntime& runtime, const Output& output,
                                                       const Scope& scope) {
    RETURN_IF_ERROR(scope.status());
    ASSIGN_OR_RETURN(PrunedGraph pruned, Prune(*scope.graph(), {}, {output}, {}));
    return runtime.PlaceAndCompile(std::move(pruned));
  }

  static StatusOr<float> RunOnce(SessionRuntime& runtime, const std::shared_ptr<const Plan>& plan) {
    ResourceManager step_resources("step");
    Cancellation cancellation;
    StepContext step = runtime.NewStep();
    step.step_resources = &step_resources;
    step.cancellation = &cancellation;
    std::vector<Tensor> results;
    RETURN_IF_ERROR(RunPlan(plan, step, {}, &results));
    return results[0].data<float>()[0];
  }

  ThreadPool pool_{2};
  DeviceSet devices_{kTask, SessionOptions(), 1, &pool_};
  ResourceManager resources_;
  const std::shared_ptr<FunctionLibrary> library_ = std::make_shared<FunctionLibrary>();
};

TEST_F(SessionRuntimeTest, CompilesAndRuns) {
  const auto runtime = MakeRuntime();
  const Scope s = Scope::Root();
  const auto plan = PlanFor(*runtime, s.Op("Mul", {s.Const(3.f), s.Const(4.f)}), s);
  ASSERT_TRUE(plan.ok()) << plan.status();
  const StatusOr<float> value = RunOnce(*runtime, *plan);
  ASSERT_TRUE(value.ok()) << value.status();
  EXPECT_EQ(*value, 12.f);
}

TEST_F(SessionRuntimeTest, RefusesPlacedPartsOnUnknownDevices) {
  const auto runtime = MakeRuntime();
  const Scope s = Scope::Root();
  const Output sum = s.Op("RandomUniform", {s.Const(Tensor::Vector<int32_t>({1}))}, {{"dtype", DType::kFloat}});
  sum.node->set_assigned_device("/job:other/replica:0/task:0/device:CPU:0");
  StatusOr<PrunedGraph> pruned = Prune(*s.graph(), {}, {sum}, {});
  ASSERT_TRUE(pruned.ok());
  const auto plan = runtime->CompilePlaced(*std::move(pruned));
  EXPECT_TRUE(absl::IsInvalidArgument(plan.status())) << plan.status();
}

// Two signatures draw from one generator; another session begins anew.
TEST_F(SessionRuntimeTest, PlansOfOneSessionShareStatefulKernels) {
  const Scope s = Scope::Root();
  const Output random = s.Op("RandomUniform", {s.Const(Tensor::Vector<int32_t>({1}))},
                             {{"dtype", DType::kFloat}, {"seed", 5}, {"seed2", 6}});
  const auto first_two = [&](SessionRuntime& runtime) {
    std::vector<float> values;
    for (int i = 0; i < 2; ++i) {
      const auto plan = PlanFor(runtime, random, s);
      EXPECT_TRUE(plan.ok()) << plan.status();
      values.push_back(*RunOnce(runtime, *plan));
    }
    return values;
  };
  const auto one = MakeRuntime(), other = MakeRuntime();
  const std::vector<float> values = first_two(*one);
  EXPECT_NE(values[0], values[1]);
  EXPECT_EQ(first_two(*other), values);
}

TEST_F(SessionRuntimeTest, PlacesFunctionsAsAskedOrWithTheirCaller) {
  proto::FunctionDefLibrary functions;
  *functions.add_function() = MakeFunction("far", {"x"}, {{"n", "Neg", {"x"}}}, "n:y:0");
  functions.mutable_function(0)->mutable_node_def(0)->set_device("/job:elsewhere/task:0");
  ASSERT_TRUE(library_->AddLibrary(functions).ok());
  const NameAttrList far{"far", {}};
  const auto as_asked = MakeRuntime(Placement::kAsAsked), with_caller = MakeRuntime(Placement::kWithCaller);
  const auto refused = as_asked->NewStep().functions->Instantiate(far);
  EXPECT_TRUE(absl::IsInvalidArgument(refused.status())) << refused.status();
  const auto placed = with_caller->NewStep().functions->Instantiate(far);
  EXPECT_TRUE(placed.ok()) << placed.status();
}

}  // namespace
}  // namespace millstream
