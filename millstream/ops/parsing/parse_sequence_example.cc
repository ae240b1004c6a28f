// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "millstream/framework/op.h"
#include "millstream/ops/parsing/example_parser.h"
#include "millstream/ops/parsing/feature_values.h"
#include "millstream/proto/example.pb.h"

namespace millstream {
namespace {

// A feature of which a sequence has one for each step.
struct ListFeature {
  std::string key;
  DType type = DType::kFloat;
  PartialShape shape;  // of one step, for dense ones
  bool may_be_missing = false;
};

class Sequence {
 public:
  Sequence(const std::string& name, const proto::SequenceExample& example) : name_(name), example_(example) {}

  // [steps, shape...]. InvalidArgument if the list is missing and must not be, or a step has another type or size.
  StatusOr<Tensor> Dense(const ListFeature& f) const {
    const proto::FeatureList* list = Find(f.key);
    if (list == nullptr && !f.may_be_missing) {
      return errors::InvalidArgument("Name: ", name_, ", Feature list '", f.key,
                                     "' is required but could not be found.  Did you mean to include it in "
                                     "feature_list_dense_missing_assumed_empty or feature_list_dense_defaults?");
    }
    const int steps = list == nullptr ? 0 : list->feature_size();
    std::vector<int64_t> dims = f.shape.dims();
    dims.insert(dims.begin(), steps);
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    const int64_t width = f.shape.ToShape().num_elements();
    // What a step lacks would be an error, so memory is taken only for what is there.
    for (int t = 0; t < steps; ++t) {
      const proto::Feature& feature = list->feature(t);
      RETURN_IF_ERROR(CheckType(f, feature, t));
      if (CountOf(feature) != width) {
        return errors::InvalidArgument("Name: ", name_, ", Key: ", f.key, ", Index: ", t, ".  Number of ",
                                       DTypeName(f.type), " values != expected.  values size: ", CountOf(feature),
                                       " but output shape: ", f.shape.ToString());
      }
    }
    ASSIGN_OR_RETURN(Tensor out, Tensor::Make(f.type, shape));
    for (int t = 0; t < steps; ++t) CopyValues(list->feature(t), &out, t * width);
    return out;
  }

  // Indices are (step, place in it); the shape is [steps, most values of a step].
  Status Sparse(const ListFeature& f, Tensor* indices, Tensor* values, Tensor* shape) const {
    const proto::FeatureList* list = Find(f.key);
    const int steps = list == nullptr ? 0 : list->feature_size();
    int64_t total = 0, longest = 0;
    for (int t = 0; t < steps; ++t) {
      const proto::Feature& feature = list->feature(t);
      if (feature.kind_case() != proto::Feature::KIND_NOT_SET) RETURN_IF_ERROR(CheckType(f, feature, t));
      total += CountOf(feature);
      longest = std::max(longest, CountOf(feature));
    }
    ASSIGN_OR_RETURN(*indices, Tensor::Make(DType::kInt64, Shape({total, 2})));
    ASSIGN_OR_RETURN(*values, Tensor::Make(f.type, Shape({total})));
    *shape = Tensor::Vector<int64_t>({steps, longest});
    int64_t* at = indices->data<int64_t>();
    int64_t offset = 0;
    for (int t = 0; t < steps; ++t) {
      const int64_t n = CountOf(list->feature(t));
      if (n > 0) CopyValues(list->feature(t), values, offset);
      offset += n;
      for (int64_t k = 0; k < n; ++k) {
        *at++ = t;
        *at++ = k;
      }
    }
    return OkStatus();
  }

 private:
  const proto::FeatureList* Find(const std::string& key) const {
    const auto& lists = example_.feature_lists().feature_list();
    const auto it = lists.find(key);
    return it == lists.end() ? nullptr : &it->second;
  }
  Status CheckType(const ListFeature& f, const proto::Feature& feature, int step) const {
    if (TypeOf(feature) == f.type) return OkStatus();
    return errors::InvalidArgument("Name: ", name_, ", Feature list: ", f.key, ", Index: ", step,
                                   ".  Data types don't match. Expected type: ", DTypeName(f.type),
                                   " but got type: ", DTypeName(TypeOf(feature)));
  }

  const std::string& name_;
  const proto::SequenceExample& example_;
};

class ParseSingleSequenceExample final : public Kernel {
 public:
  explicit ParseSingleSequenceExample(KernelInit& init) {
    for (const DType type : init.Attr<std::vector<DType>>("context_sparse_types")) {
      context_.sparse.push_back({.key = "", .type = type});
    }
    const auto types = init.Attr<std::vector<DType>>("Tcontext_dense");
    const auto shapes = init.Attr<std::vector<PartialShape>>("context_dense_shapes");
    const auto list_types = init.Attr<std::vector<DType>>("feature_list_dense_types");
    const auto list_shapes = init.Attr<std::vector<PartialShape>>("feature_list_dense_shapes");
    if (types.size() != shapes.size() || list_types.size() != list_shapes.size()) {
      init.Fail(errors::InvalidArgument("There must be as many shapes as types of dense features"));
      return;
    }
    for (size_t i = 0; i < types.size(); ++i) {
      context_.dense.push_back({.key = "", .type = types[i], .shape = shapes[i], .default_value = Tensor()});
    }
    for (const DType type : init.Attr<std::vector<DType>>("feature_list_sparse_types")) {
      sparse_.push_back({.key = "", .type = type, .shape = {}, .may_be_missing = true});
    }
    for (size_t i = 0; i < list_types.size(); ++i) {
      dense_.push_back({.key = "", .type = list_types[i], .shape = list_shapes[i], .may_be_missing = false});
      if (!list_shapes[i].IsFullyDefined()) {
        init.Fail(
            errors::InvalidArgument("feature_list_dense_shapes must be fully defined: ", list_shapes[i].ToString()));
      }
    }
    CheckCount(init, "Ncontext_sparse", context_.sparse.size());
    CheckCount(init, "Ncontext_dense", context_.dense.size());
    CheckCount(init, "Nfeature_list_sparse", sparse_.size());
    CheckCount(init, "Nfeature_list_dense", dense_.size());
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor &serialized = ctx.input(0), &missing = ctx.input(1), &debug = ctx.input(ctx.num_inputs() - 1);
    if (serialized.rank() != 0) {
      return errors::InvalidArgument("Expected serialized to be a scalar, got shape: ", serialized.shape().ToString());
    }
    if (missing.rank() != 1) {
      return errors::InvalidArgument("Expected feature_list_dense_missing_assumed_empty to be a vector, got shape: ",
                                     missing.shape().ToString());
    }
    if (debug.num_elements() > 1) return errors::InvalidArgument("Expected debug_name to be a scalar");
    ExampleSpec context = context_;
    std::vector<ListFeature> sparse = sparse_, dense = dense_;
    RETURN_IF_ERROR(ReadKeys(ctx, &context, &sparse, &dense));
    RETURN_IF_ERROR(CheckSpec(context));
    // The context has the field of an Example's features, so it is read as one.
    ASSIGN_OR_RETURN(ParsedExamples parsed,
                     ParseExamples(context, serialized.flat<std::string>(), debug.flat<std::string>(), true));
    proto::SequenceExample example;
    if (!example.ParseFromString(serialized.scalar<std::string>())) {
      return errors::InvalidArgument("Could not parse example input, value: '",
                                     serialized.scalar<std::string>().substr(0, 200), "'");
    }
    const std::set<std::string> optional(missing.data<std::string>(), missing.data<std::string>() + missing.dim(0));
    for (ListFeature& f : dense) f.may_be_missing = optional.contains(f.key);
    const std::string name =
        debug.num_elements() == 1 && !debug.data<std::string>()[0].empty() ? debug.data<std::string>()[0] : "<unknown>";
    return SetOutputs(ctx, std::move(parsed), Sequence(name, example), sparse, dense);
  }

 private:
  static void CheckCount(KernelInit& init, const char* attr, size_t count) {
    if (init.Attr<int64_t>(attr) != static_cast<int64_t>(count)) {
      init.Fail(errors::InvalidArgument(attr, " must be the number of types, ", count));
    }
  }
  static Status ReadKeys(const KernelContext& ctx, ExampleSpec* context, std::vector<ListFeature>* sparse,
                         std::vector<ListFeature>* dense) {
    int next = 2;
    const auto read = [&](std::string* key) -> Status {
      const Tensor& t = ctx.input(next++);
      if (t.rank() != 0)
        return errors::InvalidArgument("Expected keys to be scalars, got shape: ", t.shape().ToString());
      *key = t.scalar<std::string>();
      return OkStatus();
    };
    for (SparseFeature& f : context->sparse) RETURN_IF_ERROR(read(&f.key));
    for (DenseFeature& f : context->dense) RETURN_IF_ERROR(read(&f.key));
    for (ListFeature& f : *sparse) RETURN_IF_ERROR(read(&f.key));
    for (ListFeature& f : *dense) RETURN_IF_ERROR(read(&f.key));
    for (DenseFeature& f : context->dense) f.default_value = ctx.input(next++);
    return OkStatus();
  }
  static Status SetOutputs(KernelContext& ctx, ParsedExamples parsed, const Sequence& sequence,
                           const std::vector<ListFeature>& sparse, const std::vector<ListFeature>& dense) {
    int out = 0;
    const auto set = [&](std::vector<Tensor>& group) {
      for (Tensor& t : group) ctx.set_output(out++, std::move(t));
    };
    set(parsed.sparse_indices);
    set(parsed.sparse_values);
    set(parsed.sparse_shapes);
    set(parsed.dense_values);
    std::vector<Tensor> indices(sparse.size()), values(sparse.size()), shapes(sparse.size()), lists(dense.size());
    for (size_t i = 0; i < sparse.size(); ++i) {
      RETURN_IF_ERROR(sequence.Sparse(sparse[i], &indices[i], &values[i], &shapes[i]));
    }
    for (size_t i = 0; i < dense.size(); ++i) {
      ASSIGN_OR_RETURN(lists[i], sequence.Dense(dense[i]));
    }
    for (auto* group : {&indices, &values, &shapes, &lists}) set(*group);
    return OkStatus();
  }

  ExampleSpec context_;
  std::vector<ListFeature> sparse_, dense_;
};

Status SequenceShape(ShapeContext& c) {
  PartialShape unused;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 0, &unused));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 1, &unused));
  int64_t context = 0, lists = 0;
  std::vector<PartialShape> dense, list_dense;
  RETURN_IF_ERROR(c.GetAttr("Ncontext_sparse", &context));
  RETURN_IF_ERROR(c.GetAttr("Nfeature_list_sparse", &lists));
  RETURN_IF_ERROR(c.GetAttr("context_dense_shapes", &dense));
  RETURN_IF_ERROR(c.GetAttr("feature_list_dense_shapes", &list_dense));
  if (c.num_outputs() != 3 * (context + lists) + static_cast<int64_t>(dense.size() + list_dense.size())) {
    return errors::InvalidArgument("There must be as many shapes as dense features");
  }
  int out = 0;
  const auto sparse = [&](int64_t count, int64_t rank) {
    for (int64_t i = 0; i < count; ++i) c.set_output(out++, PartialShape({-1, rank}));
    for (int64_t i = 0; i < count; ++i) c.set_output(out++, PartialShape({-1}));
    for (int64_t i = 0; i < count; ++i) c.set_output(out++, PartialShape({rank}));
  };
  sparse(context, 1);
  for (const PartialShape& shape : dense) c.set_output(out++, shape);
  sparse(lists, 2);
  for (const PartialShape& shape : list_dense) c.set_output(out++, PartialShape({-1}).Concatenate(shape));
  return OkStatus();
}

OP("ParseSingleSequenceExample")
    .Input("serialized: string")
    .Input("feature_list_dense_missing_assumed_empty: string")
    .Input("context_sparse_keys: Ncontext_sparse * string")
    .Input("context_dense_keys: Ncontext_dense * string")
    .Input("feature_list_sparse_keys: Nfeature_list_sparse * string")
    .Input("feature_list_dense_keys: Nfeature_list_dense * string")
    .Input("context_dense_defaults: Tcontext_dense")
    .Input("debug_name: string")
    .Output("context_sparse_indices: Ncontext_sparse * int64")
    .Output("context_sparse_values: context_sparse_types")
    .Output("context_sparse_shapes: Ncontext_sparse * int64")
    .Output("context_dense_values: Tcontext_dense")
    .Output("feature_list_sparse_indices: Nfeature_list_sparse * int64")
    .Output("feature_list_sparse_values: feature_list_sparse_types")
    .Output("feature_list_sparse_shapes: Nfeature_list_sparse * int64")
    .Output("feature_list_dense_values: feature_list_dense_types")
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
    .Shape(SequenceShape)
    .Cpu<ParseSingleSequenceExample>()
    .Doc("The features of one serialized SequenceExample, as tensors: those of its context, and those of each step.");

}  // namespace
}  // namespace millstream
