// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/layers/hash_embedding.h"

#include "millstream/graph/gradients/gradient.h"
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

Output ShardOf(const Scope& s, Output keys, int64_t count) {
  const Output shard = keys.dtype() == DType::kString ? s.Op("StringToHashBucketFast", {keys}, {{"num_buckets", count}})
                                                      : s.Op("FloorMod", {keys, s.Const(count)});
  return CastTo(s, shard, DType::kInt32);
}

// One after the other, along the first axis.
Output Joined(const Scope& s, std::vector<Output> parts) {
  if (parts.size() == 1) return parts[0];
  const auto count = static_cast<int64_t>(parts.size());
  parts.push_back(s.Const(0));
  return s.Op("ConcatV2", parts, {{"N", count}});
}

std::vector<Tensor> NamesOf(const std::string& name) {
  std::vector<std::string> names, slices(kParts);
  for (const char* part : kState) names.push_back(absl::StrCat(name, "-", part));
  return {Tensor::Vector(names), Tensor::Vector(slices)};
}

// The numbers of an update's op after the gradients, and what follows the updates.
struct Numbers {
  std::vector<Output> inputs;
  std::vector<std::pair<GraphVariable, Output>> powers;  // of Adam: multiplied after each step
};

Numbers NumbersOf(const Scope& s, const std::string& name, Node* beside, const HashEmbeddingUpdate& update) {
  Numbers numbers{{s.Const(update.learning_rate)}, {}};
  if (update.rule != HashEmbeddingUpdate::Rule::kAdam) return numbers;
  for (const auto& [what, beta] : {std::pair{"beta1_power", update.beta1}, std::pair{"beta2_power", update.beta2}}) {
    VariableOptions options;
    options.initial_constant = Tensor::Scalar(beta);
    options.trainable = false;
    const GraphVariable power =
        MakeVariable(s.ColocateWith(beside), s.UniqueName(absl::StrCat(name, "_", what)), Shape(), options);
    numbers.inputs.push_back(power.value);
    numbers.powers.emplace_back(power, s.Const(beta));
  }
  for (const float number : {update.beta1, update.beta2, update.epsilon}) numbers.inputs.push_back(s.Const(number));
  return numbers;
}

const char* OpOf(HashEmbeddingUpdate::Rule rule) {
  switch (rule) {
    case HashEmbeddingUpdate::Rule::kAdagrad:
      return "HashEmbeddingApplyAdagrad";
    case HashEmbeddingUpdate::Rule::kAdam:
      return "HashEmbeddingApplyAdam";
    default:
      return "HashEmbeddingApplyGradientDescent";
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
  }
}

HashEmbedding::Batch HashEmbedding::FindUnique(const Scope& s, Output keys, bool train, Output step) const {
  const size_t count = handles_.size();
  Node* unique = s.Add("UniqueWithCounts", {s.Op("Reshape", {keys, s.Constant({-1})})});
  if (unique == nullptr) return {};
  const Output order = s.Op("Range", {s.Const(0), s.Op("Size", {Output(unique, 0)}), s.Const(1)});
  const Output shards = ShardOf(s, Output(unique, 0), static_cast<int64_t>(count));
  Batch batch = {Output(unique, 1), {}, DealOut(s, Output(unique, 0), shards, count), DealOut(s, order, shards, count)};
  const std::vector<Output> counts = DealOut(s, CastTo(s, Output(unique, 2), DType::kInt64), shards, count);
  if (train && !step) step = s.Const(int64_t{0});
  std::vector<Output> inputs = batch.places;
  for (size_t i = 0; i < count && s.ok(); ++i) {
    const Scope there = s.ColocateWith(handles_[i].node);
    inputs.push_back(train ? there.Op("HashEmbeddingLookup", {handles_[i], batch.keys[i], counts[i], step})
                           : there.Op("HashEmbeddingFind", {handles_[i], batch.keys[i]}));
  }
  const Output rows = s.Op("ParallelDynamicStitch", inputs, {{"N", static_cast<int64_t>(count)}});
  batch.rows = s.Op("Reshape", {rows, s.Constant({-1, static_cast<int32_t>(options_.width)})});
  return batch;
}

Output HashEmbedding::Expand(const Scope& s, const Batch& batch, Output keys) const {
  const Output positions = s.Op("Reshape", {batch.positions, s.Op("Shape", {keys})});
  return s.Op("GatherV2", {batch.rows, positions, s.Const(0)});
}

Output HashEmbedding::Lookup(const Scope& scope, Output keys, Output step) {
  const Scope s = scope.NameScope(absl::StrCat(name_, "_lookup"));
  const Batch batch = FindUnique(s, keys, /*train=*/true, step);
  if (!s.ok()) return {};
  batches_.push_back(batch);
  return Expand(s, batch, keys);
}

Output HashEmbedding::Find(const Scope& scope, Output keys) const {
  const Scope s = scope.NameScope(absl::StrCat(name_, "_find"));
  const Batch batch = FindUnique(s, keys, /*train=*/false, {});
  return s.ok() ? Expand(s, batch, keys) : Output();
}

Node* HashEmbedding::Minimize(const Scope& scope, Output loss, const HashEmbeddingUpdate& update) {
  if (batches_.empty()) scope.Fail(errors::InvalidArgument("Embedding ", name_, " has not been looked up"));
  if (!scope.ok()) return nullptr;
  const Scope s = scope.NameScope(absl::StrCat(name_, "_minimize"));
  std::vector<Output> rows;
  for (const Batch& batch : batches_) rows.push_back(batch.rows);
  std::vector<Grad> grads;
  if (Status status = AddSymbolicGradients(s, {loss}, rows, {}, &grads); !status.ok()) {
    s.Fail(status);
    return nullptr;
  }
  const Numbers numbers = NumbersOf(s, name_, handles_[0].node, update);
  std::vector<std::vector<Output>> keys(handles_.size()), rows_of(handles_.size());
  for (size_t b = 0; b < batches_.size() && s.ok(); ++b) {
    if (grads[b].IsNone()) continue;
    const Output dense = DenseGrad(s, grads[b]);
    for (size_t i = 0; i < handles_.size(); ++i) {
      keys[i].push_back(batches_[b].keys[i]);
      rows_of[i].push_back(s.Op("GatherV2", {dense, batches_[b].places[i], s.Const(0)}));
    }
  }
  if (keys[0].empty()) s.Fail(errors::InvalidArgument("The loss does not depend on embedding ", name_));
  std::vector<Node*> updates;
  for (size_t i = 0; i < handles_.size() && s.ok(); ++i) {
    std::vector<Output> inputs = {handles_[i], Joined(s, keys[i]), Joined(s, rows_of[i])};
    inputs.insert(inputs.end(), numbers.inputs.begin(), numbers.inputs.end());
    const Scope there = s.ColocateWith(handles_[i].node);
    updates.push_back(
        update.rule == HashEmbeddingUpdate::Rule::kAdagrad
            ? there.Add(OpOf(update.rule), inputs, {{"initial_accumulator_value", update.initial_accumulator_value}})
            : there.Add(OpOf(update.rule), inputs));
  }
  if (!s.ok()) return nullptr;
  const Scope after = s.WithControlDependencies(updates);
  for (const auto& [power, beta] : numbers.powers) {
    const Scope there = after.ColocateWith(power.handle.node);
    updates.push_back(there.Add("Assign", {power.handle, there.Op("Mul", {power.value, beta})}));
  }
  return Group(s, updates);
}

Output HashEmbedding::Evict(const Scope& scope, Output before, Output max_rows) const {
  const Scope s = scope.NameScope(absl::StrCat(name_, "_evict"));
  std::vector<Output> removed;
  for (const Output& handle : handles_)
    removed.push_back(s.ColocateWith(handle.node).Op("HashEmbeddingEvict", {handle, before, max_rows}));
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
    Node* state = s.Add("HashEmbeddingExport", {handles_[i]}, {{"Tkeys", options_.key_dtype}});
    const std::vector<Tensor> names = NamesOf(handles_[i].node->name());
    std::vector<Output> inputs = {s.Const(Tensor::Scalar(prefixes[i])), s.Const(names[0]), s.Const(names[1])};
    for (size_t part = 0; part < kParts; ++part) inputs.push_back(Part(state, static_cast<int>(part)));
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
    const std::vector<Tensor> names = NamesOf(handles_[i].node->name());
    Node* read = s.Add("RestoreV2", {s.Const(Tensor::Scalar(prefixes[i])), s.Const(names[0]), s.Const(names[1])},
                       {{"dtypes", types}});
    std::vector<Output> inputs = {handles_[i]};
    for (size_t part = 0; part < kParts; ++part) inputs.push_back(Part(read, static_cast<int>(part)));
    restores.push_back(s.Add("HashEmbeddingImport", inputs));
  }
  return restores;
}

}  // namespace millstream
