// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/layers/hash_embedding.h"

#include <algorithm>

#include "millstream/train/operators/operators.h"

namespace millstream {
namespace {

constexpr const char* kState[] = {"keys",         "counts",           "last_used",           "rows",
                                  "candidates",   "candidate_counts", "candidate_last_used", "slot_names",
                                  "slot_initials"};
constexpr size_t kParts = std::size(kState);

Output Part(Node* node, int i) { return node == nullptr ? Output() : Output(node, i); }

std::vector<Output> DealOut(const Scope& s, Output values, Output shards, size_t count) {
  Node* node = s.Add("DynamicPartition", {values, shards}, {{"num_partitions", static_cast<int64_t>(count)}});
  std::vector<Output> parts;
  for (size_t i = 0; i < count; ++i) parts.push_back(Part(node, static_cast<int>(i)));
  return parts;
}

Output ShardOf(const Scope& s, Output keys, int count) {
  const Output shard = keys.dtype() == DType::kString
                           ? s.Op("StringToHashBucketFast", {keys}, {{"num_buckets", int64_t{count}}})
                           : operators::FloorMod(s, keys, count);
  return CastTo(s, shard, DType::kInt32);
}

Output Reshape(const Scope& s, Output x, const Operand& shape) { return OpNamed(s, "", "Reshape", {x, shape}); }
Output Gather(const Scope& s, Output rows, Output indices) {
  return OpNamed(s, "", "GatherV2", {rows, indices, Tensor::Scalar<int32_t>(0)});
}

// One after the other, along the first axis.
Output Joined(const Scope& s, const std::vector<Output>& parts) {
  return parts.size() == 1 ? parts[0] : operators::Concat(s, {parts.begin(), parts.end()});
}

std::vector<Tensor> StateNamesOf(const std::string& name) {
  std::vector<std::string> names, slices(kParts);
  for (const char* part : kState) names.push_back(absl::StrCat(name, "-", part));
  return {Tensor::Vector(names), Tensor::Vector(slices)};
}

// The numbers of an update's op after the gradients, and what follows the updates.
struct Numbers {
  std::vector<Output> inputs;
  std::vector<std::pair<GraphVariable, Output>> powers;  // of Adam: multiplied after each step
};

Numbers NumbersOf(const Scope& s, Node* beside, const HashEmbeddingUpdate& update) {
  if (update.rule != HashEmbeddingUpdate::Rule::kAdam) return {{s.Const(update.learning_rate)}, {}};
  Numbers numbers;
  for (const auto& [what, beta] : {std::pair{"beta1_power", update.beta1}, std::pair{"beta2_power", update.beta2}}) {
    VariableOptions options;
    options.initial_constant = Tensor::Scalar(beta);
    options.trainable = false;
    numbers.powers.emplace_back(MakeVariable(s.ColocateWith(beside), s.UniqueName(what), Shape(), options), Output());
  }
  numbers.inputs.push_back(s.Const(update.learning_rate));
  for (const auto& [power, beta] : numbers.powers) numbers.inputs.push_back(power.value);
  for (const float number : {update.beta1, update.beta2, update.epsilon}) numbers.inputs.push_back(s.Const(number));
  for (size_t i = 0; i < numbers.powers.size(); ++i) numbers.powers[i].second = numbers.inputs[3 + i];
  return numbers;
}

// What follows the updates, which `s` waits for.
std::vector<Node*> MultiplyPowers(const Scope& s, const Numbers& numbers) {
  std::vector<Node*> assigned;
  for (const auto& [power, beta] : numbers.powers) {
    const Output next = operators::Mul(s, power, beta);
    assigned.push_back(s.ok() ? AssignVariable(s, power, next, /*use_locking=*/false).node : nullptr);
  }
  return assigned;
}

// The op of a rule, and the class of Python that it is, after which its nodes are named.
struct RuleNames {
  const char *op, *optimizer;
};
RuleNames NamesOf(HashEmbeddingUpdate::Rule rule) {
  switch (rule) {
    case HashEmbeddingUpdate::Rule::kAdagrad:
      return {"HashEmbeddingApplyAdagrad", "AdagradOptimizer"};
    case HashEmbeddingUpdate::Rule::kAdam:
      return {"HashEmbeddingApplyAdam", "AdamOptimizer"};
    default:
      return {"HashEmbeddingApplyGradientDescent", "GradientDescentOptimizer"};
  }
}

}  // namespace

HashEmbedding::HashEmbedding(const Scope& scope, const std::string& name, const HashEmbeddingOptions& options)
    : name_(scope.UniqueName(name)), options_(options) {
  if (options.shards < 1 || (!options.devices.empty() && options.devices.size() != static_cast<size_t>(options.shards)))
    scope.Fail(errors::InvalidArgument("Embedding ", name, " needs at least one shard, and a device for each or none"));
  for (int i = 0; scope.ok() && i < options.shards; ++i) {
    const std::string shard = absl::StrCat(name_, "/shard_", i);
    const Scope there = options.devices.empty() ? scope : scope.WithDevice(options.devices[static_cast<size_t>(i)]);
    handles_.push_back(there.WithOpName(shard).Op("HashEmbedding", {},
                                                  {{"key_dtype", options.key_dtype},
                                                   {"width", options.width},
                                                   {"min_count", options.min_count},
                                                   {"scale", options.scale},
                                                   {"seed", options.seed},
                                                   {"shared_name", shard}}));
    if (!scope.ok()) return;
    exports_.push_back(scope.NameScope(shard + "_export")
                           .ColocateWith(handles_.back().node)
                           .Add("HashEmbeddingExport", {handles_.back()}, {{"Tkeys", options.key_dtype}}));
  }
}

HashEmbedding::Batch HashEmbedding::FindUnique(const Scope& s, Output keys, bool train, Output step) const {
  const size_t count = handles_.size();
  Node* unique = s.Add("UniqueWithCounts", {Reshape(s, keys, std::vector<int32_t>{-1})});
  if (unique == nullptr) return {};
  const Output order = operators::Range(s, 0, operators::SizeOf(s, Output(unique, 0)));
  Batch batch = {Output(unique, 1), {}, {Output(unique, 0)}, {order}};
  std::vector<Output> counts = {Output(unique, 2)};
  if (count > 1) {
    const Output shards = ShardOf(s, Output(unique, 0), static_cast<int>(count));
    for (std::vector<Output>* parts : {&batch.keys, &batch.places, &counts})
      *parts = DealOut(s, parts->front(), shards, count);
  }
  if (train && !step) step = s.Const(int64_t{0});
  std::vector<Output> rows;
  for (size_t i = 0; i < count && s.ok(); ++i) {
    const Scope there = s.ColocateWith(handles_[i].node);
    rows.push_back(train ? there.Op("HashEmbeddingLookup",
                                    {handles_[i], batch.keys[i], CastTo(there, counts[i], DType::kInt64), step})
                         : there.Op("HashEmbeddingFind", {handles_[i], batch.keys[i]}));
  }
  if (!s.ok()) return {};
  if (count > 1) {
    std::vector<Output> inputs = batch.places;
    inputs.insert(inputs.end(), rows.begin(), rows.end());
    rows = {s.Op("ParallelDynamicStitch", inputs, {{"N", static_cast<int64_t>(count)}})};
  }
  batch.rows = Reshape(s, rows[0], std::vector<int32_t>{-1, static_cast<int32_t>(options_.width)});
  return batch;
}

Output HashEmbedding::Expand(const Scope& s, const Batch& batch, Output keys) {
  return Gather(s, batch.rows, Reshape(s, batch.positions, operators::ShapeOf(s, keys)));
}

Output HashEmbedding::Lookup(const Scope& scope, Output keys, Output step) {
  const Scope s = scope.NameScope(absl::StrCat(name_, "_lookup"));
  const Batch batch = FindUnique(s, keys, /*train=*/true, step);
  if (!s.ok()) return {};
  batches_.push_back(batch);
  return Expand(s, batch, keys);
}

Output HashEmbedding::Find(const Scope& scope, Output keys) const {
  const Scope s = scope.NameScope(absl::StrCat(name_, "_lookup"));
  const Batch batch = FindUnique(s, keys, /*train=*/false, {});
  return s.ok() ? Expand(s, batch, keys) : Output();
}

std::vector<Grad> HashEmbedding::GradientsOf(const Scope& scope, Output loss) const {
  if (batches_.empty()) scope.Fail(errors::InvalidArgument("Embedding ", name_, " has not been looked up"));
  if (!scope.ok()) return {};
  std::vector<Output> rows;
  for (const Batch& batch : batches_) rows.push_back(batch.rows);
  std::vector<Grad> gradients;
  scope.Fail(AddSymbolicGradients(scope, {loss}, rows, {}, &gradients));
  const auto is_none = [](const Grad& gradient) { return gradient.IsNone(); };
  if (scope.ok() && std::all_of(gradients.begin(), gradients.end(), is_none))
    scope.Fail(errors::InvalidArgument("The loss does not depend on embedding ", name_));
  return gradients;
}

Node* HashEmbedding::Minimize(const Scope& scope, Output loss, const HashEmbeddingUpdate& update) {
  const std::vector<Grad> gradients = GradientsOf(scope, loss);
  if (!scope.ok()) return nullptr;
  const RuleNames names = NamesOf(update.rule);
  const Scope s = scope.NameScope(absl::StrCat(name_, "_", names.optimizer));
  std::vector<std::pair<const Batch*, Output>> used;
  for (size_t b = 0; b < gradients.size(); ++b) {
    if (!gradients[b].IsNone()) used.emplace_back(&batches_[b], DenseGrad(s, gradients[b]));
  }
  const Numbers numbers = NumbersOf(s, handles_[0].node, update);
  std::vector<Node*> updates;
  for (size_t i = 0; i < handles_.size() && s.ok(); ++i) {
    std::vector<Output> keys, rows;
    for (const auto& [batch, gradient] : used) {
      keys.push_back(batch->keys[i]);
      rows.push_back(Gather(s, gradient, batch->places[i]));
    }
    std::vector<Output> inputs = {handles_[i], Joined(s, keys), Joined(s, rows)};
    inputs.insert(inputs.end(), numbers.inputs.begin(), numbers.inputs.end());
    const Scope there = s.ColocateWith(handles_[i].node);
    updates.push_back(
        update.rule == HashEmbeddingUpdate::Rule::kAdagrad
            ? there.Add(names.op, inputs, {{"initial_accumulator_value", update.initial_accumulator_value}})
            : there.Add(names.op, inputs));
  }
  if (!s.ok()) return nullptr;
  return Group(s, numbers.powers.empty() ? updates : MultiplyPowers(s.WithControlDependencies(updates), numbers));
}

Output HashEmbedding::Evict(const Scope& scope, Output before, Output max_rows) const {
  const Scope s = scope.NameScope(absl::StrCat(name_, "_evict"));
  // Rounded up: -(-max_rows // shards).
  const Output negative = s.Op("Neg", {max_rows});
  const Output each = s.Op("Neg", {operators::FloorDiv(s, negative, static_cast<int>(handles_.size()))});
  std::vector<Output> removed;
  for (const Output& handle : handles_)
    removed.push_back(s.ColocateWith(handle.node).Op("HashEmbeddingEvict", {handle, before, each}));
  return s.Op("AddN", removed);
}

Output HashEmbedding::Size(const Scope& scope) const {
  const Scope s = scope.NameScope(absl::StrCat(name_, "_size"));
  std::vector<Output> sizes;
  for (const Output& handle : handles_)
    sizes.push_back(Part(s.ColocateWith(handle.node).Add("HashEmbeddingSize", {handle}), 0));
  return s.Op("AddN", sizes);
}

bool HashEmbedding::CheckPrefixes(const Scope& scope, const std::vector<std::string>& prefixes) const {
  if (prefixes.size() == handles_.size()) return scope.ok();
  scope.Fail(errors::InvalidArgument("Embedding ", name_, " has ", handles_.size(),
                                     " shards, which need a file each, not ", prefixes.size()));
  return false;
}

std::vector<Node*> HashEmbedding::Save(const Scope& scope, const std::vector<std::string>& prefixes) const {
  std::vector<Node*> saves;
  if (!CheckPrefixes(scope, prefixes)) return saves;
  for (size_t i = 0; i < handles_.size() && scope.ok(); ++i) {
    const Scope s = scope.NameScope(absl::StrCat(name_, "_save")).ColocateWith(handles_[i].node);
    const std::vector<Tensor> names = StateNamesOf(handles_[i].node->name());
    std::vector<Output> inputs = {s.Const(Tensor::Scalar(prefixes[i])), s.Const(names[0]), s.Const(names[1])};
    for (size_t part = 0; part < kParts; ++part) inputs.push_back(Part(exports_[i], static_cast<int>(part)));
    saves.push_back(s.Add("SaveV2", inputs));
  }
  return saves;
}

std::vector<Node*> HashEmbedding::Restore(const Scope& scope, const std::vector<std::string>& prefixes) const {
  std::vector<Node*> restores;
  if (!CheckPrefixes(scope, prefixes)) return restores;
  const DType key = options_.key_dtype;
  const std::vector<DType> types = {key,           DType::kInt64, DType::kInt64,  DType::kFloat, key,
                                    DType::kInt64, DType::kInt64, DType::kString, DType::kFloat};
  for (size_t i = 0; i < handles_.size() && scope.ok(); ++i) {
    const Scope s = scope.NameScope(absl::StrCat(name_, "_restore")).ColocateWith(handles_[i].node);
    const std::vector<Tensor> names = StateNamesOf(handles_[i].node->name());
    Node* read = s.Add("RestoreV2", {s.Const(Tensor::Scalar(prefixes[i])), s.Const(names[0]), s.Const(names[1])},
                       {{"dtypes", types}});
    std::vector<Output> inputs = {handles_[i]};
    for (size_t part = 0; part < kParts; ++part) inputs.push_back(Part(read, static_cast<int>(part)));
    restores.push_back(s.Add("HashEmbeddingImport", inputs));
  }
  return restores;
}

}  // namespace millstream
