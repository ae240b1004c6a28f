// SPDX-License-Identifier: Apache-2.0
#include "millstream/runtime/local_functions.h"

#include <algorithm>

#include "millstream/base/memory_budget.h"
#include "millstream/graph/gradients/function_gradients.h"
#include "millstream/graph/node_kind.h"
#include "millstream/runtime/executor.h"

namespace millstream {

class LocalFunctions::Instance final : public CompiledFunction {
 public:
  explicit Instance(std::shared_ptr<const Plan> plan) : plan_(std::move(plan)) {}
  const std::vector<DType>& arg_types() const override { return plan_->arg_types; }
  const std::vector<DType>& ret_types() const override { return plan_->ret_types; }
  const std::shared_ptr<const Plan>& plan() const { return plan_; }

 private:
  const std::shared_ptr<const Plan> plan_;
};

namespace {

// What calls that have not returned may hold, in values of their bodies (about 48 bytes each). A call within a call
// within a call: the depth to which functions may call themselves.
constexpr int64_t kMaxActiveValues = int64_t{8} << 20;
constexpr int64_t kValuesPerCall = 150;  // what a call takes beside the values of its body
constexpr int kMaxCallsOnStack = 32;
thread_local int calls_on_stack = 0;

// Runs now(), or later() on the pool where calls within calls would need too much stack.
template <typename Now, typename Later>
void OnStackOrPool(ThreadPool* pool, Now now, Later later) {
  if (calls_on_stack >= kMaxCallsOnStack && pool != nullptr && pool->num_workers() > 0) {
    return pool->Schedule(std::function<void()>(later()));
  }
  ++calls_on_stack;
  now();
  --calls_on_stack;
}

std::string InstanceKey(const NameAttrList& function) {
  std::string key = function.name;
  auto attrs = function.attrs;
  std::sort(attrs.begin(), attrs.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [name, value] : attrs) absl::StrAppend(&key, ";", name, "=", value.ToString());
  return key;
}

// The part of a body that must run: results, what the function says must run, and every op with an effect.
StatusOr<PrunedGraph> PruneBody(const FunctionBody& body) {
  std::vector<Output> rets;
  for (Node* ret : body.rets) rets.push_back(ret->input(0));
  std::vector<Node*> targets = body.args;
  targets.insert(targets.end(), body.control_rets.begin(), body.control_rets.end());
  for (const auto& node : body.graph->nodes()) {
    if (node != nullptr && node->IsStateful() && !IsArgOrRetval(*node)) targets.push_back(node.get());
  }
  ASSIGN_OR_RETURN(PrunedGraph pruned, Prune(*body.graph, {}, rets, targets));
  pruned.args.assign(pruned.targets.begin(), pruned.targets.begin() + static_cast<ptrdiff_t>(body.args.size()));
  pruned.targets.erase(pruned.targets.begin(), pruned.targets.begin() + static_cast<ptrdiff_t>(body.args.size()));
  return pruned;
}

// "SymbolicGradient" with an attribute f stands for the gradient of f.
StatusOr<FunctionBody> InstantiateBody(const FunctionLibrary& library, const NameAttrList& function) {
  if (function.name != "SymbolicGradient" || library.Find(function.name) != nullptr)
    return library.Instantiate(function);
  for (const auto& [name, value] : function.attrs) {
    if (const auto* f = value.get<NameAttrList>(); name == "f" && f != nullptr) return GradientBody(library, *f);
  }
  return errors::InvalidArgument("SymbolicGradient needs a function as its attribute f");
}

}  // namespace

StatusOr<std::shared_ptr<CompiledFunction>> LocalFunctions::Instantiate(const NameAttrList& function) {
  const AllocationsMayFail never(false);  // a kernel may have called
  const std::string key = InstanceKey(function);
  {
    MutexLock lock(mu_);
    auto it = instances_.find(key);
    if (it != instances_.end()) return it->second;
  }
  // Outside the lock: bodies may call further functions.
  ASSIGN_OR_RETURN(std::shared_ptr<CompiledFunction> made, Compile(function, key));
  MutexLock lock(mu_);
  return instances_.emplace(key, std::move(made)).first->second;
}

StatusOr<std::shared_ptr<CompiledFunction>> LocalFunctions::Compile(const NameAttrList& function,
                                                                    const std::string& key) {
  ASSIGN_OR_RETURN(FunctionBody body, InstantiateBody(*library_, function));
  ASSIGN_OR_RETURN(PrunedGraph pruned, PruneBody(body));
  RETURN_IF_ERROR(prepare_(&pruned));
  CompileOptions options = compile_;
  options.owner = key;
  ASSIGN_OR_RETURN(std::shared_ptr<const Plan> plan, millstream::Compile(std::move(pruned), options));
  return std::shared_ptr<CompiledFunction>(std::make_shared<Instance>(std::move(plan)));
}

void LocalFunctions::RunAsync(const CompiledFunction& function, const StepContext& step, std::vector<Tensor> args,
                              std::vector<Tensor>* rets, std::function<void(Status)> done) {
  const AllocationsMayFail never(false);
  const std::shared_ptr<const Plan>& plan = static_cast<const Instance&>(function).plan();
  if (plan->serial) return RunPlanAsync(plan, step, args, rets, std::move(done));  // calls nothing itself
  const int64_t values = kValuesPerCall + plan->num_slots;
  if (active_.fetch_add(values, std::memory_order_relaxed) >= kMaxActiveValues || MemoryIsExhausted()) [[unlikely]] {
    const int64_t held = active_.fetch_sub(values, std::memory_order_relaxed);
    return done(held >= kMaxActiveValues
                    ? errors::ResourceExhausted("Function calls that have not returned hold more than ",
                                                kMaxActiveValues, " values: does a function call itself?")
                    : MemoryExhausted());
  }
  auto finish = [this, values, pool = step.pool, done = std::move(done)](Status status) {
    active_.fetch_sub(values, std::memory_order_relaxed);
    OnStackOrPool(
        pool, [&] { done(std::move(status)); }, [&] { return [done, status] { done(status); }; });
  };
  OnStackOrPool(
      step.pool, [&] { RunPlanAsync(plan, step, args, rets, std::move(finish)); },
      [&] {
        return [plan, &step, args = std::move(args), rets, finish = std::move(finish)] {
          RunPlanAsync(plan, step, args, rets, finish);
        };
      });
}

}  // namespace millstream
