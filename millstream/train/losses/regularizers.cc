// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/losses/regularizers.h"

#include <map>

#include "millstream/graph/gradients/gradient.h"
#include "millstream/train/losses/weights.h"
#include "millstream/train/variables/variables.h"

namespace millstream {
namespace {

constexpr char kConstraint[] = "_constraint";  // of a variable's node: what makes its value an allowed one
constexpr double kTiny = 1e-7;

Output Scaled(const Scope& scope, const char* name, double scale, Output value, Output (*cost)(const Scope&, Output)) {
  if (scale < 0) {
    scope.Fail(errors::InvalidArgument("Setting a scale less than 0 on a regularizer: ", scale));
  }
  if (scale == 0 || !scope.ok()) return {};
  const Scope s = scope.NameScope(name);
  const Output factor = s.WithOpName("scale").Const(ScalarOf(value.dtype(), scale));
  return s.WithOpName(s.name_prefix()).Op("Mul", {factor, cost(s, value)});
}

Output Norms(const Scope& s, Output w, int axis) {
  const Output squares = s.Op("Sum", {s.Op("Square", {w}), s.Constant({axis})}, {{"keep_dims", true}});
  return s.Op("Sqrt", {squares});
}

Output Number(const Scope& s, Output like, double value) { return s.Const(ScalarOf(like.dtype(), value)); }

// Twins of the nodes between `from` and `to`, over `value` in place of `from`.
class Twins {
 public:
  Twins(const Scope& scope, Output from, Output value) : s_(scope) { of_[from] = value; }

  Output Of(Output output) {
    if (const auto it = of_.find(output); it != of_.end()) return it->second;
    std::vector<Output> inputs;
    bool same = true;
    for (const Output& in : output.node->inputs()) {
      inputs.push_back(Of(in));
      same = same && inputs.back() == in;
    }
    Output twin = output;
    if (!same) {
      std::vector<std::pair<std::string, AttrValue>> attrs;
      for (const auto& [name, value] : output.node->attrs()) {
        if (name != "_class") attrs.emplace_back(name, value);
      }
      Node* node = s_.Add(output.node->type(), inputs, std::move(attrs));
      if (node == nullptr) return {};
      twin = Output(node, output.index);
      for (int i = 0; i < node->num_outputs(); ++i) of_[Output(output.node, i)] = Output(node, i);
    }
    return of_[output] = twin;
  }

 private:
  struct Before {
    bool operator()(const Output& a, const Output& b) const {
      return a.node->id() != b.node->id() ? a.node->id() < b.node->id() : a.index < b.index;
    }
  };
  const Scope s_;
  std::map<Output, Output, Before> of_;
};

}  // namespace

Regularizer L1Regularizer(double scale) {
  return [scale](const Scope& s, Output value) {
    return Scaled(s, "l1_regularizer", scale, value,
                  [](const Scope& in, Output w) { return SumAll(in, in.Op("Abs", {w})); });
  };
}

Regularizer L2Regularizer(double scale) {
  return [scale](const Scope& s, Output value) {
    return Scaled(s, "l2_regularizer", scale, value, [](const Scope& in, Output w) { return in.Op("L2Loss", {w}); });
  };
}

Regularizer L1L2Regularizer(double scale_l1, double scale_l2) {
  return [scale_l1, scale_l2](const Scope& scope, Output value) {
    const Scope s = scope.NameScope("l1_l2_regularizer");
    const Output l1 = L1Regularizer(scale_l1)(s, value), l2 = L2Regularizer(scale_l2)(s, value);
    return l1 && l2 ? s.WithOpName(s.name_prefix()).Op("AddN", {l1, l2}) : (l1 ? l1 : l2);
  };
}

Constraint NonNegConstraint() {
  return [](const Scope& s, Output w) { return s.ok() ? s.Op("Maximum", {w, Number(s, w, 0)}) : Output(); };
}

Constraint MaxNormConstraint(double max_value, int axis) {
  return [max_value, axis](const Scope& s, Output w) {
    if (!s.ok()) return Output();
    const Output norms = Norms(s, w, axis);
    const Output wanted = s.Op("Minimum", {norms, Number(s, w, max_value)});
    return s.Op("Mul", {w, s.Op("RealDiv", {wanted, s.Op("AddV2", {norms, Number(s, w, kTiny)})})});
  };
}

Constraint UnitNormConstraint(int axis) {
  return [axis](const Scope& s, Output w) {
    return s.ok() ? s.Op("RealDiv", {w, s.Op("AddV2", {Norms(s, w, axis), Number(s, w, kTiny)})}) : Output();
  };
}

bool HasConstraint(const GraphVariable& v) { return v && v.handle.node->attrs().Has(kConstraint); }

Node* ApplyConstraint(const Scope& scope, const GraphVariable& v, Node* update) {
  if (!scope.ok() || update == nullptr || !HasConstraint(v)) return update;
  std::string name;
  if (Status s = v.handle.node->GetAttr(kConstraint, &name); !s.ok()) scope.Fail(s);
  const StatusOr<Output> allowed = scope.graph()->FindOutput(name);
  if (!allowed.ok()) scope.Fail(allowed.status());
  if (!scope.ok()) return nullptr;
  const Scope after = scope.WithControlDependencies({update});
  return AssignVariable(after, v, Twins(after, v.value, ReadVariable(after, v)).Of(*allowed)).node;
}

}  // namespace millstream
