// SPDX-License-Identifier: Apache-2.0
// Transpose, Tile, BroadcastTo, ReverseV2, Roll: copies of all elements to other places.
#include "millstream/devices/cuda/borrowed_kernel.h"
#include "millstream/devices/cuda/device_types.h"
#include "millstream/devices/cuda/strided_copy.h"
#include "millstream/ops/elements/axes.h"
#include "millstream/ops/elements/broadcast.h"

namespace millstream::cuda {
namespace {

using Flags = absl::InlinedVector<bool, 8>;

Status PassOn(Call& call, const Shape& shape) {
  const Shape own = shape;  // it may be that of the input, which is moved from
  call.ctx().set_output(0, call.ctx().TakeInput(0).Reshaped(own));
  return OkStatus();
}

Status NormalizePermutation(int rank, Dims* perm) {
  if (static_cast<int>(perm->size()) != rank) {
    return errors::InvalidArgument("transpose expects a vector of size ", rank, ". But input(1) is a vector of size ",
                                   perm->size());
  }
  Flags seen(rank, false);
  for (int64_t& p : *perm) {
    const int64_t given = p;
    if (p < 0) p += rank;
    if (p < 0 || p >= rank) return errors::InvalidArgument(given, " is out of range [0 .. ", rank, ")");
    seen[p] = true;
  }
  for (int d = 0; d < rank; ++d) {
    if (!seen[d]) return errors::InvalidArgument(d, " is missing from the permutation.");
  }
  return OkStatus();
}

// Whether dimensions larger than one stay in their order.
bool KeepsOrder(const Shape& in, const Dims& perm) {
  int64_t last = -1;
  for (const int64_t p : perm) {
    if (in.dim(static_cast<int>(p)) == 1) continue;
    if (p < last) return false;
    last = p;
  }
  return true;
}

class Transpose final : public CudaKernel {
 public:
  explicit Transpose(KernelInit&) {}

  Status Issue(Call& call) override {
    const Tensor& in = call.input(0);
    Dims perm, dims, steps(in.rank());
    RETURN_IF_ERROR(ReadIntVector(call.input(1), "perm", &perm));
    RETURN_IF_ERROR(NormalizePermutation(in.rank(), &perm));
    for (const int64_t p : perm) dims.push_back(in.dim(static_cast<int>(p)));
    ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
    if (KeepsOrder(in.shape(), perm)) return PassOn(call, shape);
    ASSIGN_OR_RETURN(Tensor * out, call.Output(0, shape));
    if (shape.num_elements() == 0) return OkStatus();
    int64_t step = 1, to_step = shape.num_elements();
    for (int d = in.rank() - 1; d >= 0; --d) {
      steps[d] = step;
      step *= in.dim(d);
    }
    DeviceStridedCopy copy;
    for (int d = 0; d < in.rank(); ++d) {
      to_step /= shape.dim(d);
      copy.Add(shape.dim(d), steps[perm[d]], to_step);
    }
    return copy.Launch(call, in.dtype(), in.raw(), 0, out->raw(), 0);
  }
};

class Tile final : public CudaKernel {
 public:
  explicit Tile(KernelInit&) {}

  Status Issue(Call& call) override {
    const Tensor& in = call.input(0);
    Dims multiples, dims;
    RETURN_IF_ERROR(ReadIntVector(call.input(1), "Expected multiples", &multiples));
    if (static_cast<int>(multiples.size()) != in.rank()) {
      return errors::InvalidArgument("Expected multiples argument to be a vector of length ", in.rank(),
                                     " but got length ", multiples.size());
    }
    for (int d = 0; d < in.rank(); ++d) {
      int64_t size = 0;
      if (multiples[d] < 0) return errors::InvalidArgument("Expected multiples[", d, "] >= 0, but got ", multiples[d]);
      if (__builtin_mul_overflow(in.dim(d), multiples[d], &size)) {
        return errors::InvalidArgument("multiples[", d, "] = ", multiples[d], " is too large");
      }
      dims.push_back(size);
    }
    ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
    if (shape == in.shape()) return PassOn(call, shape);
    ASSIGN_OR_RETURN(Tensor * out, call.Output(0, shape));
    if (shape.num_elements() == 0) return OkStatus();
    DeviceStridedCopy copy;
    int64_t from_step = in.num_elements(), to_step = shape.num_elements();
    for (int d = 0; d < in.rank(); ++d) {
      from_step /= in.dim(d);
      to_step /= multiples[d];
      copy.Add(multiples[d], 0, to_step);
      to_step /= in.dim(d);
      copy.Add(in.dim(d), from_step, to_step);
    }
    return copy.Launch(call, in.dtype(), in.raw(), 0, out->raw(), 0);
  }
};

class BroadcastTo final : public CudaKernel {
 public:
  explicit BroadcastTo(KernelInit&) {}

  Status Issue(Call& call) override {
    const Tensor& in = call.input(0);
    Dims sizes;
    if (call.input(1).rank() > 1) {
      return errors::InvalidArgument("shape must be a vector of {int32,int64}, got shape ",
                                     call.input(1).shape().ToString());
    }
    RETURN_IF_ERROR(ReadInts(call.input(1), &sizes));
    ASSIGN_OR_RETURN(const Shape shape, MakeShape(sizes));
    if (in.rank() > shape.rank()) {
      return errors::InvalidArgument("Rank of input (", in.rank(), ") must be no greater than rank of output shape (",
                                     shape.rank(), ").");
    }
    if (in.shape() == shape) return PassOn(call, shape);
    const StatusOr<Shape> joint = BroadcastShapes(in.shape(), shape);
    if (!joint.ok() || !(*joint == shape)) {
      return errors::InvalidArgument("Incompatible shapes: ", in.shape().ToString(), " vs. ", shape.ToString(),
                                     "; Unable to broadcast tensor of shape ", in.shape().ToString(),
                                     " to tensor of shape ", shape.ToString());
    }
    ASSIGN_OR_RETURN(Tensor * out, call.Output(0, shape));
    if (shape.num_elements() == 0) return OkStatus();
    DeviceStridedCopy copy;
    int64_t from_step = in.num_elements(), to_step = shape.num_elements();
    const int missing = shape.rank() - in.rank();
    for (int d = 0; d < shape.rank(); ++d) {
      to_step /= shape.dim(d);
      const int64_t size = d < missing ? 1 : in.dim(d - missing);
      from_step /= size;
      copy.Add(shape.dim(d), size == 1 ? 0 : from_step, to_step);
    }
    return copy.Launch(call, in.dtype(), in.raw(), 0, out->raw(), 0);
  }
};

Status ReverseAlong(Call& call, const Flags& reversed) {
  const Tensor& in = call.input(0);
  bool same = true;
  for (int d = 0; d < in.rank(); ++d) same &= !reversed[d] || in.dim(d) <= 1;
  if (same) return PassOn(call, in.shape());
  ASSIGN_OR_RETURN(Tensor * out, call.Output(0, in.shape()));
  if (in.num_elements() == 0) return OkStatus();
  DeviceStridedCopy copy;
  int64_t step = in.num_elements(), first = 0;
  for (int d = 0; d < in.rank(); ++d) {
    step /= in.dim(d);
    copy.Add(in.dim(d), reversed[d] ? -step : step, step);
    if (reversed[d]) first += (in.dim(d) - 1) * step;
  }
  return copy.Launch(call, in.dtype(), in.raw(), first, out->raw(), 0);
}

class Reverse final : public CudaKernel {
 public:
  explicit Reverse(KernelInit&) {}

  Status Issue(Call& call) override {
    const Tensor& dims = call.input(1);
    const int rank = call.input(0).rank();
    if (dims.rank() != 1 || dims.num_elements() != rank) {
      return errors::InvalidArgument("'dims' must be a vector of length ", rank, ", got shape ",
                                     dims.shape().ToString());
    }
    const auto values = dims.flat<bool>();
    return ReverseAlong(call, Flags(values.begin(), values.end()));
  }
};

class ReverseV2 final : public CudaKernel {
 public:
  explicit ReverseV2(KernelInit&) {}

  Status Issue(Call& call) override {
    const int rank = call.input(0).rank();
    Dims axes;
    RETURN_IF_ERROR(ReadIntVector(call.input(1), "'axis'", &axes));
    Flags reversed(rank, false);
    for (size_t i = 0; i < axes.size(); ++i) {
      const int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];
      if (axis < 0 || axis >= rank) {
        return errors::InvalidArgument("'axis'[", i, "] = ", axes[i], " is out of valid range [", -rank, ", ", rank - 1,
                                       "]");
      }
      if (reversed[axis]) return errors::InvalidArgument("axis ", axis, " specified more than once.");
      reversed[axis] = true;
    }
    return ReverseAlong(call, reversed);
  }
};

Status ReadShifts(const Tensor& in, const Tensor& shift, const Tensor& axis, Dims* by) {
  if (in.rank() < 1) return errors::InvalidArgument("input must be 1-D or higher");
  if (shift.rank() > 1) {
    return errors::InvalidArgument("shift must be a scalar or a 1-D vector. Found: ", shift.shape().ToString());
  }
  if (axis.rank() > 1) {
    return errors::InvalidArgument("axis must be a scalar or a 1-D vector. Found: ", axis.shape().ToString());
  }
  if (!(shift.shape() == axis.shape())) return errors::InvalidArgument("shift and axis must have the same size");
  Dims shifts, axes;
  RETURN_IF_ERROR(ReadInts(shift, &shifts));
  RETURN_IF_ERROR(ReadInts(axis, &axes));
  by->assign(in.rank(), 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] < -in.rank() || axes[i] >= in.rank()) {
      return errors::InvalidArgument("axis ", axes[i], " is out of range");
    }
    const int d = static_cast<int>(axes[i] < 0 ? axes[i] + in.rank() : axes[i]);
    const int64_t size = std::max<int64_t>(in.dim(d), 1);
    const int64_t sum = (*by)[d] + shifts[i] % size;  // both are small: no overflow
    (*by)[d] = (sum % size + size) % size;
  }
  return OkStatus();
}

// Along each axis that is rolled there are two parts that stay together: one copy for each combination.
class Roll final : public CudaKernel {
 public:
  explicit Roll(KernelInit&) {}

  Status Issue(Call& call) override {
    const Tensor& in = call.input(0);
    Dims by;
    RETURN_IF_ERROR(ReadShifts(in, call.input(1), call.input(2), &by));
    ASSIGN_OR_RETURN(Tensor * out, call.Output(0, in.shape()));
    if (in.num_elements() == 0) return OkStatus();
    std::vector<int> rolled;
    for (int d = 0; d < in.rank(); ++d) {
      if (by[d] != 0) rolled.push_back(d);
    }
    if (rolled.size() > kMaxRolled) {
      return errors::Unimplemented("Roll along more than ", kMaxRolled, " axes on GPUs");
    }
    for (uint32_t wrapped = 0; wrapped < (1U << rolled.size()); ++wrapped) {
      uint32_t bits = wrapped;
      DeviceStridedCopy copy;
      int64_t step = in.num_elements(), from = 0, to = 0;
      for (int d = 0; d < in.rank(); ++d) {
        step /= in.dim(d);
        if (by[d] == 0) {
          copy.Add(in.dim(d), step, step);
          continue;
        }
        const bool tail = (bits & 1) != 0;  // the elements that come to the front
        bits >>= 1;
        from += tail ? (in.dim(d) - by[d]) * step : 0;
        to += tail ? 0 : by[d] * step;
        copy.Add(tail ? by[d] : in.dim(d) - by[d], step, step);
      }
      RETURN_IF_ERROR(copy.Launch(call, in.dtype(), in.raw(), from, out->raw(), to));
    }
    return OkStatus();
  }

 private:
  static constexpr size_t kMaxRolled = 6;
};

using RealTransposed = Join<RealTypes, Types<bool>>;

CUDA_KERNEL("Transpose").HostMemory("perm").ClassFor<Transpose>(PodTypes{});
CUDA_KERNEL("ConjugateTranspose").HostMemory("perm").ClassFor<Transpose>(RealTransposed{});
CUDA_KERNEL("Tile").HostMemory("multiples").ClassFor<Tile>(PodTypes{});
CUDA_KERNEL("BroadcastTo").HostMemory("shape").ClassFor<BroadcastTo>(PodTypesButInt32{});
CUDA_KERNEL("Reverse").HostMemory("dims").ClassFor<Reverse>(PodTypesButInt32{});
CUDA_KERNEL("ReverseV2").HostMemory("axis").ClassFor<ReverseV2>(PodTypesButInt32{});
CUDA_KERNEL("Roll").HostMemory("shift").HostMemory("axis").ClassFor<Roll>(PodTypes{});
CUDA_HOST_KERNEL("BroadcastTo").For(Types<int32_t>{});
CUDA_HOST_KERNEL("Reverse").For(Types<int32_t>{});
CUDA_HOST_KERNEL("ReverseV2").For(Types<int32_t>{});

}  // namespace
}  // namespace millstream::cuda
