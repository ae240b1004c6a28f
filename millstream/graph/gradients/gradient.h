// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_GRAPH_GRADIENTS_GRADIENT_H_
#define MILLSTREAM_GRAPH_GRADIENTS_GRADIENT_H_

#include <functional>
#include <string>
#include <vector>

#include "millstream/graph/scope.h"

namespace millstream {

// A gradient: dense, or sparse as rows of it (values[i] belongs to row indices[i]; rows may repeat), or none.
struct Grad {
  Output dense;
  Output values, indices, dense_shape;  // set together when sparse

  Grad() = default;
  Grad(Output d) : dense(d) {}  // NOLINT(google-explicit-constructor)
  static Grad Slices(Output values, Output indices, Output dense_shape) {
    Grad g;
    g.values = values;
    g.indices = indices;
    g.dense_shape = dense_shape;
    return g;
  }
  bool IsNone() const { return !dense && !values; }
  bool IsSparse() const { return static_cast<bool>(values); }
};

// What the gradient function of an op sees: the node, the gradients that arrive at its outputs, a scope for new nodes.
// It calls set_dx() for the inputs that get a gradient; the others get none.
class GradContext {
 public:
  GradContext(const Scope& scope, Node* node, std::vector<Grad> dy)
      : scope_(scope), node_(node), dy_(std::move(dy)), dx_(node->num_inputs()) {}

  Node& node() const { return *node_; }
  Output input(int i) const { return node_->input(i); }
  Output output(int i) const { return Output(node_, i); }
  // The gradient of output i: a zero tensor of its shape if none arrived; sparse ones are made dense.
  Output dy(int i);
  // As it arrived.
  const Grad& grad(int i) const { return dy_[i]; }
  bool has_dy(int i) const { return !dy_[i].IsNone(); }
  void set_dx(int i, Output dx) { dx_[i] = Grad(dx); }
  void set_dx(int i, Grad dx) { dx_[i] = std::move(dx); }
  const std::vector<Grad>& dx() const { return dx_; }

  const Scope& scope() const { return scope_; }
  Output Op(absl::string_view type, std::vector<Output> inputs, Attrs attrs = {}) const {
    return scope_.Op(type, std::move(inputs), attrs);
  }
  Node* Add(absl::string_view type, std::vector<Output> inputs, Attrs attrs = {}) const {
    return scope_.Add(type, std::move(inputs), attrs);
  }
  // A scalar constant of the type of `like`.
  Output ConstLike(Output like, double value) const;
  template <typename T>
  T Attr(absl::string_view name) const {
    T value{};
    if (Status s = node_->GetAttr(name, &value); !s.ok()) scope_.Fail(s);
    return value;
  }
  Status status() const { return scope_.status(); }

 private:
  Scope scope_;
  Node* node_;
  std::vector<Grad> dy_;
  std::vector<Grad> dx_;
};

struct GradientOptions {
  bool colocate_gradients_with_ops = false;
  bool gate_gradients = false;  // no input gradient of an op is used before all of them are there
  enum class Aggregation { kAddN, kTree } aggregation = Aggregation::kAddN;
  std::vector<Output> stop_gradients;
  // Asked first for each node on the way; true if it has set the gradients (gradients registered by name or by users).
  std::function<StatusOr<bool>(GradContext&)> custom;
};

// Adds nodes that compute d(sum of ys * grad_ys)/dxs to `scope` and sets (*grads)[i] for each x (none where y does not
// depend on x). `grad_ys` may be empty (ones) or hold empty Outputs (ones there). Goes through v1 loops and conds,
// calls and If/While. LookupError-like NotFound if an op on the path has no gradient, naming the node.
Status AddSymbolicGradients(const Scope& scope, const std::vector<Output>& ys, const std::vector<Output>& xs,
                            const std::vector<Output>& grad_ys, std::vector<Grad>* grads,
                            const GradientOptions& options = {});

// Helpers for gradient functions.
// Sums `gx` and `gy`, which have the shape of broadcast(x, y), back to the shapes of x and y, and sets them as
// gradients of inputs 0 and 1. An empty one is left out.
void BroadcastGrads(GradContext& g, Output x, Output y, Output gx, Output gy);
// `grad`, which has the shape of broadcast(x, other), summed back to the shape of x.
Output SumToShapeOf(const Scope& scope, Output x, Output other, Output grad);
// Zeros (ones) of the shape and type of `like`; a constant where the shape is known. For the handle of a variable: of
// its value.
Output ZerosFor(const Scope& scope, Output like);
Output OnesFor(const Scope& scope, Output like);
// A scalar of that type. REQUIRES: a number or bool.
Tensor ScalarOf(DType dtype, double value);
// True for the types that gradients flow through: floating, complex, and handles of variables.
bool IsDifferentiable(DType dtype);
// A sparse gradient made dense.
Output DenseGrad(const Scope& scope, const Grad& grad);

}  // namespace millstream

#endif  // MILLSTREAM_GRAPH_GRADIENTS_GRADIENT_H_
