// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/functions/function_call.h"

#include <gtest/gtest.h>

#include "millstream/ops/state/testing/op_runner.h"

namespace millstream {
namespace {

// Functions of one int32 written in C++; every other call finishes on the pool.
class FakeFunctions final : public FunctionRunner {
 public:
  using Body = std::function<Tensor(int32_t)>;
  struct Compiled final : CompiledFunction {
    Compiled(Body b, DType ret) : body(std::move(b)), rets{ret} {}
    const std::vector<DType>& arg_types() const override { return args; }
    const std::vector<DType>& ret_types() const override { return rets; }
    Body body;
    std::vector<DType> args{DType::kInt32}, rets;
  };

  void Add(const std::string& name, DType ret, Body body) {
    functions_[name] = std::make_shared<Compiled>(std::move(body), ret);
  }

  StatusOr<std::shared_ptr<CompiledFunction>> Instantiate(const NameAttrList& function) override {
    auto it = functions_.find(function.name);
    if (it == functions_.end()) return errors::NotFound("Function ", function.name, " is not defined.");
    return std::shared_ptr<CompiledFunction>(it->second);
  }
  void RunAsync(const CompiledFunction& function, const StepContext& step, std::vector<Tensor> args,
                std::vector<Tensor>* rets, std::function<void(Status)> done) override {
    auto run = [&body = static_cast<const Compiled&>(function).body, arg = args[0], rets, done = std::move(done)] {
      rets->assign(1, body(arg.scalar<int32_t>()));
      done(OkStatus());
    };
    if (++calls_ % 2 == 0)
      run();
    else
      step.pool->Schedule(std::function<void()>(run));
  }

 private:
  std::map<std::string, std::shared_ptr<Compiled>> functions_;
  int calls_ = 0;
};

class FunctionCallTest : public ::testing::Test {
 protected:
  FunctionCallTest() {
    env_.functions = &functions_;
    functions_.Add("increment", DType::kInt32, [](int32_t x) { return Tensor::Scalar<int32_t>(x + 1); });
    functions_.Add("negate", DType::kInt32, [](int32_t x) { return Tensor::Scalar<int32_t>(-x); });
    functions_.Add("small", DType::kBool, [](int32_t x) { return Tensor::Scalar(x < 100000); });
  }
  static AttrValue Named(const char* name) { return NameAttrList{name, {}}; }
  OpRunner::Env env_{2};
  FakeFunctions functions_;
  const AttrValue ints_ = std::vector<DType>{DType::kInt32};
};

TEST_F(FunctionCallTest, Calls) {
  OpRunner call(env_, "PartitionedCall", {{"Tin", ints_}, {"Tout", ints_}, {"f", Named("increment")}});
  EXPECT_EQ(call.Value({Tensor::Scalar<int32_t>(4)})->scalar<int32_t>(), 5);
  OpRunner missing(env_, "PartitionedCall", {{"Tin", ints_}, {"Tout", ints_}, {"f", Named("nothing")}});
  EXPECT_EQ(missing.Run({Tensor::Scalar<int32_t>(4)}).status().code(), absl::StatusCode::kNotFound);
  OpRunner wrong(env_, "PartitionedCall",
                 {{"Tin", AttrValue::EmptyList{}}, {"Tout", ints_}, {"f", Named("increment")}});
  EXPECT_EQ(wrong.Run({}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(FunctionCallTest, BranchesAndCases) {
  OpRunner op(env_, "If",
              {{"Tcond", DType::kInt32},
               {"Tin", ints_},
               {"Tout", ints_},
               {"then_branch", Named("increment")},
               {"else_branch", Named("negate")}});
  EXPECT_EQ(op.Value({Tensor::Scalar<int32_t>(7), Tensor::Scalar<int32_t>(4)})->scalar<int32_t>(), 5);
  EXPECT_EQ(op.Value({Tensor::Scalar<int32_t>(0), Tensor::Scalar<int32_t>(4)})->scalar<int32_t>(), -4);
  OpRunner choose(
      env_, "Case",
      {{"Tin", ints_}, {"Tout", ints_}, {"branches", std::vector<NameAttrList>{{"increment", {}}, {"negate", {}}}}});
  EXPECT_EQ(choose.Value({Tensor::Scalar<int32_t>(0), Tensor::Scalar<int32_t>(4)})->scalar<int32_t>(), 5);
  EXPECT_EQ(choose.Value({Tensor::Scalar<int32_t>(9), Tensor::Scalar<int32_t>(4)})->scalar<int32_t>(), -4);
}

TEST_F(FunctionCallTest, LongLoopsDoNotUseTheStack) {
  OpRunner op(env_, "While", {{"T", ints_}, {"cond", Named("small")}, {"body", Named("increment")}});
  EXPECT_EQ(op.Value({Tensor::Scalar<int32_t>(0)})->scalar<int32_t>(), 100000);
}

TEST_F(FunctionCallTest, EndlessLoopsCanBeCancelled) {
  functions_.Add("always", DType::kBool, [](int32_t) { return Tensor::Scalar(true); });
  functions_.Add("cancel", DType::kInt32, [this](int32_t x) {
    if (x == 10) env_.cancellation.StartCancel();
    return Tensor::Scalar<int32_t>(x + 1);
  });
  OpRunner op(env_, "StatelessWhile", {{"T", ints_}, {"cond", Named("always")}, {"body", Named("cancel")}});
  EXPECT_EQ(op.Run({Tensor::Scalar<int32_t>(0)}).status().code(), absl::StatusCode::kCancelled);
}

TEST(AsConditionTest, AsTensorFlow) {
  EXPECT_TRUE(*AsCondition(Tensor::Scalar("x")));
  EXPECT_FALSE(*AsCondition(Tensor::Scalar("")));
  EXPECT_TRUE(*AsCondition(Tensor::Scalar<float>(0.5f)));
  EXPECT_TRUE(*AsCondition(Tensor::Vector<int32_t>({0})));
  EXPECT_FALSE(*AsCondition(Tensor(DType::kFloat, Shape({0}))));
}

}  // namespace
}  // namespace millstream
