// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "millstream/framework/op.h"
#include "millstream/ops/elements/blob.h"
#include "millstream/ops/elements/segment.h"
#include "millstream/ops/ragged/ragged.h"
#include "millstream/ops/variants/tensor_list.h"

namespace millstream {
namespace {

constexpr int kShape = 0, kValues = 1, kDefault = 2, kPartitions = 3;
constexpr char kFirstDim[] = "FIRST_DIM_SIZE", kRowIds[] = "VALUE_ROWIDS", kRowSplits[] = "ROW_SPLITS";

Status CheckPartitionTypes(const std::vector<std::string>& types) {
  for (const std::string& type : types) {
    if (type != kFirstDim && type != kRowIds && type != kRowSplits) {
      return errors::InvalidArgument("Unknown string for partition info type: ", type);
    }
  }
  return OkStatus();
}

int RaggedRank(const std::vector<std::string>& types) {
  return static_cast<int>(types.size()) - (!types.empty() && types[0] == kFirstDim ? 1 : 0);
}

// The shape of the result, as far as the wanted shape and the values tell.
StatusOr<PartialShape> CombineShapes(int ragged, const PartialShape& wanted, const PartialShape& values) {
  if (!values.rank_known()) return wanted;
  PartialShape out = wanted.rank_known() ? wanted : PartialShape::UnknownOfRank(ragged + values.rank());
  if (ragged + values.rank() != out.rank()) {
    return errors::InvalidArgument("rt_input.shape and shape=", wanted.ToString(),
                                   " are incompatible: rt_input.rank = ", ragged + values.rank(),
                                   " but shape.rank = ", out.rank());
  }
  for (int i = 1; i < values.rank(); ++i) {
    const int d = ragged + i;
    if (values.dim(i) >= 0 && out.dim(d) >= 0 && values.dim(i) != out.dim(d)) {
      return errors::InvalidArgument("rt_input.shape and shape=", wanted.ToString(),
                                     " are incompatible: rt_input.shape[", d, "] = ", values.dim(i), " but shape[", d,
                                     "] = ", out.dim(d));
    }
    if (values.dim(i) >= 0) out.set_dim(d, values.dim(i));
  }
  return out;
}

Status CheckDefault(const PartialShape& fill, const PartialShape& values) {
  if (!fill.rank_known() || !values.rank_known()) return OkStatus();
  if (fill.rank() >= values.rank()) {
    return errors::InvalidArgument("default_value.shape=", fill.ToString(),
                                   " and rt_input.flat_values.shape=", values.ToString(),
                                   " are incompatible: default_value.rank = ", fill.rank(),
                                   "  must be less than rt_input.flat_values.rank = ", values.rank());
  }
  for (int i = 1; i <= fill.rank(); ++i) {
    const int64_t a = fill.dim(fill.rank() - i), b = values.dim(values.rank() - i);
    if (a >= 0 && b >= 0 && a != 1 && a != b) {
      return errors::InvalidArgument(
          "default_value.shape=", fill.ToString(), " and rt_input.flat_values.shape=", values.ToString(),
          " are incompatible: default_value.shape[", -i, "] = ", a, " but rt_input.flat_values.shape[", -i, "] = ", b);
    }
  }
  return OkStatus();
}

int64_t WidestRow(const std::string& type, const std::vector<int64_t>& partition) {
  int64_t widest = 0;
  if (type == kRowSplits) {
    for (size_t i = 1; i < partition.size(); ++i) widest = std::max(widest, partition[i] - partition[i - 1]);
    return widest;
  }
  size_t begin = 0;
  for (size_t i = 0; i < partition.size(); ++i) {
    if (partition[i] != partition[begin]) begin = i;
    widest = std::max(widest, static_cast<int64_t>(i - begin) + 1);
  }
  return widest;
}

// Where the children of rows go: `parents` says where rows begin (-1: nowhere), children lie `step` apart, and only the
// first `width` of a row have a place.
Status PlaceBySplits(const std::vector<int64_t>& splits, const std::vector<int64_t>& parents, int64_t step,
                     int64_t width, int64_t most, std::vector<int64_t>* places) {
  if (splits.size() > parents.size() + 1) {
    return errors::InvalidArgument("Row partition size is greater than output size: ", splits.size() - 1, " > ",
                                   parents.size());
  }
  RETURN_IF_ERROR(CheckSplits(splits, -1));
  if (splits.back() > most) {
    return errors::InvalidArgument("Row partition size (", splits.back(), ") exceeds the number of values (", most,
                                   ")");
  }
  for (size_t row = 0; row + 1 < splits.size(); ++row) {
    for (int64_t k = 0; k < splits[row + 1] - splits[row]; ++k) {
      places->push_back(parents[row] < 0 || k >= width ? -1 : parents[row] + k * step);
    }
  }
  return OkStatus();
}

Status PlaceByRowIds(const std::vector<int64_t>& ids, const std::vector<int64_t>& parents, int64_t step, int64_t width,
                     std::vector<int64_t>* places) {
  int64_t k = 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || ids[i] >= static_cast<int64_t>(parents.size())) {
      return errors::InvalidArgument("Got ", i == 0 ? "current" : "next", "_value_rowid=", ids[i],
                                     " which is not less than ", parents.size());
    }
    if (i > 0 && ids[i] < ids[i - 1]) {
      return errors::InvalidArgument("value_rowids must be monotonically increasing, but got ", ids[i], " after ",
                                     ids[i - 1]);
    }
    k = i > 0 && ids[i] == ids[i - 1] ? k + 1 : 0;
    const int64_t parent = parents[static_cast<size_t>(ids[i])];
    places->push_back(parent < 0 || k >= width ? -1 : parent + k * step);
  }
  return OkStatus();
}

// The default everywhere, then the values at their places.
void Write(const Tensor& values, const Tensor& fill, const std::vector<int64_t>& places, int inner_begin, Tensor* out) {
  const Shape& shape = out->shape();
  const int64_t inner = shape.Product(inner_begin, shape.rank());
  if (out->num_elements() == 0) return;
  std::vector<int64_t> source(static_cast<size_t>(inner));  // which part of the default each element of a value gets
  for (int64_t k = 0; k < inner; ++k) {
    int64_t rest = k, stride = 1;
    for (int d = shape.rank() - 1, f = fill.rank() - 1; f >= 0; --d, --f) {
      if (fill.dim(f) > 1) source[k] += rest % shape.dim(d) * stride;
      rest /= shape.dim(d);
      stride *= fill.dim(f);
    }
  }
  DispatchBlob(values.dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    T* to = BlobData<T>(out);
    for (int64_t i = 0; i < out->num_elements(); ++i) to[i] = BlobData<T>(fill)[source[static_cast<size_t>(i % inner)]];
    for (size_t i = 0; i < places.size(); ++i) {
      if (places[i] >= 0) CopyRun(BlobData<T>(values) + static_cast<int64_t>(i) * inner, inner, to + places[i] * inner);
    }
  });
}

class RaggedTensorToTensor final : public Kernel {
 public:
  explicit RaggedTensorToTensor(KernelInit& init)
      : types_(init.Attr<std::vector<std::string>>("row_partition_types")),
        ragged_(RaggedRank(types_)),
        first_(static_cast<int>(types_.size()) - ragged_) {
    init.Check(CheckPartitionTypes(types_));
    if (static_cast<int64_t>(types_.size()) != init.Attr<int64_t>("num_row_partition_tensors")) {
      init.Fail(
          errors::InvalidArgument("row_partition_types must have an entry for each of the row_partition_tensors"));
    }
    for (size_t i = 1; i < types_.size(); ++i) {
      if (types_[i] == kFirstDim) init.Fail(errors::InvalidArgument("Cannot handle partition type ", kFirstDim));
    }
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor &values = ctx.input(kValues), &fill = ctx.input(kDefault), &first = ctx.input(kPartitions);
    if (first.num_elements() == 0) {
      return errors::InvalidArgument("Invalid first partition input. Tensor requires at least one element.");
    }
    if (types_[0] == kRowIds) return errors::InvalidArgument("Cannot handle VALUE_ROWIDS in first dimension.");
    if (values.rank() == 0) return errors::InvalidArgument("values must have at least one dimension");
    const std::vector<Splits> partitions = ReadSplits(ctx, kPartitions + first_, ragged_);
    const int64_t rows = first_ == 1 ? ReadIds(first)[0] : first.num_elements() - 1;
    if (rows < 0 || rows > kMaxRows) return errors::InvalidArgument("Bad number of rows: ", rows);
    ASSIGN_OR_RETURN(const std::vector<int64_t> size, OutputSize(ctx, rows, partitions));
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(size));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return OkStatus();
    std::vector<int64_t> places, parents(static_cast<size_t>(rows));
    for (int64_t r = 0; r < rows; ++r) parents[r] = r < size[0] ? r * shape.Product(1, ragged_ + 1) : -1;
    for (int d = 0; d < ragged_; ++d) {
      const int64_t step = shape.Product(d + 2, ragged_ + 1), width = size[static_cast<size_t>(d) + 1];
      const int64_t most = d + 1 == ragged_ ? values.dim(0) : kMaxRows;
      const Splits& partition = partitions[static_cast<size_t>(d)];
      places.clear();
      RETURN_IF_ERROR(types_[static_cast<size_t>(d + first_)] == kRowSplits
                          ? PlaceBySplits(partition, parents, step, width, most, &places)
                          : PlaceByRowIds(partition, parents, step, width, &places));
      std::swap(parents, places);
    }
    if (static_cast<int64_t>(parents.size()) > values.dim(0)) {
      return errors::InvalidArgument("Row partition size (", parents.size(), ") exceeds the number of values (",
                                     values.dim(0), ")");
    }
    Write(values, fill, parents, ragged_ + 1, out);
    return OkStatus();
  }

 private:
  static constexpr int64_t kMaxRows = int64_t{1} << 31;  // a number in a graph must not take all memory

  StatusOr<std::vector<int64_t>> OutputSize(const KernelContext& ctx, int64_t rows,
                                            const std::vector<Splits>& partitions) const {
    const PartialShape values = ctx.input(kValues).shape();
    RETURN_IF_ERROR(CheckDefault(ctx.input(kDefault).shape(), values));
    ASSIGN_OR_RETURN(const PartialShape wanted, ShapeInput(ctx, kShape));
    ASSIGN_OR_RETURN(PartialShape out, CombineShapes(ragged_, wanted, values));
    if (out.dim(0) < 0) out.set_dim(0, rows);
    for (int d = 0; d < ragged_; ++d) {
      if (out.dim(d + 1) >= 0) continue;
      const auto dim = static_cast<size_t>(d);
      out.set_dim(d + 1, WidestRow(types_[dim + static_cast<size_t>(first_)], partitions[dim]));
    }
    return out.dims();
  }

  const std::vector<std::string> types_;
  const int ragged_;
  const int first_;  // 1 if the number of rows is given
};

Status ToTensorShape(ShapeContext& c) {
  std::vector<std::string> types;
  RETURN_IF_ERROR(c.GetAttr("row_partition_types", &types));
  RETURN_IF_ERROR(CheckPartitionTypes(types));
  if (types.empty()) return errors::InvalidArgument("Partition info types should not be empty");
  const int ragged = RaggedRank(types);
  PartialShape wanted;
  if (!c.input(kShape).rank_known() || c.input(kShape).rank() > 0) {
    ASSIGN_OR_RETURN(wanted, c.ConstantAsShape(kShape));
  }
  RETURN_IF_ERROR(CheckDefault(c.input(kDefault), c.input(kValues)));
  ASSIGN_OR_RETURN(PartialShape out, CombineShapes(ragged, wanted, c.input(kValues)));
  int64_t rows = -1;
  if (types[0] == kFirstDim) {
    c.ConstantInt(kPartitions, &rows);
  } else if (types[0] == kRowSplits) {
    PartialShape splits;
    RETURN_IF_ERROR(ShapeContext::WithRank(c.input(kPartitions), 1, &splits));
    if (splits.dim(0) > 0) rows = splits.dim(0) - 1;
  }
  if (out.rank_known() && out.rank() > 0 && out.dim(0) < 0) out.set_dim(0, rows);
  c.set_output(0, out);
  return OkStatus();
}

OP("RaggedTensorToTensor")
    .Input("shape: Tshape")
    .Input("values: T")
    .Input("default_value: T")
    .Input("row_partition_tensors: num_row_partition_tensors * Tindex")
    .Output("result: T")
    .Attr("T: type")
    .Attr("Tindex: {int64, int32}")
    .Attr("Tshape: {int64, int32}")
    .Attr("num_row_partition_tensors: int >= 1")
    .Attr("row_partition_types: list(string)")
    .Shape(ToTensorShape)
    .Cpu<RaggedTensorToTensor>()
    .Doc("A ragged tensor with its rows filled up or cut off to one length.");

}  // namespace
}  // namespace millstream
