// SPDX-License-Identifier: Apache-2.0
// Trains softmax regression, then LeNet, on MNIST in one process.
//
// Final output should be close to: softmax 91.7 % after 1,000 steps of 100 images, LeNet 97 % after 600 steps of 64.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "millstream/data/mnist.h"
#include "millstream/millstream.h"

namespace {

using namespace millstream;  // NOLINT(google-build-using-namespace)

// A graph that classifies 28x28 images, with its training op.
struct Model {
  Scope scope = Scope::Root();
  Output images, labels, loss, accuracy;
  Node* train = nullptr;
  Node* init = nullptr;
};

// A variable of this shape, drawn from a normal distribution or zero.
Output AddVariable(const Scope& s, const Shape& shape, float deviation, std::vector<Node*>* inits) {
  const std::vector<int32_t> dims(shape.dims().begin(), shape.dims().end());
  const Output size = s.Const(Tensor::Vector<int32_t>(dims));
  const auto seed = static_cast<int64_t>(inits->size() + 1);
  const Output initial =
      deviation == 0
          ? ops::Fill(s, size, s.Const(0.0f))
          : ops::Mul(s, ops::TruncatedNormal(s, size, DType::kFloat, {.seed = 1, .seed2 = seed}), s.Const(deviation));
  const Output variable = ops::VariableV2(s, PartialShape(shape), DType::kFloat);
  inits->push_back(ops::Assign(s, variable, initial).node);
  s.AddToCollection("trainable_variables", variable);
  return variable;
}

Output Dense(const Scope& s, Output x, int64_t in, int64_t out, std::vector<Node*>* inits) {
  const Output w = AddVariable(s, Shape({in, out}), 1.0f / std::sqrt(static_cast<float>(in)), inits);
  return ops::BiasAdd(s, ops::MatMul(s, x, w), AddVariable(s, Shape({out}), 0, inits));
}

// 5x5 convolution, relu, 2x2 max-pooling.
Output ConvPool(const Scope& s, Output x, int64_t in, int64_t out, std::vector<Node*>* inits) {
  const Output w = AddVariable(s, Shape({5, 5, in, out}), 1.0f / std::sqrt(25.0f * static_cast<float>(in)), inits);
  const Output y = ops::BiasAdd(s, ops::Conv2D(s, x, w, {1, 1, 1, 1}, "SAME"), AddVariable(s, Shape({out}), 0, inits));
  return ops::MaxPool(s, ops::Relu(s, y), {1, 2, 2, 1}, {1, 2, 2, 1}, "SAME");
}

Output Logits(const Scope& s, const std::string& name, Output images, std::vector<Node*>* inits) {
  if (name == "softmax") return Dense(s.NameScope("softmax"), images, 784, 10, inits);
  Output x = ops::Reshape(s, images, s.Constant({-1, 28, 28, 1}));
  x = ConvPool(s.NameScope("conv1"), x, 1, 32, inits);
  x = ConvPool(s.NameScope("conv2"), x, 32, 64, inits);
  x = ops::Reshape(s, x, s.Constant({-1, 7 * 7 * 64}));
  x = ops::Relu(s, Dense(s.NameScope("dense1"), x, 7 * 7 * 64, 1024, inits));
  return Dense(s.NameScope("dense2"), x, 1024, 10, inits);
}

StatusOr<Model> BuildModel(const std::string& name) {
  Model m;
  const Scope& s = m.scope;
  m.images = ops::Placeholder(s.WithOpName("images"), DType::kFloat, {.shape = PartialShape({-1, 784})});
  m.labels = ops::Placeholder(s.WithOpName("labels"), DType::kFloat, {.shape = PartialShape({-1, 10})});
  std::vector<Node*> inits, updates;
  const Output logits = Logits(s, name, m.images, &inits);
  m.loss = ops::Mean(s, Output(ops::SoftmaxCrossEntropyWithLogits(s, logits, m.labels), 0), s.Constant({0}));
  const Output axis = s.Const<int32_t>(1);
  const Output hits = ops::Equal(s, ops::ArgMax(s, logits, axis), ops::ArgMax(s, m.labels, axis));
  m.accuracy = ops::Mean(s, ops::Cast(s, hits, DType::kFloat), s.Constant({0}));

  const std::vector<Output> variables = s.Collection("trainable_variables");
  std::vector<Grad> grads;
  RETURN_IF_ERROR(AddSymbolicGradients(s, {m.loss}, variables, {}, &grads));
  const Output rate = s.Const(name == "softmax" ? 0.5f : 0.05f);
  for (size_t i = 0; i < variables.size(); ++i) {
    updates.push_back(ops::ApplyGradientDescent(s, variables[i], rate, grads[i].dense).node);
  }
  m.train = s.WithOpName("train").WithControlDependencies(updates).Add("NoOp", {});
  m.init = s.WithOpName("init").WithControlDependencies(inits).Add("NoOp", {});
  RETURN_IF_ERROR(s.status());
  return m;
}

StatusOr<float> Accuracy(Session& session, const Model& model, const LabeledImages& test) {
  constexpr int64_t kChunk = 1000;
  double sum = 0;
  for (int64_t i = 0; i < test.size(); i += kChunk) {
    std::vector<Tensor> out;
    RETURN_IF_ERROR(session.Run({{model.images.name(), test.images().SliceRows(i, i + kChunk)},
                                 {model.labels.name(), test.one_hot_labels().SliceRows(i, i + kChunk)}},
                                {model.accuracy.name()}, {}, &out));
    sum += out[0].scalar<float>();
  }
  const int64_t chunks = (test.size() + kChunk - 1) / kChunk;
  return static_cast<float>(sum / static_cast<double>(chunks));
}

Status Train(const char* name, int64_t batch, int steps, Mnist& mnist) {
  ASSIGN_OR_RETURN(const Model model, BuildModel(name));
  ASSIGN_OR_RETURN(std::unique_ptr<Session> session, NewSession());
  RETURN_IF_ERROR(session->Extend(*model.scope.graph()));
  std::vector<Tensor> out;
  RETURN_IF_ERROR(session->Run({}, {}, {model.init->name()}, &out));
  Tensor images, labels;
  const auto start = std::chrono::steady_clock::now();
  for (int step = 1; step <= steps; ++step) {
    mnist.train.NextBatch(batch, &images, &labels);
    RETURN_IF_ERROR(session->Run({{model.images.name(), images}, {model.labels.name(), labels}}, {model.loss.name()},
                                 {model.train->name()}, &out));
    if (step % (steps / 5) == 0) {
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      std::printf("%-8s step %5d  loss %.4f  %.0f steps/s\n", name, step, out[0].scalar<float>(), step / seconds);
      std::fflush(stdout);
    }
  }
  ASSIGN_OR_RETURN(const float accuracy, Accuracy(*session, model, mnist.test));
  std::printf("%-8s test accuracy %.2f %%\n", name, accuracy * 100);
  return OkStatus();
}

Status Run(const char* data_dir) {
  ASSIGN_OR_RETURN(Mnist mnist, ReadMnist(data_dir));
  RETURN_IF_ERROR(Train("softmax", 100, 1000, mnist));
  return Train("lenet", 64, 600, mnist);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 2 || (argc == 2 && std::strcmp(argv[1], "--help") == 0)) {
    std::printf("usage: train_mnist [folder with the MNIST files]\n");
    return argc > 2 ? 2 : 0;
  }
  const Status status = Run(argc == 2 ? argv[1] : "");
  if (!status.ok()) std::fprintf(stderr, "train_mnist: %s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
