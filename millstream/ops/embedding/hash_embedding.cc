// SPDX-License-Identifier: Apache-2.0
// Embeddings that grow with the vocabulary: ops of our own (docs/embeddings.md).
#include "millstream/framework/op.h"
#include "millstream/ops/embedding/hash_rows.h"
#include "millstream/ops/resources/named_resource.h"

namespace millstream {
namespace {

class HashEmbeddingOp final : public Kernel {
 public:
  explicit HashEmbeddingOp(KernelInit& init) : rows_(init, "millstream::HashRows") {
    options_.key_dtype = init.Attr<DType>("key_dtype");
    options_.width = init.Attr<int64_t>("width");
    options_.min_count = init.Attr<int64_t>("min_count");
    options_.scale = init.Attr<float>("scale");
    options_.seed = init.Attr<int64_t>("seed");
    if (options_.width < 1 || options_.width > kMaxWidth) {
      init.Fail(errors::InvalidArgument("width must be from 1 to ", kMaxWidth, ", got ", options_.width));
    }
  }

  Status Compute(KernelContext& ctx) override {
    return rows_.Output(
        ctx, [&]() -> StatusOr<Ref<HashRows>> { return MakeRef<HashRows>(options_, rows_.name()); },
        [&](const HashRows& found) {
          if (found.options() == options_) return OkStatus();
          return errors::InvalidArgument("Embedding ", rows_.name(), " exists with other options");
        });
  }

 private:
  static constexpr int64_t kMaxWidth = 1 << 20;
  HashRows::Options options_;
  NamedResource<HashRows> rows_;
};

// Room for a row of each key, in output 0.
StatusOr<Tensor*> RowsFor(KernelContext& ctx, const HashRows& table, const Tensor& keys) {
  std::vector<int64_t> dims(keys.shape().dims().begin(), keys.shape().dims().end());
  dims.push_back(table.options().width);
  ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  return ctx.AllocateOutput(0, shape);
}

StatusOr<int64_t> ScalarInt(const KernelContext& ctx, int i, const char* name) {
  const Tensor& t = ctx.input(i);
  if (t.rank() != 0) return errors::InvalidArgument(name, " must be a scalar, got shape ", t.shape().ToString());
  return t.scalar<int64_t>();
}

Status LookupCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(const Ref<HashRows> table, ctx.ResourceInput<HashRows>(0));
  ASSIGN_OR_RETURN(const int64_t step, ScalarInt(ctx, 3, "step"));
  ASSIGN_OR_RETURN(Tensor * rows, RowsFor(ctx, *table, ctx.input(1)));
  return table->FindOrAdd(ctx.input(1), ctx.input(2), step, rows);
}

Status FindCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(const Ref<HashRows> table, ctx.ResourceInput<HashRows>(0));
  ASSIGN_OR_RETURN(Tensor * rows, RowsFor(ctx, *table, ctx.input(1)));
  return table->Find(ctx.input(1), rows);
}

Status SizeCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(const Ref<HashRows> table, ctx.ResourceInput<HashRows>(0));
  ctx.set_output(0, Tensor::Scalar<int64_t>(table->num_rows()));
  ctx.set_output(1, Tensor::Scalar<int64_t>(table->num_candidates()));
  return OkStatus();
}

Status EvictCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(const Ref<HashRows> table, ctx.ResourceInput<HashRows>(0));
  ASSIGN_OR_RETURN(const int64_t before, ScalarInt(ctx, 1, "before"));
  ASSIGN_OR_RETURN(const int64_t max_rows, ScalarInt(ctx, 2, "max_rows"));
  ASSIGN_OR_RETURN(const int64_t removed, table->Evict(before, max_rows));
  ctx.set_output(0, Tensor::Scalar<int64_t>(removed));
  return OkStatus();
}

// The tensors of a state, in the order of the ops' arguments.
std::vector<Tensor*> PartsOf(HashRows::State& s) {
  return {&s.keys,         &s.counts,           &s.last_used,           &s.rows,
          &s.candidates,   &s.candidate_counts, &s.candidate_last_used, &s.slot_names,
          &s.slot_initials};
}

Status ExportCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(const Ref<HashRows> table, ctx.ResourceInput<HashRows>(0));
  if (table->options().key_dtype != ctx.output_dtype(0)) {
    return errors::InvalidArgument("The embedding has keys of type ", DTypeName(table->options().key_dtype));
  }
  HashRows::State state;
  RETURN_IF_ERROR(table->Export(&state));
  int i = 0;
  for (Tensor* part : PartsOf(state)) ctx.set_output(i++, std::move(*part));
  return OkStatus();
}

Status ImportCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(const Ref<HashRows> table, ctx.ResourceInput<HashRows>(0));
  HashRows::State state;
  int i = 1;
  for (Tensor* part : PartsOf(state)) *part = ctx.input(i++);
  return table->Import(state);
}

Status RowsShape(ShapeContext& c) {
  c.set_output(0, c.input(1).Concatenate(PartialShape({-1})));
  return OkStatus();
}

Status ExportShape(ShapeContext& c) {
  for (int i = 0; i < 9; ++i) c.set_output(i, i == 3 ? PartialShape({-1, -1}) : PartialShape({-1}));
  return OkStatus();
}

OP("HashEmbedding")
    .Output("handle: resource")
    .Attr("key_dtype: {int64, string}")
    .Attr("width: int")
    .Attr("min_count: int = 1")
    .Attr("scale: float = 0.05")
    .Attr("seed: int = 0")
    .Attr("container: string = ''")
    .Attr("shared_name: string = ''")
    .Stateful()
    .Shape(ScalarShape)
    .NotDifferentiable()
    .Cpu<HashEmbeddingOp>()
    .Doc("An embedding with a row for each key that was seen at least min_count times.");

OP("HashEmbeddingLookup")
    .Input("handle: resource")
    .Input("keys: Tkeys")
    .Input("counts: int64")
    .Input("step: int64")
    .Output("rows: float")
    .Attr("Tkeys: {int64, string}")
    .Stateful()
    .Shape(RowsShape)
    .NotDifferentiable()
    .Cpu(LookupCpu)
    .Doc("Rows of keys in training: counts them, and gives those that were seen often enough a row.");

OP("HashEmbeddingFind")
    .Input("handle: resource")
    .Input("keys: Tkeys")
    .Output("rows: float")
    .Attr("Tkeys: {int64, string}")
    .Stateful()
    .Shape(RowsShape)
    .NotDifferentiable()
    .Cpu(FindCpu)
    .Doc("Rows of keys, zeros for keys without one.");

OP("HashEmbeddingSize")
    .Input("handle: resource")
    .Output("rows: int64")
    .Output("candidates: int64")
    .Stateful()
    .Shape(ScalarShape)
    .NotDifferentiable()
    .Cpu(SizeCpu)
    .Doc("How many keys have a row, and how many were not seen often enough.");

OP("HashEmbeddingEvict")
    .Input("handle: resource")
    .Input("before: int64")
    .Input("max_rows: int64")
    .Output("removed: int64")
    .Updates()
    .Stateful()
    .Shape(ScalarShape)
    .NotDifferentiable()
    .Cpu(EvictCpu)
    .Doc(
        "Removes keys that were used last before a step, then the least recently used rows beyond max_rows (0: none).");

OP("HashEmbeddingExport")
    .Input("handle: resource")
    .Output("keys: Tkeys")
    .Output("counts: int64")
    .Output("last_used: int64")
    .Output("rows: float")
    .Output("candidates: Tkeys")
    .Output("candidate_counts: int64")
    .Output("candidate_last_used: int64")
    .Output("slot_names: string")
    .Output("slot_initials: float")
    .Attr("Tkeys: {int64, string}")
    .Stateful()
    .Shape(ExportShape)
    .NotDifferentiable()
    .Cpu(ExportCpu)
    .Doc("All keys, rows and slots of an embedding.");

OP("HashEmbeddingImport")
    .Input("handle: resource")
    .Input("keys: Tkeys")
    .Input("counts: int64")
    .Input("last_used: int64")
    .Input("rows: float")
    .Input("candidates: Tkeys")
    .Input("candidate_counts: int64")
    .Input("candidate_last_used: int64")
    .Input("slot_names: string")
    .Input("slot_initials: float")
    .Attr("Tkeys: {int64, string}")
    .Updates()
    .Stateful()
    .Shape(NoOutputs)
    .NotDifferentiable()
    .Cpu(ImportCpu)
    .Doc("Replaces all keys, rows and slots of an embedding.");

}  // namespace
}  // namespace millstream
