// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/gradients/gradient.h"
#include "millstream/ops/elements/axes.h"
#include "millstream/ops/elements/blob.h"

namespace millstream {
namespace {

// Reverses the first lengths[b] steps along one axis, for each b of another axis.
class ReverseSequenceKernel : public Kernel {
 public:
  explicit ReverseSequenceKernel(KernelInit& init)
      : seq_dim_(init.Attr<int>("seq_dim")), batch_dim_(init.Attr<int>("batch_dim")) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor& in = ctx.input(0);
    Dims lengths;
    if (ctx.input(1).rank() != 1) {
      return errors::InvalidArgument("seq_lengths must be 1-dim, not ", ctx.input(1).rank());
    }
    RETURN_IF_ERROR(ReadIntVector(ctx.input(1), "seq_lengths", &lengths));
    RETURN_IF_ERROR(Check(in, lengths));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, in.shape()));
    if (in.num_elements() == 0) return OkStatus();
    DispatchBlob(in.dtype(), [&](auto type) {
      using T = typename decltype(type)::type;
      Run(ctx, lengths, BlobData<T>(in), BlobData<T>(out), in.shape());
    });
    return OkStatus();
  }

 private:
  Status Check(const Tensor& in, const Dims& lengths) const {
    if (seq_dim_ < 0 || seq_dim_ >= in.rank()) {
      return errors::InvalidArgument("seq_dim must be < input rank ( ", seq_dim_, " vs. ", in.rank(), ")");
    }
    if (batch_dim_ < 0 || batch_dim_ >= in.rank()) {
      return errors::InvalidArgument("batch_dim must be < input rank ( ", batch_dim_, " vs. ", in.rank(), ")");
    }
    if (seq_dim_ == batch_dim_) return errors::InvalidArgument("batch_dim == seq_dim == ", seq_dim_);
    if (static_cast<int64_t>(lengths.size()) != in.dim(batch_dim_)) {
      return errors::InvalidArgument("Length of seq_lengths != input.dims(", batch_dim_, "), (", lengths.size(),
                                     " vs. ", in.dim(batch_dim_), ")");
    }
    for (size_t i = 0; i < lengths.size(); ++i) {
      if (lengths[i] < 0) return errors::InvalidArgument("seq_lens(", i, ") < 0");
      if (lengths[i] > in.dim(seq_dim_)) {
        return errors::InvalidArgument("seq_lens(", i, ") > input.dims(", seq_dim_, ")");
      }
    }
    return OkStatus();
  }

  // The array is [outer, first, middle, second, inner]; first and second are the two axes.
  template <typename T>
  void Run(KernelContext& ctx, const Dims& lengths, const T* from, T* to, const Shape& shape) const {
    const int a = std::min(seq_dim_, batch_dim_), b = std::max(seq_dim_, batch_dim_);
    const int64_t first = shape.dim(a), middle = shape.Product(a + 1, b), second = shape.dim(b);
    const int64_t inner = shape.Product(b + 1, shape.rank());
    const int64_t blocks = shape.Product(0, a) * first;
    const double cost = static_cast<double>(middle * second) * (1.0 + kCopyCost<T> * static_cast<double>(inner));
    const bool batch_first = batch_dim_ == a;
    ctx.ParallelFor(blocks, cost, [&](int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block) {
        const int64_t i = block % first, base = block - i;
        for (int64_t m = 0; m < middle; ++m) {
          for (int64_t j = 0; j < second; ++j) {
            const int64_t n = lengths[batch_first ? i : j], step = batch_first ? j : i;
            const int64_t source = step < n ? n - 1 - step : step;
            const int64_t si = batch_first ? i : source, sj = batch_first ? source : j;
            CopyRun(from + (((base + si) * middle + m) * second + sj) * inner, inner,
                    to + ((block * middle + m) * second + j) * inner);
          }
        }
      }
    });
  }

  const int seq_dim_, batch_dim_;
};

Status ReverseSequenceShape(ShapeContext& c) {
  PartialShape lengths;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 1, &lengths));
  PartialShape in = c.input(0);
  if (!in.rank_known()) return OkStatus();
  int batch = 0, seq = 0;
  RETURN_IF_ERROR(c.GetAttr("batch_dim", &batch));
  RETURN_IF_ERROR(c.GetAttr("seq_dim", &seq));
  if (batch < 0 || batch >= in.rank()) {
    return errors::InvalidArgument("batch_dim must be < input rank: ", batch, " vs. ", in.rank());
  }
  if (seq < 0 || seq >= in.rank()) {
    return errors::InvalidArgument("seq_dim must be < input rank: ", seq, " vs. ", in.rank());
  }
  int64_t size = 0;
  RETURN_IF_ERROR(ShapeContext::MergeDim(in.dim(batch), lengths.dim(0), &size));
  in.set_dim(batch, size);
  c.set_output(0, std::move(in));
  return OkStatus();
}

Status ReverseSequenceGrad(GradContext& g) {
  g.set_dx(0, g.Op("ReverseSequence", {g.dy(0), g.input(1)},
                   {{"seq_dim", g.Attr<int64_t>("seq_dim")}, {"batch_dim", g.Attr<int64_t>("batch_dim")}}));
  return g.status();
}

OP("ReverseSequence")
    .Input("input: T")
    .Input("seq_lengths: Tlen")
    .Output("output: T")
    .Attr("seq_dim: int")
    .Attr("batch_dim: int = 0")
    .Attr("T: type")
    .Attr("Tlen: {int32, int64} = DT_INT64")
    .Shape(ReverseSequenceShape)
    .Gradient(ReverseSequenceGrad)
    .Cpu<ReverseSequenceKernel>()
    .Doc("Reverses the beginning of each sequence of a batch, as far as its own length.");

}  // namespace
}  // namespace millstream
