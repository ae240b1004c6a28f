// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_LAYERS_EMBEDDING_H_
#define MILLSTREAM_TRAIN_LAYERS_EMBEDDING_H_

#include <optional>
#include <string>
#include <vector>

#include "millstream/graph/variables/variable_scope.h"

namespace millstream {

// Rows of tables that may be split over several variables, each on a device of its own: only the rows that are asked
// for travel. Their gradients are sparse. As tf.nn.embedding_lookup() and its kin; errors go to the scope's status.

struct EmbeddingOptions {
  // Of n tables, row i is in table i % n (kMod), or tables hold rows in runs, the first of which are longer by one
  // where they do not divide (kDiv), as a PartitionedVariable has them.
  enum class Strategy { kMod, kDiv } partition_strategy = Strategy::kMod;
  std::optional<double> max_norm = {};  // rows that are longer are scaled down to it
  std::string name = {};                // none: "embedding_lookup" ("embedding_lookup_sparse")
};

// Rows of `ids`, of any shape. InvalidArgument if there is no table.
Output EmbeddingLookup(const Scope& scope, const std::vector<GraphVariable>& params, Output ids,
                       const EmbeddingOptions& options = {});
inline Output EmbeddingLookup(const Scope& scope, const GraphVariable& params, Output ids,
                              const EmbeddingOptions& options = {}) {
  return EmbeddingLookup(scope, std::vector<GraphVariable>{params}, ids, options);
}
inline Output EmbeddingLookup(const Scope& scope, const PartitionedVariable& params, Output ids,
                              const EmbeddingOptions& options = {}) {
  return EmbeddingLookup(scope, params.parts, ids, options);
}

// A sparse tensor: where its values are, what they are, and its whole shape.
struct SparseOutput {
  Output indices, values, dense_shape;
};

enum class Combiner { kMean, kSqrtN, kSum };

// For each row of the sparse ids one row: that of its ids combined, with their weights (none: 1). Rows without ids are
// zeros, but the last rows of all are left out.
Output EmbeddingLookupSparse(const Scope& scope, const std::vector<GraphVariable>& params, const SparseOutput& ids,
                             Output weights = {}, Combiner combiner = Combiner::kMean,
                             const EmbeddingOptions& options = {});

}  // namespace millstream

#endif  // MILLSTREAM_TRAIN_LAYERS_EMBEDDING_H_
