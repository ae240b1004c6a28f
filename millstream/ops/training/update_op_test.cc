// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <thread>

#include "absl/strings/match.h"
#include "millstream/ops/state/testing/op_runner.h"

namespace millstream {
namespace {

// What TensorFlow 2.21 computes from var = {1, -2, 0.5, 0.25}, slot k = k *
// {0.1, 0.2, 0.3, 0.4}, the scalars below and grad = {0.3, -0.4, 0.5, 0}; for
// sparse updates rows {0.3, -0.4, 0.5} at {2, 0, 2}. `flipped` is the boolean
// attribute that is not at its default.
struct Case {
  const char* op;
  const char* flipped;
  std::vector<std::vector<float>> expected;
};
const Case kCases[] = {
    {"ApplyAdaMax",
     "",
     {{0.601329, -2.349127, -0.03781503, -0.2039721}, {0.12, 0.14, 0.32, 0.36}, {0.3, 0.4, 0.594, 0.792}}},
    {"ApplyAdadelta",
     "",
     {{0.9574677, -1.942931, 0.4287539, 0.25}, {0.099, 0.196, 0.295, 0.36}, {0.19809, 0.3925685, 0.5907602, 0.72}}},
    {"ApplyAdagrad", "", {{0.9311753, -1.933333, 0.43258, 0.25}, {0.19, 0.36, 0.55, 0.4}}},
    {"ApplyAdagrad", "update_slots", {{0.9051317, -1.910557, 0.4087129, 0.25}, {0.1, 0.2, 0.3, 0.4}}},
    {"ApplyAdagradDA",
     "",
     {{-0.06795019, 0.02253651, -0.08297822, -0.04109161}, {0.4, -0.2, 0.8, 0.4}, {0.29, 0.56, 0.85, 0.8}}},
    {"ApplyAdagradV2", "", {{0.9313328, -1.933444, 0.4326708, 0.25}, {0.19, 0.36, 0.55, 0.4}}},
    {"ApplyAdagradV2", "update_slots", {{0.9054307, -1.910757, 0.4088793, 0.25}, {0.1, 0.2, 0.3, 0.4}}},
    {"ApplyAdam",
     "",
     {{0.9731533, -2.022167, 0.4586208, 0.2095934}, {0.12, 0.14, 0.32, 0.36}, {0.1989, 0.3976, 0.5965, 0.792}}},
    {"ApplyAdam",
     "use_nesterov",
     {{0.9691263, -2.013617, 0.4562932, 0.2136341}, {0.12, 0.14, 0.32, 0.36}, {0.1989, 0.3976, 0.5965, 0.792}}},
    {"ApplyAdamWithAmsgrad",
     "",
     {{0.9781311, -2.018051, 0.4663046, 0.2171666},
      {0.12, 0.14, 0.32, 0.36},
      {0.1989, 0.3976, 0.5965, 0.792},
      {0.3, 0.6, 0.9, 1.2}}},
    {"ApplyAddSign", "", {{0.976, -2.024, 0.46, 0.25}, {0.12, 0.14, 0.32, 0.36}}},
    {"ApplyCenteredRMSProp",
     "",
     {{0.6884089, -2.413091, -0.2934341, -0.71},
      {0.12, 0.14, 0.32, 0.36},
      {0.189, 0.376, 0.565, 0.72},
      {0.3115911, 0.4130913, 0.7934341, 0.96}}},
    {"ApplyFtrl",
     "",
     {{0.1560894, -0.5042597, -0.01616286, -0.1241249},
      {0.19, 0.36, 0.55, 0.4},
      {-0.6966213, 3.055729, 0.1305135, 0.8}}},
    {"ApplyFtrl",
     "multiply_linear_by_lr",
     {{-0.2485573, -1.100286, -0.7403925, -1.25539}, {0.19, 0.36, 0.55, 0.4}, {0.1103379, 0.6655729, 0.5530514, 0.8}}},
    {"ApplyFtrlV2",
     "",
     {{0.1424496, -0.4843922, -0.02018635, -0.1264817},
      {0.19, 0.36, 0.55, 0.4},
      {-0.6366213, 2.935729, 0.1605135, 0.815}}},
    {"ApplyFtrlV2",
     "multiply_linear_by_lr",
     {{-0.2621971, -1.080419, -0.744416, -1.257747},
      {0.19, 0.36, 0.55, 0.4},
      {0.1163379, 0.6535729, 0.5560514, 0.8015}}},
    {"ApplyGradientDescent", "", {{0.97, -1.96, 0.45, 0.25}}},
    {"ApplyKerasMomentum", "", {{1.05, -1.8, 0.69, 0.5700001}, {0.05, 0.2, 0.19, 0.32}}},
    {"ApplyKerasMomentum", "use_nesterov", {{1.01, -1.8, 0.602, 0.506}, {0.05, 0.2, 0.19, 0.32}}},
    {"ApplyMomentum", "", {{0.962, -1.976, 0.426, 0.218}, {0.38, -0.24, 0.74, 0.32}}},
    {"ApplyMomentum", "use_nesterov", {{0.9396, -1.9408, 0.3908, 0.2244}, {0.38, -0.24, 0.74, 0.32}}},
    {"ApplyPowerSign", "", {{0.957428, -1.971812, 0.4290466, 0.25}, {0.12, 0.14, 0.32, 0.36}}},
    {"ApplyProximalAdagrad", "", {{0.9246385, -1.925249, 0.4300718, 0.2476358}, {0.19, 0.36, 0.55, 0.4}}},
    {"ApplyProximalGradientDescent", "", {{0.9670659, -1.95509, 0.4481038, 0.248503}}},
    {"ApplyRMSProp",
     "",
     {{0.7451317, -2.229879, -0.07190186, -0.39},
      {0.099, 0.196, 0.295, 0.36},
      {0.2548683, 0.2298788, 0.5719019, 0.64}}},
    {"SparseApplyAdadelta",
     "",
     {{1.054823, -2., 0.384948, 0.25}, {0.106, 0.2, 0.2761, 0.4}, {0.2100561, 0.4, 0.553938, 0.8}}},
    {"SparseApplyAdagrad", "", {{1.078447, -2., 0.3894615, 0.25}, {0.26, 0.2, 0.64, 0.4}}},
    {"SparseApplyAdagrad", "update_slots", {{1.126491, -2., 0.3539407, 0.25}, {0.1, 0.2, 0.3, 0.4}}},
    {"SparseApplyAdagradDA",
     "",
     {{0.04455446, -2., -0.1096833, 0.25}, {-0.3, 0.2, 1.1, 0.4}, {0.36, 0.4, 0.9400001, 0.8}}},
    {"SparseApplyAdagradV2", "", {{1.078293, -2., 0.3896164, 0.25}, {0.26, 0.2, 0.64, 0.4}}},
    {"SparseApplyAdagradV2", "update_slots", {{1.126092, -2., 0.3542068, 0.25}, {0.1, 0.2, 0.3, 0.4}}},
    {"SparseApplyCenteredRMSProp",
     "",
     {{0.8506985, -2., -0.9529824, 0.25},
      {0.04999999, 0.2, 0.32, 0.4},
      {0.196, 0.4, 0.5191, 0.8},
      {0.1493015, 0.6, 0.6887498, 1.2}}},
    {"SparseApplyFtrl",
     "",
     {{0.413842, -2., -0.1427164, 0.25}, {0.26, 0.2, 0.64, 0.4}, {-2.136742, 0.4, 1.15744, 0.8}}},
    {"SparseApplyFtrl",
     "multiply_linear_by_lr",
     {{0.06358068, -2., -1.001905, 0.25}, {0.26, 0.2, 0.64, 0.4}, {-0.03367424, 0.4, 0.8065318, 0.8}}},
    {"SparseApplyFtrlV2",
     "",
     {{0.4021666, -2., -0.1468531, 0.25}, {0.26, 0.2, 0.64, 0.4}, {-2.076742, 0.4, 1.190699, 0.8}}},
    {"SparseApplyFtrlV2",
     "multiply_linear_by_lr",
     {{0.05190528, -2., -0.99963, 0.25}, {0.26, 0.2, 0.64, 0.4}, {-0.02767423, 0.4, 0.8047025, 0.8}}},
    {"SparseApplyKerasMomentum", "", {{1.12, -2., 0.8280001, 0.25}, {0.12, 0.2, 0.118, 0.4}}},
    {"SparseApplyKerasMomentum", "use_nesterov", {{1.136, -2., 0.6824, 0.25}, {0.12, 0.2, 0.118, 0.4}}},
    {"SparseApplyMomentum", "", {{1.032, -2., 0.3528, 0.25}, {-0.32, 0.2, 0.932, 0.4}}},
    {"SparseApplyMomentum", "use_nesterov", {{1.0656, -2., 0.30224, 0.25}, {-0.32, 0.2, 0.932, 0.4}}},
    {"SparseApplyProximalAdagrad", "", {{1.072279, -2., 0.384212, 0.25}, {0.26, 0.2, 0.64, 0.4}}},
    {"SparseApplyProximalGradientDescent", "", {{1.036926, -2., 0.4162314, 0.25}}},
    {"SparseApplyRMSProp",
     "",
     {{0.9622836, -2., -0.5610347, 0.25}, {0.106, 0.2, 0.2761, 0.4}, {0.03771643, 0.4, 0.52434, 0.8}}},
};

const std::map<std::string, float>& Scalars() {
  static const std::map<std::string, float> scalars = {
      {"alpha", .1f},         {"lr", .1f},        {"l1", .01f},        {"l2", .02f},
      {"l2_shrinkage", .03f}, {"lr_power", -.5f}, {"epsilon", .001f},  {"rho", .9f},
      {"momentum", .8f},      {"beta1", .9f},     {"beta2", .99f},     {"beta1_power", .9f},
      {"beta2_power", .99f},  {"logbase", .5f},   {"sign_decay", .7f}, {"beta", .9f}};
  return scalars;
}

template <typename T>
Tensor Filled(const std::vector<float>& values) {
  Tensor t(kDTypeOf<T>, Shape({static_cast<int64_t>(values.size())}));
  for (size_t i = 0; i < values.size(); ++i) t.data<T>()[i] = T(values[i]);
  return t;
}

template <typename T>
Tensor ScalarOf(float value) {
  Tensor t(kDTypeOf<T>, Shape());
  t.data<T>()[0] = T(value);
  return t;
}

float AsFloat(float x) { return x; }
float AsFloat(double x) { return static_cast<float>(x); }
float AsFloat(Half x) { return x; }
float AsFloat(BFloat16 x) { return x; }
float AsFloat(std::complex<float> x) { return x.real(); }
float AsFloat(std::complex<double> x) { return static_cast<float>(x.real()); }

// The inputs of `op` as told above; handles or references to new variables,
// which go to `variables`.
template <typename T>
std::vector<Edge> InputsOf(const OpDef& op, std::vector<Ref<Variable>>* variables) {
  std::vector<Edge> inputs;
  const bool sparse = op.name.find("Sparse") != std::string::npos;
  for (const ArgDef& arg : op.inputs) {
    if (arg.is_ref || arg.type == DType::kResource) {
      const float k = 0.1f * static_cast<float>(variables->size());
      auto v = MakeRef<Variable>(kDTypeOf<T>, PartialShape(), arg.name);
      v->Assign(variables->empty() ? Filled<T>({1, -2, .5f, .25f}) : Filled<T>({k, 2 * k, 3 * k, 4 * k}));
      variables->push_back(v);
      ResourceHandle handle;
      handle.resource = v;
      if (arg.is_ref)
        inputs.emplace_back(v);
      else
        inputs.emplace_back(Tensor::Scalar(handle));
    } else if (arg.name == "grad" || arg.name == "delta") {
      inputs.emplace_back(sparse ? Filled<T>({.3f, -.4f, .5f}) : Filled<T>({.3f, -.4f, .5f, 0}));
    } else if (arg.name == "indices") {
      inputs.emplace_back(Tensor::Vector<int32_t>({2, 0, 2}));
    } else if (arg.name == "global_step") {
      inputs.emplace_back(Tensor::Scalar<int64_t>(3));
    } else {
      inputs.emplace_back(ScalarOf<T>(Scalars().at(arg.name)));
    }
  }
  return inputs;
}

template <typename T>
void Check(const Case& c, const std::string& name, float tolerance) {
  SCOPED_TRACE(name + " " + c.flipped);
  const OpEntry* op = OpRegistry::Global().Find(name);
  ASSERT_NE(op, nullptr);
  std::vector<std::pair<std::string, AttrValue>> attrs = {{"T", kDTypeOf<T>}};
  if (op->def.FindAttr("Tindices") != nullptr) attrs.emplace_back("Tindices", DType::kInt32);
  if (*c.flipped != 0) attrs.emplace_back(c.flipped, !*op->def.FindAttr(c.flipped)->default_value.get<bool>());
  OpRunner::Env env;
  OpRunner runner(env, name, attrs);
  if (absl::StartsWith(runner.status().message(), "No OpKernel was registered")) return;  // not for this type
  std::vector<Ref<Variable>> variables;
  const auto out = runner.Run(InputsOf<T>(op->def, &variables));
  ASSERT_TRUE(out.ok()) << out.status();
  ASSERT_EQ(variables.size(), c.expected.size());
  for (size_t v = 0; v < variables.size(); ++v) {
    const Tensor value = variables[v]->Snapshot();
    for (size_t i = 0; i < 4; ++i) {
      const float expected = c.expected[v][i], got = AsFloat(value.data<T>()[i]);
      EXPECT_LE(std::fabs(got - expected), tolerance * (1 + std::fabs(expected)))
          << "variable " << v << " element " << i << ": " << got;
    }
  }
}

TEST(UpdateOpTest, AgreesWithTensorFlow) {
  for (const Case& c : kCases) {
    for (const std::string& name : {std::string(c.op), absl::StrCat("Resource", c.op)}) {
      const bool resource_only = name[0] != 'R' && OpRegistry::Global().Find(name) == nullptr;
      if (resource_only) continue;
      Check<float>(c, name, 1e-5f);
      Check<double>(c, name, 1e-5f);
      Check<Half>(c, name, 6e-3f);
      Check<BFloat16>(c, name, 5e-2f);
      Check<std::complex<float>>(c, name, 1e-5f);
      Check<std::complex<double>>(c, name, 1e-5f);
    }
  }
}

class MomentumTest : public ::testing::Test {
 protected:
  static Ref<Variable> Make(const char* name, Tensor value) {
    auto v = MakeRef<Variable>(DType::kFloat, PartialShape(), name);
    v->Assign(std::move(value));
    return v;
  }
  StatusOr<std::vector<Edge>> Apply(Ref<Variable> var, Ref<Variable> accum, Tensor grad) {
    return op_.Run({var, accum, Tensor::Scalar<float>(.1f), std::move(grad), Tensor::Scalar<float>(.9f)});
  }
  OpRunner::Env env_{2};
  OpRunner op_{env_, "ApplyMomentum", {{"T", DType::kFloat}}};
};

TEST_F(MomentumTest, ChecksShapesAndValues) {
  auto var = Make("var", Tensor::Vector<float>({1, 2})), accum = Make("accum", Tensor::Vector<float>({0, 0, 0}));
  EXPECT_EQ(Apply(var, accum, Tensor::Vector<float>({1, 1})).status().message(),
            "var and accum do not have the same shape[2] [3]");
  EXPECT_EQ(Apply(var, var, Tensor::Vector<float>({1})).status().message(),
            "var and grad do not have the same shape[2] [1]");
  const Status empty = Apply(var, Make("slot", Tensor()), Tensor::Vector<float>({1, 1})).status();
  EXPECT_EQ(empty.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(empty.message(), "Attempting to use uninitialized value slot");
  EXPECT_EQ(op_.Run({var, var, Tensor::Vector<float>({.1f}), Tensor::Vector<float>({1, 1}), Tensor::Scalar<float>(1)})
                .status()
                .message(),
            "lr is not a scalar: [1]");
}

// Large enough for several pieces and both threads.
constexpr int64_t kMany = 70'001;

Tensor Series(float from, float step) {
  Tensor t(DType::kFloat, Shape({kMany}));
  for (int64_t i = 0; i < kMany; ++i) t.data<float>()[i] = from + step * static_cast<float>(i % 1000);
  return t;
}

bool SameBytes(const Tensor& a, const Tensor& b) {
  return a.ByteSize() == b.ByteSize() && std::memcmp(a.raw(), b.raw(), a.ByteSize()) == 0;
}

TEST(DenseUpdateTest, ReadersKeepTheirValuesAndTheUpdateIsTheSame) {
  for (const std::string name : {"ApplyGradientDescent", "ApplyAdam", "ApplyRMSProp", "ApplyFtrl", "ApplyMomentum"}) {
    const OpDef& op = OpRegistry::Global().Find(name)->def;
    std::vector<Tensor> expected;
    for (unsigned readers = 0; readers < 8; ++readers) {  // a bit for each variable
      OpRunner::Env env(2);
      OpRunner runner(env, name, {{"T", DType::kFloat}});
      std::vector<Ref<Variable>> variables;
      std::vector<Edge> inputs;
      for (const ArgDef& arg : op.inputs) {
        if (arg.is_ref) {
          variables.push_back(MakeRef<Variable>(DType::kFloat, PartialShape(), arg.name));
          variables.back()->Assign(Series(0.5f + static_cast<float>(variables.size()), 1e-3f));
          inputs.emplace_back(variables.back());
        } else if (arg.name == "grad" || arg.name == "delta") {
          inputs.emplace_back(Series(-0.3f, 7e-4f));
        } else {
          inputs.emplace_back(Tensor::Scalar<float>(Scalars().at(arg.name)));
        }
      }
      std::vector<Tensor> held;
      for (size_t v = 0; v < variables.size(); ++v) {
        if ((readers >> v & 1) != 0) held.push_back(variables[v]->Snapshot());
      }
      std::vector<Tensor> before;
      before.reserve(held.size());
      for (const Tensor& tensor : held) before.push_back(*tensor.Clone());
      const auto done = runner.Run(inputs);
      ASSERT_TRUE(done.ok()) << done.status();
      for (size_t i = 0; i < held.size(); ++i) EXPECT_TRUE(SameBytes(held[i], before[i])) << name << " " << readers;
      for (size_t v = 0; v < variables.size(); ++v) {
        if (readers == 0) expected.push_back(variables[v]->Snapshot());
        EXPECT_TRUE(SameBytes(variables[v]->Snapshot(), expected[v])) << name << " " << readers << " variable " << v;
      }
    }
  }
}

TEST_F(MomentumTest, ReadVariableTwiceIsUpdatedAsOne) {
  const auto in_place = Make("a", Series(1, 1e-3f)), read = Make("b", Series(1, 1e-3f));
  const Tensor held = read->Snapshot();
  EXPECT_TRUE(Apply(in_place, in_place, Series(2, 0)).ok());
  EXPECT_TRUE(Apply(read, read, Series(2, 0)).ok());
  EXPECT_TRUE(SameBytes(held, Series(1, 1e-3f)));
  EXPECT_TRUE(SameBytes(in_place->Snapshot(), read->Snapshot()));
}

TEST_F(MomentumTest, SameVariableTwiceAndInAnyOrderNeverDeadlocks) {
  auto a = Make("a", Tensor::Vector<float>({1, 2})), b = Make("b", Tensor::Vector<float>({1, 2}));
  EXPECT_TRUE(Apply(a, a, Tensor::Vector<float>({1, 1})).ok());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 300; ++i) {
        EXPECT_TRUE(Apply(t % 2 == 0 ? a : b, t % 2 == 0 ? b : a, Tensor::Vector<float>({1, 1})).ok());
      }
    });
  }
  for (std::thread& t : threads) t.join();
}

TEST(SparseUpdateTest, ChecksIndicesAndGradients) {
  OpRunner::Env env;
  OpRunner op(env, "SparseApplyAdagrad", {{"T", DType::kFloat}, {"Tindices", DType::kInt64}});
  auto var = MakeRef<Variable>(DType::kFloat, PartialShape(), "var"),
       accum = MakeRef<Variable>(DType::kFloat, PartialShape(), "accum");
  var->Assign(Tensor::Of<float>({2, 1}, {1, 2}));
  accum->Assign(Tensor::Of<float>({2, 1}, {1, 1}));
  const auto run = [&](Tensor grad, Tensor indices) {
    return op.Run({var, accum, Tensor::Scalar<float>(.1f), std::move(grad), std::move(indices)}).status();
  };
  EXPECT_TRUE(run(Tensor::Of<float>({1, 1}, {1}), Tensor::Vector<int64_t>({1})).ok());
  EXPECT_TRUE(run(Tensor(DType::kFloat, Shape({0, 1})), Tensor(DType::kInt64, Shape({0}))).ok());
  for (const Status& bad : {run(Tensor::Of<float>({1, 1}, {1}), Tensor::Vector<int64_t>({2})),
                            run(Tensor::Of<float>({1, 1}, {1}), Tensor::Vector<int64_t>({-1})),
                            run(Tensor::Of<float>({1, 2}, {1, 1}), Tensor::Vector<int64_t>({0})),
                            run(Tensor::Of<float>({2, 1}, {1, 1}), Tensor::Vector<int64_t>({0})),
                            run(Tensor::Vector<float>({1}), Tensor::Vector<int64_t>({0})),
                            run(Tensor::Of<float>({1, 1}, {1}), Tensor::Scalar<int64_t>(0))}) {
    EXPECT_EQ(bad.code(), absl::StatusCode::kInvalidArgument) << bad;
  }
}

}  // namespace
}  // namespace millstream
