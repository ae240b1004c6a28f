// SPDX-License-Identifier: Apache-2.0
#include "millstream/devices/cuda/elementwise.cuh"
#include "millstream/ops/array/paddings.h"

namespace millstream::cuda {
namespace {

struct MirrorAxes {
  int rank;
  int64_t inside[kMaxStridedDims], before[kMaxStridedDims], after[kMaxStridedDims];
  int64_t offset;  // 1 if the border itself is not repeated
};

// Where along axis d of the padded array element `at` of the inner one was copied to: its own place, and its mirror
// images beyond the two borders. -1: there is none.
__device__ __forceinline__ int64_t MirrorImage(const MirrorAxes& m, int d, int64_t at, int which) {
  if (which == 0) return m.before[d] + at;
  if (which == 1) {
    const int64_t p = m.before[d] - 1 + m.offset - at;
    return p >= 0 && p < m.before[d] ? p : -1;
  }
  const int64_t j = m.inside[d] - 1 - m.offset - at;
  return j >= 0 && j < m.after[d] ? m.before[d] + m.inside[d] + j : -1;
}

// Each element of the result adds up the gradients of all its copies.
template <typename D>
__global__ void AddMirrorImages(MirrorAxes m, int combinations, const D* dy, D* dx, int64_t count) {
  CUDA_FOR_EACH(i, count) {
    WideType<D> sum = 0;
    for (int combination = 0; combination < combinations; ++combination) {
      int64_t rest = i, from = 0, step = 1;
      int which = combination;
      bool is_there = true;
      for (int d = m.rank - 1; d >= 0; --d) {
        const int64_t place = MirrorImage(m, d, rest % m.inside[d], which % 3);
        is_there = is_there && place >= 0;
        from += place * step;
        step *= m.before[d] + m.inside[d] + m.after[d];
        rest /= m.inside[d];
        which /= 3;
      }
      if (is_there) sum += Widen(dy[from]);
    }
    dx[i] = Narrow<D>(sum);
  }
}

template <typename T>
class MirrorPadGrad final : public CudaKernel {
 public:
  explicit MirrorPadGrad(KernelInit& init) : offset_(init.Attr<std::string>("mode") == "REFLECT" ? 1 : 0) {}

  Status Issue(Call& call) override {
    using D = DeviceType<T>;
    const Tensor& dy = call.input(0);
    Paddings p;
    RETURN_IF_ERROR(ReadPaddings(call.input(1), dy.rank(), &p));
    MirrorAxes m = {};
    int combinations = 1;
    RETURN_IF_ERROR(Axes(dy.shape(), p, &m, &combinations));
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(std::span<const int64_t>(m.inside, m.rank)));
    ASSIGN_OR_RETURN(Tensor * dx, call.Output(0, shape));
    const int64_t count = shape.num_elements();
    if (count == 0) return OkStatus();
    AddMirrorImages<<<BlocksFor(count), kThreads, 0, call.stream()>>>(m, combinations, static_cast<const D*>(dy.raw()),
                                                                      static_cast<D*>(dx->raw()), count);
    return call.Launched();
  }

 private:
  Status Axes(const Shape& padded, const Paddings& p, MirrorAxes* m, int* combinations) const {
    if (padded.rank() > kMaxStridedDims) {
      return errors::Unimplemented("MirrorPadGrad of more than ", kMaxStridedDims, " dimensions on GPUs");
    }
    m->rank = padded.rank();
    m->offset = offset_;
    for (int d = 0; d < padded.rank(); ++d) {
      if (p.before[d] > padded.dim(d) || p.after[d] > padded.dim(d) - p.before[d]) {
        return errors::InvalidArgument("Paddings are larger than dimension ", d, " of ", padded.ToString());
      }
      m->before[d] = p.before[d];
      m->after[d] = p.after[d];
      m->inside[d] = padded.dim(d) - p.before[d] - p.after[d];
      *combinations *= 3;
      const int64_t limit = m->inside[d] - offset_;
      if (p.before[d] > limit || p.after[d] > limit) {
        return errors::InvalidArgument("paddings must be ", offset_ == 0 ? "no greater" : "less",
                                       " than the dimension size: ", p.before[d], ", ", p.after[d],
                                       offset_ == 0 ? " greater than " : " not less than ", m->inside[d]);
      }
    }
    return OkStatus();
  }

  const int64_t offset_;
};

CUDA_KERNEL("MirrorPadGrad").HostMemory("paddings").For<MirrorPadGrad>(FloatTypes{});

}  // namespace
}  // namespace millstream::cuda
