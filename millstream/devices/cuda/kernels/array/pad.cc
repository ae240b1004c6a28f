// SPDX-License-Identifier: Apache-2.0
#include "millstream/devices/cuda/borrowed_kernel.h"
#include "millstream/devices/cuda/device_types.h"
#include "millstream/devices/cuda/fill.h"
#include "millstream/devices/cuda/strided_copy.h"
#include "millstream/ops/array/paddings.h"

namespace millstream::cuda {
namespace {

// Adds the axes of the inner part of a padded array; returns at which element of that it begins.
int64_t AddInside(const Shape& inside, const Shape& padded, const Paddings& p, bool to_padded,
                  DeviceStridedCopy* copy) {
  int64_t dense = inside.num_elements(), step = padded.num_elements(), offset = 0;
  for (int d = 0; d < padded.rank(); ++d) {
    dense /= inside.dim(d);
    step /= padded.dim(d);
    offset += p.before[d] * step;
    copy->Add(inside.dim(d), to_padded ? dense : step, to_padded ? step : dense);
  }
  return offset;
}

class Pad final : public CudaKernel {
 public:
  explicit Pad(KernelInit&) {}

  Status Issue(Call& call) override {
    const Tensor& in = call.input(0);
    Paddings paddings;
    RETURN_IF_ERROR(ReadPaddings(call.input(1), in.rank(), &paddings));
    ASSIGN_OR_RETURN(const Shape shape, PaddedShape(in.shape(), paddings));
    const bool given = call.ctx().num_inputs() > 2;
    if (given && call.input(2).num_elements() != 1) {
      return errors::InvalidArgument("constant_values must be a scalar. Found: ", call.input(2).shape().ToString());
    }
    if (shape == in.shape()) return call.ctx().set_output(0, call.ctx().TakeInput(0)), OkStatus();
    ASSIGN_OR_RETURN(Tensor * out, call.Output(0, shape));
    RETURN_IF_ERROR(given ? FillFromHost(call, call.input(2).raw(), out) : FillZero(call, out));
    if (in.num_elements() == 0) return OkStatus();
    DeviceStridedCopy inside;
    const int64_t at = AddInside(in.shape(), shape, paddings, true, &inside);
    return inside.Launch(call, in.dtype(), in.raw(), 0, out->raw(), at);
  }
};

// What is beyond a border mirrors what is within: `offset` elements further in.
struct MirrorBorder {
  int axis;
  int64_t size;
  int64_t border_at, border_step;  // along the axis
  int64_t inside_at, inside_step;
};

Status CheckMirror(const Shape& inside, const Paddings& paddings, int offset) {
  for (int d = 0; d < inside.rank(); ++d) {
    const int64_t limit = inside.dim(d) - offset;
    if (paddings.before[d] > limit || paddings.after[d] > limit) {
      return errors::InvalidArgument("paddings must be ", offset == 0 ? "no greater" : "less",
                                     " than the dimension size: ", paddings.before[d], ", ", paddings.after[d],
                                     offset == 0 ? " greater than " : " not less than ", inside.dim(d));
    }
  }
  return OkStatus();
}

class MirrorPad final : public CudaKernel {
 public:
  explicit MirrorPad(KernelInit& init) : offset_(init.Attr<std::string>("mode") == "REFLECT" ? 1 : 0) {}

  Status Issue(Call& call) override {
    const Tensor& in = call.input(0);
    Paddings p;
    RETURN_IF_ERROR(ReadPaddings(call.input(1), in.rank(), &p));
    RETURN_IF_ERROR(CheckMirror(in.shape(), p, offset_));
    ASSIGN_OR_RETURN(const Shape shape, PaddedShape(in.shape(), p));
    if (shape == in.shape()) return call.ctx().set_output(0, call.ctx().TakeInput(0)), OkStatus();
    ASSIGN_OR_RETURN(Tensor * out, call.Output(0, shape));
    if (shape.num_elements() == 0 || in.num_elements() == 0) return OkStatus();
    DeviceStridedCopy inside;
    const int64_t at = AddInside(in.shape(), shape, p, true, &inside);
    RETURN_IF_ERROR(inside.Launch(call, in.dtype(), in.raw(), 0, out->raw(), at));
    // From the last dimension to the first, so that what is mirrored is complete in the later ones.
    for (int d = in.rank() - 1; d >= 0; --d) {
      const int64_t begin = p.before[d], end = begin + in.dim(d);
      RETURN_IF_ERROR(Mirror(call, {d, p.after[d], end, 1, end - 1 - offset_, -1}, in.shape(), p, out));
      RETURN_IF_ERROR(Mirror(call, {d, p.before[d], begin - 1, -1, begin + offset_, 1}, in.shape(), p, out));
    }
    return OkStatus();
  }

 private:
  static Status Mirror(Call& call, const MirrorBorder& b, const Shape& inside, const Paddings& p, Tensor* out) {
    if (b.size == 0) return OkStatus();
    DeviceStridedCopy copy;
    int64_t step = out->num_elements(), border = 0, mirror = 0;
    for (int d = 0; d < out->rank(); ++d) {
      step /= out->dim(d);
      if (d == b.axis) {
        copy.Add(b.size, b.inside_step * step, b.border_step * step);
        border += b.border_at * step;
        mirror += b.inside_at * step;
        continue;
      }
      copy.Add(d < b.axis ? inside.dim(d) : out->dim(d), step, step);
      if (d < b.axis) border += p.before[d] * step, mirror += p.before[d] * step;
    }
    return copy.Launch(call, out->dtype(), out->raw(), mirror, out->raw(), border);
  }

  const int offset_;
};

CUDA_KERNEL("Pad").HostMemory("paddings").ClassFor<Pad>(PodTypesButInt32{});
CUDA_KERNEL("PadV2").HostMemory("paddings").HostMemory("constant_values").ClassFor<Pad>(PodTypesButInt32{});
CUDA_KERNEL("MirrorPad").HostMemory("paddings").ClassFor<MirrorPad>(PodTypes{});
CUDA_HOST_KERNEL("Pad").For(Types<int32_t>{});
CUDA_HOST_KERNEL("PadV2").For(Types<int32_t>{});

}  // namespace
}  // namespace millstream::cuda
