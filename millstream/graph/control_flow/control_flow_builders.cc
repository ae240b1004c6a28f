// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/control_flow/control_flow_builders.h"

#include <unordered_map>
#include <unordered_set>

#include "millstream/graph/control_flow/loop_context.h"
#include "millstream/graph/shape_refiner.h"

namespace millstream {
namespace {

bool AtLeastAsPrecise(const PartialShape& shape, const PartialShape& than) {
  if (!than.rank_known()) return true;
  if (shape.rank() != than.rank()) return false;
  for (int i = 0; i < than.rank(); ++i) {
    if (than.dim(i) >= 0 && shape.dim(i) != than.dim(i)) return false;
  }
  return true;
}

Status CheckNext(const Scope& scope, const std::vector<Output>& vars, const std::vector<Output>& next) {
  if (next.size() != vars.size()) {
    return errors::InvalidArgument("The loop has ", vars.size(), " variables, its body returns ", next.size(),
                                   " values");
  }
  for (size_t i = 0; i < next.size(); ++i) {
    if (!next[i]) return errors::InvalidArgument("The body of the loop returns no value for variable ", i);
    if (next[i].dtype() != vars[i].dtype()) {
      return errors::InvalidArgument("Loop variable ", i, " has type ", DTypeName(vars[i].dtype()), ", but ",
                                     DTypeName(next[i].dtype()), " after one iteration");
    }
    const PartialShape before = scope.ShapeOf(vars[i]), after = scope.ShapeOf(next[i]);
    if (!AtLeastAsPrecise(after, before)) {
      return errors::InvalidArgument(
          "Loop variable ", i, " enters the loop with shape ", before.ToString(), ", but has shape ", after.ToString(),
          " after one iteration. To allow the shape to vary across iterations, give shape_invariants.");
    }
  }
  return OkStatus();
}

class WhileBuilder {
 public:
  WhileBuilder(const Scope& scope, const WhileOptions& options)
      : options_(options),
        outside_(scope.NameScope(options.name)),
        context_(std::make_shared<LoopContext>(outside_, absl::StrCat(outside_.name_prefix(), "while_context"),
                                               options.parallel_iterations)),
        inside_(outside_.WithContext(context_)) {}

  StatusOr<std::vector<Output>> Build(const LoopCondFn& cond, const LoopBodyFn& body, std::vector<Output> initial) {
    if (initial.empty()) return errors::InvalidArgument("A loop needs variables");
    if (!options_.shape_invariants.empty() && options_.shape_invariants.size() != initial.size()) {
      return errors::InvalidArgument("There are ", options_.shape_invariants.size(), " shape_invariants for ",
                                     initial.size(), " variables");
    }
    if (limited()) RETURN_IF_ERROR(AddCounter(&initial));
    RETURN_IF_ERROR(Open(initial));
    RETURN_IF_ERROR(AddCondition(cond));
    std::vector<Output> vars = BodyValues(), next;
    RETURN_IF_ERROR(outside_.status());
    if (limited()) {
      next.push_back(CountedUp(vars[0]));
      vars.erase(vars.begin());
    }
    const std::vector<Output> body_values = body(inside_, vars);
    RETURN_IF_ERROR(outside_.status());
    for (const Output& o : body_values) next.push_back(inside_.Import(o));
    RETURN_IF_ERROR(outside_.status());
    RETURN_IF_ERROR(CheckNext(outside_, vars, {next.begin() + first(), next.end()}));
    for (size_t i = 0; i < next.size(); ++i) context_->CloseVariable(variables_[i], next[i]);
    std::vector<Output> results;
    for (const NewVariable& v : variables_) results.push_back(context_->ExitOf(v));
    RETURN_IF_ERROR(outside_.status());
    return std::vector<Output>(results.begin() + first(), results.end());
  }

 private:
  // With a limit, a counter is the first variable of the loop, as it is in TensorFlow.
  bool limited() const { return static_cast<bool>(options_.maximum_iterations); }
  std::ptrdiff_t first() const { return limited() ? 1 : 0; }

  static Tensor Number(DType dtype, int32_t value) {
    return dtype == DType::kInt64 ? Tensor::Scalar<int64_t>(value) : Tensor::Scalar(value);
  }

  Status AddCounter(std::vector<Output>* initial) const {
    const DType dtype = options_.maximum_iterations.dtype();
    if (dtype != DType::kInt32 && dtype != DType::kInt64) {
      return errors::InvalidArgument("maximum_iterations is of type ", DTypeName(dtype), ", not int32 or int64");
    }
    initial->insert(initial->begin(), outside_.WithOpName("iteration_counter").Const(Number(dtype, 0)));
    return outside_.status();
  }

  Output CountedUp(Output counter) const {
    const Scope s = inside_.NameScope("add");
    const Output one = s.WithOpName("y").Const(Number(counter.dtype(), 1));
    return s.WithOpName(s.name_prefix()).Op("AddV2", {counter, one});
  }

  Status Open(const std::vector<Output>& initial) {
    for (size_t i = 0; i < initial.size(); ++i) {
      if (!initial[i]) return errors::InvalidArgument("Loop variable ", i, " has no initial value");
      PartialShape shape = outside_.ShapeOf(initial[i]);
      const size_t own = i - static_cast<size_t>(first());  // wraps around for the counter
      if (own < options_.shape_invariants.size()) {
        if (!AtLeastAsPrecise(shape, options_.shape_invariants[own])) {
          return errors::InvalidArgument("The shape invariant ", options_.shape_invariants[own].ToString(),
                                         " of loop variable ", own, " does not fit its initial shape ",
                                         shape.ToString());
        }
        shape = options_.shape_invariants[own];
      }
      variables_.push_back(context_->OpenVariable(initial[i], shape));
    }
    return outside_.status();
  }

  Status AddCondition(const LoopCondFn& cond) {
    std::vector<Output> values;
    for (const NewVariable& v : variables_) values.emplace_back(v.merge);
    context_->set_pivot(values[0].node);
    Output in_limit;
    if (limited()) {
      in_limit = inside_.Op("Less", {values[0], options_.maximum_iterations});
      values.erase(values.begin());
    }
    Output more = inside_.Import(cond(inside_, values));
    if (limited()) more = inside_.Op("LogicalAnd", {in_limit, more});
    RETURN_IF_ERROR(outside_.status());
    if (!more || more.dtype() != DType::kBool)
      return errors::InvalidArgument("The condition of a loop must return one bool");
    Node* loop_cond = inside_.Add("LoopCond", {more});
    RETURN_IF_ERROR(outside_.status());
    for (NewVariable& v : variables_) context_->AddSwitch(loop_cond, &v);
    return outside_.status();
  }

  std::vector<Output> BodyValues() {
    std::vector<Output> values;
    for (const NewVariable& v : variables_) values.push_back(inside_.Op("Identity", {v.value()}));
    context_->set_pivot(values[0].node);
    return values;
  }

  const WhileOptions& options_;
  const Scope outside_;
  const std::shared_ptr<LoopContext> context_;
  const Scope inside_;
  std::vector<NewVariable> variables_;
};

// The inside of a branch.
class BranchContext : public FlowContext {
 public:
  BranchContext(const Scope& outside, Output pred, Node* pivot, int side)
      : outside_(outside), pred_(pred), pivot_(pivot), side_(side) {}

  Output Import(Output value) override {
    if (!value || inside_.contains(value.node) || value.node == pivot_) return value;
    if (auto it = imported_.find(value); it != imported_.end()) return it->second;
    // A reference stays one: the variable may have no value on the side that is not taken.
    const bool ref = IsRef(value.node->output_type(value.index));
    Node* node = outside_.Add(ref ? "RefSwitch" : "Switch", {value, pred_});
    if (node == nullptr) return Output();
    inside_.insert(node);
    return imported_[value] = Output(node, side_);
  }
  Node* pivot() override { return pivot_; }
  void Added(Node* node) override {
    inside_.insert(node);
    if (outside_.context() != nullptr) outside_.context()->Added(node);  // it is in the loop around this, too
  }

 private:
  const Scope outside_;
  const Output pred_;
  Node* const pivot_;
  const int side_;
  std::unordered_set<const Node*> inside_;
  std::unordered_map<Output, Output, OutputHash> imported_;
};

StatusOr<std::vector<Output>> BuildBranch(const Scope& outside, Output pred, Output pivot, int side,
                                          const BranchFn& fn) {
  const Scope inside = outside.WithContext(std::make_shared<BranchContext>(outside, pred, pivot.node, side));
  std::vector<Output> results = fn(inside);
  for (Output& r : results) {
    RETURN_IF_ERROR(outside.status());
    if (!r) return errors::InvalidArgument("A branch returns no value");
    r = inside.Import(r);
  }
  RETURN_IF_ERROR(outside.status());
  return results;
}

StatusOr<std::vector<Output>> BuildCond(const Scope& scope, Output pred, const BranchFn& then_fn,
                                        const BranchFn& else_fn) {
  if (!pred || pred.dtype() != DType::kBool) return errors::InvalidArgument("The predicate of a cond must be a bool");
  Node* branch = scope.Add("Switch", {pred, pred});
  RETURN_IF_ERROR(scope.status());
  const Output on_true = scope.WithOpName("switch_t").Op("Identity", {Output(branch, 1)});
  const Output on_false = scope.WithOpName("switch_f").Op("Identity", {Output(branch, 0)});
  const Output pred_id = scope.WithOpName("pred_id").Op("Identity", {pred});
  RETURN_IF_ERROR(scope.status());
  ASSIGN_OR_RETURN(std::vector<Output> yes, BuildBranch(scope, pred_id, on_true, 1, then_fn));
  ASSIGN_OR_RETURN(std::vector<Output> no, BuildBranch(scope, pred_id, on_false, 0, else_fn));
  if (yes.size() != no.size()) {
    return errors::InvalidArgument("The branches of a cond return ", yes.size(), " and ", no.size(), " values");
  }
  std::vector<Output> results;
  for (size_t i = 0; i < yes.size(); ++i) {
    if (yes[i].dtype() != no[i].dtype()) {
      return errors::InvalidArgument("Result ", i, " of a cond has type ", DTypeName(yes[i].dtype()), " or ",
                                     DTypeName(no[i].dtype()));
    }
    Node* merge = scope.WithContext(nullptr).Add("Merge", {no[i], yes[i]});
    if (merge != nullptr && scope.context() != nullptr) scope.context()->Added(merge);
    results.emplace_back(merge);
  }
  RETURN_IF_ERROR(scope.status());
  return results;
}

std::vector<Output> ValuesOr(const Scope& scope, StatusOr<std::vector<Output>> results) {
  if (results.ok()) return *std::move(results);
  scope.Fail(results.status());
  return {};
}

}  // namespace

std::vector<Output> WhileLoop(const Scope& scope, const LoopCondFn& cond, const LoopBodyFn& body,
                              const std::vector<Output>& loop_vars, const WhileOptions& options) {
  if (!scope.ok()) return {};
  return ValuesOr(scope, WhileBuilder(scope, options).Build(cond, body, loop_vars));
}

std::vector<Output> Cond(const Scope& scope, Output pred, const BranchFn& then_fn, const BranchFn& else_fn,
                         absl::string_view name) {
  if (!scope.ok()) return {};
  const Scope inner = scope.NameScope(name);
  return ValuesOr(inner, BuildCond(inner, pred, then_fn, else_fn));
}

}  // namespace millstream
