// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/fusion/fuse_elements.h"

#include <gmock/gmock.h>

#include <functional>

#include "millstream/framework/cpu_device.h"
#include "millstream/framework/device_kernels.h"
#include "millstream/framework/run_kernel.h"
#include "millstream/graph/fusion/fused_body.h"
#include "millstream/graph/fusion/merge_products.h"
#include "millstream/graph/passes/passes.h"
#include "millstream/graph/scope.h"

namespace millstream {
namespace {

constexpr char kFuser[] = "/job:localhost/replica:0/task:0/device:FUSER:0";
constexpr char kOnCpu[] = "/job:localhost/replica:0/task:0/device:CPU:0";

class FuseElementsTest : public ::testing::Test {
 protected:
  // A type of device with the CPU's kernels.
  static void SetUpTestSuite() {
    static bool added = false;
    if (added) return;
    added = true;
    for (const char* name : {"AddV2", "AddN", "BiasAddGrad", "ConcatV2", "MatMul", "Mul", "Sigmoid", "Slice", "Split",
                             "Sub", "Tanh", kFusedElements}) {
      OpEntry& op = OpRegistry::Global().Add(name);
      const std::vector<KernelDef> kernels = op.kernels;
      for (KernelDef kernel : kernels) {
        if (kernel.device_type != "CPU") continue;  // another test's device
        kernel.device_type = "FUSER";
        ASSERT_TRUE(AddDeviceKernel(&op, kernel).ok());
      }
    }
  }

  Output Value(const Shape& shape) {
    Tensor value(DType::kFloat, shape);
    for (int64_t i = 0; i < value.num_elements(); ++i)
      value.data<float>()[i] = 0.1F * static_cast<float>(i % 17) - 0.7F;
    return scope_.Const(value);
  }

  // The graph on one device, after `pass`.
  PrunedGraph Rewrite(const std::vector<Output>& rets, const std::function<Status(PrunedGraph*)>& pass,
                      const char* device = kFuser) {
    EXPECT_TRUE(scope_.ok()) << scope_.status();
    StatusOr<PrunedGraph> part = Prune(*scope_.graph(), {}, rets, {});
    EXPECT_TRUE(part.ok()) << part.status();
    for (const auto& node : part->graph->nodes()) node->set_assigned_device(device);
    const Status status = pass(&*part);
    EXPECT_TRUE(status.ok()) << status;
    RemoveUnused(&*part);
    return *std::move(part);
  }
  PrunedGraph Fuse(const std::vector<Output>& rets, const char* device = kFuser) {
    return Rewrite(rets, FuseElements, device);
  }

  static std::vector<Node*> Fused(const PrunedGraph& part) { return OfType(part, kFusedElements); }
  static std::vector<Node*> OfType(const PrunedGraph& part, const char* type) {
    std::vector<Node*> found;
    for (const auto& node : part.graph->nodes()) {
      if (node != nullptr && node->Is(type)) found.push_back(node.get());
    }
    return found;
  }

  static Tensor Evaluate(const Output& output) {
    std::vector<Tensor> inputs;
    Tensor value;
    if (output.node->GetAttr("value", &value).ok()) return value;
    for (const Output& in : output.node->inputs()) inputs.push_back(Evaluate(in));
    auto results = RunKernel(output.node->op(), output.node->attrs(), std::move(inputs), CpuDevice::SingleThreaded());
    EXPECT_TRUE(results.ok()) << results.status();
    return (*results)[static_cast<size_t>(output.index)];
  }
  void ExpectSameValues(const std::vector<Output>& before, const PrunedGraph& after, float tolerance = 0) {
    for (size_t i = 0; i < before.size(); ++i) {
      const Tensor wanted = Evaluate(before[i]), got = Evaluate(after.rets[i]);
      ASSERT_EQ(got.shape(), wanted.shape());
      for (int64_t k = 0; k < got.num_elements(); ++k) {
        EXPECT_NEAR(got.data<float>()[k], wanted.data<float>()[k], tolerance) << "result " << i << ", element " << k;
      }
    }
  }

  Output Op(const char* type, std::vector<Output> inputs) { return scope_.Op(type, std::move(inputs)); }
  std::vector<Output> Split(const Output& value, int axis, int count) {
    Node* const node = scope_.Add("Split", {scope_.Const<int32_t>(axis), value}, {{"num_split", count}});
    std::vector<Output> parts;
    for (int i = 0; i < count; ++i) parts.emplace_back(node, i);
    return parts;
  }

  Scope scope_ = Scope::Root();
};

TEST_F(FuseElementsTest, MakesOneNodeOfAChain) {
  const Output y = Op("Tanh", {Op("Mul", {Op("AddV2", {Value({3, 5}), Value({5})}), Value({})})});
  const PrunedGraph part = Fuse({y});
  ASSERT_EQ(Fused(part).size(), 1);
  EXPECT_EQ(Fused(part)[0]->num_inputs(), 3);
  EXPECT_EQ(Fused(part)[0]->num_outputs(), 1);
  EXPECT_TRUE(OfType(part, "Mul").empty());
  ExpectSameValues({y}, part);
}

TEST_F(FuseElementsTest, LeavesSingleOpsAlone) {
  const Output one = Op("Tanh", {Value({3})});
  EXPECT_TRUE(Fused(Fuse({one})).empty());
  EXPECT_TRUE(Fused(Fuse({one}, kOnCpu)).empty());
}

TEST_F(FuseElementsTest, MakesGroupsForTheCpu) {
  const Output y = Op("Tanh", {Op("Mul", {Op("AddV2", {Value({3, 5}), Value({5})}), Value({3, 1})})});
  const PrunedGraph part = Fuse({y}, kOnCpu);
  ASSERT_EQ(Fused(part).size(), 1);
  AttrValue::Strings members;
  ASSERT_TRUE(Fused(part)[0]->GetAttr(kMembersAttr, &members).ok());
  EXPECT_EQ(members.size(), 3);
  ExpectSameValues({y}, part);
}

// The CPU does not read parts where they are, nor writes them side by side.
TEST_F(FuseElementsTest, LeavesSplitsAndConcatsOfTheCpuAlone) {
  const std::vector<Output> half = Split(Value({2, 6}), 1, 2);
  const Output one = Op("Tanh", {Op("Sigmoid", {half[0]})}), other = Op("Sigmoid", {Op("Tanh", {half[1]})});
  const PrunedGraph part = Fuse({Op("ConcatV2", {one, other, scope_.Const<int32_t>(1)})}, kOnCpu);
  EXPECT_EQ(Fused(part).size(), 2);
  EXPECT_EQ(OfType(part, "Split").size(), 1);
  EXPECT_EQ(OfType(part, "ConcatV2").size(), 1);
}

TEST_F(FuseElementsTest, SizesThatAreNotKnownAreTakenForEqual) {
  const auto rows = [&] {
    return scope_.Op("Placeholder", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape({-1, 4})}});
  };
  EXPECT_EQ(Fused(Fuse({Op("Tanh", {Op("Mul", {Op("Sigmoid", {rows()}), rows()})})}, kOnCpu)).size(), 1);
  // What is fed has no shape here: it is likely to be as large as a matrix beside it, and larger than a vector.
  const Output fed = scope_.Op("Placeholder", {}, {{"dtype", DType::kFloat}});
  EXPECT_EQ(Fused(Fuse({Op("Mul", {Op("Sigmoid", {rows()}), fed})}, kOnCpu)).size(), 1);
  EXPECT_EQ(Fused(Fuse({Op("Tanh", {Op("Mul", {fed, Value({4})})})}, kOnCpu)).size(), 1);
  EXPECT_TRUE(Fused(Fuse({Op("Mul", {Op("Sigmoid", {Value({4})}), fed})}, kOnCpu)).empty());
}

TEST_F(FuseElementsTest, KeepsWhatIsReadElsewhere) {
  const Output inner = Op("Sigmoid", {Value({4, 4})});
  const Output outer = Op("Mul", {inner, inner});
  const Output product = Op("MatMul", {inner, Value({4, 4})});
  const PrunedGraph part = Fuse({outer, product});
  ASSERT_EQ(Fused(part).size(), 1);
  EXPECT_EQ(Fused(part)[0]->num_outputs(), 2);
  ExpectSameValues({outer, product}, part);
}

// a -> b -> c, and a -> product -> c: the product must run between two groups.
TEST_F(FuseElementsTest, NoGroupWaitsForItself) {
  const Output a = Op("Tanh", {Op("Sigmoid", {Value({4, 4})})});
  const Output b = Op("Tanh", {a});
  const Output product = Op("MatMul", {a, Value({4, 4})});
  const Output c = Op("Sigmoid", {Op("AddV2", {b, product})});
  const PrunedGraph part = Fuse({c});
  EXPECT_TRUE(part.graph->TopologicalOrder().ok());
  EXPECT_EQ(Fused(part).size(), 2);
  ExpectSameValues({c}, part);
}

TEST_F(FuseElementsTest, ShapesThatDifferMakeTwoGroups) {
  const Output row = Op("Tanh", {Op("Sigmoid", {Value({1, 4})})});
  const Output all = Op("Tanh", {Op("Mul", {row, Value({3, 4})})});
  const PrunedGraph part = Fuse({all});
  EXPECT_EQ(Fused(part).size(), 2);
  ExpectSameValues({all}, part);
}

// What a step of an LSTM does between two products: parts are read where they are, and written where they go.
TEST_F(FuseElementsTest, TakesInSplitsSlicesAndConcats) {
  const std::vector<Output> gate = Split(Op("MatMul", {Value({2, 6}), Value({6, 12})}), 1, 4);
  const Output kept = Op("Mul", {Value({2, 3}), Op("Sigmoid", {Op("AddV2", {gate[2], Value({})})})});
  const Output state = Op("AddV2", {kept, Op("Mul", {Op("Sigmoid", {gate[0]}), Op("Tanh", {gate[1]})})});
  const Output out = Op("Mul", {Op("Tanh", {state}), Op("Sigmoid", {gate[3]})});
  const Output window = Op("Slice", {Value({4, 5}), scope_.Constant({1, 2}), scope_.Constant({2, -1})});
  const Output next = Op("ConcatV2", {window, out, scope_.Const<int32_t>(1)});
  const PrunedGraph part = Fuse({state, next});
  ASSERT_EQ(Fused(part).size(), 1);
  EXPECT_EQ(Fused(part)[0]->num_outputs(), 2);
  EXPECT_TRUE(OfType(part, "Split").empty());
  EXPECT_TRUE(OfType(part, "Slice").empty());
  EXPECT_TRUE(OfType(part, "ConcatV2").empty());
  ExpectSameValues({state, next}, part);
}

TEST_F(FuseElementsTest, RefusesBodiesWithOtherOps) {
  const PrunedGraph part = Fuse({Op("Tanh", {Op("Sigmoid", {Value({3})})})});
  AttrMap attrs = Fused(part)[0]->attrs();
  EXPECT_TRUE(ReadFusedBody(attrs).ok());
  std::string body;
  ASSERT_TRUE(attrs.Get("body", &body).ok());
  body.replace(body.find("Sigmoid"), 7, "Softmax");
  attrs.Set("body", body);
  EXPECT_TRUE(absl::IsInvalidArgument(ReadFusedBody(attrs).status()));
}

class MergeProductsTest : public FuseElementsTest {};

TEST_F(MergeProductsTest, MakesOneProductOfASum) {
  std::vector<Output> products, biases;
  for (int i = 0; i < 3; ++i) {
    const Output x = Op("Tanh", {Value({2, 40})}), dy = Op("Sigmoid", {Value({2, 48})});
    products.push_back(scope_.Op("MatMul", {x, dy}, {{"transpose_a", true}}));
    biases.push_back(Op("BiasAddGrad", {dy}));
  }
  const Output dw = Op("AddN", products), db = Op("AddN", biases);
  const PrunedGraph part = Rewrite({dw, db}, MergeProducts);
  EXPECT_EQ(OfType(part, "MatMul").size(), 1);
  EXPECT_EQ(OfType(part, "BiasAddGrad").size(), 1);
  EXPECT_EQ(OfType(part, "ConcatV2").size(), 2);  // both read the same gradients
  EXPECT_TRUE(OfType(part, "AddN").empty());
  ExpectSameValues({dw, db}, part, 1e-5F);
}

TEST_F(MergeProductsTest, LeavesOtherTermsSmallProductsAndTheCpuAlone) {
  const auto product = [&](int64_t m) {
    return scope_.Op("MatMul", {Op("Tanh", {Value({2, m})}), Op("Tanh", {Value({2, m})})}, {{"transpose_a", true}});
  };
  const Output small = Op("AddN", {product(4), product(4)});
  EXPECT_EQ(OfType(Rewrite({small}, MergeProducts), "MatMul").size(), 2);
  const Output sum = Op("AddN", {product(64), Value({64, 64}), product(64)});
  EXPECT_EQ(OfType(Rewrite({sum}, MergeProducts, kOnCpu), "MatMul").size(), 2);
  const PrunedGraph part = Rewrite({sum}, MergeProducts);
  EXPECT_EQ(OfType(part, "MatMul").size(), 1);
  ASSERT_EQ(OfType(part, "AddN").size(), 1);
  EXPECT_EQ(OfType(part, "AddN")[0]->num_inputs(), 2);
  ExpectSameValues({sum}, part, 1e-5F);
}

}  // namespace
}  // namespace millstream
