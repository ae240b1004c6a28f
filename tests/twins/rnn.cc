// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/layers/rnn.h"

#include "millstream/millstream.h"
#include "tests/twins/program.h"

namespace millstream::twins {
namespace {

using rnn::BasicLstmCell;
using rnn::Cell;
using rnn::DropoutWrapper;
using rnn::GruCell;
using rnn::LstmCell;
using rnn::MultiRnnCell;
using CellPtr = std::shared_ptr<Cell>;
using MakeCell = std::function<CellPtr()>;
using rnn::Options;

constexpr int64_t kBatch = 2, kTime = 5, kDepth = 3, kUnits = 4;

template <typename T, typename... Args>
MakeCell Make(Args... args) {
  return [=]() -> CellPtr { return std::make_shared<T>(kUnits, args...); };
}

CellPtr MultiOf(std::vector<CellPtr> cells) { return std::make_shared<MultiRnnCell>(std::move(cells)); }

CellPtr Dropped(CellPtr cell, rnn::DropoutOptions options) {
  return std::make_shared<DropoutWrapper>(std::move(cell), std::move(options));
}

CellPtr DroppedGru(int64_t seed) {
  return Dropped(std::make_shared<GruCell>(kUnits), {.output_keep_prob = 0.5, .seed = seed});
}

std::vector<std::pair<std::string, MakeCell>> Cells() {
  const rnn::CellOptions relu = {.activation = layers::Relu, .bias_initializer = ZerosInitializer()};
  const rnn::LstmOptions all = {
      .use_peepholes = true, .cell_clip = 0.5, .num_proj = 2, .proj_clip = 0.25, .forget_bias = 0.5};
  return {
      {"basic_rnn", Make<rnn::BasicRnnCell>()},
      {"gru", Make<GruCell>()},
      {"gru.relu", Make<GruCell>(relu)},
      {"basic_lstm", Make<BasicLstmCell>()},
      {"basic_lstm.forget", Make<BasicLstmCell>(0.5, rnn::CellOptions{.name = "memory"})},
      {"lstm", Make<LstmCell>()},
      {"lstm.peepholes", Make<LstmCell>(rnn::LstmOptions{.use_peepholes = true})},
      {"lstm.clip", Make<LstmCell>(rnn::LstmOptions{.cell_clip = 0.5})},
      {"lstm.projection", Make<LstmCell>(rnn::LstmOptions{.num_proj = 2})},
      {"lstm.all", Make<LstmCell>(all)},
      {"multi",
       [] {
         return MultiOf({std::make_shared<GruCell>(kUnits), std::make_shared<BasicLstmCell>(2)});
       }},
      {"dropout",
       [] {
         return Dropped(std::make_shared<BasicLstmCell>(kUnits),
                        {.input_keep_prob = 0.5, .output_keep_prob = 0.75, .state_keep_prob = 0.875, .seed = 3});
       }},
      {"dropout.multi",
       [] {
         return Dropped(MultiOf({std::make_shared<BasicLstmCell>(kUnits), std::make_shared<GruCell>(2)}),
                        {.state_keep_prob = 0.5, .seed = 4});
       }},
      {"multi.dropout",
       [] {
         return MultiOf({DroppedGru(0), DroppedGru(1)});
       }},
  };
}

MakeCell Find(const std::string& name) {
  for (auto& [cell, make] : Cells()) {
    if (cell == name) return make;
  }
  return nullptr;
}

Output Inputs(const Scope& s, int64_t batch = -1, int64_t time = -1) {
  return Placeholder(s, "x", PartialShape({batch, time, kDepth}));
}

Output Lengths(const Scope& s, int64_t batch = -1, DType dtype = DType::kInt32) {
  return Placeholder(s, "lengths", PartialShape({batch}), dtype);
}

rnn::State InitialState(const Scope& s, const std::string& name = "state") {
  const Output c = Placeholder(s, (name + "_c").c_str(), PartialShape({-1, kUnits}));
  return {c, Placeholder(s, (name + "_h").c_str(), PartialShape({-1, kUnits}))};
}

void Minimize(const Scope& s, Output outputs) { GradientDescentOptimizer(0.1).Minimize(s, L2Loss(s, outputs)); }

Program Dynamic(const std::string& name, const MakeCell& make, bool lengths, int64_t batch = -1, int64_t time = -1,
                const Options& options = {}) {
  return {"dynamic." + name, [=](const Scope& s) {
            const Output x = Inputs(s, batch, time);
            Options own = options;
            if (lengths) own.sequence_length = Lengths(s, batch);
            Minimize(s, rnn::DynamicRnn(*make(), VariableScope(s), x, own).outputs);
          }};
}

Program Static(const std::string& name, const MakeCell& make, bool lengths, int64_t batch = -1) {
  return {"static." + name, [=](const Scope& s) {
            std::vector<Output> x;
            for (int i = 0; i < 3; ++i) {
              x.push_back(Placeholder(s, absl::StrCat("x", i).c_str(), PartialShape({batch, kDepth})));
            }
            Options options;
            if (lengths) options.sequence_length = Lengths(s, batch);
            const rnn::StaticResult result = rnn::StaticRnn(*make(), VariableScope(s), x, options);
            if (s.ok()) Minimize(s, result.outputs.back());
          }};
}

Program DynamicFromState(const std::string& name, bool lengths) {
  return {name, [=](const Scope& s) {
            const Output x = Inputs(s);
            Options options;
            options.initial_state = InitialState(s);
            if (lengths) options.sequence_length = Lengths(s, -1, DType::kInt64);
            BasicLstmCell cell(kUnits);
            const rnn::Result result = rnn::DynamicRnn(cell, VariableScope(s), x, options);
            if (!s.ok()) return;
            Minimize(s, result.outputs);
            s.WithOpName("last").Op("Identity", {result.state[0]});
          }};
}

void StaticFromState(const Scope& s) {
  const Output x = Placeholder(s, "x0", PartialShape({-1, kDepth}));
  BasicLstmCell cell(kUnits);
  const rnn::StaticResult result = rnn::StaticRnn(cell, VariableScope(s), {x}, {.initial_state = InitialState(s)});
  if (s.ok()) Minimize(s, result.outputs[0]);
}

Program Bidirectional(const std::string& name, bool lengths, bool time_major = false, bool from_state = false) {
  return {"bidirectional" + name, [=](const Scope& s) {
            const Output x = Inputs(s);
            Options options;
            options.time_major = time_major;
            if (lengths) options.sequence_length = Lengths(s);
            if (from_state) {
              options.initial_state = InitialState(s, "fw");
              for (const Output& state : InitialState(s, "bw")) options.initial_state.push_back(state);
            }
            BasicLstmCell forward(kUnits), backward(kUnits);
            const rnn::BidirectionalResult both =
                rnn::BidirectionalDynamicRnn(forward, backward, VariableScope(s), x, options);
            Minimize(s, OpNamed(s, "concat", "ConcatV2", {both.forward.outputs, both.backward.outputs, 2}));
          }};
}

void KeepProbFed(const Scope& s) {
  const Output keep = Placeholder(s, "keep", PartialShape(Shape()));
  const Output x = Inputs(s);
  DropoutWrapper cell(std::make_shared<GruCell>(kUnits),
                      {.input_keep_prob = keep, .output_keep_prob = keep, .seed = 5});
  Minimize(s, rnn::DynamicRnn(cell, VariableScope(s), x).outputs);
}

void TwoInScopes(const Scope& s) {
  const VariableScope v(s);
  const Output x = Inputs(s);
  GruCell encoder(kUnits), decoder(kUnits);
  const rnn::Result encoded = rnn::DynamicRnn(encoder, v.Enter("encoder"), x);
  if (!s.ok()) return;
  const rnn::Result decoded =
      rnn::DynamicRnn(decoder, v.Enter("decoder"), encoded.outputs, {.initial_state = encoded.state, .scope = "inner"});
  Minimize(s, decoded.outputs);
}

void AdamOnPs(const Scope& root) {
  const VariableScope v = WithReplicaDevices(root, {.ps_tasks = 2});
  const Scope& s = v.scope();
  const Output x = Inputs(s);
  BasicLstmCell cell(kUnits);
  const Output outputs = rnn::DynamicRnn(cell, v, x, {.sequence_length = Lengths(s)}).outputs;
  const Output loss = L2Loss(s, outputs);
  AdamOptimizer(0.1).Minimize(s, loss, CreateGlobalStep(v));
}

}  // namespace

Programs RnnPrograms() {
  const MakeCell lstm = Find("basic_lstm"), gru = Find("gru");
  Programs programs = {
      Dynamic("known_shape", lstm, false, kBatch, kTime),
      Dynamic("known_shape.lengths", lstm, true, kBatch, kTime),
      Dynamic("known_batch", gru, true, kBatch),
      Dynamic("time_major", gru, false, -1, -1, {.time_major = true}),
      Dynamic("time_major.lengths", gru, true, -1, -1, {.time_major = true}),
      Dynamic("parallel", gru, false, -1, -1, {.parallel_iterations = 4, .swap_memory = true}),
      DynamicFromState("dynamic.initial_state", false),
      DynamicFromState("dynamic.initial_state.lengths", true),
      {"dynamic.two_in_scopes", TwoInScopes},
      {"dynamic.adam_on_ps", AdamOnPs},
      {"dynamic.keep_prob_fed", KeepProbFed},
      Static("known_batch", lstm, false, kBatch),
      Static("known_batch.lengths", lstm, true, kBatch),
      {"static.initial_state", StaticFromState},
      Bidirectional("", false),
      Bidirectional(".lengths", true),
      Bidirectional(".time_major", false, true),
      Bidirectional(".time_major.lengths", true, true),
      Bidirectional(".initial_state", false, false, true),
  };
  for (const auto& [name, make] : Cells()) {
    programs.push_back(Dynamic(name, make, false));
    programs.push_back(Dynamic(name + ".lengths", make, true));
    programs.push_back(Static(name, make, false));
    programs.push_back(Static(name + ".lengths", make, true));
  }
  return programs;
}

}  // namespace millstream::twins
