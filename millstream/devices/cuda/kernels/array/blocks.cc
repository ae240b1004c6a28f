// SPDX-License-Identifier: Apache-2.0
// DepthToSpace, SpaceToBatch and their inverses: blocks of images that move to channels or to the batch.
#include "millstream/devices/cuda/fill.h"
#include "millstream/devices/cuda/strided_copy.h"
#include "millstream/ops/array/space_blocks.h"

namespace millstream::cuda {
namespace {

// In the deep form channels hold whole blocks (block rows, block columns, channels), in the wide one blocks lie in the
// image. The data format says in which order the dimensions of both are stored.
template <bool kDeepToWide>
class MoveDepth final : public CudaKernel {
 public:
  explicit MoveDepth(KernelInit& init)
      : block_(init.Attr<int64_t>("block_size")), nchw_(init.Attr<std::string>("data_format") == "NCHW") {
    if (block_ < 2 || block_ > (1 << 20)) {
      init.Fail(errors::InvalidArgument("Block size should be > 1, but was: ", block_));
    }
    if (init.Attr<std::string>("data_format") == "NCHW_VECT_C") {
      init.Fail(errors::Unimplemented("NCHW_VECT_C is not supported"));
    }
  }

  Status Issue(Call& call) override {
    const Tensor& in = call.input(0);
    if (in.rank() != 4) return errors::InvalidArgument("Input rank should be 4 instead of ", in.rank());
    const int h_axis = nchw_ ? 2 : 1, w_axis = nchw_ ? 3 : 2, c_axis = nchw_ ? 1 : 3;
    const int64_t image = kDeepToWide ? 1 : block_, channels = kDeepToWide ? block_ * block_ : 1;
    for (const auto& [axis, factor] : {std::pair(h_axis, image), {w_axis, image}, {c_axis, channels}}) {
      if (in.dim(axis) % factor == 0) continue;
      return errors::InvalidArgument("Input size ", in.dim(axis), " should be divisible by: ", factor);
    }
    // Sizes of the deep image, and channels of the wide one.
    const int64_t n = in.dim(0), h = in.dim(h_axis) / image, w = in.dim(w_axis) / image, b = block_;
    const int64_t c = kDeepToWide ? in.dim(c_axis) / (b * b) : in.dim(c_axis);
    Dims dims(4);
    dims[0] = n;
    dims[h_axis] = kDeepToWide ? h * b : h;
    dims[w_axis] = kDeepToWide ? w * b : w;
    dims[c_axis] = kDeepToWide ? c : c * b * b;
    ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
    ASSIGN_OR_RETURN(Tensor * out, call.Output(0, shape));
    if (shape.num_elements() == 0) return OkStatus();
    return Copy(call, n, h, w, c, out);
  }

 private:
  struct Axis {
    int64_t size, deep, wide;  // steps
  };

  Status Copy(Call& call, int64_t n, int64_t h, int64_t w, int64_t c, Tensor* out) const {
    const int64_t b = block_, all = h * w * b * b * c;
    // Steps of height, width and channels.
    const int64_t deep[] = {nchw_ ? w : w * b * b * c, nchw_ ? 1 : b * b * c, nchw_ ? h * w : 1};
    const int64_t wide[] = {nchw_ ? w * b : w * b * c, nchw_ ? 1 : c, nchw_ ? h * b * w * b : 1};
    const Axis batch = {n, all, all}, rows = {h, deep[0], b * wide[0]}, columns = {w, deep[1], b * wide[1]};
    const Axis block_rows = {b, b * c * deep[2], wide[0]}, block_columns = {b, c * deep[2], wide[1]};
    const Axis channels = {c, deep[2], wide[2]};
    DeviceStridedCopy copy;
    const auto add = [&](std::initializer_list<Axis> axes) {
      for (const Axis& a : axes) copy.Add(a.size, kDeepToWide ? a.deep : a.wide, kDeepToWide ? a.wide : a.deep);
    };
    // In the order of the target's memory.
    if (kDeepToWide && nchw_) {
      add({batch, channels, rows, block_rows, columns, block_columns});
    } else if (kDeepToWide) {
      add({batch, rows, block_rows, columns, block_columns, channels});
    } else if (nchw_) {
      add({batch, block_rows, block_columns, channels, rows, columns});
    } else {
      add({batch, rows, columns, block_rows, block_columns, channels});
    }
    return copy.Launch(call, out->dtype(), call.input(0).raw(), 0, out->raw(), 0);
  }

  const int64_t block_;
  const bool nchw_;
};

// Copies the small array into the big one at the edges' offsets, or out of it.
Status CopyWithin(Call& call, const Shape& small, const Shape& big, const Blocks& b, bool to_big, DType dtype,
                  const void* from, void* to) {
  DeviceStridedCopy copy;
  int64_t small_step = small.num_elements(), big_step = big.num_elements(), offset = 0;
  for (int d = 0; d < small.rank(); ++d) {
    small_step /= small.dim(d);
    big_step /= big.dim(d);
    if (d > 0 && d <= static_cast<int>(b.block.size())) offset += b.edges.before[d - 1] * big_step;
    copy.Add(small.dim(d), to_big ? small_step : big_step, to_big ? big_step : small_step);
  }
  return copy.Launch(call, dtype, from, to_big ? 0 : offset, to, to_big ? offset : 0);
}

Status SpaceToBatch(Call& call, Blocks* b) {
  const Tensor& in = call.input(0);
  Shape wide_shape, shape;
  RETURN_IF_ERROR(SpaceToBatchShapes(in.shape(), b, &wide_shape, &shape));
  ASSIGN_OR_RETURN(Tensor * out, call.Output(0, shape));
  if (shape.num_elements() == 0) return OkStatus();
  Tensor padded = in;
  if (!(wide_shape == in.shape())) {
    ASSIGN_OR_RETURN(padded, call.Temp(in.dtype(), wide_shape));
    RETURN_IF_ERROR(FillZero(call, &padded));
    if (in.num_elements() > 0) {
      RETURN_IF_ERROR(CopyWithin(call, in.shape(), wide_shape, *b, true, in.dtype(), in.raw(), padded.raw()));
    }
  }
  DeviceStridedCopy copy;
  AddBlockAxes(wide_shape, *b, true, &copy);
  return copy.Launch(call, in.dtype(), padded.raw(), 0, out->raw(), 0);
}

Status BatchToSpace(Call& call, Blocks* b) {
  const Tensor& in = call.input(0);
  Shape wide_shape, shape;
  RETURN_IF_ERROR(BatchToSpaceShapes(in.shape(), b, &wide_shape, &shape));
  ASSIGN_OR_RETURN(Tensor * out, call.Output(0, shape));
  if (shape.num_elements() == 0) return OkStatus();
  Tensor whole = *out;
  if (!(wide_shape == shape)) {
    ASSIGN_OR_RETURN(whole, call.Temp(in.dtype(), wide_shape));
  }
  DeviceStridedCopy copy;
  AddBlockAxes(wide_shape, *b, false, &copy);
  RETURN_IF_ERROR(copy.Launch(call, in.dtype(), in.raw(), 0, whole.raw(), 0));
  if (wide_shape == shape) return OkStatus();
  return CopyWithin(call, shape, wide_shape, *b, false, in.dtype(), whole.raw(), out->raw());
}

template <Status (*kMove)(Call&, Blocks*)>
class CutNd final : public CudaKernel {
 public:
  explicit CutNd(KernelInit&) {}

  Status Issue(Call& call) override {
    Blocks b;
    RETURN_IF_ERROR(ReadIntVector(call.input(1), "block_shape", &b.block));
    RETURN_IF_ERROR(ReadPaddings(call.input(2), static_cast<int>(b.block.size()), &b.edges));
    return kMove(call, &b);
  }
};

template <Status (*kMove)(Call&, Blocks*)>
class CutImages final : public CudaKernel {
 public:
  explicit CutImages(KernelInit& init) : block_size_(init.Attr<int64_t>("block_size")) {}

  Status Issue(Call& call) override {
    if (call.input(0).rank() != 4) {
      return errors::InvalidArgument("input rank should be 4 instead of ", call.input(0).rank());
    }
    Blocks b;
    b.block = {block_size_, block_size_};
    RETURN_IF_ERROR(ReadPaddings(call.input(1), 2, &b.edges));
    return kMove(call, &b);
  }

 private:
  const int64_t block_size_;
};

CUDA_KERNEL("DepthToSpace").ClassFor<MoveDepth<true>>(PodTypes{});
CUDA_KERNEL("SpaceToDepth").ClassFor<MoveDepth<false>>(PodTypes{});
CUDA_KERNEL("SpaceToBatchND")
    .HostMemory("block_shape")
    .HostMemory("paddings")
    .ClassFor<CutNd<SpaceToBatch>>(PodTypes{});
CUDA_KERNEL("BatchToSpaceND").HostMemory("block_shape").HostMemory("crops").ClassFor<CutNd<BatchToSpace>>(PodTypes{});
CUDA_KERNEL("SpaceToBatch").HostMemory("paddings").ClassFor<CutImages<SpaceToBatch>>(PodTypes{});
CUDA_KERNEL("BatchToSpace").HostMemory("crops").ClassFor<CutImages<BatchToSpace>>(PodTypes{});

}  // namespace
}  // namespace millstream::cuda
