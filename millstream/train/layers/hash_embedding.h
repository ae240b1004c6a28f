// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_LAYERS_HASH_EMBEDDING_H_
#define MILLSTREAM_TRAIN_LAYERS_HASH_EMBEDDING_H_

#include <string>
#include <vector>

#include "millstream/graph/gradients/gradient.h"
#include "millstream/graph/variables/variable_scope.h"

namespace millstream {

struct HashEmbeddingOptions {
  int64_t width = 0;
  DType key_dtype = DType::kInt64;  // or kString
  int shards = 1;                   // tables that the keys are dealt out to
  // Of each shard; none: where the scope puts them, with WithReplicaDevices() on the ps tasks one after the other.
  std::vector<std::string> devices = {};
  int64_t min_count = 1;  // a key gets a row when it was seen so often
  float scale = 0.05f;    // new rows are uniform in [-scale, scale), by seed and key
  int64_t seed = 0;
};

// How rows are trained. Adam changes the slots of the rows of a batch alone.
struct HashEmbeddingUpdate {
  enum class Rule { kGradientDescent, kAdagrad, kAdam } rule = Rule::kGradientDescent;
  float learning_rate = 0.01f;
  float initial_accumulator_value = 0.1f;               // kAdagrad
  float beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-8f;  // kAdam
};

// An embedding whose table grows with the vocabulary, as Python's millstream.embedding.HashEmbedding, whose graph it
// builds (tests/twins): docs/embeddings.md. Errors go to the scope's status.
class HashEmbedding {
 public:
  HashEmbedding(const Scope& scope, const std::string& name, const HashEmbeddingOptions& options);

  const std::vector<Output>& handles() const { return handles_; }

  // Rows of keys of any shape, and zeros for keys without one. Lookup() counts them and is trained; `step`, a scalar of
  // int64, is when they were used (none: 0).
  Output Lookup(const Scope& scope, Output keys, Output step = {});
  Output Find(const Scope& scope, Output keys) const;
  // Trains the rows of all lookups so far.
  Node* Minimize(const Scope& scope, Output loss, const HashEmbeddingUpdate& update);
  // How many keys were removed: those last used before step `before`, then the least recently used beyond `max_rows`
  // (0: no limit), of which each shard keeps its part. Scalars of int64.
  Output Evict(const Scope& scope, Output before, Output max_rows) const;
  Output Size(const Scope& scope) const;

  // Writes the tables to the checkpoint `prefix`, a scalar string, and reads them: the names are those that Python's
  // Saver uses. One node for each shard, on its task.
  std::vector<Node*> Save(const Scope& scope, const std::vector<std::string>& prefixes) const;
  std::vector<Node*> Restore(const Scope& scope, const std::vector<std::string>& prefixes) const;

 private:
  // The unique keys of a lookup, by shard, and their rows.
  struct Batch {
    Output positions, rows;
    std::vector<Output> keys, places;
  };
  Batch FindUnique(const Scope& s, Output keys, bool train, Output step) const;
  static Output Expand(const Scope& s, const Batch& batch, Output keys);
  // Of all lookups, in the order of batches_.
  std::vector<Grad> GradientsOf(const Scope& scope, Output loss) const;
  bool CheckPrefixes(const Scope& scope, const std::vector<std::string>& prefixes) const;

  const std::string name_;
  const HashEmbeddingOptions options_;
  std::vector<Output> handles_;
  std::vector<Node*> exports_;  // of each shard: what Save() writes
  std::vector<Batch> batches_;
};

}  // namespace millstream

#endif  // MILLSTREAM_TRAIN_LAYERS_HASH_EMBEDDING_H_
