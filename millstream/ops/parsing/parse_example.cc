// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/op.h"
#include "millstream/ops/parsing/example_parser.h"

namespace millstream {
namespace {

// The order of outputs that all parsing ops share.
void SetOutputs(KernelContext& ctx, ParsedExamples parsed) {
  int out = 0;
  for (auto* group : {&parsed.sparse_indices, &parsed.sparse_values, &parsed.sparse_shapes, &parsed.dense_values,
                      &parsed.ragged_values, &parsed.ragged_splits}) {
    for (Tensor& t : *group) ctx.set_output(out++, std::move(t));
  }
}

// Types and shapes of the attributes; keys and defaults come later.
ExampleSpec SpecFromAttrs(KernelInit& init) {
  ExampleSpec spec;
  for (const DType type : init.Attr<std::vector<DType>>("sparse_types"))
    spec.sparse.push_back({.key = "", .type = type});
  const auto types = init.Attr<std::vector<DType>>("Tdense");
  const auto shapes = init.Attr<std::vector<PartialShape>>("dense_shapes");
  if (types.size() != shapes.size()) {
    init.Fail(errors::InvalidArgument("len(dense_keys) != len(dense_shapes): ", types.size(), " vs ", shapes.size()));
    return spec;
  }
  for (size_t i = 0; i < types.size(); ++i) {
    spec.dense.push_back({.key = "", .type = types[i], .shape = shapes[i], .default_value = Tensor()});
  }
  return spec;
}

Status CheckVector(const Tensor& t, absl::string_view name, size_t size) {
  if (t.rank() == 1 && static_cast<size_t>(t.dim(0)) == size) return OkStatus();
  return errors::InvalidArgument("Expected len(", name, ") == ", size, " but got ", t.shape().ToString());
}

Status CheckNames(const Tensor& names, const Tensor& serialized) {
  if (names.num_elements() == 0 || names.num_elements() == serialized.num_elements()) return OkStatus();
  return errors::InvalidArgument("Expected len(names) == len(serialized), but got: ", names.num_elements(), " vs. ",
                                 serialized.num_elements());
}

class ParseExampleV2 final : public Kernel {
 public:
  explicit ParseExampleV2(KernelInit& init) : spec_(SpecFromAttrs(init)) {
    const auto types = init.Attr<std::vector<DType>>("ragged_value_types");
    const auto splits = init.Attr<std::vector<DType>>("ragged_split_types");
    if (types.size() != splits.size()) {
      init.Fail(errors::InvalidArgument("len(ragged_value_types) != len(ragged_split_types)"));
      return;
    }
    for (size_t i = 0; i < types.size(); ++i)
      spec_.ragged.push_back({.key = "", .type = types[i], .split_type = splits[i]});
    if (init.Attr<int64_t>("num_sparse") != static_cast<int64_t>(spec_.sparse.size())) {
      init.Fail(errors::InvalidArgument("len(sparse_types) != num_sparse"));
    }
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor &serialized = ctx.input(0), &names = ctx.input(1);
    if (serialized.rank() > 1) {
      return errors::InvalidArgument("Expected serialized to be a scalar or vector, got shape: ",
                                     serialized.shape().ToString());
    }
    RETURN_IF_ERROR(CheckVector(ctx.input(2), "sparse_keys", spec_.sparse.size()));
    RETURN_IF_ERROR(CheckVector(ctx.input(3), "dense_keys", spec_.dense.size()));
    RETURN_IF_ERROR(CheckVector(ctx.input(4), "ragged_keys", spec_.ragged.size()));
    RETURN_IF_ERROR(CheckNames(names, serialized));
    ExampleSpec spec = spec_;
    for (size_t i = 0; i < spec.sparse.size(); ++i) spec.sparse[i].key = ctx.input(2).data<std::string>()[i];
    for (size_t i = 0; i < spec.ragged.size(); ++i) spec.ragged[i].key = ctx.input(4).data<std::string>()[i];
    for (size_t i = 0; i < spec.dense.size(); ++i) {
      spec.dense[i].key = ctx.input(3).data<std::string>()[i];
      spec.dense[i].default_value = ctx.input(5 + static_cast<int>(i));
    }
    RETURN_IF_ERROR(CheckSpec(spec));
    ASSIGN_OR_RETURN(ParsedExamples parsed,
                     ParseExamples(spec, serialized.flat<std::string>(), names.flat<std::string>(),
                                   serialized.rank() == 0, ctx.pool()));
    SetOutputs(ctx, std::move(parsed));
    return OkStatus();
  }

 private:
  ExampleSpec spec_;
};

class ParseExample final : public Kernel {
 public:
  explicit ParseExample(KernelInit& init) : spec_(SpecFromAttrs(init)) {
    if (init.Attr<int64_t>("Nsparse") != static_cast<int64_t>(spec_.sparse.size()) ||
        init.Attr<int64_t>("Ndense") != static_cast<int64_t>(spec_.dense.size())) {
      init.Fail(errors::InvalidArgument("Nsparse and Ndense must be the numbers of sparse_types and Tdense"));
    }
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor &serialized = ctx.input(0), &names = ctx.input(1);
    if (serialized.rank() != 1)
      return errors::InvalidArgument("Expected serialized to be a vector, got shape: ", serialized.shape().ToString());
    RETURN_IF_ERROR(CheckNames(names, serialized));
    ExampleSpec spec = spec_;
    int next = 2;
    for (SparseFeature& f : spec.sparse) RETURN_IF_ERROR(Key(ctx, next++, &f.key));
    for (DenseFeature& f : spec.dense) RETURN_IF_ERROR(Key(ctx, next++, &f.key));
    for (DenseFeature& f : spec.dense) f.default_value = ctx.input(next++);
    RETURN_IF_ERROR(CheckSpec(spec));
    ASSIGN_OR_RETURN(ParsedExamples parsed,
                     ParseExamples(spec, serialized.flat<std::string>(), names.flat<std::string>(), false, ctx.pool()));
    SetOutputs(ctx, std::move(parsed));
    return OkStatus();
  }

 private:
  static Status Key(KernelContext& ctx, int i, std::string* key) {
    if (ctx.input(i).num_elements() != 1) return errors::InvalidArgument("Expected keys to be scalars");
    *key = ctx.input(i).scalar<std::string>();
    return OkStatus();
  }

  const ExampleSpec spec_;
};

class ParseSingleExample final : public Kernel {
 public:
  explicit ParseSingleExample(KernelInit& init) : spec_(SpecFromAttrs(init)) {
    const auto sparse = init.Attr<std::vector<std::string>>("sparse_keys");
    const auto dense = init.Attr<std::vector<std::string>>("dense_keys");
    if (sparse.size() != spec_.sparse.size() || dense.size() != spec_.dense.size() ||
        init.Attr<int64_t>("num_sparse") != static_cast<int64_t>(sparse.size())) {
      init.Fail(errors::InvalidArgument("sparse_keys and dense_keys must be as many as their types"));
      return;
    }
    for (size_t i = 0; i < sparse.size(); ++i) spec_.sparse[i].key = sparse[i];
    for (size_t i = 0; i < dense.size(); ++i) spec_.dense[i].key = dense[i];
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor& serialized = ctx.input(0);
    if (serialized.rank() != 0)
      return errors::InvalidArgument("Expected serialized to be a scalar, got shape: ", serialized.shape().ToString());
    ExampleSpec spec = spec_;
    for (size_t i = 0; i < spec.dense.size(); ++i) spec.dense[i].default_value = ctx.input(1 + static_cast<int>(i));
    RETURN_IF_ERROR(CheckSpec(spec));
    ASSIGN_OR_RETURN(ParsedExamples parsed, ParseExamples(spec, serialized.flat<std::string>(), {}, true));
    SetOutputs(ctx, std::move(parsed));
    return OkStatus();
  }

 private:
  ExampleSpec spec_;
};

// `batch` is the shape of `serialized`; its rank is 0 or 1 where it is known.
Status ResultShapes(ShapeContext& c, const PartialShape& batch, int num_ragged) {
  std::vector<DType> sparse;
  std::vector<PartialShape> dense;
  RETURN_IF_ERROR(c.GetAttr("sparse_types", &sparse));
  RETURN_IF_ERROR(c.GetAttr("dense_shapes", &dense));
  const int num_sparse = static_cast<int>(sparse.size());
  const int64_t rank = batch.rank_known() ? batch.rank() + 1 : -1;
  int out = 0;
  if (c.num_outputs() != 3 * num_sparse + static_cast<int>(dense.size()) + 2 * num_ragged) {
    return errors::InvalidArgument("len(dense_shapes) must be the number of dense features");
  }
  for (int i = 0; i < num_sparse; ++i) c.set_output(out++, PartialShape({-1, rank}));
  for (int i = 0; i < num_sparse; ++i) c.set_output(out++, PartialShape({-1}));
  for (int i = 0; i < num_sparse; ++i) c.set_output(out++, PartialShape({rank}));
  for (const PartialShape& shape : dense) c.set_output(out++, batch.Concatenate(shape));
  for (int i = 0; i < num_ragged; ++i) c.set_output(out++, PartialShape({-1}));
  const int64_t splits = batch.rank() == 1 && batch.dim(0) >= 0 ? batch.dim(0) + 1 : -1;
  for (int i = 0; i < num_ragged; ++i) c.set_output(out++, PartialShape({splits}));
  return OkStatus();
}

Status ParseExampleV2Shape(ShapeContext& c) {
  PartialShape batch;
  RETURN_IF_ERROR(ShapeContext::WithRankAtMost(c.input(0), 1, &batch));
  std::vector<DType> ragged;
  RETURN_IF_ERROR(c.GetAttr("ragged_value_types", &ragged));
  return ResultShapes(c, batch, static_cast<int>(ragged.size()));
}

Status ParseExampleShape(ShapeContext& c) {
  PartialShape batch;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 1, &batch));
  return ResultShapes(c, batch, 0);
}

Status ParseSingleExampleShape(ShapeContext& c) {
  PartialShape batch;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 0, &batch));
  return ResultShapes(c, batch, 0);
}

OP("ParseExampleV2")
    .Input("serialized: string")
    .Input("names: string")
    .Input("sparse_keys: string")
    .Input("dense_keys: string")
    .Input("ragged_keys: string")
    .Input("dense_defaults: Tdense")
    .Output("sparse_indices: num_sparse * int64")
    .Output("sparse_values: sparse_types")
    .Output("sparse_shapes: num_sparse * int64")
    .Output("dense_values: Tdense")
    .Output("ragged_values: ragged_value_types")
    .Output("ragged_row_splits: ragged_split_types")
    .Attr("Tdense: list({float, int64, string}) >= 0")
    .Attr("num_sparse: int >= 0")
    .Attr("sparse_types: list({float, int64, string}) >= 0")
    .Attr("ragged_value_types: list({float, int64, string}) >= 0")
    .Attr("ragged_split_types: list({int32, int64}) >= 0")
    .Attr("dense_shapes: list(shape) >= 0")
    .Shape(ParseExampleV2Shape)
    .NotDifferentiable()
    .Cpu<ParseExampleV2>()
    .Doc("The features of serialized Examples, as tensors.");
OP("ParseExample")
    .Input("serialized: string")
    .Input("names: string")
    .Input("sparse_keys: Nsparse * string")
    .Input("dense_keys: Ndense * string")
    .Input("dense_defaults: Tdense")
    .Output("sparse_indices: Nsparse * int64")
    .Output("sparse_values: sparse_types")
    .Output("sparse_shapes: Nsparse * int64")
    .Output("dense_values: Tdense")
    .Attr("Nsparse: int >= 0")
    .Attr("Ndense: int >= 0")
    .Attr("sparse_types: list({float, int64, string}) >= 0")
    .Attr("Tdense: list({float, int64, string}) >= 0")
    .Attr("dense_shapes: list(shape) >= 0")
    .Shape(ParseExampleShape)
    .NotDifferentiable()
    .Cpu<ParseExample>()
    .Doc("The features of serialized Examples, as tensors.");
OP("ParseSingleExample")
    .Input("serialized: string")
    .Input("dense_defaults: Tdense")
    .Output("sparse_indices: num_sparse * int64")
    .Output("sparse_values: sparse_types")
    .Output("sparse_shapes: num_sparse * int64")
    .Output("dense_values: Tdense")
    .Attr("num_sparse: int >= 0")
    .Attr("sparse_keys: list(string) >= 0")
    .Attr("dense_keys: list(string) >= 0")
    .Attr("sparse_types: list({float, int64, string}) >= 0")
    .Attr("Tdense: list({float, int64, string}) >= 0")
    .Attr("dense_shapes: list(shape) >= 0")
    .Shape(ParseSingleExampleShape)
    .NotDifferentiable()
    .Cpu<ParseSingleExample>()
    .Doc("The features of one serialized Example, as tensors.");

}  // namespace
}  // namespace millstream
