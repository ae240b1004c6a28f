// SPDX-License-Identifier: Apache-2.0
#include <atomic>

#include "millstream/framework/op.h"
#include "millstream/ops/data/batch.h"
#include "millstream/ops/data/captured_function.h"
#include "millstream/ops/elements/copy_rows.h"

namespace millstream {
namespace {

// Runs a function on each row of the arguments, on as many at a time as the pool takes, and stacks what comes out.
class MapDefun final : public AsyncKernel {
 public:
  explicit MapDefun(KernelInit& init)
      : function_(init.Attr<NameAttrList>("f")),
        args_(static_cast<int>(init.Attr<std::vector<DType>>("Targuments").size())),
        signature_(init) {}

  void ComputeAsync(KernelContext& ctx, Done done) override {
    auto run = std::make_shared<Run>();
    if (Status status = Prepare(ctx, run.get()); !status.ok()) return done(status);
    run->done = std::move(done);
    const size_t rows = run->rets.size();
    if (rows == 0) return run->done(Finish(ctx, *run));
    run->left = rows;
    for (size_t i = 0; i < rows; ++i) {
      run->function.RunAsync(run->args[i], &run->rets[i], [this, &ctx, run, i](const Status& status) {
        run->statuses[i] = status;
        if (--run->left == 0) run->done(Finish(ctx, *run));
      });
    }
  }

 private:
  struct Run {
    CapturedFunction::Instance function;
    std::vector<Element> args, rets;
    std::vector<Status> statuses;
    std::atomic<size_t> left{0};
    Done done;
  };

  Status Prepare(KernelContext& ctx, Run* run) const {
    std::vector<DType> types;
    const int64_t rows = ctx.input(0).rank() > 0 ? ctx.input(0).dim(0) : 0;
    for (int i = 0; i < args_; ++i) {
      const Tensor& t = ctx.input(i);
      if (t.rank() == 0) {
        return errors::InvalidArgument("All inputs must have rank at least 1. Input ", i, " has a rank of 0.");
      }
      if (t.dim(0) != rows) {
        return errors::InvalidArgument("All inputs must have the same dimension 0. Input ", i,
                                       " has leading dimension ", t.dim(0),
                                       ", while all previous inputs have leading dimension ", rows);
      }
      types.push_back(t.dtype());
    }
    ASSIGN_OR_RETURN(const CapturedFunction captured,
                     CapturedFunction::FromInputs(ctx, function_, args_, ctx.num_inputs()));
    ASSIGN_OR_RETURN(run->function, captured.Instantiate(ctx.step(), types));
    run->args.resize(static_cast<size_t>(rows));
    run->rets.resize(static_cast<size_t>(rows));
    run->statuses.resize(static_cast<size_t>(rows));
    for (int64_t row = 0; row < rows; ++row) {
      for (int i = 0; i < args_; ++i) {
        ASSIGN_OR_RETURN(Tensor arg, CopyRow(ctx.input(i), row));
        run->args[static_cast<size_t>(row)].push_back(std::move(arg));
      }
    }
    return OkStatus();
  }

  Status Finish(KernelContext& ctx, Run& run) const {
    for (const Status& status : run.statuses) RETURN_IF_ERROR(status);
    for (const Element& rets : run.rets) RETURN_IF_ERROR(CheckReturned(rets));
    for (int i = 0; i < ctx.num_outputs(); ++i) {
      const size_t out = static_cast<size_t>(i);
      if (!run.rets.empty()) {
        ASSIGN_OR_RETURN(Tensor stacked, StackComponent(run.rets, out));
        ctx.set_output(i, std::move(stacked));
        continue;
      }
      const PartialShape& row = signature_.shapes[out];
      if (!row.IsFullyDefined()) {
        return errors::InvalidArgument("No row, and the shape of output ", i, " is not known: ", row.ToString());
      }
      std::vector<int64_t> dims = {0};
      for (int d = 0; d < row.rank(); ++d) dims.push_back(row.dim(d));
      ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
      RETURN_IF_ERROR(ctx.AllocateOutput(i, shape).status());
    }
    return OkStatus();
  }

  Status CheckReturned(const Element& rets) const {
    if (rets.size() != signature_.types.size()) {
      return errors::InvalidArgument("Mismatch in number of function outputs.");
    }
    for (size_t i = 0; i < rets.size(); ++i) {
      if (rets[i].dtype() != signature_.types[i]) {
        return errors::InvalidArgument("Mismatch in function return type and expected output type for output: ", i);
      }
      if (!signature_.shapes[i].IsCompatibleWith(rets[i].shape())) {
        return errors::InvalidArgument("Mismatch in function retval shape, ", rets[i].shape().ToString(),
                                       ", and expected output shape, ", signature_.shapes[i].ToString(), ".");
      }
    }
    return OkStatus();
  }

  const NameAttrList function_;
  const int args_;
  const OutputSignature signature_;
};

Status MapDefunShape(ShapeContext& c) {
  std::vector<PartialShape> shapes;
  std::vector<DType> args;
  RETURN_IF_ERROR(c.GetAttr("output_shapes", &shapes));
  RETURN_IF_ERROR(c.GetAttr("Targuments", &args));
  if (static_cast<int>(shapes.size()) != c.num_outputs()) {
    return errors::InvalidArgument("`output_shapes` must be the same length as `output_types` (", shapes.size(), " vs ",
                                   c.num_outputs(), ")");
  }
  int64_t rows = -1;
  for (int i = 0; i < static_cast<int>(args.size()); ++i) {
    PartialShape arg;
    RETURN_IF_ERROR(ShapeContext::WithRankAtLeast(c.input(i), 1, &arg));
    if (!arg.rank_known() || arg.dim(0) < 0) continue;
    if (rows >= 0 && arg.dim(0) != rows) {
      return errors::InvalidArgument("All inputs must have the same dimension 0. Input ", i, " has leading dimension ",
                                     arg.dim(0), ", while all previous inputs have leading dimension ", rows);
    }
    rows = arg.dim(0);
  }
  for (int i = 0; i < c.num_outputs(); ++i) {
    c.set_output(i, PartialShape({rows}).Concatenate(shapes[static_cast<size_t>(i)]));
  }
  return OkStatus();
}

OP("MapDefun")
    .Input("arguments: Targuments")
    .Input("captured_inputs: Tcaptured")
    .Output("output: output_types")
    .Attr("Targuments: list(type) >= 1")
    .Attr("Tcaptured: list(type) >= 0 = []")
    .Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1")
    .Attr("f: func")
    .Attr("max_intra_op_parallelism: int = 1")
    .Shape(MapDefunShape)
    .Cpu<MapDefun>()
    .Doc("What a function makes of each row of its arguments, stacked.");

}  // namespace
}  // namespace millstream
