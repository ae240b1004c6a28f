// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "millstream/framework/op.h"
#include "millstream/ops/parsing/example_parser.h"
#include "millstream/ops/parsing/sequence_batch.h"

// Batches of SequenceExamples: features of their contexts, and lists of features with one for each step.
namespace millstream {
namespace {

// What to read. Lists that are not dense may always be missing.
struct SequenceSpec {
  ExampleSpec context;
  std::vector<SparseFeature> sparse;
  std::vector<DenseList> dense;
  std::vector<RaggedFeature> ragged;
};

// InvalidArgument if one key is asked for as two kinds of features. `what` is for the message.
template <typename Dense>
Status CheckKinds(const char* what, const std::vector<SparseFeature>& sparse, const std::vector<RaggedFeature>& ragged,
                  const std::vector<Dense>& dense) {
  std::set<std::string> keys;
  for (const SparseFeature& f : sparse) keys.insert(f.key);
  for (const RaggedFeature& f : ragged) {
    if (keys.contains(f.key)) return errors::InvalidArgument(what, f.key, " cannot be both ragged and sparse");
  }
  for (const RaggedFeature& f : ragged) keys.insert(f.key);
  for (const Dense& f : dense) {
    if (keys.contains(f.key)) return errors::InvalidArgument(what, f.key, " cannot be both dense and sparse");
  }
  return OkStatus();
}

Status ParseBatch(KernelContext& ctx, const SequenceSpec& spec) {
  RETURN_IF_ERROR(CheckKinds("Context feature ", spec.context.sparse, spec.context.ragged, spec.context.dense));
  RETURN_IF_ERROR(CheckKinds("Sequence feature ", spec.sparse, spec.ragged, spec.dense));
  const Tensor &serialized = ctx.input(0), &names = ctx.input(1);
  if (serialized.rank() > 1) {
    return errors::InvalidArgument("Expected serialized to be a scalar or vector, got shape: ",
                                   serialized.shape().ToString());
  }
  if (names.num_elements() != 0 && names.num_elements() != serialized.num_elements()) {
    return errors::InvalidArgument("Expected len(debug_name) == len(serialized), but got: ", names.num_elements(),
                                   " vs. ", serialized.num_elements());
  }
  RETURN_IF_ERROR(CheckSpec(spec.context));
  const bool single = serialized.rank() == 0;
  // A context has the field of an Example's features, so it is read as one.
  ASSIGN_OR_RETURN(ParsedExamples context,
                   ParseExamples(spec.context, serialized.flat<std::string>(), names.flat<std::string>(), single));
  SequenceBatch batch(names.flat<std::string>(), single);
  RETURN_IF_ERROR(batch.Parse(serialized.flat<std::string>()));
  const size_t sparse = spec.sparse.size(), dense = spec.dense.size(), ragged = spec.ragged.size();
  std::vector<Tensor> indices(sparse), values(sparse), shapes(sparse), lists(dense), lengths(dense),
      ragged_values(ragged), outer(ragged), inner(ragged);
  for (size_t i = 0; i < sparse; ++i)
    RETURN_IF_ERROR(batch.Sparse(spec.sparse[i], &indices[i], &values[i], &shapes[i]));
  for (size_t i = 0; i < dense; ++i) RETURN_IF_ERROR(batch.Dense(spec.dense[i], &lists[i], &lengths[i]));
  for (size_t i = 0; i < ragged; ++i) {
    RETURN_IF_ERROR(batch.Ragged(spec.ragged[i], &ragged_values[i], &outer[i], &inner[i]));
  }
  int out = 0;
  for (auto* group : {&context.sparse_indices, &context.sparse_values, &context.sparse_shapes, &context.dense_values,
                      &context.ragged_values, &context.ragged_splits, &indices, &values, &shapes, &lists, &lengths,
                      &ragged_values, &outer, &inner}) {
    for (Tensor& t : *group) ctx.set_output(out++, std::move(t));
  }
  return OkStatus();
}

void SparseFromAttrs(KernelInit& init, const char* attr, const char* count, std::vector<SparseFeature>* out) {
  for (const DType type : init.Attr<std::vector<DType>>(attr)) out->push_back({.key = "", .type = type});
  if (init.Attr<int64_t>(count) != static_cast<int64_t>(out->size())) {
    init.Fail(errors::InvalidArgument(count, " must be the number of ", attr));
  }
}

// What both ops have: types and shapes, without keys.
SequenceSpec SpecFromAttrs(KernelInit& init) {
  SequenceSpec spec;
  SparseFromAttrs(init, "context_sparse_types", "Ncontext_sparse", &spec.context.sparse);
  SparseFromAttrs(init, "feature_list_sparse_types", "Nfeature_list_sparse", &spec.sparse);
  const auto types = init.Attr<std::vector<DType>>("Tcontext_dense");
  const auto shapes = init.Attr<std::vector<PartialShape>>("context_dense_shapes");
  const auto list_types = init.Attr<std::vector<DType>>("feature_list_dense_types");
  const auto list_shapes = init.Attr<std::vector<PartialShape>>("feature_list_dense_shapes");
  if (types.size() != shapes.size() || list_types.size() != list_shapes.size() ||
      init.Attr<int64_t>("Nfeature_list_dense") != static_cast<int64_t>(list_types.size())) {
    init.Fail(errors::InvalidArgument("There must be as many shapes as types of dense features"));
    return spec;
  }
  for (size_t i = 0; i < types.size(); ++i) {
    spec.context.dense.push_back({.key = "", .type = types[i], .shape = shapes[i], .default_value = Tensor()});
  }
  for (size_t i = 0; i < list_types.size(); ++i) {
    if (!list_shapes[i].IsFullyDefined()) {
      init.Fail(
          errors::InvalidArgument("feature_list_dense_shapes must be fully defined: ", list_shapes[i].ToString()));
      return spec;
    }
    spec.dense.push_back(
        {.key = "", .type = list_types[i], .shape = list_shapes[i].ToShape(), .may_be_missing = false});
  }
  return spec;
}

template <typename Features>
Status KeysFromAttr(KernelInit& init, const char* attr, Features* features) {
  const auto keys = init.Attr<std::vector<std::string>>(attr);
  if (keys.size() != features->size()) {
    return errors::InvalidArgument("len(", attr, ") must be the number of types, ", features->size());
  }
  for (size_t i = 0; i < keys.size(); ++i) (*features)[i].key = keys[i];
  return OkStatus();
}

class ParseSequenceExample final : public Kernel {
 public:
  explicit ParseSequenceExample(KernelInit& init) : spec_(SpecFromAttrs(init)) {
    if (!init.status().ok()) return;
    init.Check(KeysFromAttr(init, "context_sparse_keys", &spec_.context.sparse));
    init.Check(KeysFromAttr(init, "context_dense_keys", &spec_.context.dense));
    init.Check(KeysFromAttr(init, "feature_list_sparse_keys", &spec_.sparse));
    init.Check(KeysFromAttr(init, "feature_list_dense_keys", &spec_.dense));
    const auto missing = init.Attr<std::vector<std::string>>("feature_list_dense_missing_assumed_empty");
    const std::set<std::string> optional(missing.begin(), missing.end());
    for (DenseList& f : spec_.dense) f.may_be_missing = optional.contains(f.key);
  }
  Status Compute(KernelContext& ctx) override {
    SequenceSpec spec = spec_;
    int next = 2;
    for (DenseFeature& f : spec.context.dense) f.default_value = ctx.input(next++);
    return ParseBatch(ctx, spec);
  }

 private:
  SequenceSpec spec_;
};

template <typename Features>
Status KeysFromInput(const KernelContext& ctx, int i, const char* name, Features* features) {
  const Tensor& keys = ctx.input(i);
  if (keys.rank() != 1 || keys.dim(0) != static_cast<int64_t>(features->size())) {
    return errors::InvalidArgument("Expected len(", name, ") == ", features->size(), " but got ",
                                   keys.shape().ToString());
  }
  for (size_t k = 0; k < features->size(); ++k) (*features)[k].key = keys.data<std::string>()[k];
  return OkStatus();
}

class ParseSequenceExampleV2 final : public Kernel {
 public:
  explicit ParseSequenceExampleV2(KernelInit& init) : spec_(SpecFromAttrs(init)) {
    Ragged(init, "context_ragged_value_types", "context_ragged_split_types", &spec_.context.ragged);
    Ragged(init, "feature_list_ragged_value_types", "feature_list_ragged_split_types", &spec_.ragged);
  }
  Status Compute(KernelContext& ctx) override {
    SequenceSpec spec = spec_;
    RETURN_IF_ERROR(KeysFromInput(ctx, 2, "context_sparse_keys", &spec.context.sparse));
    RETURN_IF_ERROR(KeysFromInput(ctx, 3, "context_dense_keys", &spec.context.dense));
    RETURN_IF_ERROR(KeysFromInput(ctx, 4, "context_ragged_keys", &spec.context.ragged));
    RETURN_IF_ERROR(KeysFromInput(ctx, 5, "feature_list_sparse_keys", &spec.sparse));
    RETURN_IF_ERROR(KeysFromInput(ctx, 6, "feature_list_dense_keys", &spec.dense));
    RETURN_IF_ERROR(KeysFromInput(ctx, 7, "feature_list_ragged_keys", &spec.ragged));
    const Tensor& missing = ctx.input(8);
    if (missing.rank() != 1 || missing.dim(0) != static_cast<int64_t>(spec.dense.size())) {
      return errors::InvalidArgument("Expected len(feature_list_dense_missing_assumed_empty) == ", spec.dense.size(),
                                     " but got ", missing.shape().ToString());
    }
    for (size_t i = 0; i < spec.dense.size(); ++i) spec.dense[i].may_be_missing = missing.data<bool>()[i];
    int next = 9;
    for (DenseFeature& f : spec.context.dense) f.default_value = ctx.input(next++);
    return ParseBatch(ctx, spec);
  }

 private:
  static void Ragged(KernelInit& init, const char* values, const char* splits, std::vector<RaggedFeature>* out) {
    const auto types = init.Attr<std::vector<DType>>(values);
    const auto split_types = init.Attr<std::vector<DType>>(splits);
    if (types.size() != split_types.size()) {
      init.Fail(errors::InvalidArgument("There must be as many ", splits, " as ", values));
      return;
    }
    for (size_t i = 0; i < types.size(); ++i)
      out->push_back({.key = "", .type = types[i], .split_type = split_types[i]});
  }
  SequenceSpec spec_;
};

void ContextOutputs(OpBuilder& op) {
  op.Output("context_sparse_indices: Ncontext_sparse * int64")
      .Output("context_sparse_values: context_sparse_types")
      .Output("context_sparse_shapes: Ncontext_sparse * int64")
      .Output("context_dense_values: Tcontext_dense");
}
void ListOutputs(OpBuilder& op) {
  op.Output("feature_list_sparse_indices: Nfeature_list_sparse * int64")
      .Output("feature_list_sparse_values: feature_list_sparse_types")
      .Output("feature_list_sparse_shapes: Nfeature_list_sparse * int64")
      .Output("feature_list_dense_values: feature_list_dense_types")
      .Output("feature_list_dense_lengths: Nfeature_list_dense * int64");
}

OP("ParseSequenceExample")
    .Input("serialized: string")
    .Input("debug_name: string")
    .Input("context_dense_defaults: Tcontext_dense")
    .With(ContextOutputs)
    .With(ListOutputs)
    .Attr("feature_list_dense_missing_assumed_empty: list(string) >= 0")
    .Attr("context_sparse_keys: list(string) >= 0")
    .Attr("context_dense_keys: list(string) >= 0")
    .Attr("feature_list_sparse_keys: list(string) >= 0")
    .Attr("feature_list_dense_keys: list(string) >= 0")
    .Attr("Ncontext_sparse: int >= 0 = 0")
    .Attr("Ncontext_dense: int >= 0 = 0")
    .Attr("Nfeature_list_sparse: int >= 0 = 0")
    .Attr("Nfeature_list_dense: int >= 0 = 0")
    .Attr("context_sparse_types: list({float, int64, string}) >= 0 = []")
    .Attr("Tcontext_dense: list({float, int64, string}) >= 0 = []")
    .Attr("feature_list_dense_types: list({float, int64, string}) >= 0 = []")
    .Attr("context_dense_shapes: list(shape) >= 0 = []")
    .Attr("feature_list_sparse_types: list({float, int64, string}) >= 0 = []")
    .Attr("feature_list_dense_shapes: list(shape) >= 0 = []")
    .Shape(UnknownShape)
    .Cpu<ParseSequenceExample>()
    .Doc("The features of serialized SequenceExamples, as tensors: those of their contexts, and those of each step.");

OP("ParseSequenceExampleV2")
    .Input("serialized: string")
    .Input("debug_name: string")
    .Input("context_sparse_keys: string")
    .Input("context_dense_keys: string")
    .Input("context_ragged_keys: string")
    .Input("feature_list_sparse_keys: string")
    .Input("feature_list_dense_keys: string")
    .Input("feature_list_ragged_keys: string")
    .Input("feature_list_dense_missing_assumed_empty: bool")
    .Input("context_dense_defaults: Tcontext_dense")
    .With(ContextOutputs)
    .Output("context_ragged_values: context_ragged_value_types")
    .Output("context_ragged_row_splits: context_ragged_split_types")
    .With(ListOutputs)
    .Output("feature_list_ragged_values: feature_list_ragged_value_types")
    .Output("feature_list_ragged_outer_splits: feature_list_ragged_split_types")
    .Output("feature_list_ragged_inner_splits: feature_list_ragged_split_types")
    .Attr("Ncontext_sparse: int >= 0 = 0")
    .Attr("Tcontext_dense: list({float, int64, string}) >= 0 = []")
    .Attr("context_sparse_types: list({float, int64, string}) >= 0 = []")
    .Attr("context_ragged_value_types: list({float, int64, string}) >= 0 = []")
    .Attr("context_ragged_split_types: list({int32, int64}) >= 0 = []")
    .Attr("context_dense_shapes: list(shape) >= 0 = []")
    .Attr("Nfeature_list_sparse: int >= 0 = 0")
    .Attr("Nfeature_list_dense: int >= 0 = 0")
    .Attr("feature_list_dense_types: list({float, int64, string}) >= 0 = []")
    .Attr("feature_list_sparse_types: list({float, int64, string}) >= 0 = []")
    .Attr("feature_list_ragged_value_types: list({float, int64, string}) >= 0 = []")
    .Attr("feature_list_ragged_split_types: list({int32, int64}) >= 0 = []")
    .Attr("feature_list_dense_shapes: list(shape) >= 0 = []")
    .Shape(UnknownShape)
    .Cpu<ParseSequenceExampleV2>()
    .Doc("As ParseSequenceExample, with keys that come as tensors and features that come as ragged tensors.");

}  // namespace
}  // namespace millstream
