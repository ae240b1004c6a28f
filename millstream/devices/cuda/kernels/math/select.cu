// SPDX-License-Identifier: Apache-2.0
#include "millstream/devices/cuda/copy_types.cuh"
#include "millstream/devices/cuda/elementwise.cuh"
#include "millstream/devices/cuda/locate.cuh"

namespace millstream::cuda {
namespace {

// Operands: condition, then, else.
template <typename U>
__global__ void SelectStrided(Strided<3> at, int64_t count, const bool* condition, const U* t, const U* e, U* out) {
  CUDA_FOR_EACH(i, count) {
    int64_t where[3];
    Locate(at, i, where);
    out[i] = condition[where[0]] ? t[where[1]] : e[where[2]];
  }
}

// The shapes of all three broadcast to that of the result.
Status LaunchSelect(Call& call, const Shape& condition, const Shape& shape, Tensor* out) {
  const int64_t count = shape.num_elements();
  if (count == 0) return OkStatus();
  const Tensor &c = call.input(0), &t = call.input(1), &e = call.input(2);
  ASSIGN_OR_RETURN(const Strided<3> at, MakeStrided<3>({&condition, &t.shape(), &e.shape()}, shape));
  WithUnit(static_cast<int>(DTypeSize(t.dtype())), [&](auto type) {
    using U = typename decltype(type)::type;
    SelectStrided<<<BlocksFor(count), kThreads, 0, call.stream()>>>(
        at, count, static_cast<const bool*>(c.raw()), static_cast<const U*>(t.raw()), static_cast<const U*>(e.raw()),
        static_cast<U*>(out->raw()));
  });
  return call.Launched();
}

// The condition is a scalar, of the shape of the values, or a vector that chooses rows.
class Select final : public CudaKernel {
 public:
  explicit Select(KernelInit&) {}

  Status Issue(Call& call) override {
    const Tensor &c = call.input(0), &t = call.input(1), &e = call.input(2);
    const bool rows = c.rank() == 1 && t.rank() > 1 && c.dim(0) == t.dim(0);
    if (c.rank() != 0 && !rows && !(c.shape() == t.shape())) return Mismatch(call, 0, c, 1, t);
    if (!(t.shape() == e.shape())) return c.rank() == 0 ? Mismatch(call, 1, t, 2, e) : Mismatch(call, 0, c, 2, e);
    Shape condition = c.shape();
    if (rows) {
      for (int d = 1; d < t.rank(); ++d) condition.AddDim(1);
    }
    const Shape shape = t.shape();
    ASSIGN_OR_RETURN(Tensor * out, call.OutputInPlace({1, 2}, 0, shape));
    return LaunchSelect(call, condition, shape, out);
  }

 private:
  static Status Mismatch(const Call& call, int i, const Tensor& a, int j, const Tensor& b) {
    return errors::InvalidArgument("Inputs to operation ", call.ctx().node_name(),
                                   " of type Select must have the same size and shape.  Input ", i, ": ",
                                   a.shape().ToString(), " != input ", j, ": ", b.shape().ToString());
  }
};

class SelectV2 final : public CudaKernel {
 public:
  explicit SelectV2(KernelInit&) {}

  Status Issue(Call& call) override {
    const Tensor &c = call.input(0), &t = call.input(1), &e = call.input(2);
    const StatusOr<Shape> values = BroadcastShapes(t.shape(), e.shape());
    const StatusOr<Shape> shape = values.ok() ? BroadcastShapes(c.shape(), *values) : values;
    if (!shape.ok()) {
      return errors::InvalidArgument("condition ", c.shape().ToString(), ", then ", t.shape().ToString(), ", and else ",
                                     e.shape().ToString(), " must be broadcastable");
    }
    const bool in_place = t.shape() == *shape && e.shape() == *shape;
    ASSIGN_OR_RETURN(Tensor * out, in_place ? call.OutputInPlace({1, 2}, 0, *shape) : call.Output(0, *shape));
    return LaunchSelect(call, c.shape(), *shape, out);
  }
};

CUDA_KERNEL("Select").ClassFor<Select>(PodTypes{});
CUDA_KERNEL("SelectV2").ClassFor<SelectV2>(PodTypes{});

}  // namespace
}  // namespace millstream::cuda
