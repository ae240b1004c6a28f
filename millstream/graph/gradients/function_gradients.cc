// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/gradients/function_gradients.h"

#include <functional>

#include "millstream/graph/control_flow/control_flow_builders.h"
#include "millstream/graph/functions/inline_function.h"
#include "millstream/graph/node_kind.h"
#include "millstream/graph/shape_refiner.h"

namespace millstream {
namespace {

constexpr int kMaxDepth = 32;  // of functions that call functions

using Outputs = std::vector<Output>;

// Computes the node's outputs again by `rebuild` and passes the gradients through that. Inputs before `first` are not
// differentiated.
Status ThroughCopy(GradContext& g, int first,
                   const std::function<StatusOr<Outputs>(const Scope&, const Outputs&)>& rebuild) {
  thread_local int depth = 0;
  if (depth >= kMaxDepth) return errors::Unimplemented("Gradient of a recursive function, at '", g.node().name(), "'");
  struct Level {
    Level() { ++depth; }
    ~Level() { --depth; }
  } level;
  const Scope& scope = g.scope();
  Outputs args;
  for (int i = first; i < g.node().num_inputs(); ++i) args.push_back(scope.Op("Identity", {g.input(i)}));
  RETURN_IF_ERROR(g.status());
  ASSIGN_OR_RETURN(const Outputs results, rebuild(scope, args));
  Outputs ys, dys;
  for (int i = 0; i < g.node().num_outputs() && i < static_cast<int>(results.size()); ++i) {
    if (!g.has_dy(i)) continue;
    ys.push_back(results[i]);
    dys.push_back(scope.Import(g.dy(i)));
  }
  RETURN_IF_ERROR(g.status());
  std::vector<Grad> dx;
  RETURN_IF_ERROR(AddSymbolicGradients(scope, ys, args, dys, &dx));
  for (size_t i = 0; i < dx.size(); ++i) g.set_dx(first + static_cast<int>(i), dx[i]);
  return g.status();
}

// The results of a function, or none with the error in the scope.
Outputs Call(const Scope& scope, const NameAttrList& function, const Outputs& args) {
  StatusOr<Outputs> results = InlineFunction(scope, function, args);
  if (results.ok()) return *std::move(results);
  scope.Fail(results.status());
  return {};
}

}  // namespace

Status PartitionedCallGrad(GradContext& g) {
  const auto f = g.Attr<NameAttrList>("f");
  return ThroughCopy(g, 0, [&](const Scope& scope, const Outputs& args) { return InlineFunction(scope, f, args); });
}

Status IfGrad(GradContext& g) {
  const auto yes = g.Attr<NameAttrList>("then_branch"), no = g.Attr<NameAttrList>("else_branch");
  return ThroughCopy(g, 1, [&](const Scope& scope, const Outputs& args) -> StatusOr<Outputs> {
    Output pred = g.input(0);
    if (pred.dtype() != DType::kBool)
      return errors::Unimplemented("Gradient of If by a condition that is no bool: '", g.node().name(), "'");
    Outputs results = Cond(
        scope, pred, [&](const Scope& in) { return Call(in, yes, args); },
        [&](const Scope& in) { return Call(in, no, args); });
    RETURN_IF_ERROR(scope.status());
    return results;
  });
}

Status WhileOpGrad(GradContext& g) {
  const auto cond = g.Attr<NameAttrList>("cond"), body = g.Attr<NameAttrList>("body");
  return ThroughCopy(g, 0, [&](const Scope& scope, const Outputs& args) -> StatusOr<Outputs> {
    WhileOptions options;
    // The function may change shapes; the op's own static shapes hold after any number of iterations.
    for (int i = 0; i < g.node().num_inputs(); ++i) {
      const PartialShape in = scope.ShapeOf(args[i]), out = scope.ShapeOf(g.output(i));
      options.shape_invariants.push_back(in == out ? in : PartialShape());
    }
    Outputs results = WhileLoop(
        scope,
        [&](const Scope& in, const Outputs& v) {
          Outputs r = Call(in, cond, v);
          return r.empty() ? Output() : r[0];
        },
        [&](const Scope& in, const Outputs& v) { return Call(in, body, v); }, args, options);
    RETURN_IF_ERROR(scope.status());
    return results;
  });
}

GradFn FunctionCallGradient(const Node& node) {
  switch (KindOf(node)) {
    case OpKind::kCall:
      return PartitionedCallGrad;
    case OpKind::kIf:
      return IfGrad;
    case OpKind::kWhile:
      return WhileOpGrad;
    default:
      return nullptr;
  }
}

StatusOr<FunctionBody> GradientBody(const FunctionLibrary& library, const NameAttrList& function) {
  if (const std::string own = library.GradientOf(function.name); !own.empty())
    return library.Instantiate({own, function.attrs});
  ASSIGN_OR_RETURN(FunctionBody body, library.Instantiate(function));
  const Scope scope(std::shared_ptr<Graph>(body.graph.get(), [](Graph*) {}));  // borrows it
  RETURN_IF_ERROR(scope.status());
  Outputs xs(body.args.begin(), body.args.end()), ys, dys;
  for (size_t i = 0; i < body.rets.size(); ++i) {
    ys.push_back(body.rets[i]->input(0));
    Node* arg = scope.WithOpName("dy").Add(
        "_Arg", {}, {{"T", body.ret_types[i]}, {"index", static_cast<int64_t>(body.args.size())}});
    RETURN_IF_ERROR(scope.status());
    body.args.push_back(arg);
    body.arg_types.push_back(body.ret_types[i]);
    dys.push_back(Output(arg));
  }
  std::vector<Grad> dxs;
  RETURN_IF_ERROR(AddSymbolicGradients(scope, ys, xs, dys, &dxs));
  for (Node* ret : body.rets) body.graph->RemoveNode(ret);
  body.rets.clear();
  body.ret_types.clear();
  for (size_t i = 0; i < xs.size(); ++i) {
    const Output dx = dxs[i].IsNone() ? scope.Op("ZerosLike", {xs[i]}) : DenseGrad(scope, dxs[i]);
    Node* ret = scope.WithOpName("dx").Add("_Retval", {dx}, {{"index", static_cast<int64_t>(i)}});
    RETURN_IF_ERROR(scope.status());
    body.rets.push_back(ret);
    body.ret_types.push_back(dx.dtype());
  }
  body.graph->Compact();
  return body;
}

}  // namespace millstream
