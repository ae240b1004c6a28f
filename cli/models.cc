// SPDX-License-Identifier: Apache-2.0
#include "cli/models.h"

#include <cmath>

#include "millstream/graph/gradient.h"
#include "millstream/millstream.h"

namespace millstream::cli {
namespace {

// Collects variables while layers are added, then writes the training op.
class ModelBuilder {
 public:
  explicit ModelBuilder(Model* model) : m_(*model), s_(m_.scope) {
    m_.images = s_.WithOpName("images").Op("Placeholder", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape({-1, 784})}});
    m_.labels = s_.WithOpName("labels").Op("Placeholder", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape({-1, 10})}});
  }

  Output Dense(Output x, int64_t in, int64_t out, bool relu) {
    Output y = ops::BiasAdd(s_, ops::MatMul(s_, x, Weights(Shape({in, out}), in)), Zeros(Shape({out})));
    return relu ? ops::Relu(s_, y) : y;
  }

  // 5x5 convolution, relu, 2x2 max-pooling.
  Output ConvPool(Output x, int64_t in, int64_t out) {
    Output w = Weights(Shape({5, 5, in, out}), 25 * in);
    Output y = ops::Relu(s_, ops::BiasAdd(s_, ops::Conv2D(s_, x, w, {1, 1, 1, 1}, "SAME"), Zeros(Shape({out}))));
    const std::vector<int64_t> window = {1, 2, 2, 1};
    return s_.Op("MaxPool", {y}, {{"ksize", window}, {"strides", window}, {"padding", "SAME"}});
  }

  Output Reshape(Output x, std::initializer_list<int32_t> shape) { return ops::Reshape(s_, x, s_.Constant(shape)); }

  void Loss(Output logits) {
    Node* xent = ops::SoftmaxCrossEntropyWithLogits(s_, logits, m_.labels);
    m_.loss = ops::Mean(s_.WithOpName("loss"), Output(xent, 0), s_.Constant({0}));
    Output hit = ops::Equal(s_, ops::ArgMax(s_, logits, s_.Const<int32_t>(1)), ops::ArgMax(s_, m_.labels, s_.Const<int32_t>(1)));
    m_.accuracy = ops::Mean(s_.WithOpName("accuracy"), ops::Cast(s_, hit, DType::kFloat), s_.Constant({0}));
  }

  Status Sgd(float rate) {
    std::vector<Grad> grads;
    RETURN_IF_ERROR(AddSymbolicGradients(s_, {m_.loss}, variables_, {}, &grads));
    std::vector<Node*> updates;
    for (size_t i = 0; i < variables_.size(); ++i) {
      updates.push_back(ops::ApplyGradientDescent(s_, variables_[i], s_.Const(rate), grads[i].dense).node);
    }
    return Finish(updates);
  }

  Status Adam(float rate) {
    const std::vector<Output> variables = variables_;
    std::vector<Grad> grads;
    RETURN_IF_ERROR(AddSymbolicGradients(s_, {m_.loss}, variables, {}, &grads));
    Output beta1 = s_.Const(0.9f), beta2 = s_.Const(0.999f), epsilon = s_.Const(1e-8f);
    Output power1 = Variable(Shape(), beta1), power2 = Variable(Shape(), beta2);
    std::vector<Node*> updates;
    for (size_t i = 0; i < variables.size(); ++i) {
      const PartialShape shape = s_.ShapeOf(variables[i]);
      Output m = Zeros(shape.ToShape()), v = Zeros(shape.ToShape());
      updates.push_back(ops::ApplyAdam(s_, variables[i], m, v, power1, power2, s_.Const(rate), beta1, beta2, epsilon, grads[i].dense).node);
    }
    Scope after = s_.WithControlDependencies(updates);
    updates.push_back(ops::Assign(after, power1, ops::Mul(after, power1, beta1)).node);
    updates.push_back(ops::Assign(after, power2, ops::Mul(after, power2, beta2)).node);
    return Finish(updates);
  }

 private:
  Output Variable(const Shape& shape, Output initial) {
    Output v = ops::VariableV2(s_, PartialShape(shape), DType::kFloat);
    inits_.push_back(ops::Assign(s_, v, initial).node);
    return v;
  }
  Output Zeros(const Shape& shape) {
    Tensor zeros(DType::kFloat, shape);
    std::fill_n(zeros.data<float>(), zeros.num_elements(), 0.0f);
    Output v = Variable(shape, s_.Const(zeros));
    if (!m_.loss) variables_.push_back(v);
    return v;
  }
  Output Weights(const Shape& shape, int64_t fan_in) {
    std::vector<int32_t> dims(shape.dims().begin(), shape.dims().end());
    Output normal = ops::TruncatedNormal(s_, s_.Const(Tensor::Vector<int32_t>(dims)), DType::kFloat, {.seed = 1, .seed2 = ++seeds_});
    Output v = Variable(shape, ops::Mul(s_, normal, s_.Const(1.0f / std::sqrt(static_cast<float>(fan_in)))));
    variables_.push_back(v);
    return v;
  }
  Status Finish(const std::vector<Node*>& updates) {
    m_.train = s_.WithOpName("train").WithControlDependencies(updates).Add("NoOp", {});
    m_.init = s_.WithOpName("init").WithControlDependencies(inits_).Add("NoOp", {});
    return s_.status();
  }

  Model& m_;
  const Scope s_;
  std::vector<Output> variables_;
  std::vector<Node*> inits_;
  int64_t seeds_ = 0;
};

}  // namespace

StatusOr<Model> BuildModel(const std::string& name) {
  Model m;
  ModelBuilder b(&m);
  if (name == "softmax") {
    b.Loss(b.Dense(m.images, 784, 10, false));
    RETURN_IF_ERROR(b.Sgd(0.5f));
  } else if (name == "mlp100") {
    b.Loss(b.Dense(b.Dense(m.images, 784, 100, true), 100, 10, false));
    RETURN_IF_ERROR(b.Adam(0.001f));
  } else if (name == "mlp500") {
    b.Loss(b.Dense(b.Dense(b.Dense(m.images, 784, 500, true), 500, 500, true), 500, 10, false));
    RETURN_IF_ERROR(b.Adam(0.001f));
  } else if (name == "lenet") {
    Output x = b.ConvPool(b.ConvPool(b.Reshape(m.images, {-1, 28, 28, 1}), 1, 32), 32, 64);
    b.Loss(b.Dense(b.Dense(b.Reshape(x, {-1, 7 * 7 * 64}), 7 * 7 * 64, 1024, true), 1024, 10, false));
    RETURN_IF_ERROR(b.Sgd(0.05f));
  } else {
    return errors::InvalidArgument("There is no model '", name, "' (softmax, mlp100, mlp500, lenet)");
  }
  return m;
}

}  // namespace millstream::cli
