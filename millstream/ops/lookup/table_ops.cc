// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/once_a_step.h"
#include "millstream/framework/op.h"
#include "millstream/ops/lookup/table.h"
#include "millstream/ops/resources/handle.h"

namespace millstream {
namespace {

StatusOr<Ref<LookupTable>> TableInput(const KernelContext& ctx, DType key, DType value) {
  ASSIGN_OR_RETURN(Ref<LookupTable> table, HandleInput<LookupTable>(ctx, 0));
  RETURN_IF_ERROR(table->CheckTypes(key, value));
  return table;
}

Status InitializeCpu(KernelContext& ctx) {
  const Tensor &keys = ctx.input(1), &values = ctx.input(2);
  ASSIGN_OR_RETURN(Ref<LookupTable> table, HandleInput<LookupTable>(ctx, 0));
  if (keys.rank() != 1) {
    return errors::InvalidArgument("Keys must be a vector, but received shape", keys.shape().ToString());
  }
  if (values.rank() != 1) {
    return errors::InvalidArgument("Values must be a vector, but received shape", values.shape().ToString());
  }
  if (keys.num_elements() != values.num_elements()) {
    return errors::InvalidArgument("Keys and values must have the same size ", keys.num_elements(), " vs ",
                                   values.num_elements());
  }
  RETURN_IF_ERROR(table->CheckTypes(keys.dtype(), values.dtype()));
  if (keys.num_elements() == 0) return errors::InvalidArgument("keys and values cannot be empty tensors.");
  return table->Initialize(keys, values);
}

Status FindCpu(KernelContext& ctx) {
  const Tensor &keys = ctx.input(1), &defaults = ctx.input(2);
  ASSIGN_OR_RETURN(Ref<LookupTable> table, TableInput(ctx, keys.dtype(), defaults.dtype()));
  ASSIGN_OR_RETURN(const Shape shape, table->ValuesShape(keys));
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
  return table->Find(keys, defaults, out);
}

Status InsertCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(Ref<LookupTable> table, TableInput(ctx, ctx.input(1).dtype(), ctx.input(2).dtype()));
  return table->Insert(ctx.input(1), ctx.input(2));
}

Status ImportCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(Ref<LookupTable> table, TableInput(ctx, ctx.input(1).dtype(), ctx.input(2).dtype()));
  return table->Import(ctx.input(1), ctx.input(2));
}

Status RemoveCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(Ref<LookupTable> table, HandleInput<LookupTable>(ctx, 0));
  RETURN_IF_ERROR(table->CheckTypes(ctx.input(1).dtype(), table->options().value_dtype));
  return table->Remove(ctx.input(1));
}

Status SizeCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(Ref<LookupTable> table, HandleInput<LookupTable>(ctx, 0));
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, Shape()));
  out->scalar<int64_t>() = table->Size();
  return OkStatus();
}

Status ExportCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(Ref<LookupTable> table, TableInput(ctx, ctx.output_dtype(0), ctx.output_dtype(1)));
  Tensor keys, values;
  RETURN_IF_ERROR(table->Export(&keys, &values));
  ctx.set_output(0, std::move(keys));
  ctx.set_output(1, std::move(values));
  return OkStatus();
}

Status InitializeShape(ShapeContext& c) {
  PartialShape keys;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 1, &keys));
  return keys.MergeWith(c.input(2)).status();
}

Status ExportShape(ShapeContext& c) {
  c.set_output(0, PartialShape({-1}));
  return OkStatus();
}

// Each op exists twice: on a resource handle, and on a reference to a handle of strings.
void OnHandle(OpBuilder& op) { op.Input("table_handle: resource").Stateful(); }
void OnReference(OpBuilder& op) { op.Input("table_handle: Ref(string)"); }

void InitializeOp(OpBuilder& op) {
  op.Input("keys: Tkey")
      .Input("values: Tval")
      .Attr("Tkey: type")
      .Attr("Tval: type")
      .Shape(InitializeShape)
      .NotDifferentiable()
      .Cpu(InitializeCpu);
}
OP("InitializeTable")
    .With(OnReference)
    .With(InitializeOp)
    .Doc("Fills a table that is filled once (old form of the handle).");
OP("InitializeTableV2").With(OnHandle).With(InitializeOp).Doc("Fills a table that is filled once.");

void FindOp(OpBuilder& op) {
  op.Input("keys: Tin")
      .Input("default_value: Tout")
      .Output("values: Tout")
      .Attr("Tin: type")
      .Attr("Tout: type")
      .Shape(UnknownShape)
      .NotDifferentiable()
      .Cpu(FindCpu);
}
OP("LookupTableFind")
    .With(OnReference)
    .With(FindOp)
    .Doc("The values of keys; the default for those that are not there (old form of the handle).");
OP("LookupTableFindV2")
    .With(OnHandle)
    .With(FindOp)
    .Doc("The values of keys; the default for those that are not there.");

void KeysAndValues(OpBuilder& op) {
  op.Input("keys: Tin").Input("values: Tout").Attr("Tin: type").Attr("Tout: type").Shape(NoOutputs);
}
void InsertOp(OpBuilder& op) { op.With(KeysAndValues).NotDifferentiable().Cpu<OnceAStepFunction<InsertCpu>>(); }
OP("LookupTableInsert").With(OnReference).With(InsertOp).Doc("Gives keys new values (old form of the handle).");
OP("LookupTableInsertV2").With(OnHandle).With(InsertOp).Doc("Gives keys new values.");

void SizeOp(OpBuilder& op) { op.Output("size: int64").Shape(ScalarShape).NotDifferentiable().Cpu(SizeCpu); }
OP("LookupTableSize").With(OnReference).With(SizeOp).Doc("The number of keys in a table (old form of the handle).");
OP("LookupTableSizeV2").With(OnHandle).With(SizeOp).Doc("The number of keys in a table.");

void ExportOp(OpBuilder& op) {
  op.Output("keys: Tkeys")
      .Output("values: Tvalues")
      .Attr("Tkeys: type")
      .Attr("Tvalues: type")
      .Shape(ExportShape)
      .Cpu(ExportCpu);
}
OP("LookupTableExport")
    .With(OnReference)
    .With(ExportOp)
    .Doc("All keys and values of a table (old form of the handle).");
OP("LookupTableExportV2").With(OnHandle).With(ExportOp).Doc("All keys and values of a table.");

void ImportOp(OpBuilder& op) { op.With(KeysAndValues).Cpu<OnceAStepFunction<ImportCpu>>(); }
OP("LookupTableImport")
    .With(OnReference)
    .With(ImportOp)
    .Doc("Replaces all keys and values of a table (old form of the handle).");
OP("LookupTableImportV2").With(OnHandle).With(ImportOp).Doc("Replaces all keys and values of a table.");

OP("LookupTableRemoveV2")
    .Input("table_handle: resource")
    .Input("keys: Tin")
    .Attr("Tin: type")
    .Stateful()
    .Shape(NoOutputs)
    .Cpu<OnceAStepFunction<RemoveCpu>>()
    .Doc("Takes keys out of a table; those that are not there are ignored.");

}  // namespace
}  // namespace millstream
