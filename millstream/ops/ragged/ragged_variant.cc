// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "millstream/framework/op.h"
#include "millstream/ops/elements/copy_rows.h"
#include "millstream/ops/elements/segment.h"
#include "millstream/ops/ragged/ragged.h"

// Ragged tensors packed into variants, so that loops and datasets can carry them as one tensor.
namespace millstream {
namespace {

class RaggedTensorToVariant final : public Kernel {
 public:
  explicit RaggedTensorToVariant(KernelInit& init) : batched_(init.Attr<bool>("batched_input")) {}

  Status Compute(KernelContext& ctx) override {
    const int ragged = ctx.num_inputs() - 1;
    const Tensor& values = ctx.input(ragged);
    const std::vector<Splits> nested = ReadSplits(ctx, 0, ragged);
    for (int i = 0; i < ragged; ++i) {
      if (values.rank() == 0) {
        return errors::InvalidArgument(
            "Requires flat_values to have rank>=1 when nested_row_splits is not empty, but is 0.");
      }
      if (ctx.input(i).rank() != 1) {
        return errors::InvalidArgument("Invalid ragged splits: ragged splits must be rank 1 but is rank ",
                                       ctx.input(i).rank());
      }
      RETURN_IF_ERROR(CheckSplits(nested[i], i + 1 < ragged ? ctx.input(i + 1).num_elements() - 1 : values.dim(0)));
    }
    if (!batched_) {
      Ref<RaggedVariant> whole = MakeRef<RaggedVariant>();
      for (int i = 0; i <= ragged; ++i) whole->tensors.push_back(ctx.input(i));
      RETURN_IF_ERROR(NoteDepth(whole.get(), values));
      ctx.set_output(0, Tensor::Scalar(Variant(std::move(whole))));
      return OkStatus();
    }
    if (values.rank() == 0) return errors::InvalidArgument("Can't unbatch rank-0 tensor.");
    const int64_t rows = ragged > 0 ? static_cast<int64_t>(nested[0].size()) - 1 : values.dim(0);
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, Shape({rows})));
    for (int64_t r = 0; r < rows; ++r) {
      ASSIGN_OR_RETURN(out->data<Variant>()[r], Row(ctx, nested, values, r));
    }
    return OkStatus();
  }

 private:
  static StatusOr<Variant> Row(const KernelContext& ctx, const std::vector<Splits>& nested, const Tensor& values,
                               int64_t r) {
    Ref<RaggedVariant> row = MakeRef<RaggedVariant>();
    RETURN_IF_ERROR(NoteDepth(row.get(), values));
    if (nested.empty()) {
      ASSIGN_OR_RETURN(Tensor part, CopyRow(values, r));
      row->tensors.push_back(std::move(part));
      return Variant(std::move(row));
    }
    int64_t begin = nested[0][r], end = nested[0][r + 1];
    for (size_t d = 1; d < nested.size(); ++d) {
      Splits splits(nested[d].begin() + begin, nested[d].begin() + end + 1);
      begin = splits.front();
      end = splits.back();
      for (int64_t& s : splits) s -= begin;
      ASSIGN_OR_RETURN(Tensor part, IntsTensor(ctx.input_dtype(0), splits));
      row->tensors.push_back(std::move(part));
    }
    ASSIGN_OR_RETURN(Tensor part, CopyRows(values, begin, end));
    row->tensors.push_back(std::move(part));
    return Variant(std::move(row));
  }

  const bool batched_;
};

class RaggedTensorFromVariant final : public Kernel {
 public:
  explicit RaggedTensorFromVariant(KernelInit& init)
      : input_(init.Attr<int>("input_ragged_rank")),
        output_(init.Attr<int>("output_ragged_rank")),
        splits_type_(init.Attr<DType>("Tsplits")) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor& encoded = ctx.input(0);
    int ragged = input_;
    if (ragged == -1) {
      ragged = output_ - encoded.rank();
      if (output_ == 0 && ragged < 0) ragged = 0;
      if (ragged < 0) {
        return errors::InvalidArgument(
            "Inferred input_ragged_rank (output_ragged_rank - encoded_variant.dims()) must be >= 0, "
            "found output_ragged_rank: ",
            output_, ", encoded_variant.dims(): ", encoded.rank(), ", inferred input_ragged_rank: ", ragged);
      }
    }
    if (!(output_ == 0 && ragged == 0) && output_ != encoded.rank() + ragged) {
      return errors::InvalidArgument(
          "output_ragged_rank must be equal to input_ragged_rank + encoded_ragged.dims(); "
          "output_ragged_rank: ",
          output_, ", input_ragged_rank: ", ragged, ", encoded_variant.dims(): ", encoded.rank(), ".");
    }
    std::vector<const RaggedVariant*> parts;
    RETURN_IF_ERROR(ReadParts(encoded, ragged, ctx.output_dtype(output_), &parts));
    if (encoded.rank() == 0) {
      for (int i = 0; i <= output_; ++i) ctx.set_output(i, parts[0]->tensors[static_cast<size_t>(i)]);
      return OkStatus();
    }
    if (output_ == 0) return StackValues(ctx, parts);
    RETURN_IF_ERROR(StackSplits(ctx, encoded.shape(), parts, ragged));
    return JoinValues(ctx, parts);
  }

 private:
  Status ReadParts(const Tensor& encoded, int ragged, DType dtype, std::vector<const RaggedVariant*>* parts) const {
    for (int64_t i = 0; i < encoded.num_elements(); ++i) {
      const auto* part = encoded.data<Variant>()[i].get<RaggedVariant>();
      if (part == nullptr) {
        return errors::InvalidArgument("Input Variant element at index ", i,
                                       " doesn't hold a RaggedTensorVariant: ", encoded.data<Variant>()[i].type_name());
      }
      if (part->ragged_rank() != ragged) {
        return errors::InvalidArgument("Encoded input RaggedTensorVariant has ragged_rank=", part->ragged_rank(),
                                       ".  Expected ragged_rank=", ragged, ".");
      }
      if (part->values().dtype() != dtype) {
        return errors::InvalidArgument("Expected values Tensor dtype: ", DTypeName(dtype),
                                       ", found: ", DTypeName(part->values().dtype()));
      }
      if (part->values().rank() < 1 && output_ != 0) {
        return errors::InvalidArgument("Ragged values must have rank >= 1; encoded scalar element at index ", i,
                                       " has values Tensor: ", part->values().DebugString());
      }
      for (int d = 0; d < ragged; ++d) {
        if (part->tensors[static_cast<size_t>(d)].dtype() != splits_type_) {
          return errors::InvalidArgument("Expected row_splits Tensor dtype: ", DTypeName(splits_type_),
                                         ", found: ", DTypeName(part->tensors[static_cast<size_t>(d)].dtype()));
        }
      }
      parts->push_back(part);
    }
    return OkStatus();
  }

  // Parts without ragged dimensions, along one new dimension.
  static Status StackValues(KernelContext& ctx, const std::vector<const RaggedVariant*>& parts) {
    Shape shape = parts.empty() ? Shape() : parts[0]->values().shape();
    std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
    dims.insert(dims.begin(), static_cast<int64_t>(parts.size()));
    ASSIGN_OR_RETURN(const Shape all, Shape::Make(dims));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, all));
    for (size_t i = 0; i < parts.size(); ++i) {
      const Tensor& part = parts[i]->values();
      if (!(part.shape() == shape)) {
        return errors::InvalidArgument("All flat_values must have compatible shapes.  Shape at index 0: ",
                                       shape.ToString(), ".  Shape at index ", i, ": ", part.shape().ToString());
      }
      CopyElements(part, 0, part.num_elements(), out, static_cast<int64_t>(i) * part.num_elements());
    }
    return OkStatus();
  }

  static Status StackSplits(KernelContext& ctx, const Shape& outer, const std::vector<const RaggedVariant*>& parts,
                            int ragged) {
    for (int d = 0; d + 1 < outer.rank(); ++d) {
      Splits splits;
      for (int64_t j = 0; j <= outer.dim(d); ++j) splits.push_back(j * outer.dim(d + 1));
      RETURN_IF_ERROR(OutputInts(ctx, d, splits));
    }
    Splits rows = {0};
    for (const RaggedVariant* part : parts) {
      rows.push_back(rows.back() + (ragged > 0 ? part->tensors[0].num_elements() - 1 : part->values().dim(0)));
    }
    RETURN_IF_ERROR(OutputInts(ctx, outer.rank() - 1, rows));
    for (int d = 0; d < ragged; ++d) {
      Splits splits = {0};
      for (const RaggedVariant* part : parts) {
        const Splits own = ReadIds(part->tensors[static_cast<size_t>(d)]);
        const int64_t before = splits.back();
        for (size_t k = 1; k < own.size(); ++k) splits.push_back(own[k] + before);
      }
      RETURN_IF_ERROR(OutputInts(ctx, outer.rank() + d, splits));
    }
    return OkStatus();
  }

  Status JoinValues(KernelContext& ctx, const std::vector<const RaggedVariant*>& parts) const {
    std::vector<int64_t> dims = {0};
    if (!parts.empty()) dims.assign(parts[0]->values().shape().dims().begin(), parts[0]->values().shape().dims().end());
    const Shape first(dims);
    dims[0] = 0;
    for (size_t i = 0; i < parts.size(); ++i) {
      const Shape& shape = parts[i]->values().shape();
      if (shape.rank() != first.rank()) {
        return errors::InvalidArgument("Rank of values must match for all components; values shape at index 0: ",
                                       first.ToString(), ", values shape at index ", i, ": ", shape.ToString());
      }
      for (int d = 1; d < shape.rank(); ++d) {
        if (shape.dim(d) == first.dim(d)) continue;
        return errors::InvalidArgument(
            "All flat_values must have compatible shapes.  Shape at index 0: ", first.ToString(), ".  Shape at index ",
            i, ": ", shape.ToString(),
            ".  If you are using tf.map_fn, then you may need to specify an explicit "
            "fn_output_signature with appropriate ragged_rank, and/or convert output tensors to "
            "RaggedTensors.");
      }
      dims[0] += shape.dim(0);
    }
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(output_, shape));
    int64_t at = 0;
    for (const RaggedVariant* part : parts) {
      CopyElements(part->values(), 0, part->values().num_elements(), out, at);
      at += part->values().num_elements();
    }
    return OkStatus();
  }

  const int input_, output_;
  const DType splits_type_;
};

// The values of the variants one after the other; zeros for variants that no gradient came to.
Status ToVariantGradientCpu(KernelContext& ctx) {
  const Tensor& encoded = ctx.input(0);
  const Splits splits = ReadIds(ctx.input(1));
  if (ctx.input(1).rank() > 0) RETURN_IF_ERROR(CheckSplits(splits, -1));
  if (ctx.input(2).rank() != 1) return errors::InvalidArgument("dense_values_shape must be a vector");
  std::vector<int64_t> dims = ReadIds(ctx.input(2));
  ASSIGN_OR_RETURN(const Shape whole, Shape::Make(dims));
  std::vector<Tensor> parts;
  for (int64_t i = 0; i < encoded.num_elements(); ++i) {
    const auto* part = encoded.data<Variant>()[i].get<RaggedVariant>();
    if (part != nullptr) {
      if (part->values().dtype() != ctx.output_dtype(0)) {
        return errors::InvalidArgument("The gradient has values of type ", DTypeName(part->values().dtype()),
                                       ", expected ", DTypeName(ctx.output_dtype(0)));
      }
      parts.push_back(part->values());
      continue;
    }
    if (static_cast<int64_t>(splits.size()) <= i + 1 || dims.empty()) {
      return errors::InvalidArgument("row_splits has insufficient size: ", splits.size(), " vs required ", i + 2);
    }
    dims[0] = splits[i + 1] - splits[i];
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    ASSIGN_OR_RETURN(Tensor zeros, ZeroTensor(ctx.output_dtype(0), shape));
    parts.push_back(std::move(zeros));
  }
  if (parts.size() == 1) {
    ctx.set_output(0, parts[0]);
    return OkStatus();
  }
  int64_t total = 0;
  for (const Tensor& part : parts) total += part.num_elements();
  if (total != whole.num_elements()) {
    return errors::InvalidArgument("The gradients have ", total, " values, but the ragged tensor has ",
                                   whole.num_elements());
  }
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, whole));
  int64_t at = 0;
  for (const Tensor& part : parts) {
    CopyElements(part, 0, part.num_elements(), out, at);
    at += part.num_elements();
  }
  return OkStatus();
}

Status ToVariantShape(ShapeContext& c) {
  bool batched = false;
  RETURN_IF_ERROR(c.GetAttr("batched_input", &batched));
  const int ragged = c.num_inputs() - 1;
  for (int i = 0; i < ragged; ++i) {
    PartialShape splits;
    RETURN_IF_ERROR(ShapeContext::WithRank(c.input(i), 1, &splits));
  }
  if (ragged > 0) {
    PartialShape values;
    RETURN_IF_ERROR(ShapeContext::WithRankAtLeast(c.input(ragged), 1, &values));
  }
  if (!batched) {
    c.set_output(0, Shape());
    return OkStatus();
  }
  PartialShape outer;
  RETURN_IF_ERROR(ShapeContext::WithRankAtLeast(c.input(0), 1, &outer));
  const int64_t n = outer.rank_known() ? outer.dim(0) : -1;
  c.set_output(0, PartialShape({n < 0 ? -1 : ragged > 0 ? std::max<int64_t>(n - 1, 0) : n}));
  return OkStatus();
}

Status FromVariantShape(ShapeContext& c) {
  for (int i = 0; i + 1 < c.num_outputs(); ++i) c.set_output(i, PartialShape({-1}));
  return OkStatus();
}

Status ToVariantGradientShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(PartialShape shape, c.ConstantAsShape(2));
  c.set_output(0, std::move(shape));
  return OkStatus();
}

OP("RaggedTensorToVariant")
    .Input("rt_nested_splits: RAGGED_RANK * Tsplits")
    .Input("rt_dense_values: Tvalues")
    .Output("encoded_ragged: variant")
    .Attr("RAGGED_RANK: int >= 0")
    .Attr("Tvalues: type")
    .Attr("Tsplits: {int32, int64} = DT_INT64")
    .Attr("batched_input: bool")
    .Shape(ToVariantShape)
    .Cpu<RaggedTensorToVariant>()
    .Doc("A ragged tensor as one variant, or its rows as a vector of variants.");

OP("RaggedTensorFromVariant")
    .Input("encoded_ragged: variant")
    .Output("output_nested_splits: output_ragged_rank * Tsplits")
    .Output("output_dense_values: Tvalues")
    .Attr("input_ragged_rank: int >= -1")
    .Attr("output_ragged_rank: int >= 0")
    .Attr("Tvalues: type")
    .Attr("Tsplits: {int32, int64} = DT_INT64")
    .Shape(FromVariantShape)
    .Cpu<RaggedTensorFromVariant>()
    .Doc("The ragged tensors that variants hold, joined to one.");

OP("RaggedTensorToVariantGradient")
    .Input("encoded_ragged_grad: variant")
    .Input("row_splits: Tsplits")
    .Input("dense_values_shape: int32")
    .Output("dense_values_grad: Tvalues")
    .Attr("Tvalues: type")
    .Attr("Tsplits: {int32, int64} = DT_INT64")
    .Shape(ToVariantGradientShape)
    .Cpu(ToVariantGradientCpu)
    .Doc("The gradient of RaggedTensorToVariant.");

}  // namespace
}  // namespace millstream
