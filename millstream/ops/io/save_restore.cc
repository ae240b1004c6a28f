// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <thread>

#include "millstream/base/start_thread.h"
#include "millstream/framework/graph_files.h"
#include "millstream/framework/op.h"
#include "millstream/io/bundle_reader.h"
#include "millstream/io/bundle_writer.h"
#include "millstream/io/slice_file.h"

namespace millstream {
namespace {

// Files of a checkpoint are its prefix and more.
StatusOr<std::string> ConfinedPrefix(const KernelContext& ctx, const std::string& prefix) {
  RETURN_IF_ERROR(ConfinedPath(ctx.resources(), absl::StrCat(prefix, ".index")).status());
  return ConfinedPath(ctx.resources(), prefix);
}

// The three string inputs that SaveV2 and RestoreV2 share.
struct Request {
  std::string prefix;
  std::span<const std::string> names;
  std::span<const std::string> slices;
};

StatusOr<Request> ReadRequest(const KernelContext& ctx, int expected) {
  if (ctx.input(0).num_elements() != 1) {
    return errors::InvalidArgument("Input prefix should have a single element, got ", ctx.input(0).num_elements(),
                                   " instead.");
  }
  Request request{ctx.input(0).data<std::string>()[0], ctx.input(1).flat<std::string>(),
                  ctx.input(2).flat<std::string>()};
  if (ctx.input(1).rank() != 1 || ctx.input(2).rank() != 1) {
    return errors::InvalidArgument("Inputs tensor_names and shape_and_slices should be 1-D, got ",
                                   ctx.input(1).shape().ToString(), " and ", ctx.input(2).shape().ToString(),
                                   " instead.");
  }
  if (static_cast<int>(request.names.size()) != expected || static_cast<int>(request.slices.size()) != expected) {
    return errors::InvalidArgument("Got ", request.names.size(), " tensor names and ", request.slices.size(),
                                   " slices but ", expected, " tensors.");
  }
  ASSIGN_OR_RETURN(request.prefix, ConfinedPrefix(ctx, request.prefix));
  return request;
}

Status Save(const KernelContext& ctx, ThreadPool* pool) {
  constexpr int kFixedInputs = 3;
  ASSIGN_OR_RETURN(const Request request, ReadRequest(ctx, ctx.num_inputs() - kFixedInputs));
  ASSIGN_OR_RETURN(std::unique_ptr<BundleWriter> writer, BundleWriter::Create(request.prefix, pool));
  for (size_t i = 0; i < request.names.size(); ++i) {
    const Tensor& tensor = ctx.input(kFixedInputs + static_cast<int>(i));
    if (request.slices[i].empty()) {
      RETURN_IF_ERROR(writer->Add(request.names[i], tensor));
      continue;
    }
    Shape full, part;
    TensorSlice slice;
    RETURN_IF_ERROR(ParseShapeAndSlice(request.slices[i], &full, &slice, &part));
    RETURN_IF_ERROR(writer->AddSlice(request.names[i], full, slice, tensor));
  }
  return writer->Finish();
}

// With the attribute _background, steps that run meanwhile come first: a thread of low priority writes, and the pool is
// left to them.
class SaveV2 final : public Kernel {
 public:
  explicit SaveV2(KernelInit& init) : background_(init.HasAttr("_background")) {}

  Status Compute(KernelContext& ctx) override {
    if (!background_) return Save(ctx, ctx.pool());
    Status status;
    std::thread writer;
    const auto write = [&] {
      constexpr int kNicer = 10;
      setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + kNicer);  // of this thread; at worst it stays
      status = Save(ctx, nullptr);
    };
    RETURN_IF_ERROR(StartThread(write, &writer));
    writer.join();
    return status;
  }

 private:
  const bool background_;
};

StatusOr<Tensor> RestoreOne(const BundleReader& reader, const std::string& name, const std::string& spec,
                            DType wanted) {
  DType stored;
  Shape full;
  RETURN_IF_ERROR(reader.Lookup(name, &stored, &full));
  if (stored != wanted) {
    return errors::InvalidArgument("tensor_name = ", name, "; expected dtype ", DTypeName(wanted),
                                   " does not equal original dtype ", DTypeName(stored));
  }
  if (spec.empty()) return reader.Read(name);
  Shape asked, part;
  TensorSlice slice;
  RETURN_IF_ERROR(ParseShapeAndSlice(spec, &asked, &slice, &part));
  return reader.ReadSlice(name, asked, slice);
}

Status RestoreV2(KernelContext& ctx) {
  ASSIGN_OR_RETURN(const Request request, ReadRequest(ctx, ctx.num_outputs()));
  const Status index = RandomAccessFile::Open(request.prefix + ".index").status();
  if (absl::IsPermissionDenied(index)) return index;
  if (absl::IsNotFound(index)) {
    // As in TensorFlow, the prefix may also be the name of a checkpoint of version 1.
    ASSIGN_OR_RETURN(const std::unique_ptr<SliceFileReader> old, SliceFileReader::Open(request.prefix));
    for (int i = 0; i < ctx.num_outputs(); ++i) {
      ASSIGN_OR_RETURN(Tensor tensor, old->ReadAs(request.names[i], request.slices[i], ctx.output_dtype(i)));
      ctx.set_output(i, std::move(tensor));
    }
    return OkStatus();
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<BundleReader> reader, BundleReader::Open(request.prefix, ctx.pool()));
  for (int i = 0; i < ctx.num_outputs(); ++i) {
    ASSIGN_OR_RETURN(Tensor tensor, RestoreOne(*reader, request.names[i], request.slices[i], ctx.output_dtype(i)));
    ctx.set_output(i, std::move(tensor));
  }
  return OkStatus();
}

class MergeV2Checkpoints final : public Kernel {
 public:
  explicit MergeV2Checkpoints(KernelInit& init)
      : delete_old_folders_(init.Attr<bool>("delete_old_dirs")),
        allow_missing_(init.Attr<bool>("allow_missing_files")) {}

  Status Compute(KernelContext& ctx) override {
    if (ctx.input(0).rank() != 1 || ctx.input(1).num_elements() != 1) {
      return errors::InvalidArgument("Input checkpoint_prefixes should be a vector and destination_prefix a scalar");
    }
    std::vector<std::string> from;
    for (const std::string& name : ctx.input(0).flat<std::string>()) {
      ASSIGN_OR_RETURN(std::string prefix, ConfinedPrefix(ctx, name));
      from.push_back(std::move(prefix));
    }
    ASSIGN_OR_RETURN(const std::string to, ConfinedPrefix(ctx, ctx.input(1).data<std::string>()[0]));
    RETURN_IF_ERROR(MergeBundles(from, to, allow_missing_));
    if (delete_old_folders_) {
      // Only folders that are empty now go: what else somebody put there is not ours.
      for (const std::string& prefix : from)
        if (FolderOf(prefix) != FolderOf(to)) DeleteEmptyFolder(FolderOf(prefix)).IgnoreError();
    }
    return OkStatus();
  }

 private:
  const bool delete_old_folders_;
  const bool allow_missing_;
};

Status ShardedFilename(KernelContext& ctx) {
  for (int i = 0; i < 3; ++i) {
    if (ctx.input(i).num_elements() != 1) return errors::InvalidArgument("Input ", i, " must be a scalar");
  }
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, Shape()));
  char suffix[64];
  std::snprintf(suffix, sizeof(suffix), "-%05d-of-%05d", ctx.input(1).data<int32_t>()[0],
                ctx.input(2).data<int32_t>()[0]);
  out->data<std::string>()[0] = ctx.input(0).data<std::string>()[0] + suffix;
  return OkStatus();
}

Status SaveShape(ShapeContext& c) {
  PartialShape unused;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 0, &unused));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 1, &unused));
  return ShapeContext::WithRank(c.input(2), 1, &unused);
}

// Shapes are known where slices were asked for: they say them.
Status RestoreShape(ShapeContext& c) {
  RETURN_IF_ERROR(SaveShape(c));
  const Tensor* specs = c.constant(2);
  if (specs == nullptr || specs->num_elements() != c.num_outputs()) return OkStatus();
  for (int i = 0; i < c.num_outputs(); ++i) {
    const std::string& spec = specs->data<std::string>()[i];
    if (spec.empty()) continue;
    Shape full, part;
    TensorSlice slice;
    RETURN_IF_ERROR(ParseShapeAndSlice(spec, &full, &slice, &part));
    c.set_output(i, part);
  }
  return OkStatus();
}

OP("SaveV2")
    .Input("prefix: string")
    .Input("tensor_names: string")
    .Input("shape_and_slices: string")
    .Input("tensors: dtypes")
    .Attr("dtypes: list(type) >= 1")
    .Stateful()
    .Shape(SaveShape)
    .NotDifferentiable()
    .Cpu<SaveV2>()
    .Expensive()
    .MayBlock()
    .Doc("Writes tensors to a V2 checkpoint; the old one stays whole until the new one is.");

OP("RestoreV2")
    .Input("prefix: string")
    .Input("tensor_names: string")
    .Input("shape_and_slices: string")
    .Output("tensors: dtypes")
    .Attr("dtypes: list(type) >= 1")
    .Stateful()
    .Shape(RestoreShape)
    .NotDifferentiable()
    .Cpu(RestoreV2)
    .Expensive()
    .MayBlock()
    .Doc("Reads tensors, or slices of them, from a V2 checkpoint.");

OP("MergeV2Checkpoints")
    .Input("checkpoint_prefixes: string")
    .Input("destination_prefix: string")
    .Attr("delete_old_dirs: bool = true")
    .Attr("allow_missing_files: bool = false")
    .Stateful()
    .Shape(NoOutputs)
    .NotDifferentiable()
    .Cpu<MergeV2Checkpoints>()
    .Expensive()
    .MayBlock()
    .Doc("Joins the checkpoints that several tasks wrote into one.");

OP("ShardedFilename")
    .Input("basename: string")
    .Input("shard: int32")
    .Input("num_shards: int32")
    .Output("filename: string")
    .Shape(ScalarShape)
    .NotDifferentiable()
    .Cpu(ShardedFilename)
    .Doc("basename-SSSSS-of-NNNNN.");

}  // namespace
}  // namespace millstream
