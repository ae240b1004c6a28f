// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/op.h"
#include "millstream/ops/elements/axes.h"
#include "millstream/ops/ragged/ragged.h"
#include "millstream/ops/sparse/cross_columns.h"

namespace millstream {
namespace {

constexpr char kRankError[] = "tf.ragged.cross only supports inputs with rank=2.";

class RaggedCross : public Kernel {
 public:
  explicit RaggedCross(KernelInit& init)
      : order_(init.Attr<std::string>("input_order")),
        buckets_(init.Attr<int64_t>("num_buckets")),
        key_(static_cast<uint64_t>(init.Attr<int64_t>("hash_key"))) {
    int end = 0, values_end = 0;
    init.InputRange("ragged_row_splits", &splits_, &end);
    init.InputRange("sparse_indices", &indices_, &end);
    init.InputRange("sparse_values", &values_, &values_end);
    init.InputRange("sparse_shape", &shapes_, &end);
    init.InputRange("dense_inputs", &dense_, &end_);
    if (splits_ != indices_ - splits_) {
      init.Fail(errors::InvalidArgument("ragged values and splits must have the same length"));
    } else if (values_ - indices_ != values_end - values_) {
      init.Fail(errors::InvalidArgument("sparse indices and values must have the same length"));
    } else {
      CheckOrder(init);
    }
  }

  Status Compute(KernelContext& ctx) override {
    std::vector<CrossColumn> ragged, sparse, dense, columns;
    int64_t rows = 0;
    RETURN_IF_ERROR(Rows(ctx, &rows));
    for (int i = 0; i < splits_; ++i) {
      ASSIGN_OR_RETURN(ragged.emplace_back(), RaggedColumn(ctx.input(i), ctx, splits_ + i));
    }
    for (int i = 0; i < values_ - indices_; ++i) {
      ASSIGN_OR_RETURN(sparse.emplace_back(), SparseColumn(ctx, i, rows));
    }
    for (int i = dense_; i < end_; ++i) {
      const Tensor& values = ctx.input(i);
      CrossColumn column{&values, true, {}};
      for (int64_t r = 0; r <= values.dim(0); ++r) column.starts.push_back(r * values.dim(1));
      dense.push_back(std::move(column));
    }
    size_t next_ragged = 0, next_sparse = 0, next_dense = 0;
    for (const char c : order_) {
      columns.push_back(c == 'R'   ? std::move(ragged[next_ragged++])
                        : c == 'S' ? std::move(sparse[next_sparse++])
                                   : std::move(dense[next_dense++]));
      if (static_cast<int64_t>(columns.back().starts.size()) != rows + 1) {
        return errors::InvalidArgument("inputs must all have the same batch dimension size.");
      }
    }
    return Cross(ctx, columns, rows);
  }

 private:
  // R, S and D, as many as there are inputs of each kind.
  void CheckOrder(KernelInit& init) {
    int64_t ragged = 0, sparse = 0, dense = 0;
    for (const char c : order_) {
      if (c != 'R' && c != 'S' && c != 'D') {
        init.Fail(errors::InvalidArgument("Unexpected input_order value."));
        return;
      }
      ++(c == 'R' ? ragged : c == 'S' ? sparse : dense);
    }
    if (ragged != splits_ || sparse != values_ - indices_ || dense != end_ - dense_) {
      init.Fail(errors::InvalidArgument("Invalid length for input_order"));
    }
  }

  // Checks ranks, and reads the number of rows from the first input.
  Status Rows(const KernelContext& ctx, int64_t* rows) const {
    for (int i = 0; i < indices_; ++i) {
      if (ctx.input(i).rank() != 1) return errors::InvalidArgument(kRankError);
    }
    for (int i = 0; i < values_ - indices_; ++i) {
      const Tensor &indices = ctx.input(indices_ + i), &shape = ctx.input(shapes_ + i);
      const Tensor& values = ctx.input(values_ + i);
      if (indices.rank() != 2 || values.rank() != 1 || shape.rank() != 1 || indices.dim(0) != values.dim(0)) {
        return errors::InvalidArgument("Invalid SparseTensor ", i);
      }
      if (shape.dim(0) != 2 || indices.dim(1) != 2) return errors::InvalidArgument(kRankError);
    }
    for (int i = dense_; i < end_; ++i) {
      if (ctx.input(i).rank() != 2) return errors::InvalidArgument(kRankError);
    }
    if (splits_ > 0) {
      *rows = ctx.input(splits_).dim(0) - 1;
    } else if (end_ > dense_) {
      *rows = ctx.input(dense_).dim(0);
    } else if (values_ > indices_) {
      *rows = ctx.input(shapes_).data<int64_t>()[0];
    }
    return MakeShape({std::max<int64_t>(*rows, -1) + 1}).status();
  }

  static StatusOr<CrossColumn> RaggedColumn(const Tensor& values, const KernelContext& ctx, int splits) {
    CrossColumn column{&values, false, std::move(ReadSplits(ctx, splits, 1)[0])};
    RETURN_IF_ERROR(CheckSplits(column.starts, values.dim(0)));
    return column;
  }

  StatusOr<CrossColumn> SparseColumn(const KernelContext& ctx, int i, int64_t rows) const {
    const Tensor &indices = ctx.input(indices_ + i), &values = ctx.input(values_ + i);
    if (ctx.input(shapes_ + i).data<int64_t>()[0] != rows || rows < 0) {
      return errors::InvalidArgument("inputs must all have the same batch dimension size.");
    }
    // A batch without values may be declared as large as one likes.
    if (rows > (int64_t{1} << 31)) return errors::InvalidArgument("Bad batch size ", rows);
    CrossColumn column{&values, false, {0}};
    int64_t at = 0;
    for (int64_t r = 0; r < rows; ++r) {
      while (at < values.dim(0) && indices.data<int64_t>()[2 * at] <= r) ++at;
      column.starts.push_back(at);
    }
    return column;
  }

  Status Cross(KernelContext& ctx, const std::vector<CrossColumn>& columns, int64_t rows) const {
    int64_t total = 0;
    ASSIGN_OR_RETURN(const std::vector<int64_t> counts, CountCrosses(columns, rows, &total));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, Shape({total})));
    int64_t at = 0;
    VisitCrosses(columns, counts, [&](int64_t, int64_t, const std::vector<int64_t>& places) {
      if (out->dtype() == DType::kString) {
        out->data<std::string>()[at++] = JoinedCross(columns, places, "_X_");
      } else {
        out->data<int64_t>()[at++] = HashedCross(columns, places, key_, buckets_);
      }
    });
    Splits splits{0};
    for (const int64_t n : counts) splits.push_back(splits.back() + n);
    return OutputInts(ctx, 1, splits);
  }

  const std::string order_;
  const int64_t buckets_;
  const uint64_t key_;
  int splits_ = 0, indices_ = 0, values_ = 0, shapes_ = 0, dense_ = 0, end_ = 0;
};

Status MergeSplits(const PartialShape& more, PartialShape* splits) {
  auto merged = splits->MergeWith(more);
  if (!merged.ok()) return errors::InvalidArgument("inputs must all have the same batch dimension size.");
  *splits = *std::move(merged);
  return OkStatus();
}

Status RaggedCrossShape(ShapeContext& c) {
  std::vector<DType> values, splits_types, sparse;
  int64_t num_sparse = 0;
  RETURN_IF_ERROR(c.GetAttr("ragged_values_types", &values));
  RETURN_IF_ERROR(c.GetAttr("ragged_splits_types", &splits_types));
  RETURN_IF_ERROR(c.GetAttr("sparse_values_types", &sparse));
  RETURN_IF_ERROR(c.GetAttr("Nsparse", &num_sparse));
  if (values.size() != splits_types.size()) {
    return errors::InvalidArgument("ragged values and splits must have the same length.");
  }
  if (num_sparse != static_cast<int64_t>(sparse.size())) {
    return errors::InvalidArgument("sparse indices and values must have the same length");
  }
  const int ragged = static_cast<int>(values.size());
  PartialShape splits({-1});
  for (int i = ragged; i < 2 * ragged; ++i) RETURN_IF_ERROR(MergeSplits(c.input(i), &splits));
  for (int i = 2 * ragged + 3 * static_cast<int>(num_sparse); i < c.num_inputs(); ++i) {
    const PartialShape& dense = c.input(i);
    if (!dense.rank_known()) continue;
    if (dense.rank() != 2) return errors::InvalidArgument("tf.ragged.cross only supports inputs with rank=2");
    if (dense.dim(0) >= 0) RETURN_IF_ERROR(MergeSplits(PartialShape({dense.dim(0) + 1}), &splits));
  }
  c.set_output(0, PartialShape({-1}));
  c.set_output(1, std::move(splits));
  return OkStatus();
}

OP("RaggedCross")
    .Input("ragged_values: ragged_values_types")
    .Input("ragged_row_splits: ragged_splits_types")
    .Input("sparse_indices: Nsparse * int64")
    .Input("sparse_values: sparse_values_types")
    .Input("sparse_shape: Nsparse * int64")
    .Input("dense_inputs: dense_types")
    .Output("output_values: out_values_type")
    .Output("output_row_splits: out_row_splits_type")
    .Attr("Nsparse: int >= 0")
    .Attr("input_order: string")
    .Attr("hashed_output: bool")
    .Attr("num_buckets: int >= 0")
    .Attr("hash_key: int")
    .Attr("ragged_values_types: list({int64, string}) >= 0")
    .Attr("ragged_splits_types: list({int32, int64}) >= 0")
    .Attr("sparse_values_types: list({int64, string}) >= 0")
    .Attr("dense_types: list({int64, string}) >= 0")
    .Attr("out_values_type: {int64, string}")
    .Attr("out_row_splits_type: {int32, int64}")
    .Shape(RaggedCrossShape)
    .Cpu<RaggedCross>()
    .Doc("Crosses of the columns' values, row by row: strings joined by _X_, or their hashes.");

}  // namespace
}  // namespace millstream
