// SPDX-License-Identifier: Apache-2.0
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "millstream/graph/control_flow.h"
#include "millstream/graph/control_flow/control_flow_builders.h"
#include "millstream/graph/testing/gradient_check.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;
using Outputs = std::vector<Output>;

Output Input(const Scope& s, PartialShape shape) {
  return s.WithOpName("x").Op("Placeholder", {}, {{"dtype", DType::kDouble}, {"shape", std::move(shape)}});
}

Tensor Doubles(const Shape& shape, double start = 0.3) {
  Tensor t(DType::kDouble, shape);
  for (int64_t i = 0; i < t.num_elements(); ++i)
    t.flat<double>()[i] = start + 0.17 * static_cast<double>(i % 5) - 0.11 * static_cast<double>(i % 3);
  return t;
}

// Loops n times; variable 0 is the counter.
Outputs Repeat(const Scope& s, int n, Outputs vars, const std::function<Outputs(const Scope&, const Outputs&)>& body) {
  vars.insert(vars.begin(), s.Const<int32_t>(0));
  Outputs results = WhileLoop(
      s,
      [n](const Scope& in, const Outputs& v) {
        return in.Op("Less", {v[0], in.Const<int32_t>(n)});
      },
      [&](const Scope& in, const Outputs& v) {
        Outputs next = body(in, Outputs(v.begin() + 1, v.end()));
        next.insert(next.begin(), in.Op("AddV2", {v[0], in.Const<int32_t>(1)}));
        return next;
      },
      vars);
  if (!results.empty()) results.erase(results.begin());
  return results;
}

TEST(WhileGradientTest, BuilderMakesALoopThatRuns) {
  Scope s = Scope::Root();
  Output x = Input(s, Shape());
  Outputs r = Repeat(s, 5, {x}, [&](const Scope& in, const Outputs& v) { return Outputs{in.Op("AddV2", {v[0], x})}; });
  ASSERT_TRUE(s.ok()) << s.status();
  auto values = Evaluate(s, {{x, Tensor::Scalar(2.0)}}, r);
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_DOUBLE_EQ((*values)[0].scalar<double>(), 12.0);
  EXPECT_EQ(s.ShapeOf(r[0]), PartialShape(Shape()));
}

TEST(WhileGradientTest, MaximumIterations) {
  Scope s = Scope::Root();
  Output x = Input(s, Shape());
  WhileOptions options;
  options.maximum_iterations = s.Const<int32_t>(3);
  Outputs r = WhileLoop(
      s, [](const Scope& in, const Outputs&) { return in.Const(true); },
      [](const Scope& in, const Outputs& v) {
        return Outputs{in.Op("Mul", {v[0], v[0]})};
      },
      {x}, options);
  ASSERT_TRUE(s.ok()) << s.status();
  CheckGradients(s, r[0], {{x, Tensor::Scalar(1.1)}});
}

TEST(WhileGradientTest, PowerOfALoopVariable) {
  Scope s = Scope::Root();
  Output x = Input(s, {3});
  Outputs r = Repeat(s, 4, {x}, [](const Scope& in, const Outputs& v) { return Outputs{in.Op("Mul", {v[0], v[0]})}; });
  CheckGradients(s, r[0], {{x, Doubles({3}, 0.8)}});
}

TEST(WhileGradientTest, ZeroIterations) {
  Scope s = Scope::Root();
  Output x = Input(s, {2});
  Outputs r = Repeat(s, 0, {x}, [](const Scope& in, const Outputs& v) { return Outputs{in.Op("Square", {v[0]})}; });
  CheckGradients(s, r[0], {{x, Doubles({2})}});
}

TEST(WhileGradientTest, ConstantsAccumulate) {
  Scope s = Scope::Root();
  Output x = Input(s, {2, 3}), w = Input(s, {3, 3}), b = Input(s, {3});
  Outputs r = Repeat(s, 3, {x}, [&](const Scope& in, const Outputs& v) {
    return Outputs{in.Op("Tanh", {in.Op("AddV2", {in.Op("MatMul", {v[0], w}), b})})};
  });
  CheckGradients(s, r[0], {{x, Doubles({2, 3})}, {w, Doubles({3, 3}, -0.2)}, {b, Doubles({3})}});
}

TEST(WhileGradientTest, VariablesThatMixAndOneWithoutExitGradient) {
  Scope s = Scope::Root();
  Output a = Input(s, {2}), b = Input(s, {2});
  Outputs r = Repeat(s, 3, {a, b}, [](const Scope& in, const Outputs& v) {
    return Outputs{in.Op("Mul", {v[0], v[1]}), in.Op("AddV2", {in.Op("Square", {v[1]}), v[0]})};
  });
  CheckGradients(s, r[0], {{a, Doubles({2})}, {b, Doubles({2}, 0.5)}});
}

TEST(WhileGradientTest, UnknownShapes) {
  Scope s = Scope::Root();
  Output x = Input(s, PartialShape()), w = Input(s, PartialShape());
  Outputs r = Repeat(s, 3, {x}, [&](const Scope& in, const Outputs& v) {
    return Outputs{in.Op("Tanh", {in.Op("Mul", {v[0], in.Op("AddV2", {v[0], w})})})};
  });
  // w broadcasts to the shape of x.
  CheckGradients(s, r[0], {{x, Doubles({2, 3})}, {w, Doubles({3}, -0.2)}});
}

TEST(WhileGradientTest, RowsOfATableStaySparse) {
  Scope s = Scope::Root();
  Output table = Input(s, {-1, 2}), x = Input(s, {3, 2});
  Outputs r = Repeat(s, 3, {x}, [&](const Scope& in, const Outputs& v) {
    return Outputs{in.Op("Mul", {v[0], in.Op("GatherV2", {table, in.Constant({1, 3, 1}), in.Const<int32_t>(0)})})};
  });
  std::vector<Grad> grads = CheckGradients(s, r[0], {{table, Doubles({4, 2})}, {x, Doubles({3, 2})}});
  ASSERT_EQ(grads.size(), 2u);
  EXPECT_TRUE(grads[0].IsSparse());
}

TEST(WhileGradientTest, VariablesReadInTheBody) {
  Scope s = Scope::Root();
  Output x = Input(s, {2});
  Output handle =
      s.Op("VarHandleOp", {}, {{"dtype", DType::kDouble}, {"shape", PartialShape({2})}, {"shared_name", "w"}});
  Node* init = s.Add("AssignVariableOp", {handle, s.Const(Tensor::Of<double>({2}, {2, 3}))});
  Output ready = s.WithControlDependencies({init}).Op("Identity", {handle});
  Outputs r = Repeat(s, 3, {x}, [&](const Scope& in, const Outputs& v) {
    return Outputs{in.Op("Mul", {v[0], in.Op("ReadVariableOp", {ready}, {{"dtype", DType::kDouble}})})};
  });
  ASSERT_TRUE(s.ok()) << s.status();
  std::vector<Grad> grads;
  const Status status = AddSymbolicGradients(s, r, {x, handle}, {}, &grads);
  ASSERT_TRUE(status.ok()) << status;
  auto values = Evaluate(s, {{x, Tensor::Of<double>({2}, {1, 10})}}, {grads[0].dense, grads[1].dense});
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_DOUBLE_EQ((*values)[0].flat<double>()[1], 27);
  EXPECT_DOUBLE_EQ((*values)[1].flat<double>()[0], 12);
  EXPECT_DOUBLE_EQ((*values)[1].flat<double>()[1], 270);
}

// The gradient of the sum of a gradient, checked as that of any function.
void CheckSecondOrder(const Scope& s, Output y, Output x, const Tensor& at) {
  std::vector<Grad> grads;
  const Status status = AddSymbolicGradients(s, {y}, {x}, {}, &grads);
  ASSERT_TRUE(status.ok()) << status;
  CheckGradients(s, DenseGrad(s, grads[0]), {{x, at}});
}

TEST(WhileGradientTest, SecondOrder) {
  Scope s = Scope::Root();
  Output x = Input(s, {2});
  Outputs r = Repeat(s, 3, {x}, [&](const Scope& in, const Outputs& v) {
    return Outputs{in.Op("AddV2", {in.Op("Tanh", {v[0]}), in.Op("Mul", {v[0], x})})};
  });
  CheckSecondOrder(s, r[0], x, Doubles({2}, 0.7));
}

TEST(WhileGradientTest, SecondOrderOfAConstant) {
  Scope s = Scope::Root();
  const Tensor value = Doubles({2}, 0.7);
  const Output x = s.WithOpName("x").Const(value);
  Outputs r = Repeat(s, 3, {s.Const(value)}, [&](const Scope& in, const Outputs& v) {
    return Outputs{in.Op("AddV2", {in.Op("Mul", {v[0], in.Op("Exp", {x})}), in.Op("Square", {x})})};
  });
  CheckSecondOrder(s, r[0], x, value);
}

TEST(WhileGradientTest, SecondOrderThroughBranches) {
  Scope s = Scope::Root();
  Output x = Input(s, {2});
  Outputs r = Repeat(s, 4, {x}, [&](const Scope& in, const Outputs& v) {
    const Output large = in.Op("Greater", {in.Op("Sum", {v[0], in.Constant({0})}), in.Const(1.2)});
    return Cond(
        in, large,
        [&](const Scope& b) {
          return Outputs{b.Op("Mul", {b.Op("Sin", {v[0]}), v[0]})};
        },
        [&](const Scope& b) { return Outputs{b.Op("Exp", {v[0]})}; });
  });
  CheckSecondOrder(s, r[0], x, Doubles({2}, 0.3));
}

TEST(WhileGradientTest, SecondOrderThroughNestedLoops) {
  Scope s = Scope::Root();
  Output x = Input(s, {2});
  Outputs r = Repeat(s, 2, {x}, [&](const Scope& outer, const Outputs& v) {
    Outputs inner = Repeat(outer, 2, {v[0]}, [&](const Scope& in, const Outputs& u) {
      return Outputs{in.Op("Tanh", {in.Op("Mul", {u[0], v[0]})})};
    });
    return Outputs{outer.Op("AddV2", {inner[0], outer.Op("Square", {v[0]})})};
  });
  CheckSecondOrder(s, r[0], x, Doubles({2}, 0.6));
}

TEST(WhileGradientTest, ThirdOrder) {
  Scope s = Scope::Root();
  Output x = Input(s, {2});
  Outputs r = Repeat(s, 3, {x}, [](const Scope& in, const Outputs& v) { return Outputs{in.Op("Square", {v[0]})}; });
  std::vector<Grad> grads;
  ASSERT_TRUE(AddSymbolicGradients(s, r, {x}, {}, &grads).ok());
  CheckSecondOrder(s, grads[0].dense, x, Doubles({2}, 0.8));
}

TEST(WhileGradientTest, GradientIsLinearInWhatArrives) {
  Scope s = Scope::Root();
  Output x = Input(s, {2}), dy = Input(s, {2});
  Outputs r = Repeat(s, 3, {x}, [](const Scope& in, const Outputs& v) { return Outputs{in.Op("Square", {v[0]})}; });
  std::vector<Grad> first, second;
  ASSERT_TRUE(AddSymbolicGradients(s, r, {x}, {dy}, &first).ok());
  const Status status = AddSymbolicGradients(s, {first[0].dense}, {dy}, {}, &second);
  ASSERT_TRUE(status.ok()) << status;
  auto values = Evaluate(s, {{x, Tensor::Of<double>({2}, {1, 2})}, {dy, Doubles({2})}}, {second[0].dense});
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_DOUBLE_EQ((*values)[0].flat<double>()[1], 8 * 128);
}

TEST(WhileGradientTest, NestedLoops) {
  Scope s = Scope::Root();
  Output x = Input(s, {2}), w = Input(s, {2});
  Outputs r = Repeat(s, 3, {x}, [&](const Scope& outer, const Outputs& v) {
    Outputs inner = Repeat(outer, 2, {v[0]}, [&](const Scope& in, const Outputs& u) {
      return Outputs{in.Op("Tanh", {in.Op("Mul", {in.Op("AddV2", {u[0], v[0]}), w})})};
    });
    return Outputs{outer.Op("AddV2", {inner[0], outer.Op("Square", {v[0]})})};
  });
  CheckGradients(s, r[0], {{x, Doubles({2})}, {w, Doubles({2}, 0.6)}});
}

TEST(WhileGradientTest, InnerLoopLengthVaries) {
  Scope s = Scope::Root();
  Output x = Input(s, {2});
  Outputs r = WhileLoop(
      s,
      [](const Scope& in, const Outputs& v) {
        return in.Op("Less", {v[0], in.Const<int32_t>(4)});
      },
      [](const Scope& outer, const Outputs& v) {
        Outputs inner = WhileLoop(
            outer,
            [&](const Scope& in, const Outputs& u) {
              return in.Op("Less", {u[0], v[0]});
            },
            [](const Scope& in, const Outputs& u) {
              return Outputs{in.Op("AddV2", {u[0], in.Const<int32_t>(1)}), in.Op("Square", {u[1]})};
            },
            {outer.Const<int32_t>(0), v[1]});
        return Outputs{outer.Op("AddV2", {v[0], outer.Const<int32_t>(1)}), outer.Op("Tanh", {inner[1]})};
      },
      {s.Const<int32_t>(0), x});
  CheckGradients(s, r[1], {{x, Doubles({2}, 0.7)}});
}

TEST(WhileGradientTest, Cond) {
  for (const double at : {-0.5, 0.5}) {
    Scope s = Scope::Root();
    Output x = Input(s, Shape()), w = Input(s, Shape());
    Output pred = s.Op("Greater", {x, s.Const(0.0)});
    Outputs r = Cond(
        s, pred,
        [&](const Scope& in) {
          return Outputs{in.Op("Mul", {in.Op("Square", {x}), w})};
        },
        [&](const Scope& in) {
          return Outputs{in.Op("Mul", {x, in.Const(3.0)})};
        });
    ASSERT_TRUE(s.ok()) << s.status();
    Output y = s.Op("AddV2", {s.Op("Square", {r[0]}), s.Op("Mul", {w, x})});
    CheckGradients(s, y, {{x, Tensor::Scalar(at)}, {w, Tensor::Scalar(1.7)}});
  }
}

TEST(WhileGradientTest, CondOfUnknownShape) {
  for (const bool taken : {false, true}) {
    Scope s = Scope::Root();
    Output x = Input(s, PartialShape());
    Outputs r = Cond(
        s, s.Const(taken), [&](const Scope& in) { return Outputs{in.Op("Square", {x})}; },
        [&](const Scope&) { return Outputs{x}; });
    CheckGradients(s, r[0], {{x, Doubles({3})}});
  }
}

TEST(WhileGradientTest, CondInLoop) {
  for (const bool known : {true, false}) {
    Scope s = Scope::Root();
    Output x = Input(s, known ? PartialShape({2}) : PartialShape()),
           w = Input(s, known ? PartialShape({2}) : PartialShape());
    Outputs r = WhileLoop(
        s,
        [](const Scope& in, const Outputs& v) {
          return in.Op("Less", {v[0], in.Const<int32_t>(6)});
        },
        [&](const Scope& body, const Outputs& v) {
          Output odd = body.Op("Equal", {body.Op("Mul", {v[0], body.Op("Sub", {v[0], body.Const<int32_t>(5)})}),
                                         body.Const<int32_t>(-4)});
          Outputs c = Cond(
              body, odd,
              [&](const Scope& in) {
                return Outputs{in.Op("Tanh", {in.Op("Mul", {in.Op("Square", {v[1]}), w})})};
              },
              [&](const Scope& in) {
                return Outputs{in.Op("Mul", {v[1], in.Const(1.3)})};
              });
          return Outputs{body.Op("AddV2", {v[0], body.Const<int32_t>(1)}), c[0]};
        },
        {s.Const<int32_t>(0), x});
    CheckGradients(s, r[1], {{x, Doubles({2}, 0.7)}, {w, Doubles({2}, 0.9)}});
  }
}

TEST(WhileGradientTest, LoopInCond) {
  for (const bool taken : {true, false}) {
    Scope s = Scope::Root();
    Output x = Input(s, {2}), w = Input(s, {2});
    Outputs r = Cond(
        s, s.Const(taken),
        [&](const Scope& in) {
          return Repeat(in, 3, {x}, [&](const Scope& body, const Outputs& v) {
            return Outputs{body.Op("Mul", {v[0], body.Op("AddV2", {v[0], w})})};
          });
        },
        [&](const Scope& in) {
          return Outputs{in.Op("Mul", {x, w})};
        });
    CheckGradients(s, r[0], {{x, Doubles({2}, 0.7)}, {w, Doubles({2}, 0.9)}});
  }
}

TEST(WhileGradientTest, LoopInCondInLoop) {
  Scope s = Scope::Root();
  Output x = Input(s, {2}), w = Input(s, {2});
  Outputs r = WhileLoop(
      s,
      [](const Scope& in, const Outputs& v) {
        return in.Op("Less", {v[0], in.Const<int32_t>(4)});
      },
      [&](const Scope& body, const Outputs& v) {
        Output odd = body.Op(
            "Equal", {body.Op("Mul", {v[0], body.Op("Sub", {v[0], body.Const<int32_t>(4)})}), body.Const<int32_t>(-3)});
        Outputs c = Cond(
            body, odd,
            [&](const Scope& in) {
              return Repeat(in, 2, {v[1]}, [&](const Scope& inner, const Outputs& u) {
                return Outputs{inner.Op("Tanh", {inner.Op("Mul", {inner.Op("AddV2", {u[0], v[1]}), w})})};
              });
            },
            [&](const Scope& in) { return Outputs{in.Op("Square", {v[1]})}; });
        return Outputs{body.Op("AddV2", {v[0], body.Const<int32_t>(1)}), c[0]};
      },
      {s.Const<int32_t>(0), x});
  CheckGradients(s, r[1], {{x, Doubles({2}, 0.7)}, {w, Doubles({2}, 0.9)}});
}

TEST(WhileGradientTest, GradientInsideABody) {
  Scope s = Scope::Root();
  Output x = Input(s, {2}), w = Input(s, {2});
  Outputs r = Repeat(s, 3, {x}, [&](const Scope& in, const Outputs& v) {
    Output f = in.Op("Mul", {in.Op("Square", {v[0]}), w});
    std::vector<Grad> grads;
    EXPECT_TRUE(AddSymbolicGradients(in, {f}, {v[0]}, {}, &grads).ok()) << in.status();
    return Outputs{in.Op("Sub", {v[0], in.Op("Mul", {grads[0].dense, in.Const(0.1)})})};
  });
  ASSERT_TRUE(s.ok()) << s.status();
  auto values = Evaluate(s, {{x, Tensor::Of<double>({2}, {1, 2})}, {w, Tensor::Of<double>({2}, {1, 2})}}, r);
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_NEAR((*values)[0].flat<double>()[0], 0.512, 1e-12);
  EXPECT_NEAR((*values)[0].flat<double>()[1], 2 * 0.6 * 0.6 * 0.6, 1e-12);
}

TEST(WhileGradientTest, BodyMustKeepTypesAndShapes) {
  Scope s = Scope::Root();
  Output x = Input(s, {2});
  Repeat(s, 3, {x}, [](const Scope& in, const Outputs& v) {
    return Outputs{in.Op("ConcatV2", {v[0], v[0], in.Const<int32_t>(0)})};
  });
  EXPECT_THAT(std::string(s.status().message()), HasSubstr("has shape [4] after one iteration"));
}

TEST(ControlFlowTest, FindsFramesAndVariables) {
  Scope s = Scope::Root();
  Output x = Input(s, {2}), w = Input(s, {2});
  Outputs r = Repeat(s, 3, {x}, [&](const Scope& in, const Outputs& v) { return Outputs{in.Op("Mul", {v[0], w})}; });
  ASSERT_TRUE(s.ok()) << s.status();
  StatusOr<ControlFlow> flow = ControlFlow::Analyze(*s.graph());
  ASSERT_TRUE(flow.ok()) << flow.status();
  ASSERT_EQ(flow->frames().size(), 1u);
  const LoopFrame& loop = *flow->frames()[0];
  EXPECT_EQ(loop.name, "while/while_context");
  EXPECT_EQ(loop.variables.size(), 2u);
  EXPECT_EQ(loop.constants.size(), 1u);
  EXPECT_EQ(loop.variables[1].exits.size(), 1u);
  EXPECT_EQ(flow->frame(r[0].node), nullptr);
  EXPECT_EQ(flow->frame(r[0].node->input(0).node), &loop);
}

TEST(ControlFlowTest, RefusesInputsFromTwoFrames) {
  Scope s = Scope::Root();
  Output x = Input(s, {2});
  Output inside = s.Op("Enter", {x}, {{"frame_name", "f"}});
  s.WithOpName("bad").Op("Mul", {inside, x});
  ASSERT_TRUE(s.ok()) << s.status();
  StatusOr<ControlFlow> flow = ControlFlow::Analyze(*s.graph());
  EXPECT_EQ(flow.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(flow.status().message()), HasSubstr("{{node bad}} has inputs from different frames"));
}

}  // namespace
}  // namespace millstream
