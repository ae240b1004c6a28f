// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/layers/embedding.h"

#include <algorithm>

#include "millstream/graph/gradients/gradient.h"
#include "millstream/train/variables/variables.h"

namespace millstream {
namespace {

using Strategy = EmbeddingOptions::Strategy;

Output Gather(const Scope& s, const GraphVariable& table, Output ids) {
  const Scope beside = s.ColocateWith(table.handle.node);
  if (IsResource(table)) return beside.Op("ResourceGather", {table.handle, ids}, {{"dtype", TypeOf(table)}});
  return beside.Op("GatherV2", {table.value, ids, beside.Const<int32_t>(0)});
}

// Each row, of rank 1, no longer than `max_norm`.
Output Clipped(const Scope& scope, Output rows, const std::optional<double>& max_norm) {
  if (!max_norm.has_value() || !scope.ok()) return rows;
  const Scope s = scope.NameScope("clip_by_norm");
  const Output limit = s.Const(ScalarOf(rows.dtype(), *max_norm));
  const Output squares = s.Op("Sum", {s.Op("Mul", {rows, rows}), s.Constant({-1})}, {{"keep_dims", true}});
  // The root of 0 has no gradient.
  const Output positive = s.Op("Greater", {squares, s.Const(ScalarOf(rows.dtype(), 0))});
  const Output safe = s.Op("SelectV2", {positive, squares, OnesFor(s, squares)});
  const Output norms = s.Op("SelectV2", {positive, s.Op("Sqrt", {safe}), squares});
  return s.Op("RealDiv", {s.Op("Mul", {rows, limit}), s.Op("Maximum", {norms, limit})});
}

// Which table has each id, and where there.
struct Places {
  Output table, row;
};

Places PlacesOf(const Scope& s, const std::vector<GraphVariable>& params, Output ids, Strategy strategy) {
  const auto number = [&](double value) { return s.Const(ScalarOf(ids.dtype(), value)); };
  const auto count = static_cast<int64_t>(params.size());
  if (strategy == Strategy::kMod) {
    const Output n = number(static_cast<double>(count));
    return {s.Op("FloorMod", {ids, n}), s.Op("FloorDiv", {ids, n})};
  }
  int64_t rows = 0;
  for (const GraphVariable& table : params) rows += table.shape.dim(0);
  const int64_t each = rows / count, extras = rows % count;
  const Output longer = number(static_cast<double>(each + 1)),
               shorter = number(static_cast<double>(std::max<int64_t>(1, each)));
  const Output num_longer = number(static_cast<double>(extras)), beyond = s.Op("Sub", {ids, num_longer});
  const Output table = s.Op("Maximum", {s.Op("FloorDiv", {ids, longer}), s.Op("FloorDiv", {beyond, shorter})});
  const Output row = s.Op("SelectV2", {s.Op("Less", {table, num_longer}), s.Op("FloorMod", {ids, longer}),
                                       s.Op("FloorMod", {beyond, shorter})});
  return {table, row};
}

// InvalidArgument unless there are tables of one row shape.
bool Check(const Scope& scope, const std::vector<GraphVariable>& params, Output ids) {
  if (params.empty()) scope.Fail(errors::InvalidArgument("Need at least one param"));
  if (!ids) scope.Fail(errors::InvalidArgument("An embedding lookup needs ids"));
  for (const GraphVariable& table : params) {
    if (!table || !table.shape.IsFullyDefined() || table.shape.rank() < 1 ||
        table.shape.Slice(1, table.shape.rank()) != params[0].shape.Slice(1, params[0].shape.rank())) {
      scope.Fail(errors::InvalidArgument("Tables of an embedding have a known shape, and the same but for their rows"));
      return false;
    }
  }
  return scope.ok();
}

std::vector<Output> Partition(const Scope& s, Output data, Output tables, size_t count) {
  Node* node = s.Add("DynamicPartition", {data, tables}, {{"num_partitions", static_cast<int64_t>(count)}});
  std::vector<Output> parts(count);
  for (size_t i = 0; node != nullptr && i < count; ++i) parts[i] = Output(node, static_cast<int>(i));
  return parts;
}

Output LookupInTables(const Scope& s, const std::vector<GraphVariable>& params, Output ids,
                      const EmbeddingOptions& options) {
  const Output flat = s.Op("Reshape", {ids, s.Constant({-1})});
  const Places places = PlacesOf(s, params, flat, options.partition_strategy);
  const Output tables = CastTo(s, places.table, DType::kInt32);
  const Output positions = s.Op("Range", {s.Const<int32_t>(0), s.Op("Size", {flat}), s.Const<int32_t>(1)});
  const std::vector<Output> rows = Partition(s, places.row, tables, params.size());
  std::vector<Output> inputs = Partition(s, positions, tables, params.size());
  for (size_t i = 0; i < params.size() && s.ok(); ++i) {
    inputs.push_back(Clipped(s, Gather(s, params[i], rows[i]), options.max_norm));
  }
  const Output stitched = s.Op("ParallelDynamicStitch", inputs, {{"N", static_cast<int64_t>(params.size())}});
  std::vector<int32_t> row;
  for (int d = 1; d < params[0].shape.rank(); ++d) row.push_back(static_cast<int32_t>(params[0].shape.dim(d)));
  const Output shape = s.Op("ConcatV2", {s.Op("Shape", {ids}), s.Const(Tensor::Vector(row)), s.Const<int32_t>(0)});
  return s.Op("Reshape", {stitched, shape});
}

// Sums of rows, by segments, over what the combiner divides by.
Output Combine(const Scope& s, Output rows, Output weights, Output segments, Combiner combiner) {
  const Output column = s.Op("ExpandDims", {CastTo(s, weights, rows.dtype()), s.Const<int32_t>(1)});
  const Output total = s.Op("SegmentSum", {s.Op("Mul", {rows, column}), segments});
  if (combiner == Combiner::kSum) return total;
  if (combiner == Combiner::kMean) return s.Op("DivNoNan", {total, s.Op("SegmentSum", {column, segments})});
  const Output squares = s.Op("SegmentSum", {s.Op("Square", {column}), segments});
  return s.Op("DivNoNan", {total, s.Op("Sqrt", {squares})});
}

}  // namespace

Output EmbeddingLookup(const Scope& scope, const std::vector<GraphVariable>& params, Output ids,
                       const EmbeddingOptions& options) {
  if (!scope.ok() || !Check(scope, params, ids)) return {};
  const Scope s = scope.NameScope(options.name.empty() ? "embedding_lookup" : options.name.c_str());
  if (params.size() > 1) return LookupInTables(s, params, ids, options);
  return s.WithOpName("Identity").Op("Identity", {Clipped(s, Gather(s, params[0], ids), options.max_norm)});
}

Output EmbeddingLookupSparse(const Scope& scope, const std::vector<GraphVariable>& params, const SparseOutput& ids,
                             Output weights, Combiner combiner, const EmbeddingOptions& options) {
  if (!scope.ok() || !Check(scope, params, ids.values)) return {};
  if (!ids.indices || params[0].shape.rank() != 2) {
    scope.Fail(errors::InvalidArgument("A sparse embedding lookup needs indices, and tables of two dimensions"));
    return {};
  }
  const Scope s = scope.NameScope(options.name.empty() ? "embedding_lookup_sparse" : options.name.c_str());
  const Output column = s.Op("StridedSlice", {ids.indices, s.Constant({0, 0}), s.Constant({0, 1}), s.Constant({1, 1})},
                             {{"begin_mask", 1}, {"end_mask", 1}, {"shrink_axis_mask", 2}});
  const Output segments = CastTo(s, column, DType::kInt32);
  Node* unique = s.Add("Unique", {ids.values});
  if (unique == nullptr) return {};
  EmbeddingOptions plain = options;
  plain.name.clear();
  const Output rows = EmbeddingLookup(s, params, Output(unique, 0), plain);
  const Output index(unique, 1);
  if (weights && s.ok()) {
    return Combine(s, s.Op("GatherV2", {rows, index, s.Const<int32_t>(0)}), weights, segments, combiner);
  }
  const char* type = combiner == Combiner::kMean    ? "SparseSegmentMean"
                     : combiner == Combiner::kSqrtN ? "SparseSegmentSqrtN"
                                                    : "SparseSegmentSum";
  return s.Op(type, {rows, index, segments});
}

}  // namespace millstream
