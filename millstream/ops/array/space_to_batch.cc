// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/gradients/gradient.h"
#include "millstream/ops/array/space_blocks.h"
#include "millstream/ops/elements/blob.h"
#include "millstream/ops/elements/strided_copy.h"

namespace millstream {
namespace {

// Copies `small` into `big` at an offset in each dimension, or that part of `big` into `small`.
void CopyInside(const KernelContext& ctx, const Shape& small, const Shape& big, const Dims& at, bool to_big,
                DType dtype, const void* from, void* to) {
  StridedCopy copy;
  int64_t small_step = small.num_elements(), big_step = big.num_elements(), offset = 0;
  for (int d = 0; d < small.rank(); ++d) {
    small_step /= small.dim(d);
    big_step /= big.dim(d);
    offset += at[d] * big_step;
    copy.Add(small.dim(d), to_big ? small_step : big_step, to_big ? big_step : small_step);
  }
  const size_t bytes = static_cast<size_t>(offset) * StoredSize(dtype);
  if (to_big)
    copy.Run(ctx, dtype, from, static_cast<char*>(to) + bytes);
  else
    copy.Run(ctx, dtype, static_cast<const char*>(from) + bytes, to);
}

// The offsets of the block dimensions as offsets of all.
Dims EdgeOffsets(const Blocks& b, int rank) {
  Dims at(rank, 0);
  std::copy(b.edges.before.begin(), b.edges.before.end(), at.begin() + 1);
  return at;
}

Status SpaceToBatch(KernelContext& ctx, Blocks* b) {
  const Tensor& in = ctx.input(0);
  Shape wide_shape, shape;
  RETURN_IF_ERROR(SpaceToBatchShapes(in.shape(), b, &wide_shape, &shape));
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
  if (shape.num_elements() == 0) return OkStatus();
  Tensor padded = in;
  if (!(wide_shape == in.shape())) {
    ASSIGN_OR_RETURN(padded, ctx.AllocateTemp(in.dtype(), wide_shape));
    FillZero(ctx, &padded);
    if (in.num_elements() > 0) {
      CopyInside(ctx, in.shape(), wide_shape, EdgeOffsets(*b, in.rank()), true, in.dtype(), in.raw(), padded.raw());
    }
  }
  StridedCopy copy;
  AddBlockAxes(wide_shape, *b, true, &copy);
  copy.Run(ctx, in.dtype(), padded.raw(), out->raw());
  return OkStatus();
}

Status BatchToSpace(KernelContext& ctx, Blocks* b) {
  const Tensor& in = ctx.input(0);
  Shape wide_shape, shape;
  RETURN_IF_ERROR(BatchToSpaceShapes(in.shape(), b, &wide_shape, &shape));
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
  if (shape.num_elements() == 0) return OkStatus();
  Tensor whole = *out;
  if (!(wide_shape == shape)) {
    ASSIGN_OR_RETURN(whole, ctx.AllocateTemp(in.dtype(), wide_shape));
  }
  StridedCopy copy;
  AddBlockAxes(wide_shape, *b, false, &copy);
  copy.Run(ctx, in.dtype(), in.raw(), whole.raw());
  if (!(wide_shape == shape)) {
    CopyInside(ctx, shape, wide_shape, EdgeOffsets(*b, in.rank()), false, in.dtype(), whole.raw(), out->raw());
  }
  return OkStatus();
}

Status ReadBlocks(const KernelContext& ctx, Blocks* b) {
  RETURN_IF_ERROR(ReadIntVector(ctx.input(1), "block_shape", &b->block));
  return ReadPaddings(ctx.input(2), static_cast<int>(b->block.size()), &b->edges);
}

Status SpaceToBatchNdCpu(KernelContext& ctx) {
  Blocks b;
  RETURN_IF_ERROR(ReadBlocks(ctx, &b));
  return SpaceToBatch(ctx, &b);
}

Status BatchToSpaceNdCpu(KernelContext& ctx) {
  Blocks b;
  RETURN_IF_ERROR(ReadBlocks(ctx, &b));
  return BatchToSpace(ctx, &b);
}

// The older ops: one block size for the two spatial dimensions of images.
template <Status (*kMove)(KernelContext&, Blocks*)>
class BlockSizeKernel final : public Kernel {
 public:
  explicit BlockSizeKernel(KernelInit& init) : block_size_(init.Attr<int64_t>("block_size")) {}
  Status Compute(KernelContext& ctx) override {
    if (ctx.input(0).rank() != 4) {
      return errors::InvalidArgument("input rank should be 4 instead of ", ctx.input(0).rank());
    }
    Blocks b;
    b.block = {block_size_, block_size_};
    RETURN_IF_ERROR(ReadPaddings(ctx.input(1), 2, &b.edges));
    return kMove(ctx, &b);
  }

 private:
  const int64_t block_size_;
};

// Rank and rest are known before running; with constant blocks and edges the rest is too.
Status BlockShape(ShapeContext& c, bool to_batch) {
  PartialShape in, block_shape;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 1, &block_shape));
  RETURN_IF_ERROR(ShapeContext::WithRankAtLeast(c.input(0), 1, &in));
  if (!in.rank_known() || block_shape.dim(0) < 0) return OkStatus();
  const int m = static_cast<int>(std::min<int64_t>(block_shape.dim(0), kMaxRank));
  if (in.rank() < m + 1) return errors::InvalidArgument("input rank should be >= ", m + 1, " instead of ", in.rank());
  PartialShape out = in;
  for (int d = 0; d <= m; ++d) out.set_dim(d, -1);
  std::vector<int64_t> block;
  if (c.ConstantInts(1, &block)) {
    int64_t product = 1;
    for (const int64_t b : block) {
      if (b < 1 || __builtin_mul_overflow(product, b, &product)) return errors::InvalidArgument("Bad block size ", b);
    }
    int64_t batch = in.dim(0);
    if (batch >= 0 && !to_batch && batch % product != 0) {
      return errors::InvalidArgument("Dimension size must be evenly divisible by ", product, " but is ", batch);
    }
    if (batch >= 0) out.set_dim(0, to_batch ? batch * product : batch / product);
    Paddings edges;
    if (c.constant(2) != nullptr) RETURN_IF_ERROR(ReadPaddings(*c.constant(2), m, &edges));
    for (int i = 0; c.constant(2) != nullptr && i < m; ++i) {
      const int64_t size = in.dim(i + 1), added = edges.before[i] + edges.after[i];
      if (size < 0) continue;
      if (to_batch && (size + added) % block[i] != 0) {
        return errors::InvalidArgument("Dimension size must be evenly divisible by ", block[i], " but is ",
                                       size + added);
      }
      if (!to_batch && size * block[i] < added)
        return errors::InvalidArgument("Crops are larger than dimension ", i + 1);
      out.set_dim(i + 1, to_batch ? (size + added) / block[i] : size * block[i] - added);
    }
  }
  c.set_output(0, std::move(out));
  return OkStatus();
}

Status SpaceToBatchNdShape(ShapeContext& c) { return BlockShape(c, true); }
Status BatchToSpaceNdShape(ShapeContext& c) { return BlockShape(c, false); }

// With a block size and edges (input 1) in place of blocks.
Status BlockSizeShape(ShapeContext& c, bool to_batch) {
  PartialShape in;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 4, &in));
  int64_t block = 0;
  RETURN_IF_ERROR(c.GetAttr("block_size", &block));
  PartialShape out({-1, -1, -1, in.dim(3)});
  if (in.dim(0) >= 0) {
    if (!to_batch && in.dim(0) % (block * block) != 0) {
      return errors::InvalidArgument("Dimension size must be evenly divisible by ", block * block, " but is ",
                                     in.dim(0));
    }
    out.set_dim(0, to_batch ? in.dim(0) * block * block : in.dim(0) / (block * block));
  }
  Paddings edges;
  if (c.constant(1) != nullptr) {
    RETURN_IF_ERROR(ReadPaddings(*c.constant(1), 2, &edges));
    for (int i = 0; i < 2; ++i) {
      const int64_t size = in.dim(i + 1), added = edges.before[i] + edges.after[i];
      if (size < 0) continue;
      if (to_batch && (size + added) % block != 0) {
        return errors::InvalidArgument("Dimension size must be evenly divisible by ", block, " but is ", size + added);
      }
      if (!to_batch && size * block < added) return errors::InvalidArgument("Crops are larger than dimension ", i + 1);
      out.set_dim(i + 1, to_batch ? (size + added) / block : size * block - added);
    }
  }
  c.set_output(0, std::move(out));
  return OkStatus();
}

Status SpaceToBatchShape(ShapeContext& c) { return BlockSizeShape(c, true); }
Status BatchToSpaceShape(ShapeContext& c) { return BlockSizeShape(c, false); }

Status SpaceToBatchGrad(GradContext& g) {
  g.set_dx(0, g.Op("BatchToSpace", {g.dy(0), g.input(1)}, {{"block_size", g.Attr<int64_t>("block_size")}}));
  return g.status();
}

Status BatchToSpaceGrad(GradContext& g) {
  g.set_dx(0, g.Op("SpaceToBatch", {g.dy(0), g.input(1)}, {{"block_size", g.Attr<int64_t>("block_size")}}));
  return g.status();
}

Status SpaceToBatchNdGrad(GradContext& g) {
  g.set_dx(0, g.Op("BatchToSpaceND", {g.dy(0), g.input(1), g.input(2)}));
  return OkStatus();
}

Status BatchToSpaceNdGrad(GradContext& g) {
  g.set_dx(0, g.Op("SpaceToBatchND", {g.dy(0), g.input(1), g.input(2)}));
  return OkStatus();
}

OP("SpaceToBatchND")
    .Input("input: T")
    .Input("block_shape: Tblock_shape")
    .Input("paddings: Tpaddings")
    .Output("output: T")
    .Attr("T: type")
    .Attr("Tblock_shape: {int32, int64} = DT_INT32")
    .Attr("Tpaddings: {int32, int64} = DT_INT32")
    .Shape(SpaceToBatchNdShape)
    .Gradient(SpaceToBatchNdGrad)
    .Cpu(SpaceToBatchNdCpu)
    .HostMemory("block_shape")
    .HostMemory("paddings")
    .Doc("Moves positions within blocks of the spatial dimensions, after zero padding, to the batch dimension.");

OP("BatchToSpaceND")
    .Input("input: T")
    .Input("block_shape: Tblock_shape")
    .Input("crops: Tcrops")
    .Output("output: T")
    .Attr("T: type")
    .Attr("Tblock_shape: {int32, int64} = DT_INT32")
    .Attr("Tcrops: {int32, int64} = DT_INT32")
    .Shape(BatchToSpaceNdShape)
    .Gradient(BatchToSpaceNdGrad)
    .Cpu(BatchToSpaceNdCpu)
    .HostMemory("block_shape")
    .HostMemory("crops")
    .Doc("Undoes SpaceToBatchND, then crops.");

OP("SpaceToBatch")
    .Input("input: T")
    .Input("paddings: Tpaddings")
    .Output("output: T")
    .Attr("T: type")
    .Attr("Tpaddings: {int32, int64} = DT_INT32")
    .Attr("block_size: int >= 2")
    .Shape(SpaceToBatchShape)
    .Gradient(SpaceToBatchGrad)
    .Cpu<BlockSizeKernel<SpaceToBatch>>()
    .HostMemory("paddings")
    .Doc("SpaceToBatchND for images, with one block size.");

OP("BatchToSpace")
    .Input("input: T")
    .Input("crops: Tidx")
    .Output("output: T")
    .Attr("T: type")
    .Attr("block_size: int >= 2")
    .Attr("Tidx: {int32, int64} = DT_INT32")
    .Shape(BatchToSpaceShape)
    .Gradient(BatchToSpaceGrad)
    .Cpu<BlockSizeKernel<BatchToSpace>>()
    .HostMemory("crops")
    .Doc("BatchToSpaceND for images, with one block size.");

}  // namespace
}  // namespace millstream
