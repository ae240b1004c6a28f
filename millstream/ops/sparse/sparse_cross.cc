// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <string>
#include <vector>

#include "millstream/framework/op.h"
#include "millstream/ops/sparse/cross_columns.h"
#include "millstream/ops/strings/fingerprint.h"

namespace millstream {
namespace {

using Column = CrossColumn;

StatusOr<Column> SparseColumn(const Tensor& indices, const Tensor& values, const Tensor& shape, int64_t rows, int at) {
  if (indices.rank() != 2) {
    return errors::InvalidArgument("Input indices should be a matrix but received shape ", indices.shape().ToString(),
                                   " at position ", at);
  }
  if (indices.dim(1) != 2) {
    return errors::InvalidArgument("Expected D2 of index to be 2 got ", indices.dim(1), " at position ", at);
  }
  if (values.rank() != 1) {
    return errors::InvalidArgument("Input values should be a vector but received shape ", values.shape().ToString(),
                                   " at position ", at);
  }
  if (values.dim(0) != indices.dim(0)) {
    return errors::InvalidArgument("Expected size of values to be ", indices.dim(0), " got ", values.dim(0),
                                   " at position ", at);
  }
  if (shape.rank() != 1) {
    return errors::InvalidArgument("Input shapes should be a vector but received shape ", shape.shape().ToString(),
                                   " at position ", at);
  }
  if (shape.dim(0) != 2) {
    return errors::InvalidArgument("shape should imply a 2D tensor, but got ", shape.shape().ToString(),
                                   " at position ", at);
  }
  if (shape.data<int64_t>()[0] != rows) {
    return errors::InvalidArgument("Expected batch size ", rows, " got ", shape.data<int64_t>()[0], " at position ",
                                   at);
  }
  Column column{&values, false, std::vector<int64_t>(static_cast<size_t>(rows) + 1)};
  int64_t last = 0;
  for (int64_t i = 0; i < indices.dim(0); ++i) {
    const int64_t row = indices.data<int64_t>()[2 * i];
    if (row < last || row >= rows) {
      return errors::InvalidArgument("Row ", row, " of position ", at, " is out of order or not below the batch size ",
                                     rows);
    }
    last = row;
    ++column.starts[row + 1];
  }
  for (int64_t r = 0; r < rows; ++r) column.starts[r + 1] += column.starts[r];
  return column;
}

StatusOr<Column> DenseColumn(const Tensor& values, int64_t rows, int at) {
  if (values.rank() != 2) {
    return errors::InvalidArgument("Dense inputs should be a matrix but received shape ", values.shape().ToString(),
                                   " at position ", at);
  }
  if (values.dim(0) != rows) {
    return errors::InvalidArgument("Expected batch size ", rows, " got ", values.dim(0), " at dense tensor ", at);
  }
  Column column{&values, true, {}};
  for (int64_t r = 0; r <= rows; ++r) column.starts.push_back(r * values.dim(1));
  return column;
}

// Where the inputs are that all three ops have.
class CrossInputs {
 public:
  explicit CrossInputs(KernelInit& init) {
    int end = 0;
    init.InputRange("values", &values_, &end);
    init.InputRange("shapes", &shapes_, &end);
    init.InputRange("dense_inputs", &dense_, &rest_);
  }
  // The first input after those.
  int rest() const { return rest_; }

  StatusOr<std::vector<Column>> Read(const KernelContext& ctx, int64_t* rows) const {
    *rows = 0;
    if (values_ > 0) {
      const Tensor& shape = ctx.input(shapes_);
      if (shape.rank() == 1 && shape.dim(0) == 2) *rows = shape.data<int64_t>()[0];
    } else if (rest_ > dense_ && ctx.input(dense_).rank() == 2) {
      *rows = ctx.input(dense_).dim(0);
    }
    if (*rows < 0 || *rows >= std::numeric_limits<int32_t>::max()) {
      return errors::InvalidArgument("Bad batch size ", *rows);
    }
    std::vector<Column> columns;
    for (int i = 0; i < values_; ++i) {
      ASSIGN_OR_RETURN(Column column,
                       SparseColumn(ctx.input(i), ctx.input(values_ + i), ctx.input(shapes_ + i), *rows, i));
      columns.push_back(std::move(column));
    }
    for (int i = dense_; i < rest_; ++i) {
      ASSIGN_OR_RETURN(Column column, DenseColumn(ctx.input(i), *rows, i - dense_));
      columns.push_back(std::move(column));
    }
    return columns;
  }

 private:
  int values_ = 0, shapes_ = 0, dense_ = 0, rest_ = 0;
};

// Fills the three outputs; `cross` makes a value of the places of one value in each column.
template <typename T, typename Cross>
Status CrossRows(KernelContext& ctx, const std::vector<Column>& columns, int64_t rows, Cross cross) {
  int64_t total = 0, most = 0;
  ASSIGN_OR_RETURN(const std::vector<int64_t> counts, CountCrosses(columns, rows, &total));
  for (const int64_t n : counts) most = std::max(most, n);
  ASSIGN_OR_RETURN(Tensor * indices, ctx.AllocateOutput(0, Shape({total, 2})));
  ASSIGN_OR_RETURN(Tensor * values, ctx.AllocateOutput(1, Shape({total})));
  ASSIGN_OR_RETURN(Tensor * shape, ctx.AllocateOutput(2, Shape({2})));
  shape->data<int64_t>()[0] = rows;
  shape->data<int64_t>()[1] = most;
  int64_t* at = indices->data<int64_t>();
  T* to = values->data<T>();
  VisitCrosses(columns, counts, [&](int64_t r, int64_t n, const std::vector<int64_t>& places) {
    *at++ = r;
    *at++ = n;
    *to++ = cross(places);
  });
  return OkStatus();
}

class SparseCross final : public Kernel {
 public:
  explicit SparseCross(KernelInit& init)
      : inputs_(init),
        hashed_(init.Attr<bool>("hashed_output")),
        buckets_(init.Attr<int64_t>("num_buckets")),
        key_(static_cast<uint64_t>(init.Attr<int64_t>("hash_key"))) {
    if (hashed_ != (init.Attr<DType>("out_type") == DType::kInt64)) {
      init.Fail(errors::InvalidArgument("out_type must be int64 if and only if hashed_output is true"));
    }
  }
  Status Compute(KernelContext& ctx) override {
    int64_t rows = 0;
    ASSIGN_OR_RETURN(const std::vector<Column> columns, inputs_.Read(ctx, &rows));
    if (!hashed_) {
      return CrossRows<std::string>(ctx, columns, rows,
                                    [&](const auto& places) { return JoinedCross(columns, places, "_X_"); });
    }
    return CrossRows<int64_t>(ctx, columns, rows,
                              [&](const auto& places) { return HashedCross(columns, places, key_, buckets_); });
  }

 private:
  const CrossInputs inputs_;
  const bool hashed_;
  const int64_t buckets_;
  const uint64_t key_;
};

class SparseCrossV2 final : public Kernel {
 public:
  explicit SparseCrossV2(KernelInit& init) : inputs_(init) {}
  Status Compute(KernelContext& ctx) override {
    const Tensor& separator = ctx.input(inputs_.rest());
    if (separator.rank() != 0) {
      return errors::InvalidArgument("Input separator should be a scalar. Received: ", separator.shape().ToString());
    }
    int64_t rows = 0;
    ASSIGN_OR_RETURN(const std::vector<Column> columns, inputs_.Read(ctx, &rows));
    return CrossRows<std::string>(ctx, columns, rows, [&](const auto& places) {
      return JoinedCross(columns, places, separator.scalar<std::string>());
    });
  }

 private:
  const CrossInputs inputs_;
};

// The lower half of a number, as bytes: what TensorFlow hashes.
absl::string_view LowBytes(const int64_t& number) { return {reinterpret_cast<const char*>(&number), 4}; }

class SparseCrossHashed final : public Kernel {
 public:
  explicit SparseCrossHashed(KernelInit& init) : inputs_(init) {}
  Status Compute(KernelContext& ctx) override {
    const int rest = inputs_.rest();
    const Tensor &buckets = ctx.input(rest), &strong = ctx.input(rest + 1), &salt = ctx.input(rest + 2);
    if (buckets.rank() != 0 || strong.rank() != 0) {
      return errors::InvalidArgument("num_buckets and strong_hash should be scalars");
    }
    if (salt.num_elements() != 2) {
      return errors::InvalidArgument("Input \"salt\" must have length 2 but its shape is ", salt.shape().ToString());
    }
    int64_t rows = 0;
    ASSIGN_OR_RETURN(const std::vector<Column> columns, inputs_.Read(ctx, &rows));
    const auto* key = salt.data<int64_t>();
    return CrossRows<int64_t>(ctx, columns, rows, [&](const std::vector<int64_t>& places) {
      uint64_t hash = 0;
      for (size_t c = 0; c < columns.size(); ++c) {
        const uint64_t one = HashOf(columns[c], places[c], strong.scalar<bool>(), key);
        hash = c == 0 ? one : FingerprintCat64(hash, one);
      }
      return CrossBucket(hash, buckets.scalar<int64_t>());
    });
  }

 private:
  static uint64_t HashOf(const Column& column, int64_t at, bool strong, const int64_t* key) {
    if (!strong && column.dense && !column.strings()) return static_cast<uint64_t>(column.number(at));
    const absl::string_view bytes =
        column.strings() ? absl::string_view(column.text(at)) : LowBytes(column.values->data<int64_t>()[at]);
    return strong ? SipHash(static_cast<uint64_t>(key[0]), static_cast<uint64_t>(key[1]), bytes) : Fingerprint64(bytes);
  }
  const CrossInputs inputs_;
};

Status CrossShape(ShapeContext& c) {
  c.set_output(0, PartialShape({-1, 2}));
  c.set_output(1, PartialShape({-1}));
  c.set_output(2, PartialShape({2}));
  return OkStatus();
}

void CrossInputs(OpBuilder& op) {
  op.Input("indices: N * int64")
      .Input("values: sparse_types")
      .Input("shapes: N * int64")
      .Input("dense_inputs: dense_types");
}
void CrossTypeAttrs(OpBuilder& op) {
  op.Attr("sparse_types: list({int64, string}) >= 0").Attr("dense_types: list({int64, string}) >= 0");
}

OP("SparseCross")
    .With(CrossInputs)
    .Output("output_indices: int64")
    .Output("output_values: out_type")
    .Output("output_shape: int64")
    .Attr("N: int >= 0")
    .Attr("hashed_output: bool")
    .Attr("num_buckets: int >= 0")
    .Attr("hash_key: int")
    .With(CrossTypeAttrs)
    .Attr("out_type: {int64, string}")
    .Attr("internal_type: {int64, string}")
    .Shape(CrossShape)
    .Cpu<SparseCross>()
    .Doc("Crosses of the columns' values, row by row: strings joined by _X_, or their hashes.");

OP("SparseCrossV2")
    .With(CrossInputs)
    .Input("sep: string")
    .Output("output_indices: int64")
    .Output("output_values: string")
    .Output("output_shape: int64")
    .Attr("N: int >= 0")
    .With(CrossTypeAttrs)
    .Shape(CrossShape)
    .Cpu<SparseCrossV2>()
    .Doc("Crosses of the columns' values, row by row, joined by a separator.");

OP("SparseCrossHashed")
    .With(CrossInputs)
    .Input("num_buckets: int64")
    .Input("strong_hash: bool")
    .Input("salt: int64")
    .Output("output_indices: int64")
    .Output("output_values: int64")
    .Output("output_shape: int64")
    .Attr("N: int >= 0")
    .With(CrossTypeAttrs)
    .Shape(CrossShape)
    .Cpu<SparseCrossHashed>()
    .Doc("Hashes of the crosses of the columns' values, row by row.");

}  // namespace
}  // namespace millstream
