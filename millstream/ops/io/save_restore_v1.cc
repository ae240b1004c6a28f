// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "millstream/framework/graph_files.h"
#include "millstream/framework/op.h"
#include "millstream/io/slice_copy.h"
#include "millstream/io/slice_file.h"

namespace millstream {
namespace {

// All tensors, or with kSlices parts of them, into one file.
template <bool kSlices>
Status SaveCpu(KernelContext& ctx) {
  constexpr int kFixedInputs = kSlices ? 3 : 2;
  if (ctx.input(0).num_elements() != 1) {
    return errors::InvalidArgument("Input 0 (filename) must be a string scalar; got a tensor of ",
                                   ctx.input(0).num_elements(), " elements");
  }
  const auto names = ctx.input(1).flat<std::string>();
  const auto specs = ctx.input(kSlices ? 2 : 1).flat<std::string>();
  if (specs.size() != names.size()) {
    return errors::InvalidArgument("Expected ", names.size(), " elements for the tensor shapes and slices but got ",
                                   specs.size());
  }
  if (static_cast<size_t>(ctx.num_inputs()) != names.size() + kFixedInputs) {
    return errors::InvalidArgument("Expected totally ", names.size() + kFixedInputs,
                                   " inputs as input #1 (which is a string tensor of saved names) contains ",
                                   names.size(), " names, but received ", ctx.num_inputs(), " inputs");
  }
  ASSIGN_OR_RETURN(std::string path, ConfinedPath(ctx.resources(), ctx.input(0).data<std::string>()[0]));
  SliceFileWriter writer(std::move(path));
  for (size_t i = 0; i < names.size(); ++i) {
    const Tensor& tensor = ctx.input(kFixedInputs + static_cast<int>(i));
    Shape full = tensor.shape(), part;
    TensorSlice slice = FullSlice(full);
    if (kSlices && !specs[i].empty()) RETURN_IF_ERROR(ParseShapeAndSlice(specs[i], &full, &slice, &part));
    RETURN_IF_ERROR(writer.Add(names[i], full, slice, tensor));
  }
  return writer.Finish();
}

Status RestoreCpu(KernelContext& ctx) {
  for (int i = 0; i < ctx.num_inputs(); ++i) {
    if (ctx.input(i).num_elements() != 1) {
      return errors::InvalidArgument("Input ", i, " must be a string scalar; got a tensor of ",
                                     ctx.input(i).num_elements(), " elements");
    }
  }
  ASSIGN_OR_RETURN(const std::string pattern, ConfinedPath(ctx.resources(), ctx.input(0).data<std::string>()[0]));
  ASSIGN_OR_RETURN(const std::unique_ptr<SliceFileReader> reader, SliceFileReader::Open(pattern));
  const std::string spec = ctx.num_inputs() == 3 ? ctx.input(2).data<std::string>()[0] : "";
  ASSIGN_OR_RETURN(Tensor tensor, reader->ReadAs(ctx.input(1).data<std::string>()[0], spec, ctx.output_dtype(0)));
  ctx.set_output(0, std::move(tensor));
  return OkStatus();
}

Status ShardedFilespecCpu(KernelContext& ctx) {
  for (int i = 0; i < 2; ++i) {
    if (ctx.input(i).num_elements() != 1) return errors::InvalidArgument("Input ", i, " must be a scalar");
  }
  char suffix[64];
  std::snprintf(suffix, sizeof(suffix), "-\?\?\?\?\?-of-%05d", ctx.input(1).data<int32_t>()[0]);
  ctx.set_output(0, Tensor::Scalar(ctx.input(0).data<std::string>()[0] + suffix));
  return OkStatus();
}

Status SaveShape(ShapeContext& c) {
  PartialShape unused;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 0, &unused));
  return ShapeContext::WithRank(c.input(1), 1, &unused);
}

// The shape is known where a slice was asked for: it says it.
Status RestoreShape(ShapeContext& c) {
  PartialShape unused;
  for (int i = 0; i < c.num_inputs(); ++i) RETURN_IF_ERROR(ShapeContext::WithRank(c.input(i), 0, &unused));
  const Tensor* spec = c.num_inputs() == 3 ? c.constant(2) : nullptr;
  if (spec == nullptr || spec->num_elements() != 1 || spec->data<std::string>()[0].empty()) return OkStatus();
  Shape full, part;
  TensorSlice slice;
  RETURN_IF_ERROR(ParseShapeAndSlice(spec->data<std::string>()[0], &full, &slice, &part));
  c.set_output(0, part);
  return OkStatus();
}

OP("Save")
    .Input("filename: string")
    .Input("tensor_names: string")
    .Input("data: T")
    .Attr("T: list(type) >= 1")
    .Stateful()
    .Shape(SaveShape)
    .NotDifferentiable()
    .Cpu(SaveCpu<false>)
    .Expensive()
    .MayBlock()
    .Doc("Writes tensors to a checkpoint of version 1.");

OP("SaveSlices")
    .Input("filename: string")
    .Input("tensor_names: string")
    .Input("shapes_and_slices: string")
    .Input("data: T")
    .Attr("T: list(type) >= 1")
    .Stateful()
    .Shape(SaveShape)
    .NotDifferentiable()
    .Cpu(SaveCpu<true>)
    .Expensive()
    .MayBlock()
    .Doc("Writes tensors, or slices of larger ones, to a checkpoint of version 1.");

OP("Restore")
    .Input("file_pattern: string")
    .Input("tensor_name: string")
    .Output("tensor: dt")
    .Attr("dt: type")
    .Attr("preferred_shard: int = -1")
    .Stateful()
    .Shape(RestoreShape)
    .NotDifferentiable()
    .Cpu(RestoreCpu)
    .Expensive()
    .MayBlock()
    .Doc("Reads a tensor from the checkpoints of version 1 that match a pattern.");

OP("RestoreSlice")
    .Input("file_pattern: string")
    .Input("tensor_name: string")
    .Input("shape_and_slice: string")
    .Output("tensor: dt")
    .Attr("dt: type")
    .Attr("preferred_shard: int = -1")
    .Stateful()
    .Shape(RestoreShape)
    .NotDifferentiable()
    .Cpu(RestoreCpu)
    .Expensive()
    .MayBlock()
    .Doc("Reads a slice of a tensor from the checkpoints of version 1 that match a pattern.");

OP("ShardedFilespec")
    .Input("basename: string")
    .Input("num_shards: int32")
    .Output("filename: string")
    .Shape(ScalarShape)
    .NotDifferentiable()
    .Cpu(ShardedFilespecCpu)
    .Doc("A pattern of the names that ShardedFilename gives.");

}  // namespace
}  // namespace millstream
