// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/op.h"
#include "millstream/ops/elements/blob.h"
#include "millstream/ops/elements/nd_index.h"
#include "millstream/ops/elements/segment.h"
#include "millstream/ops/ragged/ragged.h"

namespace millstream {
namespace {

Status CheckParams(const std::vector<Splits>& nested, int64_t values) {
  for (size_t d = 0; d < nested.size(); ++d) {
    const Splits& splits = nested[d];
    if (splits.empty()) return errors::InvalidArgument("Ragged splits may not be empty");
    if (splits[0] < 0) return errors::InvalidArgument("Ragged splits must be non-negative");
    for (size_t i = 1; i < splits.size(); ++i) {
      if (splits[i - 1] > splits[i]) return errors::InvalidArgument("Ragged splits must be sorted");
    }
    const int64_t most = d + 1 < nested.size() ? static_cast<int64_t>(nested[d + 1].size()) - 1 : values;
    if (splits.back() > most) return errors::InvalidArgument("Ragged splits must not point past values");
  }
  return OkStatus();
}

// The splits of the result, and the runs of values that make it up.
struct Gathered {
  std::vector<Splits> splits;
  std::vector<std::pair<int64_t, int64_t>> runs;
  int64_t values = 0;
};

// All but the last dimension of the indices become ragged dimensions with rows of one length.
void AddUniform(const Shape& indices, Gathered* out) {
  int64_t rows = 1;
  for (int d = 0; d + 1 < indices.rank(); ++d) {
    rows *= indices.dim(d);
    Splits splits(static_cast<size_t>(rows) + 1);
    for (int64_t i = 0; i <= rows; ++i) splits[i] = i * indices.dim(d + 1);
    out->splits.push_back(std::move(splits));
  }
}

Gathered GatherRows(const std::vector<Splits>& nested, const Shape& indices, const std::vector<int64_t>& ids) {
  Gathered out;
  AddUniform(indices, &out);
  const int first = indices.rank() - 1;  // where the splits of params go; -1 drops the outermost
  out.splits.resize(nested.size() + static_cast<size_t>(indices.rank()) - 1, Splits{0});
  for (const int64_t id : ids) {
    int64_t begin = id, end = id + 1;
    for (size_t d = 0; d < nested.size(); ++d) {
      const int to = first + static_cast<int>(d);
      if (to >= 0) {
        Splits& splits = out.splits[static_cast<size_t>(to)];
        const int64_t shift = splits.back() - nested[d][begin];
        for (int64_t j = begin; j < end; ++j) splits.push_back(nested[d][j + 1] + shift);
      }
      begin = nested[d][begin];
      end = nested[d][end];
    }
    out.runs.emplace_back(begin, end);
    out.values += end - begin;
  }
  return out;
}

class RaggedGather final : public Kernel {
 public:
  explicit RaggedGather(KernelInit& init)
      : params_(init.Attr<int>("PARAMS_RAGGED_RANK")), outputs_(init.Attr<int>("OUTPUT_RAGGED_RANK")) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor &values = ctx.input(params_), &indices = ctx.input(params_ + 1);
    if (ctx.input(0).rank() == 0) return errors::InvalidArgument("Split tensors must not be scalars");
    if (values.rank() == 0) return errors::InvalidArgument("params.rank must be nonzero");
    if (indices.rank() - 1 + params_ != outputs_) {
      return errors::InvalidArgument("OUTPUT_RAGGED_RANK must be ", indices.rank() - 1 + params_, " but is ", outputs_);
    }
    const std::vector<Splits> nested = ReadSplits(ctx, 0, params_);
    const std::vector<int64_t> ids = ReadIds(indices);
    const int64_t rows = static_cast<int64_t>(nested[0].size()) - 1;
    for (size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] < 0 || ids[i] >= rows) {
        return errors::InvalidArgument("indices", PlaceOf(indices.shape(), static_cast<int64_t>(i)), " = ", ids[i],
                                       " is not in [0, ", rows, ")");
      }
    }
    RETURN_IF_ERROR(CheckParams(nested, values.dim(0)));
    const Gathered out = GatherRows(nested, indices.shape(), ids);
    for (int i = 0; i < outputs_; ++i) RETURN_IF_ERROR(OutputInts(ctx, i, out.splits[static_cast<size_t>(i)]));
    std::vector<int64_t> dims(values.shape().dims().begin(), values.shape().dims().end());
    dims[0] = out.values;
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    ASSIGN_OR_RETURN(Tensor * to, ctx.AllocateOutput(outputs_, shape));
    const int64_t inner = values.shape().Product(1, values.rank());
    DispatchBlob(values.dtype(), [&](auto type) {
      using T = typename decltype(type)::type;
      T* at = BlobData<T>(to);
      for (const auto& [begin, end] : out.runs) {
        CopyRun(BlobData<T>(values) + begin * inner, (end - begin) * inner, at);
        at += (end - begin) * inner;
      }
    });
    return OkStatus();
  }

 private:
  const int params_, outputs_;
};

Status GatherShape(ShapeContext& c) {
  int params = 0, outputs = 0;
  RETURN_IF_ERROR(c.GetAttr("PARAMS_RAGGED_RANK", &params));
  RETURN_IF_ERROR(c.GetAttr("OUTPUT_RAGGED_RANK", &outputs));
  for (int i = 0; i < params; ++i) {
    PartialShape splits;
    RETURN_IF_ERROR(ShapeContext::WithRank(c.input(i), 1, &splits));
  }
  PartialShape indices, values;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(params + 1), outputs - params + 1, &indices));
  RETURN_IF_ERROR(ShapeContext::WithRankAtLeast(c.input(params), 1, &values));
  for (int i = 0; i < outputs; ++i) c.set_output(i, PartialShape({-1}));
  if (values.rank_known()) values.set_dim(0, -1);
  c.set_output(outputs, values);
  return OkStatus();
}

OP("RaggedGather")
    .Input("params_nested_splits: PARAMS_RAGGED_RANK * Tsplits")
    .Input("params_dense_values: Tvalues")
    .Input("indices: Tindices")
    .Output("output_nested_splits: OUTPUT_RAGGED_RANK * Tsplits")
    .Output("output_dense_values: Tvalues")
    .Attr("Tvalues: type")
    .Attr("Tindices: {int32, int64}")
    .Attr("Tsplits: {int32, int64} = DT_INT64")
    .Attr("PARAMS_RAGGED_RANK: int >= 1")
    .Attr("OUTPUT_RAGGED_RANK: int >= 0")
    .Shape(GatherShape)
    .Cpu<RaggedGather>()
    .Doc("Rows of a ragged tensor.");

}  // namespace
}  // namespace millstream
