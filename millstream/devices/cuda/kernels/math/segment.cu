// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "millstream/devices/cuda/fill.h"
#include "millstream/devices/cuda/scatter.cuh"
#include "millstream/ops/elements/axes.h"

namespace millstream::cuda {
namespace {

// What a segment without rows holds.
template <typename T, Atomic op>
T NeutralElement() {
  if constexpr (op == Atomic::kAdd) {
    return T(0);
  } else if constexpr (op == Atomic::kMul) {
    return T(1);
  } else if constexpr (std::is_same_v<T, Half>) {
    return T(op == Atomic::kMax ? -65504.0f : 65504.0f);
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return T(op == Atomic::kMax ? -0x1.fep127f : 0x1.fep127f);
  } else {
    return op == Atomic::kMax ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max();
  }
}

// Rows whose ids are negative, or too large (which the host cannot see in time to report), are left out.
template <typename T, Atomic op>
class UnsortedSegment final : public CudaKernel {
 public:
  explicit UnsortedSegment(KernelInit&) {}

  Status Issue(Call& call) override {
    const Tensor &data = call.input(0), &ids = call.input(1), &num = call.input(2);
    if (num.rank() != 0) {
      return errors::InvalidArgument("num_segments should be a scalar, not shape ", num.shape().ToString());
    }
    int64_t segments = 0;
    RETURN_IF_ERROR(ReadIntScalar(num, "num_segments", &segments));
    if (segments < 0) return errors::InvalidArgument("Input num_segments == ", segments, " must not be negative.");
    const auto prefix = data.shape().dims().first(std::min(data.rank(), ids.rank()));
    if (!(Shape(prefix) == ids.shape())) {
      return errors::InvalidArgument("data.shape = ", data.shape().ToString(),
                                     " does not start with segment_ids.shape = ", ids.shape().ToString());
    }
    Dims dims = {segments};
    for (int i = ids.rank(); i < data.rank(); ++i) dims.push_back(data.dim(i));
    ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
    ASSIGN_OR_RETURN(Tensor * out, call.Output(0, shape));
    const T neutral = NeutralElement<T, op>();
    RETURN_IF_ERROR(op == Atomic::kAdd ? FillZero(call, out) : FillFromHost(call, &neutral, out));
    const NdIndex at{IndexArray(ids), 1, {segments}};
    return LaunchScatter<op, DeviceType<T>>(call, at, data, ids.num_elements(), out);
  }
};

template <Atomic op>
struct Unsorted {
  template <typename T>
  using Segments = UnsortedSegment<T, op>;
};

CUDA_KERNEL("UnsortedSegmentSum").HostMemory("num_segments").For<Unsorted<Atomic::kAdd>::Segments>(ScatterTypes{});
CUDA_KERNEL("UnsortedSegmentProd").HostMemory("num_segments").For<Unsorted<Atomic::kMul>::Segments>(ScatterTypes{});
CUDA_KERNEL("UnsortedSegmentMax").HostMemory("num_segments").For<Unsorted<Atomic::kMax>::Segments>(ScatterTypes{});
CUDA_KERNEL("UnsortedSegmentMin").HostMemory("num_segments").For<Unsorted<Atomic::kMin>::Segments>(ScatterTypes{});

}  // namespace
}  // namespace millstream::cuda
