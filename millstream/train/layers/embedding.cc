// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/layers/embedding.h"

#include <algorithm>

#include "millstream/graph/gradients/gradient.h"
#include "millstream/train/operators/operators.h"
#include "millstream/train/optimizers/clip.h"

namespace millstream {
namespace {

using Strategy = EmbeddingOptions::Strategy;

Output Gather(const Scope& beside, const GraphVariable& table, Output ids, absl::string_view name) {
  if (!IsResource(table)) return OpNamed(beside, name, "GatherV2", {table, ids, Tensor::Scalar<int32_t>(0)});
  const Output rows = beside.WithOpName(name.empty() ? "Gather" : name)
                          .Op("ResourceGather", {table.handle, ids}, {{"dtype", TypeOf(table)}});
  return beside.Op("Identity", {rows});
}

// The rows of one table, each no longer than `max_norm`, where the table is.
Output LookupInTable(const Scope& s, const GraphVariable& table, Output ids, const EmbeddingOptions& options,
                     absl::string_view name) {
  const Scope beside = s.ColocateWith(table.handle.node);
  const Output rows = Gather(beside, table, ids, name);
  if (!options.max_norm.has_value() || !s.ok()) return rows;
  std::vector<int32_t> axes;
  for (int d = s.ShapeOf(ids).rank(); d < table.shape.rank(); ++d) axes.push_back(d);
  return ClipByNormAlong(beside, rows, *options.max_norm, &axes);
}

// Which table has each id, and where there.
struct Places {
  Output table, row;
};

Places PlacesOf(const Scope& s, const std::vector<GraphVariable>& params, Output ids, Strategy strategy) {
  using namespace operators;  // NOLINT(google-build-using-namespace)
  const auto count = static_cast<int>(params.size());
  if (strategy == Strategy::kMod) {
    const Output table = FloorMod(s, ids, count);
    return {table, FloorDiv(s, ids, count)};
  }
  int64_t rows = 0;
  for (const GraphVariable& table : params) rows += table.shape.dim(0);
  const Output total = s.Const(ScalarOf(ids.dtype(), static_cast<double>(rows)));
  const Output each = FloorDiv(s, total, count), extras = FloorMod(s, total, count);
  const Output in_longer = FloorDiv(s, ids, Add(s, each, 1));
  const Output table = s.Op("Maximum", {in_longer, FloorDiv(s, Sub(s, ids, extras), each)});
  const Output longer = s.Op("Less", {table, extras});
  const Output row_in_longer = FloorMod(s, ids, Add(s, each, 1));
  return {table, s.Op("Select", {longer, row_in_longer, FloorMod(s, Sub(s, ids, extras), each)})};
}

// InvalidArgument unless there are tables of one row shape.
bool Check(const Scope& scope, const std::vector<GraphVariable>& params, Output ids) {
  if (params.empty()) scope.Fail(errors::InvalidArgument("Need at least one param"));
  if (!ids) scope.Fail(errors::InvalidArgument("An embedding lookup needs ids"));
  for (const GraphVariable& table : params) {
    if (!table || !table.shape.IsFullyDefined() || table.shape.rank() < 1 ||
        table.shape.Slice(1, table.shape.rank()) != params[0].shape.Slice(1, params[0].shape.rank())) {
      scope.Fail(errors::InvalidArgument(
          "The tables of an embedding must have known shapes that differ only in the number of rows"));
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
  using namespace operators;  // NOLINT(google-build-using-namespace)
  const Output flat = OpNamed(s, "", "Reshape", {ids, std::vector<int32_t>{-1}});
  const Output positions = OpNamed(s, "range", "Range", {0, s.Op("Size", {flat}), 1});
  const Places places = PlacesOf(s, params, flat, options.partition_strategy);
  const Output tables = CastTo(s, places.table, DType::kInt32);
  const std::vector<Output> rows = Partition(s, places.row, tables, params.size());
  std::vector<Output> inputs = Partition(s, positions, tables, params.size());
  for (size_t i = 0; i < params.size() && s.ok(); ++i) {
    inputs.push_back(LookupInTable(s, params[i], rows[i], options, ""));
  }
  const Output stitched =
      s.WithOpName(s.name_prefix()).Op("ParallelDynamicStitch", inputs, {{"N", static_cast<int64_t>(params.size())}});
  std::vector<int32_t> row;
  for (int d = 1; d < params[0].shape.rank(); ++d) row.push_back(static_cast<int32_t>(params[0].shape.dim(d)));
  const Output sizes = ShapeOf(s, ids);
  return s.Op("Reshape", {stitched, row.empty() ? sizes : Concat(s, {sizes, row})});
}

// Sums of rows, by segments, over what the combiner divides by. The result is named as the scope is.
Output Combine(const Scope& s, Output rows, Output weights, Output segments, Combiner combiner) {
  using namespace operators;  // NOLINT(google-build-using-namespace)
  const Scope last = s.WithOpName(s.name_prefix());
  const Output inner_rank = Sub(s, s.Op("Rank", {rows}), 1);
  const Scope fill = s.NameScope("Fill");
  const Output dims = fill.WithOpName("dims").Op("Pack", {inner_rank});
  const Output ones = OpNamed(fill, fill.name_prefix(), "Fill", {dims, Tensor::Scalar<int32_t>(1)});
  const Output sizes = ShapeOf(s, weights);
  const Output column = s.Op("Reshape", {weights, Concat(s, {sizes, ones})});
  const Output total = s.Op("SegmentSum", {Mul(s, rows, column), segments});
  if (combiner == Combiner::kSum) return last.Op("Identity", {total});
  if (combiner == Combiner::kMean) return last.Op("DivNoNan", {total, s.Op("SegmentSum", {column, segments})});
  const Output squares = s.Op("SegmentSum", {s.Op("Square", {column}), segments});
  return last.Op("DivNoNan", {total, s.Op("Sqrt", {squares})});
}

}  // namespace

Output EmbeddingLookup(const Scope& scope, const std::vector<GraphVariable>& params, Output ids,
                       const EmbeddingOptions& options) {
  if (!scope.ok() || !Check(scope, params, ids)) return {};
  const Scope s = scope.NameScope(options.name.empty() ? "embedding_lookup" : options.name.c_str());
  if (params.size() > 1) return LookupInTables(s, params, ids, options);
  return s.Op("Identity", {LookupInTable(s, params[0], ids, options, s.name_prefix())});
}

Output EmbeddingLookupSparse(const Scope& scope, const std::vector<GraphVariable>& params, const SparseOutput& ids,
                             Output weights, Combiner combiner, const EmbeddingOptions& options) {
  if (!scope.ok() || !Check(scope, params, ids.values)) return {};
  if (!ids.indices || params[0].shape.rank() != 2) {
    scope.Fail(errors::InvalidArgument("A sparse embedding lookup needs indices, and tables of two dimensions"));
    return {};
  }
  const Scope s = scope.NameScope(options.name.empty() ? "embedding_lookup_sparse" : options.name.c_str());
  const Output column = operators::FirstColumn(s, ids.indices);
  const Output segments = CastTo(s, column, DType::kInt32);
  Node* unique = s.Add("Unique", {ids.values});
  if (unique == nullptr) return {};
  EmbeddingOptions plain = options;
  plain.name.clear();
  const Output rows = EmbeddingLookup(s, params, Output(unique, 0), plain);
  const Output index(unique, 1);
  if (weights && s.ok()) {
    const Output typed = CastTo(s, weights, rows.dtype());
    const Output all = OpNamed(s, "", "GatherV2", {rows, index, Tensor::Scalar<int32_t>(0)});
    return Combine(s, all, typed, segments, combiner);
  }
  const char* type = combiner == Combiner::kMean    ? "SparseSegmentMean"
                     : combiner == Combiner::kSqrtN ? "SparseSegmentSqrtN"
                                                    : "SparseSegmentSum";
  return s.WithOpName(s.name_prefix()).Op(type, {rows, index, segments});
}

}  // namespace millstream
