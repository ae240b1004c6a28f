// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/layers/rnn.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "millstream/graph/gradients/gradient.h"
#include "millstream/train/optimizers/adam.h"
#include "millstream/train/testing/steps.h"
#include "millstream/train/variables/variables.h"

namespace millstream::rnn {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::Pointwise;

// Inputs, weights and what comes out are those of the Python twin.
class RnnTest : public ::testing::Test {
 protected:
  RnnTest() {
    std::vector<float> values;
    for (int i = 0; i < 12; ++i) values.push_back(static_cast<float>(i % 5) / 5 - 0.3f);
    x = s.Op("Reshape", {s.Const(Tensor::Vector(values)), s.Constant({2, 3, 2})});
  }

  // All variables count up from -0.3 to 0.3.
  VariableScope Root() const { return VariableScope(s).WithInitializer(Counting()); }
  static Initializer Counting() {
    return [](const Scope& at, DType dtype, const Shape& shape) {
      Tensor value(dtype, shape);
      for (int64_t i = 0; i < shape.num_elements(); ++i) {
        value.flat<float>()[static_cast<size_t>(i)] = static_cast<float>(i % 7) / 10 - 0.3f;
      }
      return at.Const(value);
    };
  }
  static CellOptions All() { return {.bias_initializer = Counting()}; }

  void Check(const Result& result, const std::vector<float>& outputs, const std::vector<std::vector<float>>& states,
             const std::vector<float>& first_gradients, float sum_of_gradients) {
    ASSERT_TRUE(s.ok()) << s.status();
    EXPECT_EQ(s.ShapeOf(result.outputs), PartialShape({2, 3, 2}));
    std::vector<Grad> grads;
    const Output loss = s.Op("Sum", {s.Op("Square", {result.outputs}), s.Constant({0, 1, 2})});
    const Status status = AddSymbolicGradients(s, {loss}, {s.Collection("trainable_variables")[0]}, {}, &grads);
    ASSERT_TRUE(status.ok()) << status;
    Node* init = GlobalVariablesInitializer(s);
    const auto session = SessionOf(s, init);
    EXPECT_THAT(FloatsOf(*session, result.outputs), Pointwise(FloatNear(1e-5f), outputs));
    ASSERT_EQ(result.state.size(), states.size());
    for (size_t i = 0; i < states.size(); ++i) {
      EXPECT_THAT(FloatsOf(*session, result.state[i]), Pointwise(FloatNear(1e-5f), states[i])) << i;
    }
    const std::vector<float> gradient = FloatsOf(*session, grads[0].dense);
    EXPECT_THAT(std::vector<float>(gradient.begin(), gradient.begin() + 4),
                Pointwise(FloatNear(1e-5f), first_gradients));
    float sum = 0;
    for (const float g : gradient) sum += g;
    EXPECT_NEAR(sum, sum_of_gradients, 1e-4f);
  }

  std::vector<std::string> VariableNames() const {
    std::vector<std::string> names;
    for (const Output& v : s.Collection("variables")) names.push_back(v.node->name());
    return names;
  }

  const Scope s = Scope::Root();
  Output x;
};

TEST_F(RnnTest, BasicRnn) {
  BasicRnnCell cell(2, All());
  Check(DynamicRnn(cell, Root(), x),
        {-0.197375f, -0.139092f, -0.398164f, -0.21437f, -0.480879f, -0.305271f, -0.272905f, -0.178081f, -0.478251f,
         -0.255377f, -0.313515f, -0.15771f},
        {{-0.480879f, -0.305271f, -0.313515f, -0.15771f}}, {-0.298615f, -0.239198f, -0.397293f, -0.221304f}, 1.33099f);
  EXPECT_THAT(VariableNames(), ElementsAre("rnn/basic_rnn_cell/kernel", "rnn/basic_rnn_cell/bias"));
}

TEST_F(RnnTest, Gru) {
  GruCell cell(2, All());
  Check(DynamicRnn(cell, Root(), x),
        {-0.103618f, -0.0685031f, -0.230443f, -0.145443f, -0.334011f, -0.214916f, -0.140545f, -0.090376f, -0.281214f,
         -0.177991f, -0.256321f, -0.159433f},
        {{-0.334011f, -0.214916f, -0.256321f, -0.159433f}}, {0.00179881f, 0.000408796f, -0.026011f, -0.0113486f},
        -0.0469624f);
  EXPECT_THAT(VariableNames(), ElementsAre("rnn/gru_cell/gates/kernel", "rnn/gru_cell/gates/bias",
                                           "rnn/gru_cell/candidate/kernel", "rnn/gru_cell/candidate/bias"));
}

TEST_F(RnnTest, BasicLstm) {
  BasicLstmCell cell(2, 1, All());
  Check(DynamicRnn(cell, Root(), x),
        {-0.0176997f, -0.00211622f, -0.0387717f, 0.00307817f, -0.0714187f, -0.00406984f, -0.0214918f, 0.00193725f,
         -0.0444919f, 0.00882884f, -0.0512954f, 0.00449608f},
        {{-0.11321f, -0.010058f, -0.0915788f, 0.00990916f}, {-0.0714187f, -0.00406984f, -0.0512954f, 0.00449608f}},
        {0.00171548f, 3.62794e-05f, -0.00605296f, 0.000585718f}, -0.011837f);
}

TEST_F(RnnTest, LstmWithPeepholesAndProjection) {
  LstmCell cell(3, {.use_peepholes = true, .cell_clip = 0.2, .num_proj = 2, .proj_clip = 0.05}, All());
  Check(DynamicRnn(cell, Root(), x),
        {0.000389944f, 0.00618743f, 0.00699135f, 0.0166319f, 0.00375279f, 0.0204528f, 0.003741f, 0.00947409f,
         0.0120465f, 0.0215176f, 0.009406f, 0.0215971f},
        {{0.00900069f, 0.110177f, 0.2f, -0.026152f, 0.0791378f, 0.186631f},
         {0.00375279f, 0.0204528f, 0.009406f, 0.0215971f}},
        {8.21265e-05f, -8.39603e-06f, 5.54835e-05f, -0.00029801f}, -0.000956137f);
  EXPECT_THAT(VariableNames(),
              ElementsAre("rnn/lstm_cell/kernel", "rnn/lstm_cell/bias", "rnn/lstm_cell/w_f_diag",
                          "rnn/lstm_cell/w_i_diag", "rnn/lstm_cell/w_o_diag", "rnn/lstm_cell/projection/kernel"));
}

// Of different lengths: outputs beyond them are 0, states stay.
TEST_F(RnnTest, MultiWithLengths) {
  MultiRnnCell cell({std::make_shared<BasicLstmCell>(2, 1, All()), std::make_shared<GruCell>(2, All())});
  Check(DynamicRnn(cell, Root(), x, {.sequence_length = s.Const(Tensor::Vector<int64_t>({3, 1}))}),
        {-0.150195f, -0.0969547f, -0.226954f, -0.143303f, -0.263381f, -0.163604f, -0.149729f, -0.0966486f, 0, 0, 0, 0},
        {{-0.11321f, -0.010058f, -0.0384167f, 0.00452627f},
         {-0.0714187f, -0.00406984f, -0.0214918f, 0.00193725f},
         {-0.263381f, -0.163604f, -0.149729f, -0.0966486f}},
        {-0.00050716f, -3.36114e-06f, -0.00867507f, -0.00213f}, -0.0132934f);
  EXPECT_THAT(
      VariableNames(),
      ElementsAre("rnn/multi_rnn_cell/cell_0/basic_lstm_cell/kernel", "rnn/multi_rnn_cell/cell_0/basic_lstm_cell/bias",
                  "rnn/multi_rnn_cell/cell_1/gru_cell/gates/kernel", "rnn/multi_rnn_cell/cell_1/gru_cell/gates/bias",
                  "rnn/multi_rnn_cell/cell_1/gru_cell/candidate/kernel",
                  "rnn/multi_rnn_cell/cell_1/gru_cell/candidate/bias"));
}

TEST_F(RnnTest, Bidirectional) {
  BasicRnnCell fw(2, All()), bw(2, All());
  const BidirectionalResult r =
      BidirectionalDynamicRnn(fw, bw, Root(), x, {.sequence_length = s.Const(Tensor::Vector<int32_t>({2, 3}))});
  ASSERT_TRUE(s.ok()) << s.status();
  Node* init = GlobalVariablesInitializer(s);
  const auto session = SessionOf(s, init);
  EXPECT_THAT(FloatsOf(*session, r.backward.outputs),
              Pointwise(FloatNear(1e-5f), {-0.290834f, -0.143098f, -0.345214f, -0.216518f, 0.0f, 0.0f, -0.381645f,
                                           -0.194488f, -0.463269f, -0.252187f, -0.197375f, -0.139092f}));
  EXPECT_THAT(FloatsOf(*session, r.forward.state[0]),
              Pointwise(FloatNear(1e-5f), {-0.398164f, -0.21437f, -0.313515f, -0.15771f}));
  EXPECT_EQ(VariableNames()[2], "bidirectional_rnn/bw/basic_rnn_cell/kernel");
}

TEST_F(RnnTest, StaticIsTheSame) {
  const Output lengths = s.Const(Tensor::Vector<int32_t>({3, 2}));
  Node* times = s.Add("Unpack", {x}, {{"num", int64_t{3}}, {"axis", int64_t{1}}});
  BasicLstmCell cell(2, 1, All());
  const Result dynamic = DynamicRnn(cell, Root(), x, {.sequence_length = lengths});
  const StaticResult fixed =
      StaticRnn(cell, Root(), {Output(times, 0), Output(times, 1), Output(times, 2)}, {.sequence_length = lengths});
  ASSERT_TRUE(s.ok()) << s.status();
  EXPECT_EQ(VariableNames().size(), 2u);  // a cell has its variables once
  const Output stacked = s.Op("Pack", fixed.outputs, {{"axis", int64_t{1}}});
  Node* init = GlobalVariablesInitializer(s);
  const auto session = SessionOf(s, init);
  EXPECT_THAT(FloatsOf(*session, stacked), Pointwise(FloatNear(1e-6f), FloatsOf(*session, dynamic.outputs)));
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(FloatsOf(*session, fixed.state[i]), Pointwise(FloatNear(1e-6f), FloatsOf(*session, dynamic.state[i])));
  }
}

TEST_F(RnnTest, UnknownBatchAndTimeTrain) {
  const Output fed = s.Op("Placeholder", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape({-1, -1, 3})}});
  const auto dropped = std::make_shared<DropoutWrapper>(std::make_shared<LstmCell>(4),
                                                        DropoutOptions{.output_keep_prob = 0.9, .seed = 7});
  MultiRnnCell cell({dropped, std::make_shared<GruCell>(3)});
  const Result r = DynamicRnn(cell, VariableScope(s), fed);
  EXPECT_EQ(s.ShapeOf(r.outputs), PartialShape({-1, -1, 3}));
  const Output error = s.Op("SquaredDifference", {r.outputs, fed});
  const Output loss = s.Op("Mean", {error, s.Constant({0, 1, 2})});
  Node* train = AdamOptimizer(0.05).Minimize(s, loss);
  Node* init = GlobalVariablesInitializer(s);
  const auto session = SessionOf(s, init);
  Tensor batch(DType::kFloat, Shape({4, 6, 3}));
  for (int64_t i = 0; i < batch.shape().num_elements(); ++i) {
    batch.flat<float>()[static_cast<size_t>(i)] = i % 2 == 0 ? 0.5f : -0.5f;
  }
  const Session::Feeds feeds = {{fed.name(), batch}};
  const float before = ValueOf(*session, loss, feeds).scalar<float>();
  for (int step = 0; step < 60; ++step) RunStep(*session, {}, {train}, feeds);
  EXPECT_LT(ValueOf(*session, loss, feeds).scalar<float>(), before / 2);
}

TEST_F(RnnTest, DropoutByNumberAndByTensor) {
  const Output ones = s.Op("Fill", {s.Constant({1, 1000}), s.Const(1.0f)});
  class Echo final : public Cell {
   public:
    std::vector<int64_t> state_sizes() const override { return {1}; }
    int64_t output_size() const override { return 1000; }

   private:
    Step Call(const VariableScope&, Output in, const State& state) override { return {in, state}; }
  };
  const Output keep = s.Op("Placeholder", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape(Shape())}});
  const State state = {s.Op("Fill", {s.Constant({1, 1}), s.Const(1.0f)})};
  DropoutWrapper by_number(std::make_shared<Echo>(), {.input_keep_prob = 0.5});
  DropoutWrapper by_tensor(std::make_shared<Echo>(), {.output_keep_prob = keep});
  const Output a = by_number(VariableScope(s), ones, state).output, b = by_tensor(VariableScope(s), ones, state).output;
  const auto session = SessionOf(s);
  const auto zeros = [](const Tensor& t) { return std::count(t.flat<float>().begin(), t.flat<float>().end(), 0.0f); };
  const auto halves = RunStep(*session, {a, b}, {}, {{keep.name(), Tensor::Scalar(0.5f)}});
  for (const Tensor& half : halves) EXPECT_TRUE(zeros(half) > 400 && zeros(half) < 600) << zeros(half);
  const Tensor whole = ValueOf(*session, b, {{keep.name(), Tensor::Scalar(1.0f)}});
  EXPECT_THAT(std::vector<float>(whole.flat<float>().begin(), whole.flat<float>().end()), Each(1.0f));
}

TEST_F(RnnTest, RefusesWhatDoesNotFit) {
  const auto fails = [](const std::function<void(const Scope&, Cell&)>& build) {
    const Scope at = Scope::Root();
    BasicLstmCell cell(2);
    build(at, cell);
    return at.status().code() == absl::StatusCode::kInvalidArgument;
  };
  const auto fed = [](const Scope& at, const PartialShape& shape) {
    return at.Op("Placeholder", {}, {{"dtype", DType::kFloat}, {"shape", shape}});
  };
  EXPECT_TRUE(fails([&](const Scope& at, Cell& c) {
    DynamicRnn(c, VariableScope(at), fed(at, PartialShape({2, 3})));
  }));
  EXPECT_TRUE(fails([&](const Scope& at, Cell& c) {
    DynamicRnn(c, VariableScope(at), fed(at, PartialShape({2, 3, -1})));
  }));
  EXPECT_TRUE(fails([&](const Scope& at, Cell& c) { StaticRnn(c, VariableScope(at), {}); }));
  EXPECT_TRUE(fails([&](const Scope& at, Cell& c) {
    c(VariableScope(at), fed(at, PartialShape({2, 3})), {fed(at, PartialShape({2, 2}))});
  }));
  EXPECT_TRUE(fails([&](const Scope& at, Cell& c) {
    DynamicRnn(c, VariableScope(at), fed(at, PartialShape({2, 3, 1})),
               {.sequence_length = at.Const(Tensor::Of<int32_t>(Shape({2, 1}), {1, 2}))});
  }));
}

}  // namespace
}  // namespace millstream::rnn
