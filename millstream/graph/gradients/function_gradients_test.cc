// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/gradients/function_gradients.h"

#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "millstream/graph/control_flow/control_flow_builders.h"
#include "millstream/graph/testing/gradient_check.h"
#include "millstream/proto/function.pb.h"

namespace millstream {
namespace {

using Outputs = std::vector<Output>;

// product(a, b) = a * b * a; square(a, b) = b * b; small(a, b) = sum(a) < 3; step(a, b) = (a + b * b, b); again(a) =
// again(a)
constexpr char kFunctions[] = R"pb(
  function {
    signature {
      name: "product"
      input_arg { name: "a" type: DT_DOUBLE }
      input_arg { name: "b" type: DT_DOUBLE }
      output_arg { name: "y" type: DT_DOUBLE }
    }
    node_def {
      name: "ab"
      op: "Mul"
      input: "a"
      input: "b"
      attr {
        key: "T"
        value { type: DT_DOUBLE }
      }
    }
    node_def {
      name: "aba"
      op: "Mul"
      input: "ab:z:0"
      input: "a"
      attr {
        key: "T"
        value { type: DT_DOUBLE }
      }
    }
    ret { key: "y" value: "aba:z:0" }
  }
  function {
    signature {
      name: "square"
      input_arg { name: "a" type: DT_DOUBLE }
      input_arg { name: "b" type: DT_DOUBLE }
      output_arg { name: "y" type: DT_DOUBLE }
    }
    node_def {
      name: "bb"
      op: "Square"
      input: "b"
      attr {
        key: "T"
        value { type: DT_DOUBLE }
      }
    }
    ret { key: "y" value: "bb:y:0" }
  }
  function {
    signature {
      name: "small"
      input_arg { name: "a" type: DT_DOUBLE }
      input_arg { name: "b" type: DT_DOUBLE }
      output_arg { name: "y" type: DT_BOOL }
    }
    node_def {
      name: "three"
      op: "Const"
      attr {
        key: "dtype"
        value { type: DT_DOUBLE }
      }
      attr {
        key: "value"
        value {
          tensor {
            dtype: DT_DOUBLE
            tensor_shape {}
            double_val: 3
          }
        }
      }
    }
    node_def {
      name: "less"
      op: "Less"
      input: "a"
      input: "three:output:0"
      attr {
        key: "T"
        value { type: DT_DOUBLE }
      }
    }
    ret { key: "y" value: "less:z:0" }
  }
  function {
    signature {
      name: "step"
      input_arg { name: "a" type: DT_DOUBLE }
      input_arg { name: "b" type: DT_DOUBLE }
      output_arg { name: "y" type: DT_DOUBLE }
      output_arg { name: "z" type: DT_DOUBLE }
    }
    node_def {
      name: "bb"
      op: "Mul"
      input: "b"
      input: "b"
      attr {
        key: "T"
        value { type: DT_DOUBLE }
      }
    }
    node_def {
      name: "sum"
      op: "AddV2"
      input: "a"
      input: "bb:z:0"
      attr {
        key: "T"
        value { type: DT_DOUBLE }
      }
    }
    ret { key: "y" value: "sum:z:0" }
    ret { key: "z" value: "b" }
  }
  function {
    signature {
      name: "again"
      input_arg { name: "a" type: DT_DOUBLE }
      output_arg { name: "y" type: DT_DOUBLE }
    }
    node_def {
      name: "call"
      op: "PartitionedCall"
      input: "a"
      attr {
        key: "Tin"
        value { list { type: DT_DOUBLE } }
      }
      attr {
        key: "Tout"
        value { list { type: DT_DOUBLE } }
      }
      attr {
        key: "f"
        value { func { name: "again" } }
      }
    }
    ret { key: "y" value: "call:output:0" }
  })pb";

class FunctionGradientsTest : public ::testing::Test {
 protected:
  FunctionGradientsTest() {
    proto::FunctionDefLibrary functions;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(kFunctions, &functions));
    const Status s = library_->AddLibrary(functions);
    EXPECT_TRUE(s.ok()) << s;
  }

  static AttrValue Named(const char* name) { return NameAttrList{name, {}}; }
  Output Input(const PartialShape& shape) const {
    return scope_.WithOpName("x").Op("Placeholder", {}, {{"dtype", DType::kDouble}, {"shape", shape}});
  }
  static Output Call(const Scope& s, const char* function, const Outputs& args) {
    return s.Op("PartitionedCall", args, {{"Tout", std::vector<DType>{DType::kDouble}}, {"f", Named(function)}});
  }

  std::shared_ptr<FunctionLibrary> library_ = std::make_shared<FunctionLibrary>();
  Scope scope_{std::make_shared<Graph>(library_)};
  const Tensor a_ = Tensor::Of<double>({2}, {0.4, 1.3}), b_ = Tensor::Of<double>({2}, {0.7, -0.2});
};

TEST_F(FunctionGradientsTest, Call) {
  Output a = Input({2}), b = Input({2});
  CheckGradients(scope_, scope_.Op("Square", {Call(scope_, "product", {a, b})}), {{a, a_}, {b, b_}});
}

TEST_F(FunctionGradientsTest, ArgumentsThatDoNotMatterGetNone) {
  Output a = Input({2}), b = Input({2});
  std::vector<Grad> grads;
  ASSERT_TRUE(AddSymbolicGradients(scope_, {Call(scope_, "square", {a, b})}, {a, b}, {}, &grads).ok());
  EXPECT_TRUE(grads[0].IsNone());
  EXPECT_FALSE(grads[1].IsNone());
}

TEST_F(FunctionGradientsTest, CallInALoop) {
  Output a = Input({2}), b = Input({2});
  Outputs r = WhileLoop(
      scope_,
      [](const Scope& in, const Outputs& v) {
        return in.Op("Less", {v[0], in.Const<int32_t>(3)});
      },
      [&](const Scope& in, const Outputs& v) {
        Output next = Call(in, "product", {v[1], b});
        return Outputs{in.Op("AddV2", {v[0], in.Const<int32_t>(1)}), in.Op("Tanh", {next})};
      },
      {scope_.Const<int32_t>(0), a}, {.shape_invariants = {PartialShape(Shape()), PartialShape()}});
  ASSERT_TRUE(scope_.ok()) << scope_.status();
  CheckGradients(scope_, r[1], {{a, a_}, {b, b_}});
}

TEST_F(FunctionGradientsTest, If) {
  for (const bool taken : {true, false}) {
    Output a = Input({2}), b = Input({2});
    Output y = scope_.Op("If", {scope_.Const(taken), a, b},
                         {{"Tout", std::vector<DType>{DType::kDouble}},
                          {"then_branch", Named("product")},
                          {"else_branch", Named("square")}});
    CheckGradients(scope_, y, {{a, a_}, {b, b_}});
  }
}

TEST_F(FunctionGradientsTest, While) {
  Output a = Input(Shape()), b = Input(Shape());
  Node* loop = scope_.Add("While", {a, b}, {{"cond", Named("small")}, {"body", Named("step")}});
  ASSERT_TRUE(scope_.ok()) << scope_.status();
  CheckGradients(scope_, scope_.Op("Mul", {Output(loop, 0), Output(loop, 1)}),
                 {{a, Tensor::Scalar(0.4)}, {b, Tensor::Scalar(1.1)}});
}

TEST_F(FunctionGradientsTest, RecursionIsRefused) {
  Output a = Input({2});
  std::vector<Grad> grads;
  const Status s = AddSymbolicGradients(scope_, {Call(scope_, "again", {a})}, {a}, {}, &grads);
  EXPECT_EQ(s.code(), absl::StatusCode::kUnimplemented) << s;
}

TEST_F(FunctionGradientsTest, GradientBodyTakesArgumentsAndGradients) {
  StatusOr<FunctionBody> body = GradientBody(*library_, NameAttrList{"square", {}});
  ASSERT_TRUE(body.ok()) << body.status();
  EXPECT_EQ(body->args.size(), 3u);
  ASSERT_EQ(body->rets.size(), 2u);
  EXPECT_TRUE(body->rets[0]->input(0).node->Is("ZerosLike"));
  EXPECT_FALSE(body->rets[1]->input(0).node->Is("ZerosLike"));
}

}  // namespace
}  // namespace millstream
