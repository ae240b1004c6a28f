// SPDX-License-Identifier: Apache-2.0
// Trajectories and names of TensorFlow 2.21, stored for the Python package's test of the same optimizers.
#include "millstream/train/optimizers/optimizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "millstream/train/optimizers/adadelta.h"
#include "millstream/train/optimizers/adagrad.h"
#include "millstream/train/optimizers/adagrad_da.h"
#include "millstream/train/optimizers/adam.h"
#include "millstream/train/optimizers/ftrl.h"
#include "millstream/train/optimizers/gradient_descent.h"
#include "millstream/train/optimizers/momentum.h"
#include "millstream/train/optimizers/proximal_adagrad.h"
#include "millstream/train/optimizers/proximal_gradient_descent.h"
#include "millstream/train/optimizers/rms_prop.h"
#include "millstream/train/testing/goldens.h"
#include "millstream/train/testing/steps.h"
#include "millstream/train/variables/global_step.h"

namespace millstream {
namespace {

using Json = nlohmann::json;

template <typename T>
Tensor GoldenInput(const char* name, const Shape& shape) {
  return Tensor::Vector(OptimizerGoldens()["inputs"][name].get<std::vector<T>>()).Reshaped(shape);
}

double Sum(const Tensor& t) {
  double sum = 0;
  if (t.dtype() == DType::kInt64) return static_cast<double>(t.scalar<int64_t>());
  for (float x : t.flat<float>()) sum += x;
  return sum;
}

struct OptimizerCase {
  const char* golden;
  std::function<std::unique_ptr<Optimizer>(const GraphVariable& step)> make;
};
template <typename T, typename... Args>
OptimizerCase Case(const char* golden, Args... args) {
  return {golden, [=](const GraphVariable&) { return std::make_unique<T>(args...); }};
}

std::vector<OptimizerCase> Cases() {
  return {
      Case<GradientDescentOptimizer>("gd", 0.1),
      Case<MomentumOptimizer>("mom", 0.1, 0.9),
      Case<MomentumOptimizer>("nes", 0.1, 0.9, MomentumOptimizer::Options{.use_nesterov = true}),
      Case<AdagradOptimizer>("adagrad", 0.1),
      {"da",
       [](const GraphVariable& step) {
         return std::make_unique<AdagradDAOptimizer>(
             0.1, step,
             AdagradDAOptimizer::Options{.l1_regularization_strength = 0.01, .l2_regularization_strength = 0.01});
       }},
      Case<AdadeltaOptimizer>("adadelta", 0.5),
      Case<RMSPropOptimizer>("rms", 0.01, RMSPropOptimizer::Options{.momentum = 0.5}),
      Case<RMSPropOptimizer>("rmsc", 0.01, RMSPropOptimizer::Options{.centered = true}),
      Case<AdamOptimizer>("adam", 0.05),
      Case<FtrlOptimizer>(
          "ftrl", 0.1, FtrlOptimizer::Options{.l1_regularization_strength = 0.01, .l2_regularization_strength = 0.02}),
      Case<FtrlOptimizer>("ftrlv2", 0.1, FtrlOptimizer::Options{.l2_shrinkage_regularization_strength = 0.1}),
      Case<ProximalGradientDescentOptimizer>(
          "pgd", 0.1,
          ProximalGradientDescentOptimizer::Options{.l1_regularization_strength = 0.01,
                                                    .l2_regularization_strength = 0.01}),
      Case<ProximalAdagradOptimizer>(
          "pada", 0.1,
          ProximalAdagradOptimizer::Options{.l1_regularization_strength = 0.01, .l2_regularization_strength = 0.01}),
  };
}

class TrajectoryTest : public ::testing::TestWithParam<std::tuple<OptimizerCase, bool>> {};
INSTANTIATE_TEST_SUITE_P(Optimizers, TrajectoryTest,
                         ::testing::Combine(::testing::ValuesIn(Cases()), ::testing::Bool()), [](const auto& test) {
                           return std::string(std::get<0>(test.param).golden) +
                                  (std::get<1>(test.param) ? "_resource" : "_ref");
                         });

// Five steps on a product (dense gradient) of gathered rows (sparse gradient with repeated rows).
TEST_P(TrajectoryTest, IsTensorFlows) {
  const auto& [optimizer_case, resource] = GetParam();
  Scope s = Scope::Root();
  const VariableScope variables(s);
  const GraphVariable step = GetOrCreateGlobalStep(variables);
  const GraphVariable w =
      variables.Get("w", Shape({4, 3}),
                    {.initializer = ValueInitializer(GoldenInput<float>("w", Shape({4, 3}))), .resource = resource});
  const GraphVariable e =
      variables.Get("e", Shape({6, 4}),
                    {.initializer = ValueInitializer(GoldenInput<float>("e", Shape({6, 4}))), .resource = resource});
  const Output x = s.Const(GoldenInput<int32_t>("x", Shape({8})));
  const Output rows = resource ? s.Op("ResourceGather", {e.handle, x}, {{"dtype", DType::kFloat}})
                               : s.Op("GatherV2", {e.handle, x, s.Const<int32_t>(0)});
  const Output difference =
      s.Op("Sub", {s.Op("MatMul", {rows, w.value}), s.Const(GoldenInput<float>("y", Shape({8, 3})))});
  const Output loss = s.Op("Mean", {s.Op("Square", {difference}), s.Constant({0, 1})});
  const std::unique_ptr<Optimizer> optimizer = optimizer_case.make(step);
  Node* train = optimizer->Minimize(s, loss, step);
  Node* init = GlobalVariablesInitializer(s);
  ASSERT_NE(train, nullptr) << s.status();
  const std::unique_ptr<Session> session = SessionOf(s, init);
  EXPECT_EQ(train->name(), optimizer->name());

  const Json& golden = OptimizerGoldens()[std::string(optimizer_case.golden) + (resource ? "_True" : "_False")];
  for (const Json& expected : golden["loss"]) {
    const float now = RunStep(*session, {loss}, {train})[0].scalar<float>();
    EXPECT_NEAR(now, expected.get<double>(), 2e-6 + 2e-6 * expected.get<double>());
  }
  std::vector<std::string> expected_names, names;
  for (const auto& [name, sum] : golden["sums"].items()) {
    expected_names.push_back(name);
    const GraphVariable v = FindVariable(s, Output(s.graph()->Find(name)));
    if (!v) continue;
    EXPECT_NEAR(Sum(ValueOf(*session, v.value)), sum.get<double>(), 1e-4 + 1e-4 * std::abs(sum.get<double>())) << name;
  }
  for (const Output& v : s.Collection("variables")) names.push_back(v.node->name());
  EXPECT_THAT(names, ::testing::UnorderedElementsAreArray(expected_names));
  EXPECT_THAT(optimizer->Variables(), ::testing::SizeIs(names.size() - 3));
}

TEST(OptimizerTest, NamesOfNodesAreTensorFlows) {
  Scope s = Scope::Root();
  const VariableScope layer = VariableScope(s).Enter("layer");
  const GraphVariable w = layer.Get("w", Shape({2}), {.initializer = OnesInitializer()});
  const GraphVariable step = GetOrCreateGlobalStep(layer);
  GradientDescentOptimizer optimizer(0.1);
  Node* train = optimizer.Minimize(s, s.Op("Sum", {s.Op("Square", {w.value}), s.Constant({0})}), step);
  ASSERT_TRUE(s.ok()) << s.status();
  EXPECT_EQ(step.handle.node->name(), "global_step");
  EXPECT_TRUE(train->Is("AssignAdd"));
  for (const char* name : {"GradientDescent/learning_rate", "GradientDescent/update_layer/w/ApplyGradientDescent",
                           "GradientDescent/update", "GradientDescent/value", "layer/w/Initializer/ones"}) {
    EXPECT_NE(s.graph()->Find(name), nullptr) << name;
  }
  EXPECT_THAT(s.Collection("train_op"), ::testing::ElementsAre(Output(train)));
  EXPECT_EQ(s.Collection("trainable_variables").size(), 1u);
}

// Each gradient is held back until all are there; the step gives the same values.
TEST(OptimizerTest, GatesGradients) {
  for (const GateGradients gate : {GateGradients::kNone, GateGradients::kOp, GateGradients::kGraph}) {
    Scope s = Scope::Root();
    const VariableScope variables(s);
    const GraphVariable w = variables.Get("w", Shape({2}), {.initializer = OnesInitializer()});
    const GraphVariable b = variables.Get("b", Shape({2}), {.initializer = OnesInitializer()});
    variables.Get("unused", Shape({2}));
    const Output loss = s.Op("Sum", {s.Op("Mul", {w.value, b.value}), s.Constant({0})});
    GradientDescentOptimizer optimizer(0.5);
    const auto gradients = optimizer.ComputeGradients(s, loss, {.gate = gate});
    ASSERT_EQ(gradients.size(), 3u);
    EXPECT_TRUE(gradients[2].gradient.IsNone());
    EXPECT_EQ(gradients[0].gradient.dense.node->name() == "tuple/control_dependency", gate == GateGradients::kGraph);
    Node* train = optimizer.ApplyGradients(s, gradients);
    Node* init = GlobalVariablesInitializer(s);
    const std::unique_ptr<Session> session = SessionOf(s, init);
    RunStep(*session, {}, {train});
    EXPECT_EQ(Sum(ValueOf(*session, w.value)), 1.0);
  }
}

TEST(OptimizerTest, UpdatesGoBesideTheirVariables) {
  Scope s = Scope::Root();
  const VariableScope variables = VariableScope(s).WithDeviceFunction([next = 0](const Node& node) mutable {
    if (!node.device().empty()) return std::string(node.device());
    return node.Is("VariableV2") ? absl::StrCat("/job:ps/task:", next++ % 2) : std::string("/job:worker/task:3");
  });
  const GraphVariable w = variables.Get("w", Shape({2})), b = variables.Get("b", Shape({2}));
  const GraphVariable step = GetOrCreateGlobalStep(variables);
  const Scope& worker = variables.scope();
  AdamOptimizer optimizer;
  Node* train =
      optimizer.Minimize(worker, worker.Op("Sum", {worker.Op("Mul", {w.value, b.value}), worker.Constant({0})}), step);
  ASSERT_TRUE(s.ok()) << s.status();
  const auto device = [&s](const char* node) { return std::string(s.graph()->Find(node)->device()); };
  EXPECT_EQ(device("w"), "/job:ps/task:0");
  EXPECT_EQ(device("b"), "/job:ps/task:1");
  EXPECT_EQ(device("w/Initializer/random_uniform"), "");  // colocated with "w" by name
  EXPECT_EQ(device("w/Adam_1"), "/job:ps/task:0");
  EXPECT_EQ(device("beta2_power"), "/job:ps/task:1");
  EXPECT_EQ(device("Adam/update_b/ApplyAdam"), "/job:ps/task:1");
  EXPECT_EQ(device("Adam/learning_rate"), "/job:worker/task:3");
  EXPECT_EQ(device("Adam/update/NoOp"), "/job:ps/task:0");
  EXPECT_EQ(train->device(), "/job:ps/task:0");
}

TEST(OptimizerTest, RefusesWhatMakesNoSense) {
  const auto error = [](const std::function<void(const Scope&, Optimizer&, const GraphVariable&)>& then) {
    Scope s = Scope::Root();
    GradientDescentOptimizer optimizer(0.1);
    then(s, optimizer, VariableScope(s).Get("w", Shape({2})));
    EXPECT_EQ(s.status().code(), absl::StatusCode::kInvalidArgument) << s.status();
    return std::string(s.status().message());
  };
  using ::testing::HasSubstr;
  EXPECT_THAT(error([](const Scope& s, Optimizer& o, const auto&) { o.Minimize(s, s.Const(1.0f)); }),
              HasSubstr("No gradients provided"));
  EXPECT_THAT(error([](const Scope& s, Optimizer& o, const auto&) { o.Minimize(s, s.Const<int32_t>(1)); }),
              HasSubstr("Invalid type int32"));
  EXPECT_THAT(error([](const Scope& s, Optimizer& o, const auto&) { o.Minimize(s, Output()); }), HasSubstr("no loss"));
  EXPECT_THAT(error([](const Scope& s, Optimizer& o, const auto&) { o.ApplyGradients(s, {}); }),
              HasSubstr("No variables provided"));
  EXPECT_THAT(error([](const Scope& s, Optimizer& o, const auto& w) {
                o.ApplyGradients(s, {{Grad(), w}});
              }),
              HasSubstr("w"));
}

}  // namespace
}  // namespace millstream
