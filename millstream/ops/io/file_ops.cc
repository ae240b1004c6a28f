// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "millstream/base/file.h"
#include "millstream/framework/graph_files.h"
#include "millstream/framework/op.h"
#include "millstream/ops/io/match_files.h"

namespace millstream {
namespace {

Status ReadFileCpu(KernelContext& ctx) {
  const Tensor& name = ctx.input(0);
  if (name.rank() != 0)
    return errors::InvalidArgument("Input filename tensor must be scalar, but had shape: ", name.shape().ToString());
  ASSIGN_OR_RETURN(const std::string path, ConfinedPath(ctx.resources(), name.scalar<std::string>()));
  ASSIGN_OR_RETURN(std::string contents, ReadFile(path));
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, Shape()));
  out->scalar<std::string>() = std::move(contents);
  return OkStatus();
}

Status WriteFileCpu(KernelContext& ctx) {
  const Tensor &name = ctx.input(0), &contents = ctx.input(1);
  if (name.rank() != 0)
    return errors::InvalidArgument("Input filename tensor must be scalar, but had shape: ", name.shape().ToString());
  if (contents.rank() != 0)
    return errors::InvalidArgument("Contents tensor must be scalar, but had shape: ", contents.shape().ToString());
  ASSIGN_OR_RETURN(const std::string path, ConfinedPath(ctx.resources(), name.scalar<std::string>()));
  if (const std::string folder = FolderOf(path); !folder.empty()) RETURN_IF_ERROR(MakeFolders(folder));
  return WriteFileAtomically(path, contents.scalar<std::string>());
}

Status MatchingFilesCpu(KernelContext& ctx) {
  const Tensor& patterns = ctx.input(0);
  if (patterns.rank() > 1)
    return errors::InvalidArgument("Input patterns tensor must be scalar or vector, but had shape: ",
                                   patterns.shape().ToString());
  std::vector<std::string> found;
  for (const std::string& pattern : patterns.flat<std::string>())
    RETURN_IF_ERROR(MatchFiles(ctx.resources(), pattern, &found));
  std::sort(found.begin(), found.end());
  ctx.set_output(0, Tensor::Vector(found));
  return OkStatus();
}

Status OneScalar(ShapeContext& c) {
  PartialShape unused;
  for (int i = 0; i < c.num_inputs(); ++i) RETURN_IF_ERROR(ShapeContext::WithRank(c.input(i), 0, &unused));
  return c.num_outputs() == 0 ? OkStatus() : ScalarShape(c);
}

Status MatchingShape(ShapeContext& c) {
  PartialShape unused;
  RETURN_IF_ERROR(ShapeContext::WithRankAtMost(c.input(0), 1, &unused));
  c.set_output(0, PartialShape({-1}));
  return OkStatus();
}

OP("ReadFile")
    .Input("filename: string")
    .Output("contents: string")
    .Shape(OneScalar)
    .NotDifferentiable()
    .Cpu(ReadFileCpu)
    .Expensive()
    .MayBlock()
    .Doc("The contents of a file.");
OP("WriteFile")
    .Input("filename: string")
    .Input("contents: string")
    .Stateful()
    .Shape(OneScalar)
    .NotDifferentiable()
    .Cpu(WriteFileCpu)
    .Expensive()
    .MayBlock()
    .Doc("Writes a file, and the folders it is in.");
OP("MatchingFiles")
    .Input("pattern: string")
    .Output("filenames: string")
    .Shape(MatchingShape)
    .NotDifferentiable()
    .Cpu(MatchingFilesCpu)
    .Doc("The files whose names match one of the patterns, sorted.");

}  // namespace
}  // namespace millstream
