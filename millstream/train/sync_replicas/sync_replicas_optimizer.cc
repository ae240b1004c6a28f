// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/sync_replicas/sync_replicas_optimizer.h"

#include <algorithm>

#include "millstream/train/operators/operators.h"

namespace millstream {
namespace {

Output MakeQueue(const Scope& scope, const char* name, int64_t capacity, DType dtype) {
  return scope.WithOpName(name).Op("FIFOQueueV2", {},
                                   {{"component_types", std::vector<DType>{dtype}},
                                    {"shapes", std::vector<PartialShape>{PartialShape(Shape())}},
                                    {"capacity", capacity},
                                    {"shared_name", name}});
}

// An accumulator beside the variable, which all workers share.
Output MakeAccumulator(const Scope& beside, const GradientAndVariable& g) {
  const bool sparse = g.gradient.IsSparse();
  return beside.WithOpName(sparse ? "sparse_conditional_accumulator" : "conditional_accumulator")
      .Op(sparse ? "SparseConditionalAccumulator" : "ConditionalAccumulator", {},
          {{"dtype", TypeOf(g.variable)},
           {"shape", sparse ? PartialShape(Shape()) : g.variable.shape},
           {"shared_name", absl::StrCat(g.variable.handle.name(), "/grad_accum")}});
}

Node* Push(const Scope& beside, Output accumulator, const Grad& grad, Output local_step) {
  if (!grad.IsSparse()) return beside.Add("AccumulatorApplyGradient", {accumulator, local_step, grad.dense});
  const Output shape = grad.dense_shape ? CastTo(beside, grad.dense_shape, DType::kInt64)
                                        : beside.Const(Tensor::Vector(std::vector<int64_t>()));
  return beside.Add("SparseAccumulatorApplyGradient",
                    {accumulator, local_step, CastTo(beside, grad.indices, DType::kInt64), grad.values, shape},
                    {{"has_known_shape", static_cast<bool>(grad.dense_shape)}});
}

Grad Take(const Scope& beside, Output accumulator, const GradientAndVariable& g, int count) {
  const DType dtype = TypeOf(g.variable);
  if (!g.gradient.IsSparse())
    return OpNamed(beside, "", "AccumulatorTakeGradient", {accumulator, count}, {{"dtype", dtype}});
  Node* taken = AddNamed(beside, "", "SparseAccumulatorTakeGradient", {accumulator, count}, {{"dtype", dtype}});
  return taken == nullptr ? Grad() : Grad::Slices(Output(taken, 1), Output(taken, 0), Output(taken, 2));
}

}  // namespace

SyncReplicasOptimizer::SyncReplicasOptimizer(std::shared_ptr<Optimizer> optimizer, const Options& options)
    : WrappingOptimizer(std::move(optimizer), options.name, options.use_locking),
      options_(options),
      total_num_replicas_(options.total_num_replicas > 0 ? options.total_num_replicas : options.replicas_to_aggregate),
      tokens_per_step_(std::max(total_num_replicas_, options.replicas_to_aggregate)) {}

bool SyncReplicasOptimizer::Check(const Scope& scope, const std::vector<GradientAndVariable>& gradients,
                                  const ApplyGradientsOptions& options) const {
  if (gradients.empty()) scope.Fail(errors::InvalidArgument("Must supply at least one variable"));
  if (!options.global_step) scope.Fail(errors::InvalidArgument("Global step is required to check staleness"));
  if (options_.replicas_to_aggregate <= 0) {
    scope.Fail(errors::InvalidArgument("replicas_to_aggregate must be positive: ", options_.replicas_to_aggregate));
  }
  if (options_.variable_averages != nullptr && options_.variables_to_average.empty()) {
    scope.Fail(errors::InvalidArgument("Need to specify variables_to_average if variable_averages is given"));
  }
  for (const GradientAndVariable& g : gradients) {
    if (!g.variable) scope.Fail(errors::InvalidArgument("There is a gradient for an empty variable"));
  }
  return scope.ok();
}

Node* SyncReplicasOptimizer::ApplyGradients(const Scope& scope, const std::vector<GradientAndVariable>& gradients,
                                            const ApplyGradientsOptions& options) {
  if (!scope.ok() || !Check(scope, gradients, options)) return nullptr;
  global_step_ = options.global_step;
  const GraphVariable local_step = MakeLocalStep(scope);
  if (!scope.ok()) return nullptr;
  local_step_init_op_ = AssignVariable(scope, local_step, UseVariable(scope, global_step_)).node;
  ready_for_local_init_op_ = ReportUninitializedVariables(scope, scope.Collection(graph_keys::kGlobalVariables));

  const Scope s = scope.NameScope(name());
  const Accumulated accumulated = Accumulate(s, gradients, local_step);
  const Scope chief = scope.NameScope("").WithDevice(global_step_.handle.node->device());
  // A round is over, and its tokens are old, whether it changes variables or not.
  Node* update =
      wrapped().ApplyGradients(chief, accumulated.means, {.global_step = global_step_, .counts_skipped_steps = true});
  Node* train = HandOutTokens(chief, accumulated.pushes, update, local_step);
  std::vector<Node*> inits = {local_step_init_op_};
  for (const Output& accumulator : accumulated.accumulators) {
    if (!scope.ok()) return nullptr;
    const Scope there = s.WithDevice(accumulator.node->device());
    const Output step = CastTo(there, UseVariable(there, global_step_), DType::kInt64);
    inits.push_back(there.WithOpName("SetGlobalStep").Add("AccumulatorSetGlobalStep", {accumulator, step}));
  }
  chief_init_op_ = Group(s, inits);
  return scope.ok() ? train : nullptr;
}

SyncReplicasOptimizer::Accumulated SyncReplicasOptimizer::Accumulate(const Scope& scope,
                                                                     const std::vector<GradientAndVariable>& gradients,
                                                                     const GraphVariable& local_step) const {
  Accumulated result;
  for (const GradientAndVariable& g : gradients) {
    if (!scope.ok()) break;
    if (g.gradient.IsNone()) {
      result.means.push_back(g);
      continue;
    }
    const Scope there = scope.WithDevice(g.variable.handle.node->device());
    const Output accumulator = MakeAccumulator(there, g);
    if (!accumulator) break;
    result.pushes.push_back(Push(there, accumulator, g.gradient, CastTo(there, local_step.value, DType::kInt64)));
    result.means.push_back({Take(there, accumulator, g, options_.replicas_to_aggregate), g.variable});
    result.accumulators.push_back(accumulator);
  }
  return result;
}

// The step of this worker, on the worker whatever device functions say of variables.
GraphVariable SyncReplicasOptimizer::MakeLocalStep(const Scope& scope) const {
  Node* worker = scope.Add("NoOp", {});
  VariableOptions own;
  own.dtype = TypeOf(global_step_);
  own.initial_constant = ScalarOf(own.dtype, 0);
  own.trainable = false;
  own.collections = {graph_keys::kLocalVariables};
  return MakeVariable(scope.ColocateWith(worker), scope.UniqueName("sync_rep_local_step"), Shape(), own);
}

Output SyncReplicasOptimizer::Tokens(const Scope& scope, int count) const {
  return OpNamed(scope, "", "Fill", {std::vector<int32_t>{count}, global_step_});
}

Node* SyncReplicasOptimizer::EnqueueTokens(const Scope& scope, int count) const {
  const Output tokens = Tokens(scope, count);
  return scope.WithOpName("sync_token_q_EnqueueMany").Add("QueueEnqueueManyV2", {token_queue_, tokens});
}

// The op of workers: push, then wait for a token, which is the next local step.
Node* SyncReplicasOptimizer::HandOutTokens(const Scope& scope, const std::vector<Node*>& pushes, Node* update,
                                           const GraphVariable& local_step) {
  if (!scope.ok()) return nullptr;
  const DType dtype = TypeOf(global_step_);
  token_queue_ = MakeQueue(scope, "sync_token_q", -1, dtype);
  const Output dummy_queue = MakeQueue(scope, "dummy_queue", 1, DType::kInt32);
  if (!scope.ok()) return nullptr;
  const Output token = scope.WithControlDependencies(pushes)
                           .WithOpName("sync_token_q_Dequeue")
                           .Op("QueueDequeueV2", {token_queue_}, {{"component_types", std::vector<DType>{dtype}}});
  Node* train = AssignVariable(scope, local_step, token).node;
  Node* sync = EnqueueTokens(scope.WithControlDependencies({update}), tokens_per_step_);
  if (options_.variable_averages != nullptr) {
    sync = options_.variable_averages->Apply(scope.WithControlDependencies({sync}), options_.variables_to_average);
  }
  release_op_ = EnqueueTokens(scope, tokens_per_step_);
  const Output ends = MakeQueue(scope, "sync_end_q", -1, DType::kInt32);
  num_chief_ends_ = scope.WithOpName("sync_end_q_Size").Op("QueueSizeV2", {ends});
  const Scope enqueue = scope.NameScope("sync_end_q_enqueue");
  const Output mark = enqueue.WithOpName("component_0").Const<int32_t>(1);
  chief_ends_op_ = enqueue.WithOpName(enqueue.name_prefix()).Add("QueueEnqueueV2", {ends, mark});
  chief_begins_op_ =
      scope.WithOpName("sync_end_q_DequeueMany")
          .Add("QueueDequeueManyV2", {ends, num_chief_ends_}, {{"component_types", std::vector<DType>{DType::kInt32}}});
  if (!scope.ok()) return nullptr;
  StatusOr<QueueRunner> runner = QueueRunner::Make(scope, dummy_queue, {sync});
  if (!runner.ok()) {
    scope.Fail(runner.status());
    return nullptr;
  }
  chief_queue_runner_ = *std::move(runner);
  return train;
}

StatusOr<QueueRunner> SyncReplicasOptimizer::chief_queue_runner() const {
  if (!chief_queue_runner_)
    return errors::FailedPrecondition("chief_queue_runner() should be called after ApplyGradients().");
  return *chief_queue_runner_;
}

Node* SyncReplicasOptimizer::InitTokensOp(const Scope& scope, int num_tokens) const {
  if (!scope.ok()) return nullptr;
  if (!chief_queue_runner_) {
    scope.Fail(errors::FailedPrecondition("InitTokensOp() should be called after ApplyGradients()."));
    return nullptr;
  }
  const int needed = options_.replicas_to_aggregate - total_num_replicas_;
  if (num_tokens == -1) num_tokens = options_.replicas_to_aggregate;
  if (num_tokens < needed) {
    scope.Fail(errors::InvalidArgument("Too few tokens to finish the first step: ", num_tokens, " (given) vs ", needed,
                                       " (needed)"));
    return nullptr;
  }
  if (num_tokens <= 0) return scope.WithOpName("no_init_tokens").Add("NoOp", {});
  return EnqueueTokens(scope.NameScope("").WithDevice(global_step_.handle.node->device()), num_tokens);
}

}  // namespace millstream
